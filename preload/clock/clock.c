/* SPDX-License-Identifier: MIT */
#include "preload/clock/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/libc/fd_guard.h"
#include "preload/clock/source.h"
#include "shadow/store/kernel.h"
#include "shadow/store/timespec.h"

#define MS		 1000000u
#define REBASE		 (4 * MS)
#define LOOKS_OF_LONG	 333u /* activities so long, in looks, end with one: 0.3 % */
#define LOOKS_OF_ASKING	 4u   /* looks that asking the kernel for the kind of a gap takes, about */
#define SHORT_GAP	 50000u /* ns */
#define SLEEPS		 5u	/* sleeps that test the detector, and tell what a wake takes */
#define SLEEPS_MOST	 50u	/* with those that were over before the thread was switched out */
#define SKIPS		 64u	/* operations of ours to one that is measured, but for */
#define FIRST		 8u	/* the first of a thread, many of which meet cold memory */
#define PROBE_MOST	 64u	/* looks at the counter: an operation of ours, to begin with */
#define LOOKS		 8u	/* the shortest of so many is what one takes */
#define LAST_DESCRIPTOR	 1000	/* of as many threads as most programs have */
#define FIRST_DESCRIPTOR 500	/* ours are out of the way of programs that count theirs */

uint64_t cpa_clock_armed;
uint64_t cpa_clock_rebase_ticks;
uint64_t cpa_clock_long_ticks;

static uint64_t probe_most; /* ticks */

/*
 * Ticks without a processor that are no switch: they are the imprecision of two clocks, or an
 * interrupt, or too few to ask what they were.
 */
static uint64_t no_switch;

/* Ticks that a switch takes at most, with what the thread then finds cold. */
static uint64_t switch_ticks;

/* Ticks per 2^20 ns, refined as the run gets longer. Relaxed: any recent value will do. */
static uint64_t rate;

/* The two clocks when our constructor began. */
static uint64_t start_ticks, start_ns;

/*
 * An rseq critical section that no instruction lies in. The signature precedes the abort address.
 */
static const uint32_t signature[2] = { RSEQ_SIG, RSEQ_SIG };
static struct rseq_cs never __attribute__((aligned(32)));

/* The word of threads that must ask the kernel each time: it never equals cpa_clock_armed. */
static uint64_t never_armed;

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
 * Sleep, with *@word armed unless it is NULL. Return how long after its end at the earliest the sleep
 * was over, in ns; 0: it was over before the thread gave its processor up, and tells nothing.
 */
static uint64_t sleep_late(volatile uint64_t *word)
{
	long before, after, taken;
	uint64_t begun, took;

	cpa_machine_switches(&before, &taken);
	if (word)
		*word = cpa_clock_armed;
	begun = cpa_machine_ns(CLOCK_MONOTONIC);
	cpa_machine_sleep();
	took = cpa_machine_ns(CLOCK_MONOTONIC) - begun;
	cpa_machine_switches(&after, &taken);
	return after != before && took > CPA_MACHINE_SLEEP ? took - CPA_MACHINE_SLEEP : 0;
}

/*
 * Sleep a few times. Return whether the thread found its word cleared each time. *@late: how late a
 * sleep ends. That is the second shortest: the interrupt of another timer may have ended one early,
 * and some may have been longer because other threads had the processor.
 */
static bool rseq_detects(uint64_t *late)
{
	volatile uint64_t *word = cpa_machine_detector();
	uint64_t least = UINT64_MAX, second = UINT64_MAX;
	unsigned slept = 0;
	bool detects = word != NULL;

	for (unsigned i = 0; i < SLEEPS_MOST && slept < SLEEPS; i++) {
		uint64_t one = sleep_late(word);

		if (!one)
			continue;
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

/* What a wake takes, ns, where a sleep ends @late, with a look at the clock of @look_ns in it. */
static uint32_t wake_of(uint64_t late, uint32_t look_ns)
{
	uint64_t slack = cpa_machine_slack();

	late = late > look_ns ? late - look_ns : 0;
	/* A real-time thread has no slack, whatever the kernel tells. */
	late = late > slack ? late - slack : late;
	return late < UINT32_MAX ? (uint32_t)late : UINT32_MAX;
}

/* The counter against CLOCK_MONOTONIC, tightly. */
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
	switch_ticks = cpa_clock_ticks(m->wake_ns);
	probe_most = cpa_clock_ticks(PROBE_MOST * m->counter_ns);
}

/* What looks take here: some 10 us for it, most of them in the kernel. */
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
	/* Rounded up: each is a part of what it limits. */
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
}

