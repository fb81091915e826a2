/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_path.c - the recorder
 *
 * See known_path.h; the search is in known_graph.h, what is made of it in known_expect.c.
 */
#include "tests/programs/known_path.h"

#include "preload/cpa.h"
#include "tests/programs/known_expect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A work function runs this share of what is left before it looks at the clock: it does not
 * overshoot even where the processor is three times slower than during calibration.
 */
#define BURN_SHARE	0.3
#define BURN_CLOSE_NS	1000
#define CALIBRATE_SPINS 3000000L
#define CLAIMS		16

struct kp_thread {
	struct kp_row *row;
	void *arg;
	pthread_t handle;
	int component;	/* of its start routine */
	int64_t cpu_ns; /* at the last event */
	int schedstat;	/* open file, or -1 */
	uint32_t active;
	unsigned held[KP_COMPONENTS];
	int processed; /* component of the queue of the item in process, or 0 */
};

static struct kp_graph graph;
static struct kp_named components[KP_COMPONENTS] = {
	[KP_WORK_MAIN] = { "function", "work_main", "exact" },
	[KP_WORK_A] = { "function", "work_a", "exact" },
	[KP_WORK_B] = { "function", "work_b", "exact" },
	[KP_WORK_C] = { "function", "work_c", "exact" },
	[KP_WORK_D] = { "function", "work_d", "exact" },
	[KP_SLEEP] = { "external", "sleep", "exact" },
	[KP_READ] = { "external", "read", "exact" },
	[KP_POLL] = { "external", "poll", "exact" },
	[KP_TIMEOUT] = { "external", "timeout", "exact" },
};
static int component_count = KP_FIRST_FREE;
/* Not a pthread lock: that would be one more edge in the graph. */
static atomic_flag component_guard = ATOMIC_FLAG_INIT;
static struct kp_claim claims[CLAIMS];
static unsigned claim_count;
static double spins_per_ns;
static _Atomic int64_t beyond_ns; /* by which work and pauses were longer than asked for */
static int64_t begin_ns, before_ns, constructors_ns;
static _Thread_local struct kp_thread *self;

void kp_die(const char *what, int error)
{
	fprintf(stderr, "known_path: %s: %s\n", what, strerror(error));
	exit(2);
}

static void check(int error, const char *what)
{
	if (error)
		kp_die(what, error);
}

int64_t kp_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int component_of(const char *kind, const char *name, const char *match)
{
	int i;

	while (atomic_flag_test_and_set(&component_guard))
		;
	for (i = 0; i < component_count; i++) {
		if (!strcmp(components[i].kind, kind) && !strcmp(components[i].name, name))
			break;
	}
	if (i == KP_COMPONENTS)
		kp_die("components", ENOSPC);
	if (i == component_count)
		components[component_count++] = (struct kp_named){ kind, name, match };
	atomic_flag_clear(&component_guard);
	return i;
}

/* One more event of this thread: what it depends on may follow. */
static struct kp_event *add_event(int64_t weight_ns, uint32_t active)
{
	kp_id id = kp_graph_add_event(self->row, weight_ns, active);
	struct kp_event *event;

	if (!id)
		kp_die("events", ENOSPC);
	event = kp_graph_event(&graph, id);
	event->at_ns = kp_clock_ns(CLOCK_MONOTONIC);
	return event;
}

static void add_edge(struct kp_row *row, kp_id from)
{
	if (from && !kp_graph_add_edge(row, from))
		kp_die("edges", ENOSPC);
}

/* End the current activity here. */
static kp_id log_event(void)
{
	int64_t cpu_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	add_event(cpu_ns - self->cpu_ns, self->active);
	self->cpu_ns = cpu_ns;
	return kp_graph_last(self->row);
}

static struct kp_thread *thread_new(const char *start_routine)
{
	struct kp_thread *thread = calloc(1, sizeof(*thread));

	if (thread)
		thread->row = kp_graph_add_row(&graph);
	if (!thread || !thread->row)
		kp_die("threads", ENOMEM);
	thread->component = component_of("thread", start_routine, "exact");
	thread->active = 1U << thread->component;
	thread->schedstat = -1;
	return thread;
}

