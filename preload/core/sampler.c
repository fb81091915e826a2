/* SPDX-License-Identifier: MIT */
#include "preload/core/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/libc/confined.h"
#include "preload/code/function.h"
#include "preload/code/unload.h"
#include "preload/libc/real.h"
#include "preload/libc/settings.h"
#include "preload/libc/signal_mask.h"
#include "preload/core/signal.h"
#include "preload/core/track.h"
#include "preload/core/guard.h"
#include "preload/core/sampled.h"
#include "preload/core/window.h"
#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

#define SECOND	    1000000000u
#define TIMER_HZ    250u  /* the kernel's CPU timers fire at most this often, Hz */
#define CLOSELY	    256u  /* samples of a thread by a perf event at the default rate, */
#define ALL_CLOSELY 512u  /* and samples of the whole process */
#define MANY	    32u	  /* switches of a thread between two checks of their rate */
#define SWITCHES_HZ 500u  /* switches a second of CPU time that are too many for a perf event */
#define LATE	    3u	  /* timer periods after which the first signal should have come */
#define MOST_TIMES  1000u /* most timer periods that one signal may stand for */

/* Written before there are other threads, as is can_signal. */
static unsigned hz;   /* samples a second; 0: none */
static bool thins;    /* default rate: perf events end after CLOSELY samples */
static bool withheld; /* no samples: a debugger would stop at each */
static bool confined; /* no perf events: a system call filter may end the process for asking */

static bool can_signal;

static uint64_t usual_delay; /* ticks; written as hz */

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

/*
 * Whether a sample at @pc, for @times timer periods, came when the thread let in the signal, which it had blocked: of all
 * these periods it is not known where the thread was. pthread_sigmask() itself takes no period; two ticks of the kernel
 * may pass before a signal that is not blocked comes.
 */
static bool was_blocked(const struct cpa_sampler *s, uint64_t pc, unsigned times)
{
	return unlikely(times > 1) && times * s->period > usual_delay &&
	       cpa_function_start(pc) == (uint64_t)REAL(pthread_sigmask);
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

/* Count a sample for @times timer periods in which the signal was blocked. */
static void note_blocked(struct cpa_sampler *s, unsigned times)
{
	if (!s->paused)
		cpa_sampled_add(s, CPA_SLOT_UNSAMPLED, weigh(s, times));
}

static void set_timer(const struct cpa_sampler *s, uint64_t period_ns)
{
	struct timespec period = { (time_t)(period_ns / SECOND), (long)(period_ns % SECOND) };
	struct itimerspec every = { period, period };

	if (s->has_timer)
		cpa_kernel(SYS_timer_settime, s->timer, 0, &every, NULL);
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
	if (s->ring.map)
		cpa_sampler_drain(s);
	cpa_ring_close(&s->ring);
	s->ring.blind = false;
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
	uint64_t until = thins ? CLOSELY : CPA_RING_SAMPLES / 2;

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
	if (wants_perf(s, cpu) && cpa_ring_open(&s->ring, &rate)) {
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

	if (w->sampler.ring.map)
		sample_by_timer(&w->sampler, cpu);
	else
		upgrade(&w->sampler, cpu);
	cpa_track_hidden(w, &gap);
}

/*
 * A signal came while the thread is in no part. Profiling is off: a thread that blocked the signal when it began does so
 * no longer, and each of its switches pays for the perf event that it has.
 */
static void rest_hidden(struct cpa_worker *w)
{
	if (!w->sampler.ring.map || !thins || !cpa_is_off())
		return;
	cpa_reenter();
	w->sampler.heard = true;
	sample_by_timer(&w->sampler, w->clock.cpu);
	cpa_leave();
}

/*
 * Take a stack for @times periods of the timer; the activity's first sample needs one where functions are
 * divided. Return the part that the sample is of: cpa_callers_take().
 */
static uint32_t take_stack(struct cpa_worker *w, const void *context, unsigned times)
{
	struct cpa_sampler *s = &w->sampler;
	uint64_t rate = s->ring.map || s->stays ? timer_rate() : hz;
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
	bool blocked;

	if (!*cpa_alive || cpa_tls.inside || !w)
		return;
	if (unlikely(cpa_window_moved(w))) {
		rest_hidden(w);
		cpa_window_sampled(w, context);
		return;
	}
	cpa_reenter();
	w->sampler.heard = true;
	blocked = was_blocked(&w->sampler, pc, times);
	part = blocked ? 0 : take_stack(w, context, times);
	if (w->sampler.ring.map && is_last(&w->sampler, times)) {
		change_hidden(w);
	} else if (w->sampler.ring.map) {
		cpa_sampler_drain(&w->sampler);
	} else {
		w->sampler.latest = cpa_clock_now();
		if (unlikely(blocked))
			note_blocked(&w->sampler, times);
		else if (cpa_callers_divide())
			note_part(&w->sampler, pc, part, times);
		else
			note(&w->sampler, pc, times);
		if (!w->sampler.stays && !cpa_ring_is_opening())
			change_hidden(w);
	}
	cpa_leave();
}

void cpa_sampler_forked(void)
{
	cpa_ring_forked();
	samples = 0;
}

void cpa_sampler_leave(struct cpa_sampler *s)
{
	cpa_ring_leave(&s->ring);
}

void cpa_sampler_init(unsigned samples_per_second, unsigned by_callers)
{
	struct cpa_start start = cpa_start();
	struct timespec tick;

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
	if (!cpa_kernel(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick))
		usual_delay = cpa_clock_ticks(2 * (uint64_t)tick.tv_nsec);
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
	cpa_ring_init(&s->ring);
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
	} else if (hz && !s->ring.map &&
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

	if (s->ring.map && s->heard && (has_many() || (often && is_restless(s, cpu)))) {
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
	cpa_ring_close(&s->ring);
}

void cpa_sampler_drain(struct cpa_sampler *s)
{
	uint64_t head = cpa_ring_written(&s->ring), latest = 0;
	struct cpa_ring_record record;

	while (cpa_ring_next(&s->ring, head, &record)) {
		if (record.ns) {
			latest = record.ns;
			cpa_diag(CPA_DIAG_INTERRUPTS);
			if (record.pc)
				note(s, record.pc, 1);
		} else if (!s->paused) {
			cpa_diag_add(CPA_DIAG_SAMPLES_LOST, record.lost);
		}
	}
	if (latest)
		s->latest = cpa_clock_when(CLOCK_MONOTONIC, latest);
	cpa_ring_free(&s->ring, head);
}

void cpa_sampler_pause(struct cpa_sampler *s, bool pause)
{
	sigset_t before;

	/*
	 * Reading samples may look up names, and a signal handler that jumps out of that would
	 * leave it half done: preload/core/instrument.c.
	 */
	if (cpa_ring_is_unread(&s->ring)) {
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
	if (!s->ring.map || !s->heard || !thins)
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
	if (s->ring.map)
		cpa_sampler_drain(s);
	cpa_sampled_drop(s);
	cpa_stacks_drop(&s->stacks);
}

void cpa_sampler_take(struct cpa_sampler *s, struct cpa_span *span)
{
	if (s->ring.map)
		cpa_sampler_drain(s);
	cpa_sampled_end(s);
	span->sample = s->sample;
	span->sampled = s->pending;
	span->sampled_ticks = s->stand_for;
	span->sample_period = s->ring.blind ? 0 : s->period;
	span->stacks = &s->stacks;
	cpa_sampled_drop(s);
}
