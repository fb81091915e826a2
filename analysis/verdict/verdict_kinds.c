/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_kinds.c - the kinds of verdict, in their order */
#include "analysis/verdict/verdict_kinds.h"

/* See verdict_kinds.h before you add a row. */
const struct cpa_verdict_kind cpa_verdict_kinds[] = {
	{ "unseen", "--level component", cpa_verdict_is_unseen },
	{ "idle", "--level thread", cpa_verdict_is_idle },
	{ "io", "--level component", cpa_verdict_is_io },
	{ "sleep", "--level component", cpa_verdict_is_asleep },
	{ "hand-offs", "--level object", cpa_verdict_is_handoffs },
	{ "short-regions", "--level region", cpa_verdict_is_short_regions },
	{ "processors", "--level component", cpa_verdict_is_processors },
	{ "lock", "--level object", cpa_verdict_is_lock },
	{ "queue", "--level queue", cpa_verdict_is_queue },
	{ "region", "--level region", cpa_verdict_is_region },
	{ "stage", "--level stream", cpa_verdict_is_stage },
	{ "imbalance", "--level thread", cpa_verdict_is_imbalance },
	{ "turns", "--level object", cpa_verdict_is_turns },
	{ "serial", "--level component", cpa_verdict_is_serial },
	{ "work", "--level component", cpa_verdict_is_work },
};