static void calibrate(void)
{
	int64_t start_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	long i;

	for (i = 0; i < CALIBRATE_SPINS; i++)
		__asm__ volatile("" : : "r"(i));
	spins_per_ns = CALIBRATE_SPINS / (double)(kp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
}

/*
 * Before any library's constructor. From here to main() there is nothing of the program, but the
 * constructor of a preloaded profiler, which is not part of the program's path.
 */
static void before_constructors(void)
{
	before_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_constructors;

void kp_begin(void)
{
	int64_t cpu_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	begin_ns = kp_clock_ns(CLOCK_MONOTONIC) - cpu_ns;
	self = thread_new("main");
	constructors_ns = cpu_ns - before_ns;
	self->cpu_ns = constructors_ns;
	calibrate();
}

struct kp_thread *kp_thread_create(void *(*start)(void *), const char *name, void *arg)
{
	struct kp_thread *thread = thread_new(name);

	thread->arg = arg;
	add_edge(thread->row, log_event());
	check(pthread_create(&thread->handle, NULL, start, thread), "pthread_create");
	return thread;
}

void *kp_enter(void *thread)
{
	self = thread;
	self->row->event[0].at_ns = kp_clock_ns(CLOCK_MONOTONIC);
	return self->arg;
}

void *kp_leave(void)
{
	if (self->schedstat >= 0)
		close(self->schedstat);
	log_event();
	return NULL;
}

void kp_join(struct kp_thread *thread)
{
	log_event();
	check(pthread_join(thread->handle, NULL), "pthread_join");
	log_event();
	add_edge(self->row, kp_graph_last(thread->row));
}

void kp_detach(struct kp_thread *thread)
{
	check(pthread_detach(thread->handle), "pthread_detach");
}

static void add_beyond(int64_t ns)
{
	if (ns > 0)
		atomic_fetch_add(&beyond_ns, ns);
}

/* No function here is like another one: the component differs. So none are folded into one. */
#define WORK(name, number)                                                           \
	__attribute__((noinline)) void name(long us)                                 \
	{                                                                            \
		int64_t end_ns, left_ns = us * KP_NS;                                \
		long i, spins;                                                       \
                                                                                     \
		log_event();                                                         \
		self->active |= 1U << (number);                                      \
		end_ns = self->cpu_ns + left_ns;                                     \
		while (left_ns > BURN_CLOSE_NS) {                                    \
			spins = (long)((double)left_ns * spins_per_ns * BURN_SHARE); \
			for (i = 0; i < spins; i++)                                  \
				__asm__ volatile("" : : "r"(i));                     \
			left_ns = end_ns - kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);     \
		}                                                                    \
		log_event();                                                         \
		self->active &= ~(1U << (number));                                   \
		add_beyond(self->cpu_ns - end_ns);                                   \
	}

WORK(work_main, KP_WORK_MAIN)
WORK(work_a, KP_WORK_A)
WORK(work_b, KP_WORK_B)
WORK(work_c, KP_WORK_C)
WORK(work_d, KP_WORK_D)

/* Time outside synchronization: elapsed, less CPU time, less time ready without a processor. */

struct pause {
	int64_t wall_ns, cpu_ns, runqueue_ns;
};

static struct pause pause_clocks(void)
{
	char text[96] = "";
	unsigned long long run, delay = 0;

	if (self->schedstat < 0)
		self->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(self->schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &run, &delay) != 2)
		kp_die("/proc/thread-self/schedstat", errno);
	return (struct pause){ kp_clock_ns(CLOCK_MONOTONIC), kp_clock_ns(CLOCK_THREAD_CPUTIME_ID),
			       (int64_t)delay };
}

/* Return the time blocked. */
static int64_t pause_end(struct pause before, int component)
{
	struct pause after = pause_clocks();
	int64_t blocked_ns = (after.wall_ns - before.wall_ns) - (after.cpu_ns - before.cpu_ns) -
			     (after.runqueue_ns - before.runqueue_ns);

	blocked_ns = blocked_ns > 0 ? blocked_ns : 0;
	log_event();
	add_event(blocked_ns, self->active | 1U << component)->external = true;
	return blocked_ns;
}

void kp_sleep(long us)
{
	struct pause pause = pause_clocks();

	check(usleep((useconds_t)us) ? errno : 0, "usleep");
	add_beyond(pause_end(pause, KP_SLEEP) - us * KP_NS);
}

void kp_poll(long us)
{
	struct pause pause = pause_clocks();

	if (poll(NULL, 0, (int)(us / KP_MS)))
		kp_die("poll", errno);
	add_beyond(pause_end(pause, KP_POLL) - us * KP_NS);
}

ssize_t kp_read(int fd, void *buffer, size_t size)
{
	struct pause pause = pause_clocks();
	ssize_t got = read(fd, buffer, size);

	pause_end(pause, KP_READ);
	return got;
}

