/* SPDX-License-Identifier: MIT */
/* analysis/profile/marks.c - moments marked by the program or by cpa ctl */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/parts.h"

static int compare_marks(const void *a, const void *b)
{
	const struct cpa_mark_figures *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_ids(const void *a, const void *b)
{
	const struct cpa_build_thread *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The threads, sorted by id. The caller frees the array. */
static struct cpa_build_thread *sort_threads(const struct cpa_build *build)
{
	uint32_t rows = build->dump->rows[CPA_TABLE_THREADS];
	struct cpa_build_thread *threads = xcalloc(rows + 1, sizeof(*threads));

	memcpy(threads, build->thread, rows * sizeof(*threads));
	qsort(threads, rows, sizeof(*threads), compare_ids);
	return threads;
}

void cpa_build_marks(struct cpa_build *build)
{
	struct cpa_dump *dump = build->dump;
	struct cpa_profile *profile = build->profile;
	uint32_t rows = dump->rows[CPA_TABLE_MARKS];
	struct cpa_build_thread *threads = sort_threads(build), *thread;

	profile->mark = xcalloc(rows + 1, sizeof(*profile->mark));
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_mark row;
		char *name;

		if (!cpa_dump_row(dump, CPA_TABLE_MARKS, i, &row, sizeof(row)))
			continue;
		name = cpa_names_text(build->names, row.name);
		if (!name || row.ticks < dump->header.start_ticks) {
			free(name);
			cpa_dump_skip(dump, CPA_TABLE_MARKS);
			continue;
		}
		/* The row of an exited thread may belong to another thread now. */
		thread = bsearch(&(struct cpa_build_thread){ .id = row.thread }, threads,
				 dump->rows[CPA_TABLE_THREADS], sizeof(*threads), compare_ids);
		profile->mark[profile->marks++] = (struct cpa_mark_figures){
			.row = i,
			.name = name,
			.tid = thread ? thread->tid : 0,
			.at_s = fmin(cpa_build_seconds(build, cpa_build_on(build, row.ticks)),
				     profile->program.wall_s),
			.critical_path_s = cpa_build_seconds(build, row.len),
		};
	}
	qsort(profile->mark, profile->marks, sizeof(*profile->mark), compare_marks);
	free(threads);
}
