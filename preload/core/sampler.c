/* SPDX-License-Identifier: MIT */
#include "preload/core/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/libc/private_fds.h"
#include "preload/libc/confined.h"
#include "preload/code/function.h"
#include "preload/code/unload.h"
#include "preload/libc/real.h"
#include "preload/libc/settings.h"
#include "preload/libc/signal_mask.h"
#include "preload/core/signal.h"
#include "preload/core/track.h"
#include "preload/core/guard.h"
#include "preload/core/perf_event.h"
#include "preload/core/sampled.h"
#include "preload/core/window.h"
#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

#define RING_SAMPLES \
	(CPA_PERF_RING / (sizeof(struct perf_event_header) + sizeof(struct user_chain)))
#define SECOND	    1000000000u
#define TIMER_HZ    250u  /* the kernel's CPU timers fire at most this often, Hz */
#define CLOSELY	    256u  /* samples of a thread by a perf event at the default rate, */
#define ALL_CLOSELY 512u  /* and samples of the whole process */
#define MANY	    32u	  /* switches of a thread between two checks of their rate */
#define SWITCHES_HZ 500u  /* switches a second of CPU time that are too many for a perf event */
#define LATE	    3u	  /* timer periods after which the first signal should have come */
#define MOST_TIMES  1000u /* most timer periods that one signal may stand for */

/*
 * A sample of a perf event: time, and a call chain of two: the marker of its kind, and the program
 * counter.
 */
struct user_chain {
	uint64_t ns, length, context, pc;
};

/* Written before there are other threads, as is can_signal. */
static unsigned hz;   /* samples a second; 0: none */
static bool thins;    /* default rate: perf events end after CLOSELY samples */
static bool withheld; /* no samples: a debugger would stop at each */
static bool confined; /* no perf events: a system call filter may end the process for asking */

/*
 * Atomic: threads that are opening a perf event. When the system has had none for a second, the
 * first takes 6 to 20 ms to open, and others opened meanwhile take as long. A thread that gets
 * timer signals keeps to those until then.
 */
static uint32_t opening;

static bool can_signal;

static uint32_t samples; /* atomic: samples of the process so far */

/* There is a sample that stands for @times timer periods. Return its weight. */
static uint32_t weigh(struct cpa_sampler *s, unsigned times)
{
	cpa_diag(CPA_DIAG_SAMPLES);
	/* Relaxed: a count. */
	__atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
	times = times < MOST_TIMES ? times : MOST_TIMES;
	s->stand_for += times * s->period;
	return times * s->weight;
}

/* Count a sample at @pc with the weight of @times timer periods. */
static void note(struct cpa_sampler *s, uint64_t pc, unsigned times)
{
	unsigned at = (unsigned)(pc >> 2) % CPA_FUNCTION_CACHE;

	if (s->paused || cpa_function_is_ours(pc)) /* our time is measured */
		return;
	if (unlikely(cpa_unloads_changed(&s->loads)))
		memset(s->functions, 0, sizeof(s->functions));
	if (s->functions[at].pc != pc) {
		s->functions[at].id = cpa_function_at(pc);
		s->functions[at].pc = pc;
	}
	cpa_sampled_add(s, s->functions[at].id, weigh(s, times));
}

/*
 * Count a sample by who called its function: @part, from its stack. 0: it has none. As it is not known
 * which part it is of, its weight goes to the next one in the activity, or to all that are in it.
 */
static void note_part(struct cpa_sampler *s, uint64_t pc, uint32_t part, unsigned times)
{
	if (s->paused || cpa_function_is_ours(pc))
		return;
	s->unknown += weigh(s, times);
	if (!part)
		return;
	cpa_sampled_add(s, part, s->unknown);
	s->unknown = 0;
}

struct event {
	pid_t tid;
	unsigned rate; /* wanted; then the rate that was set */
	struct cpa_sampler *sampler;
};

/*
 * The mapping keeps the event alive, so its descriptor is closed. By system calls: a signal handler
 * may run this, and mmap() may be a function of the program.
 */