void kp_sem_timeout(struct kp_sem *sem, long us)
{
	int64_t until_ns = kp_clock_ns(CLOCK_REALTIME) + us * KP_NS;
	struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
	struct pause pause = pause_clocks();

	if (!sem_timedwait(sem->sem, &until) || errno != ETIMEDOUT)
		kp_die("sem_timedwait did not time out", errno);
	add_beyond(pause_end(pause, KP_TIMEOUT) - us * KP_NS);
}

/* Synchronization. Two events for an acquire: arrival, and return with its edges. */

static void hold(int component)
{
	self->held[component]++;
	self->active |= 1U << component;
}

static void unhold(int component)
{
	if (!--self->held[component])
		self->active &= ~(1U << component);
}

static int class_of(const struct kp_mutex *mutex)
{
	return component_of("lock", mutex->name, mutex->named_by_site ? "contains" : "exact");
}

static void mutex_acquired(struct kp_mutex *mutex)
{
	log_event();
	add_edge(self->row, mutex->released);
	hold(class_of(mutex));
}

static void mutex_release(struct kp_mutex *mutex)
{
	mutex->released = log_event();
	unhold(class_of(mutex));
}

void kp_lock(struct kp_mutex *mutex)
{
	log_event();
	check(pthread_mutex_lock(mutex->mutex), "pthread_mutex_lock");
	mutex_acquired(mutex);
}

bool kp_trylock(struct kp_mutex *mutex)
{
	int error = pthread_mutex_trylock(mutex->mutex);

	if (error == EBUSY)
		return false;
	check(error, "pthread_mutex_trylock");
	mutex_acquired(mutex);
	return true;
}

void kp_unlock(struct kp_mutex *mutex)
{
	mutex_release(mutex);
	check(pthread_mutex_unlock(mutex->mutex), "pthread_mutex_unlock");
}

static __attribute__((noinline)) void spin(long spins)
{
	for (long i = 0; i < spins; i++)
		__asm__ volatile("" : : "r"(i));
}

void kp_use(struct kp_mutex *mutex, long uses, long inside_ns, long outside_ns)
{
	long inside = (long)((double)inside_ns * spins_per_ns);
	long outside = (long)((double)outside_ns * spins_per_ns), i;
	int64_t whole_ns, inside_part_ns;

	log_event();
	add_edge(self->row, mutex->released);
	for (i = 0; i < uses; i++) {
		check(pthread_mutex_lock(mutex->mutex), "pthread_mutex_lock");
		spin(inside);
		check(pthread_mutex_unlock(mutex->mutex), "pthread_mutex_unlock");
		spin(outside);
	}
	whole_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - self->cpu_ns;
	self->cpu_ns += whole_ns;
	inside_part_ns = whole_ns * inside / (inside + outside);
	add_event(whole_ns - inside_part_ns, self->active);
	add_event(inside_part_ns, self->active | 1U << class_of(mutex));
	mutex->released = kp_graph_last(self->row);
}

void kp_rdlock(struct kp_rwlock *lock)
{
	log_event();
	check(pthread_rwlock_rdlock(lock->lock), "pthread_rwlock_rdlock");
	log_event();
	add_edge(self->row, lock->write_released);
	hold(component_of("lock", lock->name, "exact"));
}

void kp_rdunlock(struct kp_rwlock *lock)
{
	uint32_t i = atomic_fetch_add(&lock->reads, 1);

	if (i >= KP_TOKENS)
		kp_die("read unlocks", ENOSPC);
	lock->read_released[i] = log_event();
	unhold(component_of("lock", lock->name, "exact"));
	check(pthread_rwlock_unlock(lock->lock), "pthread_rwlock_unlock");
}

void kp_wrlock(struct kp_rwlock *lock)
{
	uint32_t i;

	log_event();
	check(pthread_rwlock_wrlock(lock->lock), "pthread_rwlock_wrlock");
	log_event();
	add_edge(self->row, lock->write_released);
	for (i = 0; i < atomic_load(&lock->reads); i++)
		add_edge(self->row, lock->read_released[i]);
	atomic_store(&lock->reads, 0);
	hold(component_of("lock", lock->name, "exact"));
}

void kp_wrunlock(struct kp_rwlock *lock)
{
	lock->write_released = log_event();
	unhold(component_of("lock", lock->name, "exact"));
	check(pthread_rwlock_unlock(lock->lock), "pthread_rwlock_unlock");
}

