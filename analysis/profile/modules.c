/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/modules.c - the executable and libraries of the run, and where code lies in them
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/util/printable.h"

static char *hex_of(const struct cpa_module *row)
{
	uint32_t size = row->build_id_size;
	char *text;

	if (!size || size > sizeof(row->build_id))
		return NULL;
	text = xmalloc(2 * (size_t)size + 1);
	for (uint32_t i = 0; i < size; i++) {
		text[2 * i] = "0123456789abcdef"[row->build_id[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[row->build_id[i] & 15];
	}
	text[2 * (size_t)size] = '\0';
	return text;
}

void cpa_build_modules(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	uint32_t rows = build->dump->rows[CPA_TABLE_MODULES];

	profile->module = xcalloc(rows + 1, sizeof(*profile->module));
	profile->modules = rows;
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_module_figures *module = &profile->module[i - 1];
		struct cpa_module row;

		/* Broken rows were counted by the names' reader. */
		if (!cpa_dump_row(build->dump, CPA_TABLE_MODULES, i, &row, sizeof(row)))
			continue;
		*module = (struct cpa_module_figures){
			.path = cpa_printable(row.path, sizeof(row.path)),
			.build_id = hex_of(&row),
			.start = row.start - row.bias,
			.end = row.end - row.bias,
			.bias = row.bias,
		};
	}
}

/* Whether module row @module is known. */
static bool is_known(const struct cpa_profile *profile, uint32_t module)
{
	return module && module <= profile->modules && profile->module[module - 1].path;
}

void cpa_build_place(const struct cpa_build *build, const struct cpa_component *row,
		     struct cpa_component_figures *figures)
{
	const struct cpa_profile *profile = build->profile;

	if (!row->module) /* code that the program made while it ran: by its address */
		figures->offset = row->address;
	if (!is_known(profile, row->module))
		return;
	figures->module = row->module;
	figures->offset = row->address - profile->module[row->module - 1].bias;
}

void cpa_build_site(const struct cpa_build *build, uint32_t site, uint32_t *module,
		    uint64_t *offset)
{
	const struct cpa_profile *profile = build->profile;
	const struct cpa_site *row;

	*module = 0;
	*offset = 0;
	if (!site || site > build->names->sites)
		return;
	row = &build->names->site[site - 1];
	if (!row->module)
		*offset = row->key & CPA_ADDRESS_MASK;
	if (!is_known(profile, row->module))
		return;
	*module = row->module;
	*offset = (row->key & CPA_ADDRESS_MASK) - profile->module[row->module - 1].bias;
}

void cpa_free_modules(struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->modules; i++) {
		free(profile->module[i].path);
		free(profile->module[i].build_id);
	}
	free(profile->module);
}
