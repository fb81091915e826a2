/* SPDX-License-Identifier: MIT */
#include "shadow/edge/windows.h"

#include "shadow/path/path.h"

/* The sums; made when the second part begins. NULL: no space. */
static struct cpa_window_sums *windows(void)
{
	struct cpa_header *h = cpa_header();
	/* ACQUIRE: the memory is usable. Pairs with the RELEASE below. */
	uint64_t at = __atomic_load_n(&h->windows, __ATOMIC_ACQUIRE), made;

	if (likely(at))
		return cpa_at(at);
	made = cpa_session_alloc(sizeof(struct cpa_window_sums) +
					 CPA_WINDOW_ARRAYS * sizeof(uint64_t) *
						 cpa_windows_slots(h->slots),
				 CPA_CACHE_LINE);
	if (!made)
		return NULL;
	/* RELEASE: pairs with the ACQUIRE above. If another thread was first, ours is lost. */
	return __atomic_compare_exchange_n(&h->windows, &at, made, false, __ATOMIC_RELEASE,
					   __ATOMIC_ACQUIRE) ?
		       cpa_at(made) :
		       cpa_at(at);
}

/*
 * A part of length @len has added to vector @v of @path since *@last: add to the sums of squares and
 * of products with the length.
 */
static void add(uint64_t *now, uint64_t *last, double *square, double *product, double len,
		uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++) {
		/* Signed: S may shrink where a late path comes in. */
		double more = (double)(int64_t)(now[i] - last[i]);

		last[i] = now[i];
		square[i] += more * more;
		product[i] += more * len;
	}
}

static void note(struct cpa_window_sums *w, const struct cpa_path *path)
{
	uint32_t slots = cpa_windows_slots(cpa_header()->slots);
	uint64_t *now = &w->value[CPA_WINDOW_NOW * slots];
	double len = (double)(int64_t)(path->len - w->len);

	for (unsigned v = 0; v < 2; v++) {
		uint64_t *array = &w->value[(CPA_WINDOW_H + 3 * v) * slots];

		cpa_path_read(path, v ? CPA_S : CPA_H, now, slots);
		add(now, array, (double *)&array[slots], (double *)&array[2 * slots], len, slots);
	}
	w->len = path->len;
	w->square += len * len;
	w->count++;
}

void cpa_windows_note(const struct cpa_path *path, uint64_t epoch)
{
	struct cpa_window_sums *w = windows();

	/* Relaxed: the flag decides. */
	if (!w || __atomic_load_n(&w->epoch, __ATOMIC_RELAXED) >= epoch)
		return;
	/* ACQUIRE: see what the last holder wrote. Pairs with the RELEASE below. */
	if (__atomic_exchange_n(&w->busy, 1, __ATOMIC_ACQUIRE))
		return;
	if (w->epoch < epoch) {
		if (w->epoch || path->len)
			note(w, path);
		__atomic_store_n(&w->epoch, epoch, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE); /* RELEASE: pairs with the exchange */
}