void kp_wait(struct kp_cond *cond, struct kp_mutex *mutex)
{
	kp_id before = atomic_load(&cond->signalled), after;

	mutex_release(mutex);
	check(pthread_cond_wait(cond->cond, mutex->mutex), "pthread_cond_wait");
	mutex_acquired(mutex);
	after = atomic_load(&cond->signalled);
	if (after != before)
		add_edge(self->row, after);
}

void kp_signal(struct kp_cond *cond)
{
	atomic_store(&cond->signalled, log_event());
	check(pthread_cond_signal(cond->cond), "pthread_cond_signal");
}

void kp_broadcast(struct kp_cond *cond)
{
	atomic_store(&cond->signalled, log_event());
	check(pthread_cond_broadcast(cond->cond), "pthread_cond_broadcast");
}

void kp_post(struct kp_sem *sem)
{
	if (sem->posts == KP_TOKENS)
		kp_die("posts", ENOSPC);
	sem->posted[sem->posts++] = log_event();
	check(sem_post(sem->sem) ? errno : 0, "sem_post");
}

void kp_sem_wait(struct kp_sem *sem)
{
	log_event();
	check(sem_wait(sem->sem) ? errno : 0, "sem_wait");
	log_event();
	if (sem->waits++ >= sem->initial)
		add_edge(self->row, sem->posted[sem->waits - 1 - sem->initial]);
}

static kp_id sent;

void kp_kill(int sig)
{
	sent = log_event();
	check(kill(getpid(), sig) ? errno : 0, "kill");
}

void kp_suspend(const sigset_t *mask)
{
	log_event();
	sigsuspend(mask);
	log_event();
	add_edge(self->row, sent);
}

/* Who is in round n + 2 has met everybody in round n + 1: none still reads the slots of round n. */
void kp_barrier_wait(struct kp_barrier *barrier, unsigned member, unsigned round)
{
	kp_id *arrived = barrier->arrived[round % 2];
	unsigned i;
	int ret;

	arrived[member] = log_event();
	ret = pthread_barrier_wait(barrier->barrier);
	if (ret != PTHREAD_BARRIER_SERIAL_THREAD)
		check(ret, "pthread_barrier_wait");
	log_event();
	for (i = 0; i < barrier->members; i++)
		add_edge(self->row, arrived[i]);
}

void kp_arrive(void)
{
	log_event();
}

void kp_enqueue(const struct kp_queue *queue, struct kp_item *item)
{
	item->enqueued = log_event();
	CPA_ENQUEUE(queue->address, item);
}

static void process(int component)
{
	if (self->processed)
		unhold(self->processed);
	self->processed = component;
	if (component)
		hold(component);
}

void kp_dequeue(const struct kp_queue *queue, const struct kp_item *item)
{
	log_event();
	add_edge(self->row, item->enqueued);
	process(component_of("queue", queue->name, "exact"));
	CPA_DEQUEUE(queue->address, item);
}

void kp_item_done(const struct kp_queue *queue, const struct kp_item *item)
{
	log_event();
	process(0);
	CPA_ITEM_DONE(queue->address, item);
}

void kp_region_begin(const char *name)
{
	log_event();
	hold(component_of("region", name, "exact"));
	CPA_REGION_BEGIN(name);
}

void kp_region_end(const char *name)
{
	log_event();
	unhold(component_of("region", name, "exact"));
	CPA_REGION_END();
}

kp_id kp_before(const void *address)
{
	kp_id id = log_event();

	CPA_HAPPENS_BEFORE(address);
	return id;
}

void kp_after(const void *address, kp_id before)
{
	log_event();
	add_edge(self->row, before);
	CPA_HAPPENS_AFTER(address);
}

void kp_claim(enum kp_claimed what, const char *component, long us)
{
	if (claim_count == CLAIMS)
		kp_die("claims", ENOSPC);
	claims[claim_count++] = (struct kp_claim){ what, component, us };
}

int kp_finish(void)
{
	struct kp_facts facts = { .graph = &graph,
				  .components = components,
				  .count = component_count,
				  .claims = claims,
				  .claim_count = claim_count,
				  .begin_ns = begin_ns,
				  .constructors_ns = constructors_ns,
				  .component = self->component };

	log_event();
	facts.beyond_ns = beyond_ns;
	facts.cpu_ns = self->cpu_ns;
	facts.last = kp_graph_last(self->row);
	return kp_expect(&facts);
}
