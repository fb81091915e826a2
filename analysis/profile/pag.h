/* SPDX-License-Identifier: MIT */
/* analysis/profile/pag.h - nodes and edges of the activity graph */
#ifndef CPA_ANALYSIS_PROFILE_PAG_H
#define CPA_ANALYSIS_PROFILE_PAG_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_node_figures {
	uint32_t id;
	const char *kind;
	char *site;	/* the function, or NULL */
	char *location; /* of the site, or NULL */
	char *class;	/* or NULL */
};

struct cpa_mix_figures {
	char *function;
	double share; /* of the samples seen in the activity */
};

struct cpa_edge_figures {
	uint32_t from, to; /* node ids */
	bool dependency;
	bool own_slot; /* observed_s is known, and on_path_s of an activity */
	uint64_t count, followed;
	double weight_s, on_path_s, observed_s;
	uint32_t functions;
	struct cpa_mix_figures function[CPA_MIX];
};

#endif
