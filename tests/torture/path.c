/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/path.c - paths handed from thread to thread by real locks and barriers
 */
#include "shadow/graph/activity.h"
#include "shadow/edge/merge.h"
#include "shadow/edge/release.h"

#include "tests/torture/torture.h"

/* A clock shared by all threads, so that releases and acquires are ordered. */
static uint64_t clock_now; /* atomic */

static uint64_t tick(void)
{
	/* SEQ_CST: one order for all threads. */
	return __atomic_add_fetch(&clock_now, 1, __ATOMIC_SEQ_CST);
}

/* Spend a few ticks in one of @slots functions. */
static void work(struct worker *w, uint32_t slots)
{
	struct cpa_sampled sample = { .count = 1 };
	struct cpa_span span = { .process = 1 + rnd_below(&w->r, 20),
				 .sampled = 1,
				 .sample = &sample };

	sample.function = 2 + (uint32_t)rnd_below(&w->r, slots);
	cpa_activity_end(&w->self, &span, 0);
}

static void check_path(const struct cpa_path *path, struct rnd *r)
{
	uint32_t slot = 2 + (uint32_t)rnd_below(r, 60);
	uint64_t s = cpa_path_value(path, CPA_S, slot);

	EXPECT(s <= path->len);
	EXPECT(cpa_path_value(path, CPA_H, slot) <= path->len);
}

#define MUTEXES 3

static struct {
	pthread_mutex_t lock;
	struct cpa_object *object;
	uint64_t len; /* at the last release */
} mutexes[MUTEXES];

static void lock_and_unlock(struct worker *w)
{
	unsigned n = torture_work(60000);
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned k = (unsigned)rnd_below(&w->r, MUTEXES);
		struct cpa_wait wait = { .arrived = tick() };
		uint64_t before;

		work(w, 60);
		before = w->self.row->path.len;
		pthread_mutex_lock(&mutexes[k].lock);
		wait.now = tick();
		cpa_lock_acquired(&w->self, mutexes[k].object, &wait);
		EXPECT(w->self.row->path.len ==
		       (before > mutexes[k].len ? before : mutexes[k].len));
		work(w, 60);
		w->self.row->path.released = tick();
		cpa_lock_release(&w->self, mutexes[k].object);
		EXPECT(mutexes[k].len <= w->self.row->path.len);
		mutexes[k].len = w->self.row->path.len;
		pthread_mutex_unlock(&mutexes[k].lock);
		if (i % 64 == 0)
			check_path(&w->self.row->path, &w->r);
	}
	for (uint32_t slot = 0; slot < 256; slot++)
		total += cpa_path_value(&w->self.row->path, CPA_H, slot);
	/* Every tick of the longest path was spent in one function. */
	EXPECT(total == w->self.row->path.len);
}

static void run_mutex(void)
{
	for (unsigned k = 0; k < MUTEXES; k++) {
		pthread_mutex_init(&mutexes[k].lock, NULL);
		mutexes[k].object = torture_object();
		mutexes[k].len = 0;
	}
	torture_threads(WORKERS, lock_and_unlock);
	for (unsigned k = 0; k < MUTEXES; k++)
		cpa_object_clear(&main_self, mutexes[k].object);
	torture_given_back();
}

/*
 * Readers release together, then a writer acquires. In each round reader i has only spent x[i]
 * ticks in component 2 + i, so the writer's expected path is known.
 */
#define READERS (WORKERS - 1)

static struct cpa_object *object;
static pthread_barrier_t gate;
static uint64_t x[READERS];

static void check_merged(struct worker *w)
{
	const struct cpa_path *path = &w->self.row->path;
	uint64_t longest = 0, second = 0;
	struct cpa_wait wait = { .arrived = 0, .now = tick() };
	unsigned longest_of = 0;

	cpa_path_clear(&w->self, &w->self.row->path);
	cpa_write_acquired(&w->self, object, &wait);
	for (unsigned i = 0; i < READERS; i++) {
		if (x[i] > longest) {
			second = longest;
			longest = x[i];
			longest_of = i;
		} else if (x[i] > second) {
			second = x[i];
		}
	}
	EXPECT(path->len == longest);
	for (unsigned i = 0; i < READERS; i++)
		EXPECT(cpa_path_value(path, CPA_S, 2 + i) ==
		       (i == longest_of ? longest - second : 0));
	EXPECT(wait.from >= 100 && wait.from < 100 + READERS);
}

static void read_or_write(struct worker *w)
{
	unsigned n = torture_work(8000);
	struct cpa_path *path = &w->self.row->path;

	for (unsigned i = 0; i < n; i++) {
		if (w->index < READERS) {
			cpa_path_clear(&w->self, path);
			path->owner = w->self.id;
			path->node = 100 + w->index;
			x[w->index] = 1 + rnd_below(&w->r, 50);
			path->len = x[w->index];
			cpa_path_add(&w->self, path, 2 + w->index, x[w->index]);
			path->released = tick();
			cpa_read_release(&w->self, object);
		}
		pthread_barrier_wait(&gate);
		if (w->index == READERS)
			check_merged(w);
		pthread_barrier_wait(&gate);
	}
}

static void run_merge(void)
{
	object = torture_object();
	pthread_barrier_init(&gate, NULL, WORKERS);
	torture_threads(WORKERS, read_or_write);
	pthread_barrier_destroy(&gate);
	cpa_object_clear(&main_self, object);
	torture_given_back();
}

/* After a barrier every thread has the longest path of those that arrived. */
static uint64_t arrived[2][WORKERS];