static void map_event(void *argument)
{
	struct event *event = argument;
	struct cpa_sampler *s = event->sampler;
	struct perf_event_mmap_page *ring;

	/* Relaxed, both: a hint. Counted here because no cancellation can come between the two. */
	__atomic_fetch_add(&opening, 1, __ATOMIC_RELAXED);
	cpa_perf_measure_interrupt();
	event->rate = cpa_perf_affordable(event->rate);
	ring = cpa_perf_map_ring(cpa_perf_open(event->tid, event->rate, &s->blind));
	if (ring) {
		s->ring = ring;
		s->head = (const uint64_t *)&ring->data_head;
		s->tail = 0;
	}
	__atomic_fetch_sub(&opening, 1, __ATOMIC_RELAXED);
}

/*
 * Open a perf event that samples the thread *@rate times in a second of its CPU time, or less
 * often: the rate that was set is stored in *@rate. False: not possible.
 */
static bool start_perf(struct cpa_sampler *s, unsigned *rate)
{
	struct event event = { (pid_t)cpa_kernel(SYS_gettid), *rate, s };

	if (!cpa_private_fds_call(map_event, &event) || !s->ring)
		return false;
	*rate = event.rate;
	return true;
}

static void set_timer(const struct cpa_sampler *s, uint64_t period_ns)
{
	struct timespec period = { (time_t)(period_ns / SECOND), (long)(period_ns % SECOND) };
	struct itimerspec every = { period, period };

	if (s->has_timer)
		cpa_kernel(SYS_timer_settime, s->timer, 0, &every, NULL);
}

static void forget_ring(struct cpa_sampler *s)
{
	s->ring = NULL;
	s->head = &s->tail;
}

static void unmap(struct cpa_sampler *s)
{
	volatile void *ring = s->ring;

	forget_ring(s);
	/* A cancellation or a jump may leave the call: nobody may read the ring from here on. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (ring)
		cpa_kernel(SYS_munmap, ring, CPA_PERF_PAGE + CPA_PERF_RING);
}

/* The sampling rate of the timer, Hz: the requested one, or as fast as the kernel's timers are. */
static unsigned timer_rate(void)
{
	return hz < TIMER_HZ ? hz : TIMER_HZ;
}

/* From now on @rate samples come in a second of the thread's CPU time. */
static void set_rate(struct cpa_sampler *s, unsigned rate)
{
	s->period = cpa_clock_ticks(SECOND / rate);
	s->weight = (hz + rate / 2) / rate;
}

/* From now on the timer samples the thread, which has had @cpu ticks of CPU time. */
static void sample_by_timer(struct cpa_sampler *s, uint64_t cpu)
{
	if (s->ring)
		cpa_sampler_drain(s);
	unmap(s);
	s->blind = false;
	s->known_at = cpu; /* from now on its signal must be seen */
	set_rate(s, timer_rate());
	set_timer(s, SECOND / timer_rate());
}

/* Create a timer that signals the thread, by system calls: libc's timer_create() uses malloc. */
static void start_timer(struct cpa_sampler *s)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = CPA_SIGNAL,
				  .sigev_value.sival_ptr = (void *)&cpa_signal_mark };

	event._sigev_un._tid = (pid_t)cpa_kernel(SYS_gettid);
	if (!can_signal ||
	    cpa_kernel(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &s->timer)) {
		cpa_diag(CPA_DIAG_SAMPLERS_REFUSED);
		return;
	}
	s->has_timer = true;
	set_rate(s, hz);
	set_timer(s, SECOND / hz);
}

/* Ticks of CPU time from @then to @cpu. 0: less is known now than was told then, see cpa_brief_return(). */
static uint64_t cpu_since(uint64_t then, uint64_t cpu)
{
	return cpu > then ? cpu - then : 0;
}

/*
 * Whether the thread, after @cpu ticks of CPU time, was switched so often since s->counted that a
 * perf event would cost too much.
 */
static bool is_restless(const struct cpa_sampler *s, uint64_t cpu)
{
	return cpu_since(s->counted, cpu) <
	       cpa_clock_ticks(s->switches * (uint64_t)SECOND / SWITCHES_HZ);
}

