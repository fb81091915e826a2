/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/epoch.h - switching profiling on and off, and run time without the parts cut out
 *
 * header.epoch counts the changes; it is odd while profiling is on. The border of an epoch records
 * when it began and for how long profiling had been on before. A thread, or another process, that
 * switches profiling first claims the border of the next epoch, then advances the epoch. A thread
 * that finds a claimed border advances the epoch itself; so a thread that dies between the two
 * steps blocks nobody. Only the latest CPA_BORDERS borders are kept; a change or look-up that was
 * stopped for so many changes starts again.
 *
 *            change  on
 *   change      -     -     "-": the calls may overlap
 *   on          -     -
 *
 * E1  The border of epoch e is complete before header.epoch is e.
 * E2  Ticks of successive borders grow by at least one tick.
 */
#ifndef CPA_SHADOW_STORE_EPOCH_H
#define CPA_SHADOW_STORE_EPOCH_H

#include "shadow/store/session.h"

#define CPA_EPOCH_ON  1u /* first epoch of a run that begins with profiling on */
#define CPA_EPOCH_OFF 2u /* first epoch of a run that begins with profiling off */

static inline uint64_t cpa_epoch(const struct cpa_header *h)
{
	/* ACQUIRE: the border of the epoch is visible (E1). Pairs with cpa_epoch_change(). */
	return __atomic_load_n(&h->epoch, __ATOMIC_ACQUIRE);
}

static inline bool cpa_epoch_is_on(uint64_t epoch)
{
	return epoch & 1;
}

/* Begin the run at clock header.start_ticks, with profiling @on or off. Before any other thread. */
CPA_HIDDEN void cpa_epoch_begin(struct cpa_header *h, bool on);

/*
 * Switch profiling on or off at clock @now or slightly later. Return the clock of the change,
 * ticks; 0 if it was in that state already. Any thread of any process that maps the session;
 * signal-safe, lock-free.
 */
CPA_HIDDEN uint64_t cpa_epoch_change(struct cpa_header *h, bool on, uint64_t now);

/*
 * Return the clock at which @epoch began, ticks; if its border is no longer kept, that of a later
 * epoch.
 */
CPA_HIDDEN uint64_t cpa_epoch_begun(const struct cpa_header *h, uint64_t epoch);

/* Return for how many ticks profiling had been on when @epoch began, which is, or has just been, the latest. */
static inline uint64_t cpa_epoch_on_before(const struct cpa_header *h, uint64_t epoch)
{
	/* ACQUIRE: the border is complete (E1). Pairs with cpa_epoch_change(). */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* Relaxed: see above. */
	return __atomic_load_n(&h->border[epoch % CPA_BORDERS].on, __ATOMIC_RELAXED);
}

/*
 * Return for how many ticks profiling was on up to clock @ticks: the sum of times on a path. For a
 * clock before the oldest border that is kept: up to that border.
 */
CPA_HIDDEN uint64_t cpa_epoch_on(const struct cpa_header *h, uint64_t ticks);

#endif
