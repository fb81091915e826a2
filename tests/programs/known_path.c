/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_path.c - the recorder: events, threads, work, and time outside
 * synchronization
 *
 * See known_path.h; the search is in known_graph.h, what is made of it in known_expect.c.
 */
#include "tests/programs/known_record.h"

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

static struct kp_graph graph;
static struct kp_named components[KP_COMPONENTS] = {
	[KP_WORK_MAIN] = { "function", "work_main", "exact" },
	[KP_WORK_A] = { "function", "work_a", "exact" },
	[KP_WORK_B] = { "function", "work_b", "exact" },
	[KP_WORK_C] = { "function", "work_c", "exact" },
	[KP_WORK_D] = { "function", "work_d", "exact" },
	[KP_SLEEP] = { "external", "sleep", "exact" },
	[KP_POLL] = { "external", "poll", "exact" },
	[KP_TIMEOUT] = { "external", "timeout", "exact" },
};
static int component_count = KP_FIRST_FREE;
/* Not a pthread lock: that would be one more edge in the graph. */
static atomic_flag component_guard = ATOMIC_FLAG_INIT;
static struct kp_claim claims[CLAIMS];
static unsigned claim_count;
static _Atomic int64_t beyond_ns; /* by which work and pauses were longer than asked for */
static int64_t begin_ns, before_main_ns;
_Thread_local struct kp_thread *kp_self;
double kp_spins_per_ns;

void kp_die(const char *what, int error)
{
	fprintf(stderr, "known_path: %s: %s\n", what, strerror(error));
	exit(2);
}

void kp_check(int error, const char *what)
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

int kp_component_of(const char *kind, const char *name, const char *match)
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

struct kp_event *kp_add_event(int64_t weight_ns, uint32_t active)
{
	kp_id id = kp_graph_add_event(kp_self->row, weight_ns, active);
	struct kp_event *event;

	if (!id)
		kp_die("events", ENOSPC);
	event = kp_graph_event(&graph, id);
	event->at_ns = kp_clock_ns(CLOCK_MONOTONIC);
	return event;
}

void kp_add_edge(struct kp_row *row, kp_id from)
{
	if (from && !kp_graph_add_edge(row, from))
		kp_die("edges", ENOSPC);
}

kp_id kp_log_event(void)
{
	int64_t cpu_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	kp_add_event(cpu_ns - kp_self->cpu_ns, kp_self->active);
	kp_self->cpu_ns = cpu_ns;
	return kp_graph_last(kp_self->row);
}

static struct kp_thread *thread_new(const char *start_routine)
{
	struct kp_thread *thread = calloc(1, sizeof(*thread));

	if (thread)
		thread->row = kp_graph_add_row(&graph);
	if (!thread || !thread->row)
		kp_die("threads", ENOMEM);
	thread->component = kp_component_of("thread", start_routine, "exact");
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
	kp_spins_per_ns =
		CALIBRATE_SPINS / (double)(kp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
}

/*
 * Before any library's constructor: the run begins. The CPU time up to main() is not on the path:
 * the kernel's exec, the loader, and the constructor of a preloaded profiler.
 */
static void before_constructors(void)
{
	begin_ns = kp_clock_ns(CLOCK_MONOTONIC);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_constructors;

void kp_begin(void)
{
	before_main_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	kp_self = thread_new("main");
	kp_self->cpu_ns = before_main_ns;
	calibrate();
}

struct kp_thread *kp_thread_create(void *(*start)(void *), const char *name, void *arg)
{
	struct kp_thread *thread = thread_new(name);

	thread->arg = arg;
	kp_add_edge(thread->row, kp_log_event());
	kp_check(pthread_create(&thread->handle, NULL, start, thread), "pthread_create");
	return thread;
}

void *kp_enter(void *thread)
{
	kp_self = thread;
	kp_self->row->event[0].at_ns = kp_clock_ns(CLOCK_MONOTONIC);
	return kp_self->arg;
}

void *kp_leave(void)
{
	if (kp_self->schedstat >= 0)
		close(kp_self->schedstat);
	kp_log_event();
	return NULL;
}

void kp_join(struct kp_thread *thread)
{
	kp_log_event();
	kp_check(pthread_join(thread->handle, NULL), "pthread_join");
	kp_log_event();
	kp_add_edge(kp_self->row, kp_graph_last(thread->row));
}

void kp_detach(struct kp_thread *thread)
{
	kp_check(pthread_detach(thread->handle), "pthread_detach");
}

static void add_beyond(int64_t ns)
{
	if (ns > 0)
		atomic_fetch_add(&beyond_ns, ns);
}

/* No function here is like another one: the component differs. So none are folded into one. */
#define WORK(name, number)                                                              \
	__attribute__((noinline)) void name(long us)                                    \
	{                                                                               \
		int64_t end_ns, left_ns = us * KP_NS;                                   \
		long i, spins;                                                          \
                                                                                        \
		kp_log_event();                                                         \
		kp_self->active |= 1U << (number);                                      \
		end_ns = kp_self->cpu_ns + left_ns;                                     \
		while (left_ns > BURN_CLOSE_NS) {                                       \
			spins = (long)((double)left_ns * kp_spins_per_ns * BURN_SHARE); \
			for (i = 0; i < spins; i++)                                     \
				__asm__ volatile("" : : "r"(i));                        \
			left_ns = end_ns - kp_clock_ns(CLOCK_THREAD_CPUTIME_ID);        \
		}                                                                       \
		kp_graph_event(&graph, kp_log_event())->asked_ns = us * KP_NS;          \
		kp_self->active &= ~(1U << (number));                                   \
		add_beyond(kp_self->cpu_ns - end_ns);                                   \
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

	if (kp_self->schedstat < 0)
		kp_self->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(kp_self->schedstat, text, sizeof(text) - 1, 0) <= 0 ||
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
	bool sleeps = component == KP_SLEEP; /* other kinds are idle time */
	struct kp_event *event;

	blocked_ns = blocked_ns > 0 ? blocked_ns : 0;
	kp_log_event();
	event = kp_add_event(sleeps ? blocked_ns : 0, kp_self->active | 1U << component);
	event->external = true;
	event->idle_ns = sleeps ? 0 : blocked_ns;
	return blocked_ns;
}

void kp_sleep(long us)
{
	struct pause pause = pause_clocks();

	kp_check(usleep((useconds_t)us) ? errno : 0, "usleep");
	add_beyond(pause_end(pause, KP_SLEEP) - us * KP_NS);
}

void kp_poll(long us)
{
	struct pause pause = pause_clocks();

	if (poll(NULL, 0, (int)(us / KP_MS)))
		kp_die("poll", errno);
	add_beyond(pause_end(pause, KP_POLL) - us * KP_NS);
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
				  .before_main_ns = before_main_ns,
				  .component = kp_self->component };

	kp_log_event();
	facts.beyond_ns = beyond_ns;
	facts.cpu_ns = kp_self->cpu_ns;
	facts.last = kp_graph_last(kp_self->row);
	return kp_expect(&facts);
}