/* Whether the process has enough samples, so that from now on the timer's rate is enough. */
static bool has_many(void)
{
	/* Relaxed: a count. */
	return thins && __atomic_load_n(&samples, __ATOMIC_RELAXED) >= ALL_CLOSELY;
}

/* Whether a perf event is better than the timer for the thread. */
static bool wants_perf(const struct cpa_sampler *s, uint64_t cpu)
{
	bool closely = hz > TIMER_HZ && !has_many() && !cpa_callers_divide();

	return !confined && (!s->heard || closely) && !is_restless(s, cpu) &&
	       cpa_signal_has_room(CPA_SIGNAL_ROOM);
}

/* Set the timer beside a perf event: until it ends, or the ring is half full, or for stacks. */
static void watch_ring(struct cpa_sampler *s)
{
	uint64_t until = thins ? CLOSELY : RING_SAMPLES / 2;

	s->signals = cpa_callers_on() ? (uint32_t)until * timer_rate() / hz : 1;
	set_timer(s, cpa_callers_on() ? SECOND / timer_rate() : SECOND * until / hz);
}

/* The thread has used CPU time: open a perf event for it if that is better and possible. */
static void upgrade(struct cpa_sampler *s, uint64_t cpu)
{
	/* Where no signal can end the perf event, it has the timer's rate from the start. */
	unsigned rate = thins && !s->heard ? TIMER_HZ : hz;
	int err = errno;

	s->stays = true; /* tried only once */
	if (wants_perf(s, cpu) && start_perf(s, &rate)) {
		cpa_header()->sampler = CPA_SAMPLER_PERF;
		set_rate(s, rate);
		watch_ring(s);
	} else {
		sample_by_timer(s, cpu);
	}
	errno = err;
}

/*
 * Change the sampler in the middle of an activity or a wait. Opening a perf event may sleep for
 * milliseconds, which are left out of it.
 */
static void change_hidden(struct cpa_worker *w)
{
	uint64_t cpu = w->clock.cpu + cpa_clock_now() - w->clock.last;
	struct cpa_clock_gap gap = cpa_clock_hide(&w->clock);

	if (w->sampler.ring)
		sample_by_timer(&w->sampler, cpu);
	else
		upgrade(&w->sampler, cpu);
	cpa_track_hidden(w, &gap);
}

/*
 * Take a stack for @times periods of the timer; the activity's first sample needs one where functions are
 * divided. Return the part that the sample is of: cpa_callers_take().
 */
static uint32_t take_stack(struct cpa_worker *w, const void *context, unsigned times)
{
	struct cpa_sampler *s = &w->sampler;
	uint64_t rate = s->ring || s->stays ? timer_rate() : hz;
	bool needed = cpa_callers_divide() && !s->pending;

	if (!cpa_callers_on() || s->paused)
		return 0;
	times = times < MOST_TIMES ? times : MOST_TIMES;
	s->stacks.period = cpa_clock_ticks(SECOND / rate);
	return cpa_callers_take(&s->callers, &s->stacks, &w->self, context,
				times * s->stacks.period, needed);
}

/*
 * Whether the perf event is to end, after @times more periods of the timer: at once where each sample needs a
 * stack.
 */
static bool is_last(struct cpa_sampler *s, unsigned times)
{
	if (!thins || cpa_callers_divide())
		return cpa_callers_divide();
	s->signals -= s->signals < times ? s->signals : times;
	return !s->signals;
}

/* Handler of the timer's signal. It acts only if the thread runs code of the program. */
static void on_signal(void *context, unsigned times)
{
	struct cpa_worker *w = cpa_tls.worker;
	uint64_t pc = cpa_arch_program_counter(context);
	uint32_t part;

	if (!*cpa_alive || cpa_tls.inside || !w)
		return;
	if (unlikely(cpa_window_moved(w))) {
		cpa_window_sampled(w, context);
		return;
	}
	cpa_reenter();
	w->sampler.heard = true;
	part = take_stack(w, context, times);
	if (w->sampler.ring && is_last(&w->sampler, times)) {
		change_hidden(w);
	} else if (w->sampler.ring) {
		cpa_sampler_drain(&w->sampler);
	} else {
		w->sampler.latest = cpa_clock_now();
		if (cpa_callers_divide())
			note_part(&w->sampler, pc, part, times);
		else
			note(&w->sampler, pc, times);
		/* Relaxed: a hint. */
		if (!w->sampler.stays && !__atomic_load_n(&opening, __ATOMIC_RELAXED))
			change_hidden(w);
	}
	cpa_leave();
}

