/* SPDX-License-Identifier: MIT */
#include "shadow/merge.h"

#include "shadow/path.h"

uint32_t cpa_merge_take(uint64_t *slot)
{
	/* ACQUIRE: the token was complete when it was put. Pairs with (A) in cpa_merge_release(). */
	return (uint32_t)__atomic_exchange_n(slot, 0, __ATOMIC_ACQUIRE);
}

/* Join @from into @into; the observed path is that of the later release. */
static void combine(struct cpa_self *self, struct cpa_path *into, const struct cpa_path *from)
{
	bool later = from->released > into->released;

	cpa_path_join(self, into, from, later);
	if (later) {
		into->released = from->released;
		into->node = from->node;
	}
	/* Several owners: no thread may take it for its own path. */
	if (into->owner != from->owner)
		into->owner = UINT32_MAX;
}

void cpa_merge_release(struct cpa_self *self, uint64_t *slot, uint64_t key,
		       const struct cpa_path *path)
{
	uint32_t mine = cpa_token_new(self, path);
	uint64_t empty;

	if (!mine)
		return;
	cpa_token(mine)->key = key;
	cpa_token(mine)->left = 0; /* of a barrier destroyed before all had left */
	do {
		uint32_t other = cpa_merge_take(slot);

		if (other && cpa_token(other)->key == key) {
			combine(self, &cpa_token(mine)->path, &cpa_token(other)->path);
			cpa_token_free(self, other);
		} else if (other) {
			cpa_diag(CPA_DIAG_TOKENS_REFUSED);
		}
		empty = 0;
		/* (A) RELEASE: the token is complete before it can be taken out. */
	} while (!__atomic_compare_exchange_n(slot, &empty, mine, false, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}