/*
 * Have the kernel make the descriptor table large enough for ours while there is one thread: later
 * it would stop the thread that makes it grow for an RCU grace period, some 10 ms.
 */
static void grow_descriptors(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	syscall(SYS_close, syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LAST_DESCRIPTOR));
	syscall(SYS_close, fd);
}

/* What detects that a thread was switched out. */
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
	uint64_t ticks, ns;

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
	uint64_t ticks, ns, late;

	arm();
	cpa_source_init();
	h->start_ticks = start_ticks;
	h->start_ns = start_ns;
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
	uint64_t old = __atomic_load_n(&h->last_ticks, __ATOMIC_RELAXED), ticks, ns;

	cpa_source_follow();
	if (!always && now < old + 25 * cpa_clock_rebase_ticks)
		return;
	cpa_source_check();
	both(&ticks, &ns);
	/* Relaxed: one thread wins and writes the other half; a reader may miss by one round. */
	if (!__atomic_compare_exchange_n(&h->last_ticks, &old, ticks, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	h->last_ns = ns;
	set_rate(ticks - h->start_ticks, ns - h->start_ns);
}

/* 0 if @fd is not open. */
static uint64_t inode(int fd)
{
	struct stat s;

	return cpa_kernel(SYS_fstat, fd, &s) ? 0 : s.st_ino;
}

/* Close the thread's schedstat file where it is still at @fd, and not one of the program's. */
static void close_delay(const struct cpa_clock *c, int fd)
{
	uint64_t there = inode(fd);

	if (there == c->file || (!there && errno != EBADF))
		cpa_kernel(SYS_close, fd);
}

static void open_delay(struct cpa_clock *c)
{
	int fd = (int)cpa_kernel(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat",
				 O_RDONLY | O_CLOEXEC);

	c->schedstat = -2;
	if (fd < 0)
		return;
	c->file = inode(fd);
	if (!c->file) {
		if (errno != EBADF)
			cpa_kernel(SYS_close, fd);
		return;
	}
	c->schedstat = (int)cpa_kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (c->schedstat < 0) /* few descriptors are allowed: none for us */
		c->schedstat = -2;
	close_delay(c, fd);
}

/*
 * The thread's run-queue delay in ns: the second number of its schedstat file. The descriptor may
 * have been closed by the program, even used for a file of its own: reading at offset 0 disturbs
 * nobody, and what does not parse is not believed.
 */
static bool read_delay(struct cpa_clock *c, uint64_t *delay)
{
	char text[96], *p;
	ssize_t n;

	if (c->schedstat == -2)
		return false;
	if (c->schedstat == -1) {
		sigset_t signals;

		if (!cpa_fd_guard_begin(&signals))
			return false;
		open_delay(c);
		cpa_fd_guard_end(&signals);
	}
	n = cpa_machine_read(c->schedstat, text, sizeof(text) - 1);
	if (n <= 0) {
		c->schedstat = c->schedstat >= 0 && errno == EBADF ? -1 : -2;
		return false;
	}
	text[n] = '\0';
	for (p = text; *p >= '0' && *p <= '9'; p++)
		;
	if (*p != ' ' || p == text)
		return false;
	*delay = 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		*delay = *delay * 10 + (uint64_t)(*p - '0');
	return *p == ' ';
}

/* CPU time in ns and the counter at the same moment, the detector armed if there is one. */
static uint64_t rebase(struct cpa_clock *c, uint64_t *now)
{
	bool detects = c->detector != &never_armed;
	uint64_t cpu;
	int tries = 0;

	do {
		uint64_t before;

		if (detects)
			*c->detector = cpa_clock_armed;
		before = cpa_clock_now();
		cpu = cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
		*now = cpa_clock_now();
		*now = before + (*now - before) / 2;
		/* Switched out in between: the pair does not belong together. */
	} while (detects && cpa_clock_switched(c) && ++tries < 3);
	return cpu;
}

static void count_switches(struct cpa_clock *c)
{
	cpa_machine_switches(&c->given, &c->taken);
	c->waited = false;
}

/*
 * How the thread lost its processor: both counts may be those of waits, if it was not asked after.
 */
enum loss { GIVEN, TAKEN, EITHER };

static enum loss loss(struct cpa_clock *c)
{
	long given = c->given, taken = c->taken;
	bool waited = c->waited;

	count_switches(c);
	if (c->given == given && given >= 0)
		return TAKEN;
	return waited && c->taken != taken ? EITHER : GIVEN;
}

/*
 * Of a @gap without a processor: how long the thread was ready to run. Asking the kernel costs more
 * than a microsecond, so short waits (@blocked) and blocks are left until there is a millisecond of
 * them, and have their share of the delay counted with the gap that comes last. One that did not
 * give its processor up by itself was not blocked: some kernels (seen: 6.18) miss a part of that
 * delay, though not half of what it has beyond a switch, which tells where the counts do not.
 */
static uint64_t ready_part(struct cpa_clock *c, uint64_t gap, bool blocked)
{
	uint64_t delay, ready;
	bool brief;
	enum loss how = GIVEN;

	c->unread += gap;
	brief = gap < cpa_clock_ticks(SHORT_GAP) && c->unread < cpa_clock_ticks(MS);
	if (blocked && brief)
		c->waited = true;
	else if (blocked)
		count_switches(c);
	else
		how = loss(c);
	if ((how == GIVEN && brief) || !read_delay(c, &delay))
		return 0;
	ready = cpa_clock_ticks(delay - c->delay_ns);
	if (c->unread > gap)
		ready = (uint64_t)((unsigned __int128)ready * gap / c->unread);
	if (how == EITHER && 2 * ready + switch_ticks > gap)
		how = TAKEN;
	c->delay_ns = delay;
	c->unread = 0;
	if (cpa_clock_switched(c)) /* reading the file slept: that tells nothing of the next gap */
		count_switches(c);
	return how == TAKEN || ready > gap ? gap : ready;
}

uint64_t cpa_clock_stamp_slow(struct cpa_clock *c, struct cpa_elapsed *e, bool blocked,
			      uint64_t now)
{
	bool due = blocked || cpa_clock_due(c, now), switched = cpa_clock_switched(c);
	uint64_t cpu, wall, gap, stamp, known = c->cpu;
	int err = errno;

	if (unlikely(!cpa_kernel_begin())) { /* the profile has ended: no time passes */
		*e = (struct cpa_elapsed){ 0 };
		return c->last;
	}
	cpu = cpa_clock_ticks(rebase(c, &now));
	stamp = cpa_clock_stamp_of(c, now);
	cpu += stamp - now; /* by then the kernel's clock will have moved on, too */
	now = stamp;
	wall = now - c->last;
	e->process = cpu > known ? cpu - known : 0;
	if (e->process > wall)
		e->process = wall;
	c->cpu = known + e->process;
	c->ahead = c->cpu > cpu ? c->cpu - cpu : 0;
	gap = wall - e->process;
	e->runqueue = 0;
	if (blocked || (switched && gap > no_switch))
		e->runqueue = ready_part(c, gap, blocked);
	else
		e->runqueue = gap;
	/* What is left of a preemption is the switch itself. */
	if (!blocked && e->runqueue && gap - e->runqueue < switch_ticks)
		e->runqueue = gap;
	e->external = gap - e->runqueue;
	c->last = now;
	if (due || gap > no_switch) {
		c->rebased = now;
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
	cpa_machine_switches(&gap.given, &gap.taken);
	gap.reads = read_delay(c, &gap.delay_ns);
	cpa_kernel_end();
	errno = err;
	return gap;
}

/*
 * What the thread lost before, in the activity that this is in the midst of, its next stamp must
 * still find: the counts and the delay go on by what they grew here.
 */
void cpa_clock_hidden(struct cpa_clock *c, const struct cpa_clock_gap *gap, struct cpa_elapsed *e)
{
	int err = errno;
	uint64_t delay, ready = 0, wall, without;
	long given, taken;
	bool reads;

	if (unlikely(!cpa_kernel_begin())) { /* as in cpa_clock_stamp_slow() */
		*e = (struct cpa_elapsed){ 0 };
		return;
	}
	/*
	 * If not before, not now: where the program has closed our file, it would be opened again.
	 */
	reads = gap->reads && read_delay(c, &delay);
	cpa_machine_switches(&given, &taken);
	e->process = cpa_clock_ticks(cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID) - gap->cpu_ns);
	wall = cpa_clock_now() - gap->begun;
	if (e->process > wall)
		e->process = wall;
	without = wall - e->process;
	if (reads) {
		ready = cpa_clock_ticks(delay - gap->delay_ns);
		c->delay_ns += delay - gap->delay_ns;
	} else {
		c->unread += without; /* they share what is read next */
	}
	e->runqueue = given == gap->given || ready > without ? without : ready;
	e->external = without - e->runqueue;
	c->last += wall;
	c->cpu += e->process;
	c->given += given - gap->given;
	c->taken += taken - gap->taken;
	cpa_kernel_end();
	errno = err;
}

void cpa_clock_measure(struct cpa_clock *c, struct cpa_elapsed *e)
{
	uint64_t begun = c->last - c->lead, took;

	cpa_clock_stamp(c, e);
	took = c->last - c->lead - begun;
	/* The shortest of the first; then a mean of the last few, but for what was interrupted. */
	if (c->first) {
		c->first--;
		if (!c->probe || took < c->probe / 16)
			c->probe = 16 * (uint32_t)(took < probe_most ? took : probe_most);
	} else if (took < c->probe / 4 + probe_most / 8) {
		c->probe += (uint32_t)took - c->probe / 16;
	}
	c->skips = c->first ? 1 : SKIPS;
}

void cpa_clock_start(struct cpa_clock *c)
{
	uint64_t now, cpu;

	/* A process that joined may have a C library without one. */
	c->detector = cpa_header()->clock == CPA_CLOCK_RSEQ ? cpa_machine_detector() : NULL;
	if (!c->detector)
		c->detector = &never_armed;
	c->schedstat = -1; /* opened when first needed; the delay counts from the thread's birth */
	c->skips = 1;	   /* nothing is known yet of what is usual */
	c->first = FIRST;
	c->probe = 0;
	c->ahead = 0;
	c->lead = 0;
	c->last = c->rebased = cpa_clock_now();
	if (unlikely(!cpa_kernel_begin())) /* as in cpa_clock_stamp_slow() */
		return;
	count_switches(c);
	cpu = rebase(c, &now);
	c->last = c->rebased = now;
	c->cpu = cpa_clock_ticks(cpu);
	cpa_kernel_end();
}

uint64_t cpa_clock_delay(struct cpa_clock *c)
{
	int err = errno;

	if (likely(cpa_kernel_begin())) {
		read_delay(c, &c->delay_ns);
		cpa_kernel_end();
	}
	errno = err;
	return cpa_clock_ticks(c->delay_ns);
}

void cpa_clock_stop(struct cpa_clock *c)
{
	/* The program may have closed it, and have a file of its own there. */
	if (c->schedstat >= 0 && cpa_kernel_begin()) {
		close_delay(c, c->schedstat);
		cpa_kernel_end();
	}
	c->schedstat = -2;
}
