/* SPDX-License-Identifier: MIT */
#include "shadow/edge/offer.h"

#include <time.h>
#include <unistd.h>

#include "shadow/store/kernel.h"
#include "shadow/path/token.h"

#define NAPS   100u
#define NAP_NS 100000

uint32_t cpa_offer_bind(uint32_t number, uint64_t since_ns, uint32_t place, uint32_t token)
{
	struct cpa_process_row *p = cpa_process(number);
	uint32_t twin = cpa_process_twin(number), none_yet = 0;
	bool ours;

	if (twin && cpa_process(twin)->seen_ns >= since_ns && cpa_process_vacate(number))
		return 0;
	ours = cpa_offer_take_back(p->parent, place, token);
	/* RELEASE: the token's path is visible with it. Pairs with cpa_offer_token(). */
	if (__atomic_compare_exchange_n(&p->token, &none_yet, ours ? token : CPA_TOKEN_NONE, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return 0;
	/* The child gave up, or took the token of a sibling, which now needs this one. */
	if (ours && (none_yet == CPA_TOKEN_NONE || cpa_offer(p->parent, token) == CPA_OFFERS))
		return token;
	return 0;
}

uint32_t cpa_offer_row(uint32_t number, uint32_t pid, bool (*is_since)(uint64_t seen_ns))
{
	uint32_t twin = cpa_process_twin(number);
	const struct cpa_process_row *p = twin ? cpa_process(twin) : NULL;

	/* ACQUIRE pairs with cpa_process_claim(). */
	if (!p || __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CPA_PROCESS_CLAIMED ||
	    !is_since(p->seen_ns) || !cpa_process_occupy(twin, pid))
		return number;
	cpa_process_free(number);
	return twin;
}

/* Record that the child of @p has taken @token. Return the token that it begins after. */
static uint32_t settle(struct cpa_process_row *p, uint32_t token)
{
	uint32_t none_yet = 0;

	/* ACQUIRE: of two tokens the child uses its parent's and leaves the other to a sibling. */
	if (__atomic_compare_exchange_n(&p->token, &none_yet, token, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE))
		return token;
	if (none_yet == CPA_TOKEN_NONE) {
		/* Relaxed: the parent is done with this field. */
		__atomic_store_n(&p->token, token, __ATOMIC_RELAXED);
		return token;
	}
	if (token != CPA_TOKEN_NONE)
		cpa_offer(p->parent, token);
	return none_yet;
}

void cpa_offer_spawning(uint32_t number, int more)
{
	/*
	 * SEQ_CST: incremented before a token is hidden, decremented after it is visible in its
	 * place. Pairs with cpa_offer_token().
	 */
	__atomic_fetch_add(&cpa_process(number)->spawning, (uint32_t)more, __ATOMIC_SEQ_CST);
}

/* Take a token on offer. 0: none. */
static uint32_t take(struct cpa_process_row *p)
{
	uint32_t token;

	cpa_offer_spawning(p->parent, 1);
	token = cpa_offer_take(p->parent);
	token = token ? settle(p, token) : 0;
	cpa_offer_spawning(p->parent, -1);
	return token;
}

uint32_t cpa_offer_token(uint32_t number)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	struct cpa_process_row *p = cpa_process(number);
	uint32_t token;

	for (unsigned i = 0; i < NAPS && p->parent; i++) {
		/* SEQ_CST: loaded before the look-ups below. Pairs with cpa_offer_spawning(). */
		bool more = __atomic_load_n(&cpa_process(p->parent)->spawning, __ATOMIC_SEQ_CST);

		/* ACQUIRE pairs with cpa_offer_bind(). */
		token = __atomic_load_n(&p->token, __ATOMIC_ACQUIRE);
		if (token && token != CPA_TOKEN_NONE)
			return token;
		if (cpa_process(p->parent)->key != p->parent_key)
			break;
		token = take(p);
		if (token)
			return token;
		/* Otherwise the parent or a sibling is about to store a token. */
		if (!more)
			break;
		cpa_kernel(SYS_nanosleep, &nap, NULL); /* no cancellation point */
	}
	token = settle(p, CPA_TOKEN_NONE);
	return token == CPA_TOKEN_NONE ? 0 : token;
}

uint32_t cpa_offer(uint32_t number, uint32_t token)
{
	uint32_t *pending = cpa_process(number)->pending, none = 0;

	for (uint32_t i = 0; i < CPA_OFFERS; i++, none = 0)
		/* RELEASE: the token's path is visible with it. Pairs with cpa_offer_take(). */
		if (__atomic_compare_exchange_n(&pending[i], &none, token, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return i;
	return CPA_OFFERS;
}

uint32_t cpa_offer_take_back(uint32_t number, uint32_t place, uint32_t token)
{
	/* Relaxed: the place is unchanged, or a child has taken the token. */
	return place < CPA_OFFERS &&
			       __atomic_compare_exchange_n(&cpa_process(number)->pending[place],
							   &token, 0, false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED) ?
		       token :
		       0;
}

uint32_t cpa_offer_take(uint32_t number)
{
	uint32_t *pending = cpa_process(number)->pending;

	for (;;) {
		uint32_t best = 0, at = 0;

		for (uint32_t i = 0; i < CPA_OFFERS; i++) {
			/* ACQUIRE pairs with cpa_offer(). */
			uint32_t token = __atomic_load_n(&pending[i], __ATOMIC_ACQUIRE);

			if (token && (!best || cpa_token(token)->path.released <
						       cpa_token(best)->path.released)) {
				best = token;
				at = i;
			}
		}
		if (!best)
			return 0;
		/* ACQUIRE pairs with cpa_offer(). */
		if (__atomic_compare_exchange_n(&pending[at], &best, 0, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return best;
	}
}
