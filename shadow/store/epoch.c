/* SPDX-License-Identifier: MIT */
#include "shadow/store/epoch.h"

static struct cpa_border *border_of(struct cpa_header *h, uint64_t epoch)
{
	return &h->border[epoch % CPA_BORDERS];
}

static uint64_t ticks_of(const struct cpa_border *b)
{
	/* Relaxed: claimed by cpa_epoch_change(), published by the store of the epoch. */
	return __atomic_load_n(&b->ticks, __ATOMIC_RELAXED);
}

static uint64_t on_of(const struct cpa_border *b)
{
	return __atomic_load_n(&b->on, __ATOMIC_RELAXED); /* Relaxed: see ticks_of() */
}

void cpa_epoch_begin(struct cpa_header *h, bool on)
{
	uint64_t epoch = on ? CPA_EPOCH_ON : CPA_EPOCH_OFF;

	for (uint64_t e = CPA_EPOCH_ON; e <= epoch; e++)
		border_of(h, e)->ticks = h->start_ticks;
	h->first_epoch = epoch;
	/* RELEASE pairs with cpa_epoch(). */
	__atomic_store_n(&h->epoch, epoch, __ATOMIC_RELEASE);
}

/*
 * Claim the border behind @epoch at clock @now, unless it is claimed, and complete it. Return its
 * clock; 0: @epoch is no longer the latest. A thread that is stopped here until the place belongs
 * to another border changes nothing: its exchanges fail, because the values only grow and differ
 * from those read before @epoch was found to be the latest.
 */
static uint64_t claim(struct cpa_header *h, uint64_t epoch, uint64_t now)
{
	struct cpa_border *last = border_of(h, epoch), *next = border_of(h, epoch + 1);
	uint64_t since = ticks_of(last), old = ticks_of(next);
	uint64_t on = on_of(last), old_on = on_of(next);

	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the borders are read before the epoch */
	if (cpa_epoch(h) != epoch)
		return 0;
	if (now <= since)
		now = since + 1;
	/* Relaxed: a place not later than the last border is free, or was used long ago. */
	if (old <= since && __atomic_compare_exchange_n(&next->ticks, &old, now, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		old = now;
	/*
	 * All threads that get here in time write the same value. Relaxed: published by the epoch.
	 */
	on += cpa_epoch_is_on(epoch) ? old - since : 0;
	__atomic_compare_exchange_n(&next->on, &old_on, on, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return old;
}

uint64_t cpa_epoch_change(struct cpa_header *h, bool on, uint64_t now)
{
	uint64_t epoch, at;

	for (;;) {
		epoch = cpa_epoch(h);
		if (!epoch || cpa_epoch_is_on(epoch) == on)
			return 0;
		at = claim(h, epoch, now);
		/*
		 * RELEASE: the border is complete (E1). ACQUIRE: also a border that another thread
		 * completed.
		 */
		if (at && __atomic_compare_exchange_n(&h->epoch, &epoch, epoch + 1, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return at;
	}
}

/* Return whether the place of @epoch, which was read before, still belonged to it. */
static bool was_kept(const struct cpa_header *h, uint64_t epoch)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the border is read before the epoch */
	/* The place of the oldest border may be claimed already. */
	return cpa_epoch(h) - epoch < CPA_BORDERS - 1;
}

/* Return the oldest epoch whose border will be kept for a while. */
static uint64_t oldest(uint64_t epoch)
{
	return epoch > CPA_BORDERS / 2 ? epoch - CPA_BORDERS / 2 : 1;
}

uint64_t cpa_epoch_begun(const struct cpa_header *h, uint64_t epoch)
{
	uint64_t ticks;

	for (;;) {
		ticks = ticks_of(&h->border[epoch % CPA_BORDERS]);
		if (likely(was_kept(h, epoch)) || !cpa_epoch(h))
			return ticks;
		epoch = oldest(cpa_epoch(h));
	}
}

/* As cpa_epoch_on(), with @epoch as the latest. Return false if its border is no longer kept. */
static bool on_until(const struct cpa_header *h, uint64_t epoch, uint64_t ticks, uint64_t *on)
{
	uint64_t last = epoch > CPA_BORDERS - 2 ? epoch - CPA_BORDERS + 2 : 1, since;
	const struct cpa_border *b;

	while (epoch > last && ticks_of(&h->border[epoch % CPA_BORDERS]) > ticks)
		epoch--;
	b = &h->border[epoch % CPA_BORDERS];
	since = ticks_of(b);
	*on = on_of(b) + (cpa_epoch_is_on(epoch) && ticks > since ? ticks - since : 0);
	return was_kept(h, epoch);
}

uint64_t cpa_epoch_on(const struct cpa_header *h, uint64_t ticks)
{
	uint64_t epoch, on;

	do {
		epoch = cpa_epoch(h);
		if (!epoch)
			return ticks > h->start_ticks ? ticks - h->start_ticks : 0;
	} while (!on_until(h, epoch, ticks, &on));
	return on;
}
