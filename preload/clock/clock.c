/* SPDX-License-Identifier: MIT */
#include "preload/clock/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <time.h>
#include <unistd.h>

#include "preload/clock/brief.h"
#include "preload/clock/delay.h"
#include "preload/clock/ready.h"
#include "preload/clock/source.h"
#include "shadow/store/kernel.h"
#include "shadow/store/timespec.h"

#define MS		1000000u
#define REBASE		(4 * MS)
#define LOOKS_OF_LONG	333u /* looks at the kernel's clock: longer activities end with one */
#define LOOKS_OF_ASKING 4u   /* cost of asking the kernel for the kind of a gap, in looks, about */
#define SLEEPS		5u   /* sleeps that test the detector and measure a wake */
#define SLEEPS_MOST	50u  /* with sleeps that ended before a switch: after each, twice as long */
#define SLEEP		1000u /* ns, at first */
#define SLEEP_MOST	MS
#define WAKE_MOST	200000u /* ns: a wake that took longer waited for a processor */
#define SKIPS		64u	/* operations of ours for one that is measured, after */
#define FIRST		8u	/* the first of a thread, all measured: they meet cold memory */
#define PROBE_MOST	64u	/* upper bound of an operation, in readings of the counter */
#define LOOKS		8u	/* tries, of which the shortest counts */
#define LAST_DESCRIPTOR 1000	/* room of the descriptor table: more than most have threads */

uint64_t cpa_clock_armed, cpa_clock_never_armed;
uint64_t cpa_clock_rebase_ticks;
uint64_t cpa_clock_long_ticks;

static uint64_t probe_most; /* ticks */

/*
 * A gap of fewer ticks is not asked about: it is the imprecision of two clocks, an interrupt, or
 * shorter than the question.
 */
static uint64_t no_switch;

/*
 * Ticks per 2^20 ns; gets more precise as the run gets longer. Relaxed atomic: any recent value
 * will do.
 */
static uint64_t rate;

/* The counter and CLOCK_MONOTONIC when our constructor began. */
static uint64_t start_ticks, start_ns;

/*
 * An rseq critical section that contains no instruction. The kernel wants the signature in front of
 * the abort address.
 */
static const uint32_t signature[2] = { RSEQ_SIG, RSEQ_SIG };
static struct rseq_cs never __attribute__((aligned(32)));

uint64_t cpa_clock_ticks(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * __atomic_load_n(&rate, __ATOMIC_RELAXED) >> 20);
}

uint32_t cpa_clock_ns(uint64_t ticks)
{
	uint64_t ns = (uint64_t)(((unsigned __int128)ticks << 20) /
				 __atomic_load_n(&rate, __ATOMIC_RELAXED));

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

uint64_t cpa_clock_when(clockid_t clock, uint64_t then)
{
	uint64_t now = cpa_clock_now(), ns = cpa_machine_ns(clock);

	return then < ns ? now - cpa_clock_ticks(ns - then) : now;
}

uint64_t cpa_clock_at(clockid_t clock, const struct timespec *t, uint64_t now)
{
	uint64_t ns = cpa_machine_ns(clock), then = cpa_timespec_ns(t);
	uint64_t ago = then < ns ? cpa_clock_ticks(ns - then) : 0;

	return ago < now ? now - ago : 0;
}

/*
 * Sleep for @ns, with *@word armed unless it is NULL. Return by how many ns the sleep ended late, or 0: it
 * ended before the thread was switched out, and tells nothing.
 */
static uint64_t sleep_late(volatile uint64_t *word, uint64_t ns)
{
	long before = cpa_machine_counts().given, after;
	uint64_t begun, took;

	if (word)
		*word = cpa_clock_armed;
	begun = cpa_machine_ns(CLOCK_MONOTONIC);
	cpa_machine_sleep(ns);
	took = cpa_machine_ns(CLOCK_MONOTONIC) - begun;
	after = cpa_machine_counts().given;
	return after != before && took > ns ? took - ns : 0;
}

/*
 * Sleep a few times. Return whether the kernel cleared the thread's word each time. *@late: by how
 * many ns a sleep ends late. It is the second shortest of them: another timer's interrupt may end a
 * sleep early, and other threads may delay some.
 */
static bool rseq_detects(uint64_t *late)
{
	volatile uint64_t *word = cpa_machine_detector();
	uint64_t least = UINT64_MAX, second = UINT64_MAX, ns = SLEEP;
	unsigned slept = 0;
	bool detects = word != NULL;

	for (unsigned i = 0; i < SLEEPS_MOST && slept < SLEEPS; i++) {
		uint64_t one = sleep_late(word, ns);

		if (!one) {
			ns = ns < SLEEP_MOST / 2 ? 2 * ns : SLEEP_MOST;
			continue;
		}
		slept++;
		detects = detects && !*word;
		if (one < least) {
			second = least;
			least = one;
		} else if (one < second) {
			second = one;
		}
	}
	*late = slept > 1 ? second : 0;
	return detects && slept == SLEEPS;
}

/*
 * Cost of a wake, ns, if sleeps end by @late ns late and a reading of the clock, which takes
 * @look_ns, is included. Where others have the processors each sleep may end milliseconds late. Switches are
 * no slower for that: later sleeps of that length would be taken for preemptions.
 */
static uint32_t wake_of(uint64_t late, uint32_t look_ns)
{
	uint64_t slack = cpa_machine_slack();

	late = late > look_ns ? late - look_ns : 0;
	/* A real-time thread has no slack, whatever value the kernel shows. */
	late = late > slack ? late - slack : late;
	return late < WAKE_MOST ? (uint32_t)late : WAKE_MOST;
}

/* Read the counter and CLOCK_MONOTONIC at one moment, as precisely as possible. */
static void both(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = cpa_clock_now(), n = cpa_machine_ns(CLOCK_MONOTONIC);
		uint64_t after = cpa_clock_now();

		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*ns = n;
		}
	}
}

