/* SPDX-License-Identifier: MIT */
/*
 * preload/core/untimed.h - critical sections that are counted and not timed
 *
 * When an untimed section begins, its estimated length up to the next event is noted. The thread's
 * next event charges the sum to the lock's class. A section that is open at that event is timed from
 * there on. All time without a processor since the last event belongs to that section: it would not
 * have begun untimed had the thread been switched out before (cpa_lock_quiet()). For the same reason
 * all pending samples fell in it.
 *
 * The estimate: D is the time between two samples; B is 31 us, or twice the time of a sample's
 * interrupt on this machine if that is longer. Each section counts as the mean of min(length, B)
 * over sections of its kind drawn at random. Each sample in an open section, B or more before the
 * section's end or the event, counts as D. That has probability (length - B) / D, so the sum is right
 * on average, also for rare long sections. An interrupt that hits a draw is not multiplied beyond B,
 * and a sample's interrupt is shorter than B. A draw reads the clock right before and right after
 * the section. It makes no event: event code, rarely run, would add its own time at both ends. Until
 * a section was drawn, timed sections give the mean.
 */
#ifndef CPA_PRELOAD_CORE_UNTIMED_H
#define CPA_PRELOAD_CORE_UNTIMED_H

#include "preload/core/guard.h"

#define CPA_UNTIMED_SCALE 16u /* of means */
#define CPA_UNTIMED_DRAW  128 /* uses to one that is drawn, on average */
#define CPA_UNTIMED_RUN	  64u /* timed uses in a row, at least, before untimed ones, */
#define CPA_UNTIMED_LEARN 16u /* the last of which tell the mean: each takes looks at the clock */

/* The activity of times @span ends: charge pending sections. Does nothing if there are none. */
CPA_HIDDEN void cpa_untimed_end(struct cpa_worker *w, const struct cpa_span *span);

/*
 * cpa_untimed_end() of an activity that had @process ticks of CPU time and no other time, in which
 * all sections have ended and none was drawn.
 */
CPA_HIDDEN void cpa_untimed_charge(struct cpa_worker *w, uint64_t process);

/* The untimed section that begins when this returns is drawn. @mean: of its kind. */
CPA_HIDDEN void cpa_untimed_draw(struct cpa_worker *w, uint32_t *mean);

/* An untimed section ended at tick @now. If it was drawn, its length goes into @mean. */
CPA_HIDDEN void cpa_untimed_drawn(struct cpa_worker *w, const uint32_t *mean, uint64_t now);

/* An untimed section is about to begin. @mean: of its kind, times CPA_UNTIMED_SCALE. */
static inline void cpa_untimed_begin(struct cpa_worker *w, uint32_t *mean)
{
	if (unlikely(--w->untimed.draw <= 0))
		cpa_untimed_draw(w, mean);
}

/*
 * The timed section that begins, the @run-th of its kind in a row, contributes its length to @mean.
 */
static inline void cpa_untimed_learn(struct cpa_worker *w, uint32_t *mean, uint32_t run)
{
	if (run == CPA_UNTIMED_RUN - CPA_UNTIMED_LEARN)
		*mean = 0;
	w->untimed.begun = mean;
	w->untimed.learns = true;
	cpa_force_slow(w);
}

/*
 * Call this first when a section may end. Return the clock if a drawn section is open, else 0.
 */
static inline uint64_t cpa_untimed_look(const struct cpa_worker *w)
{
	return unlikely(w->untimed.begun != NULL) ? cpa_clock_now() : 0;
}

/* Whether cpa_untimed_end() has work: an open section was noted and counted since the last one. */
static inline bool cpa_untimed_pending(const struct cpa_worker *w)
{
	return w->untimed.count || w->untimed.begun;
}

/*
 * Note a section of lock class row @class, of @mean / CPA_UNTIMED_SCALE ticks. False: no room.
 */
static inline bool cpa_untimed_note(struct cpa_worker *w, uint32_t class, uint64_t mean)
{
	unsigned i = 0;

	while (i < CPA_UNTIMED && w->untimed.classes[i].class != class &&
	       w->untimed.classes[i].class)
		i++;
	if (unlikely(i == CPA_UNTIMED))
		return false;
	w->untimed.classes[i].class = class;
	w->untimed.classes[i].ticks += mean;
	w->untimed.count++;
	return true;
}

/* Whether an untimed section is open. */
static inline bool cpa_untimed_open(const struct cpa_worker *w)
{
	return w->untimed.open_count | w->untimed.open_reads;
}

#endif
