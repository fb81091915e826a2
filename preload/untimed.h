/* SPDX-License-Identifier: MIT */
/*
 * preload/untimed.h - sections of locks that were counted and not timed
 *
 * Such a section is noted when it begins, with what the section's part up to the next event usually
 * takes. The thread's next event charges the lock's class with the sum. A section that is open then
 * is timed from there on, and had all that the thread was without a processor since its last event:
 * it would not have begun untimed had the thread been switched out before (cpa_lock_quiet()). For
 * the same reason all samples that wait fell in it.
 *
 * How long they are, with D the time between two samples and B of 31 us: each section counts with
 * the mean of min(length, B) over sections that are drawn at random and timed; and each sample that
 * fell in an open section, and B or more before its end (or the event), counts D. The latter happens
 * with probability (length - B) / D, so that the sum is right on average, for long sections that are
 * rare as well; no interrupt that hits a draw is multiplied beyond B, and that of a sample is less
 * than B. Sections that are timed for another reason, such as the first one after a sample, are no
 * fair draw.
 */
#ifndef CPA_PRELOAD_UNTIMED_H
#define CPA_PRELOAD_UNTIMED_H

#include "preload/worker.h"

#define CPA_UNTIMED_SCALE 16u /* of means */
#define CPA_UNTIMED_DRAW  128 /* uses to a timed one, on average */
#define CPA_UNTIMED_RUN	  64u /* timed uses in a row, at least, before untimed ones */

/* The activity that @span tells ends. Nothing to do if all is 0. */
CPA_HIDDEN void cpa_untimed_end(struct cpa_worker *w, const struct cpa_span *span);

/*
 * A section begins that is timed: let its first activity count in @mean if it is a fair draw. While
 * none are @untimed all are.
 */
CPA_HIDDEN void cpa_untimed_measure(struct cpa_worker *w, uint32_t *mean, bool untimed);

/* Whether the use now, which could go untimed, is one of those drawn. */
static inline bool cpa_untimed_draw(struct cpa_worker *w)
{
	return --w->draw <= 0;
}

/* Whether cpa_untimed_end() is needed. What is open was noted, and counted, since the last time. */
static inline bool cpa_untimed_pending(const struct cpa_worker *w)
{
	return w->untimed_count || w->begun;
}

/* Let a section of a lock of class row @class take @mean / CPA_UNTIMED_SCALE. False: there is no room. */
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

#endif