void cpa_sampler_forked(void)
{
	opening = 0;
	samples = 0;
}

void cpa_sampler_leave(struct cpa_sampler *s)
{
	/* Map private memory there, unless something else has been mapped at the place. */
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	long there;

	if (!s->ring)
		return;
	there = cpa_kernel(SYS_mmap, s->ring, CPA_PERF_PAGE + CPA_PERF_RING, PROT_READ | PROT_WRITE,
			   how, -1, 0);
	if (there == (long)s->ring)
		return;
	forget_ring(s);
	if (there != -1) /* Linux before 4.17 takes the address for a hint */
		cpa_kernel(SYS_munmap, there, CPA_PERF_PAGE + CPA_PERF_RING);
}

void cpa_sampler_init(unsigned samples_per_second, unsigned by_callers)
{
	struct cpa_start start = cpa_start();

	thins = samples_per_second == CPA_DEFAULT_HZ;
	/* A debugger would stop at each sample: none, unless CPA_SAMPLE_HZ asks for them. */
	withheld = start.traced && !getenv("CPA_SAMPLE_HZ");
	hz = withheld ? 0 : samples_per_second;
	cpa_header()->sample_hz = samples_per_second;
	cpa_header()->by_callers = by_callers;
	cpa_callers_divide_by(by_callers);
	cpa_perf_init();
	confined = start.confined;
	if (hz)
		can_signal = cpa_signal_init(on_signal);
}

bool cpa_sampler_hush(struct itimerspec *timer)
{
	const struct itimerspec stopped = { 0 };
	const struct cpa_worker *w = cpa_tls.worker;
	int err = errno;
	bool stops;

	if (!w || !w->sampler.has_timer || !cpa_kernel_begin())
		return false;
	stops = cpa_signal_is_blocked(NULL) &&
		!cpa_kernel(SYS_timer_settime, w->sampler.timer, 0, &stopped, timer);
	if (stops)
		cpa_signal_take_back();
	cpa_kernel_end();
	errno = err;
	return stops;
}

void cpa_sampler_unhush(const struct itimerspec *timer)
{
	const struct cpa_worker *w = cpa_tls.worker;
	int err = errno;

	if (w && cpa_kernel_begin()) {
		cpa_kernel(SYS_timer_settime, w->sampler.timer, 0, timer, NULL);
		cpa_kernel_end();
	}
	errno = err;
}

void cpa_sampler_start(struct cpa_sampler *s, const sigset_t *mask)
{
	s->head = &s->tail;
	cpa_callers_begin(&s->callers);
	if (withheld)
		cpa_diag(CPA_DIAG_SAMPLERS_REFUSED);
	if (!hz || !cpa_kernel_begin())
		return;
	start_timer(s);
	if (!cpa_header()->sampler)
		cpa_header()->sampler = CPA_SAMPLER_TIMER;
	if (cpa_signal_is_blocked(mask))
		upgrade(s, 0);
	cpa_kernel_end();
}

uint64_t cpa_sampler_latest(void)
{
	if (!hz)
		return UINT64_MAX;
	return cpa_clock_ticks((LATE + 2) * (uint64_t)SECOND / timer_rate());
}

/*
 * Check whether signals still arrive. If the program blocks or ignores them, open a perf event,
 * which needs none; not for signals that are only late where samples without a stack are of no part.
 * True: the sampler has changed.
 */
static bool watch(struct cpa_sampler *s, uint64_t cpu)
{
	if (s->latest != s->known) {
		s->known = s->latest;
		s->known_at = cpu;
	} else if (hz && !s->ring &&
		   cpu_since(s->known_at, cpu) > cpa_sampler_latest() * LATE / (LATE + 2)) {
		if (s->has_timer && cpa_callers_divide() && !cpa_signal_is_blocked(NULL)) {
			s->known_at = cpu;
		} else if (s->heard || !s->stays) {
			s->heard = false;
			upgrade(s, cpu);
			return true;
		}
	}
	return false;
}