static void set_limits(void)
{
	const struct cpa_machine *m = &cpa_header()->machine;
	uint64_t look = cpa_clock_ticks(m->look_ns), most;

	cpa_clock_rebase_ticks = most = cpa_clock_ticks(REBASE);
	cpa_clock_long_ticks = LOOKS_OF_LONG * look < most ? LOOKS_OF_LONG * look : most;
	no_switch = LOOKS_OF_ASKING * look;
	cpa_ready_init();
	probe_most = cpa_clock_ticks(PROBE_MOST * m->counter_ns);
}

/*
 * Measure the cost of reading the counter and the kernel's clock. Takes some 10 us, mostly in the
 * kernel.
 */
static void measure_looks(struct cpa_machine *m)
{
	uint64_t counter = UINT64_MAX, look = UINT64_MAX;

	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t begun = cpa_clock_now(), one = cpa_clock_now() - begun, two;

		cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
		two = cpa_clock_now() - begun - one;
		counter = one < counter ? one : counter;
		look = two < look ? two : look;
	}
	/* Rounded up: limits are multiples of them, and must not be 0. */
	m->counter_ns = cpa_clock_ns(counter) + 1;
	m->look_ns = cpa_clock_ns(look > counter ? look - counter : 0) + 1;
}

static void set_rate(uint64_t ticks, uint64_t ns)
{
	__atomic_store_n(&rate, (uint64_t)(((unsigned __int128)ticks << 20) / ns),
			 __ATOMIC_RELAXED);
}

void cpa_clock_begin(void)
{
	cpa_source_begin();
	both(&start_ticks, &start_ns);
	cpa_ready_begin();
}

/*
 * Make the kernel enlarge the descriptor table for our files while there is one thread. Later it
 * would stop the thread that does so for an RCU grace period, some 10 ms.
 */
static void grow_descriptors(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	syscall(SYS_close, syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LAST_DESCRIPTOR));
	syscall(SYS_close, fd);
}

/* Set up the detector of switches. */
static void arm(void)
{
	grow_descriptors();
	never.start_ip = 1; /* no page is mapped there */
	never.post_commit_offset = 1;
	never.abort_ip = (uintptr_t)&signature[1];
	cpa_clock_armed = (uintptr_t)&never;
}

void cpa_clock_join(void)
{
	const struct cpa_header *h = cpa_header();
	uint64_t ticks = 0, ns = 0;

	arm();
	cpa_source_follow();
	both(&ticks, &ns);
	if (ticks > h->start_ticks && ns > h->start_ns)
		set_rate(ticks - h->start_ticks, ns - h->start_ns);
	set_limits();
}

void cpa_clock_init(void)
{
	struct cpa_header *h = cpa_header();
	uint64_t ticks = 0, ns = 0, late;

	arm();
	cpa_source_init();
	h->start_ticks = start_ticks;
	h->start_ns = start_ns;
	h->start_real_ns = cpa_timespec_now_ns(CLOCK_REALTIME);
	h->clock = rseq_detects(&late) ? CPA_CLOCK_RSEQ : CPA_CLOCK_SYSCALL;
	do
		both(&ticks, &ns);
	while (ns - h->start_ns < MS / 2);
	set_rate(ticks - h->start_ticks, ns - h->start_ns);
	h->last_ticks = ticks;
	h->last_ns = ns;
	measure_looks(&h->machine);
	h->machine.wake_ns = wake_of(late, h->machine.look_ns);
	set_limits();
}

