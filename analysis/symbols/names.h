/* SPDX-License-Identifier: MIT */
/* analysis/symbols/names.h - names of a session's rows: components, sites, kinds */
#ifndef CPA_ANALYSIS_SYMBOLS_NAMES_H
#define CPA_ANALYSIS_SYMBOLS_NAMES_H

#include "analysis/input/load.h"
#include "analysis/symbols/perf_map.h"
#include "analysis/symbols/symbols.h"

struct cpa_names {
	struct cpa_dump *dump;
	uint32_t components, sites, modules; /* number of rows of each table */
	struct cpa_component *component;     /* [row - 1]; key 0: unused or broken */
	struct cpa_place *component_place;
	struct cpa_site *site;
	struct cpa_place *site_place, *instruction_place;
	struct cpa_symbols *symbols;
	struct cpa_perf_map *perf_map; /* NULL: not read yet */
	uint32_t *caller; /* [component row]: site of a construct of OpenMP; NULL: not read yet */
};

/* Read the component, site and module rows. Broken rows are skipped and counted in @dump. */
void cpa_names_init(struct cpa_names *names, struct cpa_dump *dump);

/*
 * Read the rows again after cpa_dump_again(), or for the first time if @names is all zeros. Names
 * stay known for rows that did not change.
 */
void cpa_names_again(struct cpa_names *names, struct cpa_dump *dump);
void cpa_names_fini(struct cpa_names *names);

/*
 * Look up the names of all components together, of all sites if @sites, and if @stacks of the
 * instructions on stacks: see symbols.h.
 */
void cpa_names_prepare(struct cpa_names *names, bool sites, bool stacks);

/* The row; NULL if it is unused or broken. */
const struct cpa_component *cpa_names_row(const struct cpa_names *names, uint32_t component);

/*
 * The name and place of a component or site; the texts belong to @names. The name is NULL if there
 * is no such row. @returned: the site is a return address; all are, except those of thread starts.
 */
const struct cpa_place *cpa_names_component(struct cpa_names *names, uint32_t component);
const struct cpa_place *cpa_names_site(struct cpa_names *names, uint32_t site, bool returned);

/* The same, of a site that is an instruction on a stack, with what is inlined there. */
const struct cpa_place *cpa_names_instruction(struct cpa_names *names, uint32_t site);

/* The name of the start routine of the threads of @component; NULL: no such row. */
const char *cpa_names_routine(struct cpa_names *names, uint32_t component);

/* The printable text in row @name of the names table, which the caller frees; NULL: no such row. */
char *cpa_names_text(const struct cpa_names *names, uint32_t name);

/* One word for each kind; "other" for an unknown one. */
const char *cpa_names_component_kind(uint32_t kind);
const char *cpa_names_object_kind(uint32_t kind);
const char *cpa_names_event(uint32_t kind);
const char *cpa_names_clock(uint32_t kind);

#endif
