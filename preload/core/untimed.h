/* SPDX-License-Identifier: MIT */
/*
 * preload/core/untimed.h - sections of locks that were counted and not timed
 *
 * Such a section is noted when it begins, with what the section's part up to the next event usually
 * takes. The thread's next event charges the lock's class with the sum. A section that is open then
 * is timed from there on, and had all that the thread was without a processor since its last event:
 * it would not have begun untimed had the thread been switched out before (cpa_lock_quiet()). For
 * the same reason all samples that wait fell in it.
 *
 * How long they are, with D the time between two samples and B of 31 us, or twice what a sample's
 * interrupt takes here where that is more: each section counts with
 * the mean of min(length, B) over sections of this kind that are drawn at random; and each sample
 * that fell in an open section, and B or more before its end (or the event), counts D. The latter
 * happens with probability (length - B) / D, so that the sum is right on average, for long sections
 * that are rare as well; no interrupt that hits a draw is multiplied beyond B, and that of a sample
 * is less than B. A draw is two looks at the clock next to the section and no event, whose code,
 * rarely run, would take its time at both ends. Until there are such sections the timed ones give
 * the mean.
 */
#ifndef CPA_PRELOAD_CORE_UNTIMED_H
#define CPA_PRELOAD_CORE_UNTIMED_H

#include "preload/core/worker.h"

#define CPA_UNTIMED_SCALE 16u /* of means */
#define CPA_UNTIMED_DRAW  128 /* uses to one that is drawn, on average */
#define CPA_UNTIMED_RUN	  64u /* timed uses in a row, at least, before untimed ones, */
#define CPA_UNTIMED_LEARN 16u /* the last of which tell the mean: each takes looks at the clock */

/* The activity that @span tells ends. Nothing to do if nothing is pending. */
CPA_HIDDEN void cpa_untimed_end(struct cpa_worker *w, const struct cpa_span *span);

/*
 * The same of an activity of @process ticks and no more, in which all sections have ended, and none
 * was drawn.
 */
CPA_HIDDEN void cpa_untimed_charge(struct cpa_worker *w, uint64_t process);

/* A section begins that goes untimed, and is the next to be drawn. It begins when this returns. */
CPA_HIDDEN void cpa_untimed_draw(struct cpa_worker *w, uint32_t *mean);

/* A section ended at clock @now, which went untimed: its length counts in @mean if it was drawn. */
CPA_HIDDEN void cpa_untimed_drawn(struct cpa_worker *w, const uint32_t *mean, uint64_t now);

/* A section that goes untimed is all set to begin. @mean: of its kind. */
static inline void cpa_untimed_begin(struct cpa_worker *w, uint32_t *mean)
{
	if (unlikely(--w->draw <= 0))
		cpa_untimed_draw(w, mean);
}

/*
 * The timed section that begins, the @run-th of its kind in a row, is one that tells what @mean is
 * to be.
 */
static inline void cpa_untimed_learn(struct cpa_worker *w, uint32_t *mean, uint32_t run)
{
	if (run == CPA_UNTIMED_RUN - CPA_UNTIMED_LEARN)
		*mean = 0;
	w->begun = mean;
	w->learns = true;
	cpa_force_slow(w);
}

/*
 * To be called first when a section may end: the clock if one that was drawn has not ended, or 0.
 */
static inline uint64_t cpa_untimed_look(const struct cpa_worker *w)
{
	return unlikely(w->begun != NULL) ? cpa_clock_now() : 0;
}

/* Whether cpa_untimed_end() is needed. What is open was noted, and counted, since the last time. */
static inline bool cpa_untimed_pending(const struct cpa_worker *w)
{
	return w->untimed_count || w->begun;
}

/*
 * Let a section of a lock of class row @class take @mean / CPA_UNTIMED_SCALE. False: there is no
 * room.
 */
static inline bool cpa_untimed_note(struct cpa_worker *w, uint32_t class, uint64_t mean)
{
	unsigned i = 0;

	while (i < CPA_UNTIMED && w->untimed[i].class != class && w->untimed[i].class)
		i++;
	if (unlikely(i == CPA_UNTIMED))
		return false;
	w->untimed[i].class = class;
	w->untimed[i].ticks += mean;
	w->untimed_count++;
	return true;
}

/* Whether a section is open that went untimed. */
static inline bool cpa_untimed_open(const struct cpa_worker *w)
{
	return w->open_count | w->open_reads;
}

#endif
