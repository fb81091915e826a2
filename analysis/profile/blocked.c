/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/blocked.c - external time of the program: service, idle, waits for nobody known
 */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/profile/build.h"

const char *cpa_blocked_word(enum cpa_external_class class)
{
	static const char *const words[CPA_EXT_CLASSES] = {
		[CPA_EXT_SERVICE] = "service",
		[CPA_EXT_IDLE] = "idle",
		[CPA_EXT_WAIT] = "wait",
	};

	return words[class];
}

/*
 * Divide @all seconds of external time as the slots of its kinds have it in @of. Time without a
 * kind (in parts of the run whose begin or end a wait crossed) is a wait for nobody known. Return
 * it.
 */
static double divide(const struct cpa_build *build, const uint64_t *of, double all,
		     double by_class[CPA_EXT_CLASSES])
{
	bool *seen = xcalloc(build->dump->header.slots, sizeof(*seen));
	double rest = all;

	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);
		enum cpa_external_class class;
		double seconds;

		if (!row || row->kind != CPA_EXTERNAL || seen[row->slot])
			continue;
		seen[row->slot] = true; /* several kinds of one class may share it */
		class = cpa_external_class(row->address);
		seconds = cpa_build_seconds(build, of[row->slot]);
		seconds = seconds < rest ? seconds : rest;
		by_class[class] += seconds;
		rest -= seconds;
	}
	by_class[CPA_EXT_WAIT] += rest;
	free(seen);
	return rest;
}

void cpa_build_blocked(struct cpa_build *build)
{
	struct cpa_program_figures *program = &build->profile->program;

	const struct cpa_header *header = &build->dump->header;
	double all, path;

	all = divide(build, build->total, program->external_s, program->blocked_s);
	path = divide(build, build->program.observed, program->segment_s[CPA_TIME_EXTERNAL],
		      program->segment_blocked_s);
	if (header->epoch > CPA_EPOCH_ON) {
		all += cpa_build_seconds(build, header->diag[CPA_DIAG_PART_BLOCKED_TICKS]);
		program->segment_border_s = path;
		program->border_s = fmax(all, path);
	}
	program->max_parallelism = program->critical_path_s > 0 ?
					   (program->work_s + program->blocked_s[CPA_EXT_SERVICE]) /
						   program->critical_path_s :
					   0;
}
