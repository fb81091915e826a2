/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/search_result.c - components that the search for the top ones moved, see
 * shadow/graph/search.h
 */
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/util/format.h"
#include "shadow/graph/component.h"

#define NOTES 8

static void take(uint64_t *from, uint64_t ticks)
{
	*from -= ticks < *from ? ticks : *from;
}

void cpa_build_bases(struct cpa_build *build)
{
	struct cpa_dump *dump = build->dump;
	struct cpa_vector *program = &build->program;
	uint32_t slots = dump->header.slots;
	struct cpa_base base;

	build->error = xcalloc(slots, sizeof(*build->error));
	build->moved = xcalloc(slots, sizeof(*build->moved));
	build->path_share = xcalloc(slots, sizeof(*build->path_share));
	memcpy(build->path_share, program->share, slots * sizeof(*build->path_share));
	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_BASES]; i++) {
		if (!cpa_dump_row(dump, CPA_TABLE_BASES, i, &base, sizeof(base)) || !base.key)
			continue;
		if (base.key >= slots) {
			cpa_dump_skip(dump, CPA_TABLE_BASES);
			continue;
		}
		take(&program->slack[base.key], base.slack);
		take(&program->share[base.key], base.share);
		take(&program->observed[base.key], base.observed);
		take(&build->total[base.key], base.total);
		build->error[base.key] = base.most;
		build->moved[base.key] = true;
	}
}

/* What the critical path has of the slots that the component left. */
static uint64_t before(const struct cpa_build *build, const struct cpa_component *row)
{
	uint64_t sum = 0;

	if (row->earlier_count > CPA_EARLIER)
		return build->program.len;
	for (uint32_t i = 0; i < row->earlier_count; i++) {
		uint32_t slot = row->earlier[i];

		/* It may have come back to one: then it was among what that had before. */
		if (slot < build->dump->header.slots)
			sum += slot == row->slot ? build->error[slot] : build->path_share[slot];
	}
	return sum < build->program.len ? sum : build->program.len;
}

void cpa_build_found(const struct cpa_build *build, const struct cpa_component *row,
		     struct cpa_component_figures *figures)
{
	uint64_t start = build->dump->header.start_ticks;
	uint64_t since = row->since > start ? row->since - start : 0;

	figures->among = row->among > 1 ? row->among : 1;
	figures->since_s = cpa_build_seconds(build, since);
	figures->since_path_s = cpa_build_seconds(build, row->since_len);
	figures->before_s = cpa_build_seconds(build, before(build, row));
	figures->error_s = cpa_build_seconds(build, build->error[row->slot]);
}

void cpa_build_search_notes(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	uint32_t m = cpa_component_top_of(build->dump->header.slots);
	double least = profile->program.critical_path_s / m;
	unsigned notes = 0;

	for (size_t i = 0; i < profile->components && notes < NOTES; i++) {
		const struct cpa_component_figures *c = &profile->component[i];

		if (!c->among || c->critical_path_s < least)
			continue;
		notes++;
		cpa_profile_note(
			profile,
			"%s shared a slot with others of %" PRIu32
			" components until cpa separated it: its figures start at %.3f s and may "
			"be off by %.3f s; before that it had at most %.3f s of the path.",
			c->name, c->among, c->since_s, c->error_s, c->before_s);
	}
}
