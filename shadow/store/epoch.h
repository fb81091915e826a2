/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/epoch.h - profiling switched on and off, and the time of a run without what was cut out
 *
 * header.epoch counts the changes; odd: on. A border tells when its epoch began and how long the
 * run was on before that. Whoever switches, thread or other process, claims the border of the next
 * epoch, then moves the epoch on; who finds a claimed border does the second for him, so one that
 * dies between the two holds up nobody. Of older borders than the latest CPA_BORDERS the place is
 * used again; who stood still for so long, in the midst of a change or of a look, begins anew.
 *
 *            change  on
 *   change      -     -     E1  The border of epoch e is complete before header.epoch is e.
 *   on          -     -     E2  Borders' ticks grow by one tick at least.
 */
#ifndef CPA_SHADOW_STORE_EPOCH_H
#define CPA_SHADOW_STORE_EPOCH_H

#include "shadow/store/session.h"

#define CPA_EPOCH_ON  1u /* of a run that begins on, */
#define CPA_EPOCH_OFF 2u /* or off */

static inline uint64_t cpa_epoch(const struct cpa_header *h)
{
	/* ACQUIRE: with the epoch comes its border (E1). Pairs with cpa_epoch_change(). */
	return __atomic_load_n(&h->epoch, __ATOMIC_ACQUIRE);
}

static inline bool cpa_epoch_is_on(uint64_t epoch)
{
	return epoch & 1;
}

/* The run begins, @on or off, at clock header.start_ticks. No other thread. */
CPA_HIDDEN void cpa_epoch_begin(struct cpa_header *h, bool on);

/*
 * Switch on or off at clock @now, or a little later. Return the clock of the change; 0: it was so
 * already. Any thread of any process that maps the session, signal-safe, lock-free.
 */
CPA_HIDDEN uint64_t cpa_epoch_change(struct cpa_header *h, bool on, uint64_t now);

/*
 * The clock at which epoch @epoch began; if its border is not kept any more, that of a later one.
 */
CPA_HIDDEN uint64_t cpa_epoch_begun(const struct cpa_header *h, uint64_t epoch);

/*
 * How long the run was on until clock @ticks, which is what its paths sum up to. Of a clock before
 * the oldest border that is kept: until then.
 */
CPA_HIDDEN uint64_t cpa_epoch_on(const struct cpa_header *h, uint64_t ticks);

#endif