static void arrive_and_leave(struct worker *w)
{
	unsigned n = torture_work(8000);

	for (unsigned i = 0; i < n; i++) {
		struct cpa_wait wait = { 0 };
		uint64_t round, longest = 0;

		work(w, 60);
		wait.arrived = tick();
		w->self.row->path.released = wait.arrived;
		arrived[i % 2][w->index] = w->self.row->path.len;
		round = cpa_barrier_arrive(&w->self, object, WORKERS);
		EXPECT(round == i);
		pthread_barrier_wait(&gate);
		wait.now = tick();
		cpa_barrier_left(&w->self, object, round, &wait);
		EXPECT(wait.matched);
		for (unsigned k = 0; k < WORKERS; k++)
			if (arrived[i % 2][k] > longest)
				longest = arrived[i % 2][k];
		EXPECT(w->self.row->path.len == longest);
		if (i % 64 == 0)
			check_path(&w->self.row->path, &w->r);
	}
}

static void run_barrier(void)
{
	object = torture_object();
	object->waiting = WORKERS;
	pthread_barrier_init(&gate, NULL, WORKERS);
	torture_threads(WORKERS, arrive_and_leave);
	pthread_barrier_destroy(&gate);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= WORKERS * 64);
	EXPECT(cpa_header()->diag[CPA_DIAG_UNMATCHED_WAKES] == 0);
	cpa_object_clear(&main_self, object);
	torture_given_back();
}

/*
 * A condition variable with signals, broadcasts and time-outs. At the end no thread waits, no grant
 * is left, and every woken thread found a token, except for wake-ups that POSIX permits.
 */
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static struct cpa_object *cond_object, *mutex_object;
static uint64_t finished;	/* atomic */
static uint64_t matched, woken; /* protected by the mutex */

static void sleep_once(struct worker *w)
{
	struct cpa_wait wait = { .arrived = tick() };
	struct timespec until;
	int ret;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)rnd_below(&w->r, 2000000);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	w->self.row->path.released = wait.arrived;
	cpa_wait_begin(cond_object);
	cpa_lock_release(&w->self, mutex_object);
	ret = pthread_cond_timedwait(&cond, &mutex, &until);
	wait.now = tick();
	cpa_wait_end(&w->self, cond_object, ret == 0, mutex_object, &wait);
	woken += ret == 0;
	matched += ret == 0 && wait.matched;
}

static void lock(struct worker *w)
{
	struct cpa_wait wait = { .arrived = tick() };

	work(w, 60);
	pthread_mutex_lock(&mutex);
	wait.now = tick();
	cpa_lock_acquired(&w->self, mutex_object, &wait);
}

static void unlock(struct worker *w)
{
	w->self.row->path.released = tick();
	cpa_lock_release(&w->self, mutex_object);
	pthread_mutex_unlock(&mutex);
}

static void sleeper(struct worker *w)
{
	unsigned n = torture_work(10000);

	for (unsigned i = 0; i < n; i++) {
		lock(w);
		sleep_once(w);
		unlock(w);
	}
	__atomic_fetch_add(&finished, 1, __ATOMIC_RELAXED);
}

/* Signal with and without the mutex, and sometimes broadcast. */
static void waker(struct worker *w)
{
	while (__atomic_load_n(&finished, __ATOMIC_RELAXED) < WORKERS / 2) {
		bool all = rnd_percent(&w->r, 20), inside = rnd_percent(&w->r, 50);

		lock(w);
		if (!inside)
			unlock(w);
		w->self.row->path.released = tick();
		cpa_wake(&w->self, cond_object, all ? UINT32_MAX : 1);
		if (all)
			pthread_cond_broadcast(&cond);
		else
			pthread_cond_signal(&cond);
		if (inside)
			unlock(w);
		if (rnd_percent(&w->r, 20))
			sched_yield();
	}
}

static void sleep_or_wake(struct worker *w)
{
	if (w->index % 2)
		sleeper(w);
	else
		waker(w);
}

static void run_cond(void)
{
	pthread_mutex_init(&mutex, NULL);
	pthread_cond_init(&cond, NULL);
	cond_object = torture_object();
	mutex_object = torture_object();
	finished = matched = woken = 0;
	torture_threads(WORKERS, sleep_or_wake);
	EXPECT(cond_object->waiting == 0);
	printf("# %llu woken, a release found by %llu\n", (unsigned long long)woken,
	       (unsigned long long)matched);
	EXPECT(matched * 100 >= woken * 95);
	cpa_object_clear(&main_self, cond_object);
	cpa_object_clear(&main_self, mutex_object);
	torture_given_back();
}

/* Waiters and wakers without a mutex, as on a futex: each wait that began ends once. */
static void begin_or_wake(struct worker *w)
{
	unsigned n = torture_work(100000);

	for (unsigned i = 0; i < n; i++) {
		struct cpa_wait wait = { .arrived = 1, .now = 2 };
		uint32_t granted;

		if (w->index % 2) {
			cpa_wait_begin(cond_object);
			cpa_wait_end(&w->self, cond_object, rnd_percent(&w->r, 50), NULL, &wait);
			continue;
		}
		w->self.row->path.owner = w->self.id;
		granted = cpa_wake(&w->self, cond_object, 1 + (uint32_t)rnd_below(&w->r, 3));
		if (rnd_percent(&w->r, 30))
			cpa_wake_undo(&w->self, cond_object, granted);
	}
}

static void run_counts(void)
{
	cond_object = torture_object();
	torture_threads(WORKERS, begin_or_wake);
	EXPECT(cond_object->waiting == 0);
	cpa_object_clear(&main_self, cond_object);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("locks hand the longest path on", seed, run_mutex);
	torture("a writer finds the join of all readers", seed, run_merge);
	torture("a barrier hands the longest path to all", seed, run_barrier);
	torture("waits and wakes balance", seed, run_cond);
	torture("every wait ends once", seed, run_counts);
	return torture_end();
}
