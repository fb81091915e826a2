/* SPDX-License-Identifier: MIT */
/* analysis/profile/parts.c - the profiled parts of the run */
#include <libiberty/libiberty.h>

#include "analysis/profile/build.h"
#include "analysis/profile/parts.h"
#include "shadow/store/epoch.h"

/* The latest clock value of the run that the file holds. */
static uint64_t last_clock(const struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;

	if (header->state != CPA_RUNNING && header->end_ticks > build->end)
		return header->end_ticks;
	return header->last_ticks > build->end ? header->last_ticks : build->end;
}

uint64_t cpa_build_on(const struct cpa_build *build, uint64_t ticks)
{
	const struct cpa_header *header = &build->dump->header;
	const struct cpa_border *oldest = &header->border[(header->epoch + 2) % CPA_BORDERS];

	if (ticks <= header->start_ticks)
		return 0;
	/* The oldest border that cpa_epoch_on() reads. */
	if (header->epoch < CPA_BORDERS || ticks >= oldest->ticks)
		return cpa_epoch_on(header, ticks);
	return (uint64_t)((unsigned __int128)oldest->on * (ticks - header->start_ticks) /
			  (oldest->ticks - header->start_ticks));
}

void cpa_build_parts(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_profile *profile = build->profile;
	uint64_t end = last_clock(build), epoch = header->epoch;
	uint64_t oldest = epoch > CPA_BORDERS ? epoch - CPA_BORDERS + 1 : CPA_EPOCH_ON;

	profile->program.run_s = cpa_build_seconds(build, end - header->start_ticks);
	profile->part = xcalloc(CPA_BORDERS, sizeof(*profile->part));
	if (epoch <= CPA_EPOCH_ON)
		return;
	oldest += !cpa_epoch_is_on(oldest);
	if (oldest > header->first_epoch)
		profile->program.earlier_parts = (oldest - header->first_epoch) / 2;
	/* The epoch of a damaged file may be the largest number: `on` then wraps. */
	for (uint64_t on = oldest; on >= oldest && on <= epoch; on += 2) {
		uint64_t from = cpa_epoch_begun(header, on);
		uint64_t to = on < epoch ? cpa_epoch_begun(header, on + 1) : build->end;

		/*
		 * If profiling is off at the start, the first part has length 0 and is skipped; one
		 * of a tick is that of cpa_control_touch().
		 */
		if (to <= from + 1 || from < header->start_ticks)
			continue;
		profile->part[profile->parts++] = (struct cpa_part_figures){
			.from_s = cpa_build_seconds(build, from - header->start_ticks),
			.to_s = cpa_build_seconds(build, to - header->start_ticks),
		};
	}
}