void cpa_clock_note(uint64_t now, bool always)
{
	struct cpa_header *h = cpa_header();
	uint64_t old = __atomic_load_n(&h->last_ticks, __ATOMIC_RELAXED);
	uint64_t ticks = 0, ns = 0;

	cpa_source_follow();
	if (!always && now < old + 25 * cpa_clock_rebase_ticks)
		return;
	cpa_source_check();
	both(&ticks, &ns);
	/*
	 * Relaxed: one thread wins and writes the other half. A reader may pair a new half with an
	 * old one, and corrects that in the next round.
	 */
	if (!__atomic_compare_exchange_n(&h->last_ticks, &old, ticks, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	h->last_ns = ns;
	set_rate(ticks - h->start_ticks, ns - h->start_ns);
}

uint64_t cpa_clock_ask(struct cpa_clock *c, uint64_t *now, bool *lost)
{
	bool detects = cpa_clock_detects(c);
	uint64_t cpu;
	int tries = 0;

	*lost = !detects;
	do {
		uint64_t before;

		/* Only if it is not armed: a switch at this moment would be forgotten. */
		if (detects && cpa_clock_switched(c)) {
			*lost = true;
			*c->detector = cpa_clock_armed;
		}
		before = cpa_clock_now();
		cpu = cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
		*now = cpa_clock_now();
		*now = before + (*now - before) / 2;
		/* Again if the thread was switched out between the two: they would not match. */
	} while (detects && cpa_clock_switched(c) && ++tries < 3);
	*lost = *lost || cpa_clock_switched(c);
	return cpu;
}

/*
 * Divide @gap ticks without a processor, up to @now, into run-queue and external time: *@e. @blocked: the thread
 * waited.
 */
static void divide(struct cpa_clock *c, struct cpa_elapsed *e, uint64_t gap, bool blocked,
		   uint64_t now)
{
	/*
	 * Also after a switch within rebase(): its delay would else be taken for one of the next block, and
	 * a whole sleep for time on the run queue.
	 */
	if (blocked || gap > no_switch)
		e->runqueue = cpa_ready_part(c, gap, blocked, now);
	else
		e->runqueue = gap;
	/* The rest of a preemption is the switch itself. */
	if (!blocked && e->runqueue && gap - e->runqueue < cpa_ready_switch)
		e->runqueue = gap;
	e->external = gap - e->runqueue;
}

uint64_t cpa_clock_stamp_slow(struct cpa_clock *c, struct cpa_elapsed *e, bool blocked,
			      uint64_t now)
{
	bool due = blocked || cpa_clock_due(c, now);
	long device = c->counts.device;
	uint64_t cpu, wall, gap, stamp, known, ahead, repaid = 0;
	int err = errno;
	bool lost;

	if (unlikely(!cpa_kernel_begin())) { /* the profile has ended: report no time */
		*e = (struct cpa_elapsed){ 0 };
		return c->last;
	}
	cpu = cpa_clock_ticks(cpa_clock_ask(c, &now, &lost));
	stamp = cpa_clock_stamp_of(c, now);
	cpu += stamp - now; /* the kernel's clock has moved on as well by then */
	now = stamp;
	wall = now - c->last;
	if (!blocked && !lost && c->guessed_waits.calls)
		cpa_brief_settle(c, cpu, wall > c->ahead ? wall - c->ahead : 0);
	else if (blocked && cpu < c->cpu)
		cpa_brief_return(c, cpu);
	known = c->cpu;
	e->process = cpu > known ? cpu - known : 0;
	if (e->process > wall)
		e->process = wall;
	c->cpu = known + e->process;
	c->guessed = c->guessed && c->cpu < cpu; /* the rest is in the next call */
	cpa_brief_forget(c);
	gap = wall - e->process;
	ahead = c->cpu > cpu ? c->cpu - cpu : 0;
	/* Run-queue time, as in cpa_clock_stamp_at(). If it was a preemption, cpa_ready_taken() has it. */
	if (!blocked && ahead < c->ahead)
		repaid = c->ahead - ahead < gap ? c->ahead - ahead : gap;
	c->ahead = ahead;
	divide(c, e, gap - repaid, blocked, now);
	e->runqueue += repaid;
	e->device = c->counts.device != device;
	c->last = now;
	if (due || gap > no_switch) {
		c->rebased = c->resumed = now;
		c->tick++;
	}
	cpa_diag(CPA_DIAG_CLOCK_SLOW);
	cpa_clock_note(now, false);
	cpa_kernel_end();
	errno = err;
	return now;
}

struct cpa_clock_gap cpa_clock_hide(struct cpa_clock *c)
{
	struct cpa_clock_gap gap = { .begun = cpa_clock_now() };
	int err = errno;

	if (unlikely(!cpa_kernel_begin()))
		return gap;
	gap.cpu_ns = cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
	gap.counts = cpa_machine_counts();
	gap.reads = cpa_delay_read(c, &gap.delay_ns);
	cpa_kernel_end();
	errno = err;
	return gap;
}

/*
 * The activity in which the gap lies may have lost its processor before it, and its next stamp must
 * still find that. So the counts and the delay go on by their growth during the gap only.
 */
void cpa_clock_hidden(struct cpa_clock *c, const struct cpa_clock_gap *gap, struct cpa_elapsed *e)
{
	int err = errno;
	uint64_t delay, ready = 0, wall, without;
	struct cpa_machine_counts counts;
	bool reads;

	if (unlikely(!cpa_kernel_begin())) { /* as in cpa_clock_stamp_slow(): report no time */
		*e = (struct cpa_elapsed){ 0 };
		return;
	}
	/*
	 * Not read before the gap: not read now either. It would open the file again if the program
	 * has closed it.
	 */
	reads = gap->reads && cpa_delay_read(c, &delay);
	counts = cpa_machine_counts();
	e->process = cpa_clock_ticks(cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID) - gap->cpu_ns);
	wall = cpa_clock_now() - gap->begun;
	if (e->process > wall)
		e->process = wall;
	without = wall - e->process;
	if (reads) {
		ready = cpa_clock_ticks(delay - gap->delay_ns);
		c->delay_ns += delay - gap->delay_ns;
	} else {
		c->unread += without; /* to be shared out when the delay is read next */
	}
	e->runqueue = counts.given == gap->counts.given || ready > without ? without : ready;
	e->external = without - e->runqueue;
	e->device = counts.device != gap->counts.device;
	c->last += wall;
	c->cpu += e->process;
	c->counts.given += counts.given - gap->counts.given;
	c->counts.taken += counts.taken - gap->counts.taken;
	c->counts.device += counts.device - gap->counts.device;
	cpa_kernel_end();
	errno = err;
}

void cpa_clock_measure(struct cpa_clock *c, struct cpa_elapsed *e)
{
	uint64_t begun = c->last - c->lead, took;

	cpa_clock_stamp(c, e);
	took = c->last - c->lead - begun;
	/*
	 * First the shortest of a few; then a moving mean, without operations that were
	 * interrupted.
	 */
	if (c->first) {
		c->first--;
		if (!c->probe || took < c->probe / 16)
			c->probe = 16 * (uint32_t)(took < probe_most ? took : probe_most);
	} else if (took < c->probe / 4 + probe_most / 8) {
		c->probe += (uint32_t)took - c->probe / 16;
	}
	c->skips = c->first ? 1 : SKIPS;
}

void cpa_clock_settle(struct cpa_clock *c)
{
	uint64_t now, cpu;
	bool lost;

	cpa_ready_count(c);
	cpu = cpa_clock_ask(c, &now, &lost);
	c->last = c->rebased = now;
	c->cpu = cpa_clock_ticks(cpu);
}

void cpa_clock_start(struct cpa_clock *c)
{
	/* A process that joins may have a C library without rseq. */
	c->detector = cpa_header()->clock == CPA_CLOCK_RSEQ ? cpa_machine_detector() : NULL;
	if (!c->detector)
		c->detector = &cpa_clock_never_armed;
	c->schedstat = -1; /* opened when first needed; the delay counts from the thread's start */
	c->skips = 1;	   /* measure the first operation */
	c->first = FIRST;
	c->probe = 0;
	c->ahead = 0;
	c->lead = 0;
	c->last = c->rebased = cpa_clock_now();
	c->resumed = 0;
	c->guesses = 0;
	c->guessed = false;
	cpa_brief_forget(c);
	c->unsettled = 0;
	memset(c->usual, 0, sizeof(c->usual));
	if (unlikely(!cpa_kernel_begin())) /* as in cpa_clock_stamp_slow() */
		return;
	cpa_clock_settle(c);
	cpa_kernel_end();
}

uint64_t cpa_clock_delay(struct cpa_clock *c)
{
	int err = errno;

	if (likely(cpa_kernel_begin())) {
		cpa_delay_read(c, &c->delay_ns);
		cpa_kernel_end();
	}
	errno = err;
	return cpa_clock_ticks(c->delay_ns);
}

void cpa_clock_stop(struct cpa_clock *c)
{
	/* The program may have closed it and opened a file of its own at the number. */
	if (c->schedstat >= 0 && cpa_kernel_begin()) {
		cpa_delay_close(c);
		cpa_kernel_end();
	}
	c->schedstat = -2;
}
