/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/part.c - threads that open parts of a run together
 *
 * Worker 0 switches, and gives a sleeping thread a longer path each time. All others begin each part that they
 * meet, work in it, and now and then end, so that a new thread has their row. Whoever begins a part finds it open,
 * however many that opened it stand still, with the sleepers' paths, and with no event of the part itself.
 */
#define WORKERS 4

#include "shadow/edge/cell.h"
#include "shadow/edge/part.h"
#include "shadow/store/epoch.h"

#include "tests/torture/torture.h"

#define SLEEPERS 5
#define EPOCHS	 (1u << 20)

static struct cpa_self sleeper[SLEEPERS];
static uint64_t slept[EPOCHS]; /* by epoch: length of the longest sleeper's path when it began */
static uint64_t
	worked[EPOCHS]; /* atomic; by epoch: length of the longest path that an event in it made */
static uint64_t ticks;	/* atomic */
static uint64_t begun, left; /* atomic */
static bool over;	     /* atomic */

static uint64_t now(void)
{
	return cpa_header()->start_ticks + 10 + __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

static void lengthen(uint64_t *most, uint64_t to)
{
	uint64_t is = __atomic_load_n(most, __ATOMIC_RELAXED);

	/* RELEASE: pairs with was_before(). */
	while (is < to && !__atomic_compare_exchange_n(most, &is, to, false, __ATOMIC_RELEASE,
						       __ATOMIC_RELAXED))
		;
}

/* Whether a path of length @len may have been there before the part of @epoch. */
static bool was_before(uint64_t len, uint64_t epoch)
{
	bool found = len <= slept[epoch];

	/* ACQUIRE pairs with lengthen(). Mostly the first one tells; a thread may come very late. */
	while (!found && epoch > 2)
		found = len <= __atomic_load_n(&worked[epoch -= 2], __ATOMIC_ACQUIRE);
	return found;
}

static void work(struct worker *w, uint64_t epoch)
{
	struct cpa_thread *row = w->self.row;
	uint64_t len = row->path.len + 1;

	lengthen(&worked[epoch], len);
	cpa_writing(row);
	cpa_path_add(&w->self, &row->path, 2 + (uint32_t)rnd_below(&w->r, 40), 1);
	row->path.len = len;
	row->path.released = now();
	cpa_written(row);
}

static uint64_t begin(struct worker *w, uint64_t epoch)
{
	bool good;

	if (!cpa_part_open(&w->self, epoch)) {
		EXPECT(cpa_epoch(cpa_header()) != epoch);
		return 0;
	}
	cpa_part_begin(&w->self, epoch);
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	/* Until the next stop the sleepers sleep. */
	good = w->self.row->path.len >= slept[epoch] && was_before(w->self.row->path.len, epoch);
	EXPECT(good || cpa_epoch(cpa_header()) != epoch);
	return epoch;
}

/* The thread ends, and the next one has its row. */
static void live_again(struct worker *w)
{
	uint32_t number = w->self.number;
	struct cpa_wait start = { .now = now() };

	cpa_thread_end(&w->self, start.now);
	memset(&w->self, 0, sizeof(w->self));
	w->self.number = number;
	EXPECT(!cpa_thread_begin(&w->self, 0, 1, NULL, &start));
}

static void follow(struct worker *w)
{
	uint64_t in = 0;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint64_t epoch = cpa_epoch(cpa_header());

		if (in && in == epoch) {
			work(w, epoch);
			continue;
		}
		if (in) {
			uint64_t stop = cpa_epoch_is_on(epoch) ? epoch - 1 : epoch;

			cpa_part_end(&w->self, stop, w->self.row->path.released);
			__atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
			in = 0;
			if (!rnd_below(&w->r, 8))
				live_again(w);
		}
		if (cpa_epoch_is_on(epoch))
			in = begin(w, epoch);
	}
}

static void sleep_longer(struct worker *w, uint64_t epoch)
{
	struct cpa_self *self = &sleeper[rnd_below(&w->r, SLEEPERS)];
	/* Relaxed: any length will do that is not less than the sleeper's own. */
	uint64_t len = __atomic_load_n(&worked[epoch - 2], __ATOMIC_RELAXED);

	if (len < slept[epoch - 2])
		len = slept[epoch - 2];
	slept[epoch] = len + rnd_below(&w->r, 3);
	cpa_writing(self->row);
	self->row->path.len = slept[epoch];
	self->row->path.released = now();
	cpa_path_add(self, &self->row->path, 50, 1);
	cpa_written(self->row);
}

static void switch_often(struct worker *w)
{
	unsigned n = torture_work(3000);
	struct timespec a_while = { 0, 1000 };

	for (unsigned i = 0; i < n; i++) {
		uint64_t epoch = cpa_epoch(cpa_header()), enough = rnd_below(&w->r, WORKERS);

		enough += __atomic_load_n(&begun, __ATOMIC_RELAXED);

		EXPECT(cpa_epoch_change(cpa_header(), false, now()));
		sleep_longer(w, epoch + 2);
		EXPECT(cpa_epoch_change(cpa_header(), true, now()));
		/* Now and then a part is over before anybody has begun it. */
		while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < enough)
			nanosleep(&a_while, NULL);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
}

static void switch_or_follow(struct worker *w)
{
	if (w->index)
		follow(w);
	else
		switch_often(w);
}

static void run_parts(void)
{
	struct cpa_wait start = { .now = now() };

	cpa_epoch_begin(cpa_header(), true);
	for (unsigned i = 0; i < SLEEPERS; i++)
		EXPECT(!cpa_thread_begin(&sleeper[i], 0, 1, NULL, &start));
	torture_threads(WORKERS, switch_or_follow);
	for (unsigned i = 0; i < SLEEPERS; i++)
		cpa_thread_end(&sleeper[i], now());
	cpa_cell_clear(&main_self, &cpa_header()->final);
	EXPECT(cpa_header()->final == 0);
	torture_given_back();
	printf("# %llu parts, begun %llu times, left %llu times\n",
	       (unsigned long long)cpa_epoch(cpa_header()) / 2, (unsigned long long)begun,
	       (unsigned long long)left);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("whoever begins a part has all paths before it, and none of it", seed, run_parts);
	return torture_end();
}
