/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/chain.h - functions that are divided by who called them
 *
 * In a session with header.by_callers a component is a part of a function: where certain functions
 * called it (CPA_BY_CALLERS). One of a whole function is then what it has where its callers were
 * not found.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_CHAIN_H
#define CPA_ANALYSIS_SYMBOLS_CHAIN_H

#include "analysis/symbols/names.h"
#include "shadow/store/by.h"

struct cpa_chain {
	uint32_t callers;	    /* that are known */
	uint32_t site[CPA_BY_MOST]; /* rows of the sites where they begin, the innermost first */
	bool cut;		    /* fewer than were wanted, and not up to the thread's start */
};

/* Whether component @number is a part of a function. If it is, store its callers. */
bool cpa_chain_of(const struct cpa_names *names, uint32_t number, struct cpa_chain *chain);

/* Names in a chain: its callers, and for those that were not found one more. */
uint32_t cpa_chain_names(const struct cpa_chain *chain);
const char *cpa_chain_name(struct cpa_names *names, const struct cpa_chain *chain, uint32_t i);

/*
 * "memcmp <- compare_keys", or the name of a component that is no such part. The caller frees it;
 * NULL: none.
 */
char *cpa_chain_component(struct cpa_names *names, uint32_t number);

#endif
