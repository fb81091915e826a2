/* SPDX-License-Identifier: MIT */
#include "shadow/epoch.h"

static struct cpa_border *border_of(struct cpa_header *h, uint64_t epoch)
{
	return &h->border[epoch % CPA_BORDERS];
}

static uint64_t ticks_of(const struct cpa_border *b)
{
	/* Relaxed: claimed by cpa_epoch_change(), published by the epoch. */
	return __atomic_load_n(&b->ticks, __ATOMIC_RELAXED);
}

static uint64_t on_of(const struct cpa_border *b)
{
	return __atomic_load_n(&b->on, __ATOMIC_RELAXED); /* as above */
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

/* Claim the border behind @epoch at clock @now, if nobody has; let it be complete. */
static uint64_t claim(struct cpa_header *h, uint64_t epoch, uint64_t now)
{
	struct cpa_border *last = border_of(h, epoch), *next = border_of(h, epoch + 1);
	uint64_t since = ticks_of(last), old = ticks_of(next);

	if (now <= since)
		now = since + 1;
	/* Relaxed: a place that is not later than the last border is free, or used long ago. */
	while (old <= since && !__atomic_compare_exchange_n(&next->ticks, &old, now, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (old > since)
		now = old;
	/* All who come here write the same. */
	__atomic_store_n(&next->on, on_of(last) + (cpa_epoch_is_on(epoch) ? now - since : 0),
			 __ATOMIC_RELAXED);
	return now;
}

uint64_t cpa_epoch_change(struct cpa_header *h, bool on, uint64_t now)
{
	uint64_t epoch = cpa_epoch(h), at;

	do {
		if (!epoch || cpa_epoch_is_on(epoch) == on)
			return 0;
		at = claim(h, epoch, now);
		/* RELEASE: its border is complete (E1). ACQUIRE: so is that of another's. */
	} while (!__atomic_compare_exchange_n(&h->epoch, &epoch, epoch + 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return at;
}

uint64_t cpa_epoch_begun(const struct cpa_header *h, uint64_t epoch)
{
	return ticks_of(&h->border[epoch % CPA_BORDERS]);
}

uint64_t cpa_epoch_on(const struct cpa_header *h, uint64_t ticks)
{
	uint64_t epoch = cpa_epoch(h), oldest = epoch > CPA_BORDERS ? epoch - CPA_BORDERS + 1 : 1;
	const struct cpa_border *b;

	if (!epoch)
		return ticks > h->start_ticks ? ticks - h->start_ticks : 0;
	while (epoch > oldest && ticks_of(&h->border[epoch % CPA_BORDERS]) > ticks)
		epoch--;
	b = &h->border[epoch % CPA_BORDERS];
	return on_of(b) + (cpa_epoch_is_on(epoch) && ticks > ticks_of(b) ? ticks - ticks_of(b) : 0);
}