bool cpa_sampler_switched(struct cpa_sampler *s, uint64_t cpu)
{
	bool changed = watch(s, cpu), often = ++s->switches >= MANY;

	if (s->ring && s->heard && (has_many() || (often && is_restless(s, cpu)))) {
		sample_by_timer(s, cpu);
		changed = true;
	}
	if (often) {
		s->switches = 0;
		s->counted = cpu;
	}
	return changed;
}

void cpa_sampler_stop(struct cpa_sampler *s)
{
	if (s->has_timer)
		cpa_kernel(SYS_timer_delete, s->timer);
	s->has_timer = false;
	unmap(s);
}

/* Copy @size bytes at @at of the ring, which may wrap. */
static void copy_out(const struct cpa_sampler *s, uint64_t at, void *to, size_t size)
{
	const char *data = (const char *)s->ring + CPA_PERF_PAGE;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) % CPA_PERF_RING];
}

void cpa_sampler_drain(struct cpa_sampler *s)
{
	/* ACQUIRE: pairs with the kernel's store of data_head after the records. */
	uint64_t head = __atomic_load_n(&s->ring->data_head, __ATOMIC_ACQUIRE), lost[2];
	struct user_chain chain = { 0 };
	struct perf_event_header record;

	while (s->tail < head) {
		copy_out(s, s->tail, &record, sizeof(record));
		if (record.size < sizeof(record) || record.size > head - s->tail)
			break; /* not a record that the kernel wrote: drop the rest */
		if (record.type == PERF_RECORD_SAMPLE) {
			copy_out(s, s->tail + sizeof(record), &chain, sizeof(chain));
			cpa_diag(CPA_DIAG_INTERRUPTS);
			if (chain.length == 2 && chain.context == PERF_CONTEXT_USER)
				note(s, chain.pc, 1);
		} else if (record.type == PERF_RECORD_LOST && !s->paused) {
			copy_out(s, s->tail + sizeof(record), lost, sizeof(lost));
			cpa_diag_add(CPA_DIAG_SAMPLES_LOST, lost[1]);
		}
		s->tail += record.size;
	}
	s->tail = head;
	if (chain.ns)
		s->latest = cpa_clock_when(CLOCK_MONOTONIC, chain.ns);
	/* RELEASE: the records are read before the kernel may overwrite them. */
	__atomic_store_n(&s->ring->data_tail, head, __ATOMIC_RELEASE);
}

void cpa_sampler_pause(struct cpa_sampler *s, bool pause)
{
	sigset_t before;

	/*
	 * Reading samples may look up names, and a signal handler that jumps out of that would
	 * leave it half done: preload/core/instrument.c.
	 */
	if (cpa_sampler_unread(s)) {
		before = cpa_signal_hold();
		cpa_sampler_drain(s);
		cpa_signal_let(&before);
	}
	s->paused = pause;
}

void cpa_sampler_rest(struct cpa_sampler *s, uint64_t cpu)
{
	sigset_t before;

	cpa_sampler_pause(s, true);
	if (!s->ring || !s->heard || !thins)
		return;
	before = cpa_signal_hold(); /* as above */
	sample_by_timer(s, cpu);
	cpa_signal_let(&before);
}

void cpa_sampler_resume(struct cpa_sampler *s, uint64_t cpu)
{
	cpa_sampler_pause(s, false);
	s->switches = 0;
	s->counted = s->known_at = cpu;
}

void cpa_sampler_drop(struct cpa_sampler *s)
{
	if (s->ring)
		cpa_sampler_drain(s);
	cpa_sampled_drop(s);
	cpa_stacks_drop(&s->stacks);
}

void cpa_sampler_take(struct cpa_sampler *s, struct cpa_span *span)
{
	if (s->ring)
		cpa_sampler_drain(s);
	cpa_sampled_end(s);
	span->sample = s->sample;
	span->sampled = s->pending;
	span->sampled_ticks = s->stand_for;
	span->sample_period = s->blind ? 0 : s->period;
	span->stacks = &s->stacks;
	cpa_sampled_drop(s);
}
