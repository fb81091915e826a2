/* SPDX-License-Identifier: MIT */
/* analysis/symbols/names.h - what people call the rows of a session: components, sites, kinds */
#ifndef CPA_ANALYSIS_SYMBOLS_NAMES_H
#define CPA_ANALYSIS_SYMBOLS_NAMES_H

#include "analysis/input/load.h"
#include "analysis/symbols/symbols.h"

struct cpa_names {
	struct cpa_dump *dump;
	uint32_t components, sites, modules; /* rows of each */
	struct cpa_component *component;     /* [row - 1]; key 0: unused or broken */
	struct cpa_place *component_place;
	struct cpa_site *site;
	struct cpa_place *site_place;
	struct cpa_symbols *symbols;
};

/* Read the component, site and module rows. Broken ones are skipped and counted in @dump. */
void cpa_names_init(struct cpa_names *names, struct cpa_dump *dump);

/*
 * Read them again, after cpa_dump_again(), or for the first time if @names is all zeros. What was
 * looked up stays known while its row is the same.
 */
void cpa_names_again(struct cpa_names *names, struct cpa_dump *dump);
void cpa_names_fini(struct cpa_names *names);

/* Look up the names of all components, and of @sites if they are wanted, together: see symbols.h. */
void cpa_names_prepare(struct cpa_names *names, bool sites);

/* The row, NULL if it is unused or broken. */
const struct cpa_component *cpa_names_row(const struct cpa_names *names, uint32_t component);

/*
 * The name and place of a component or site. NULL name: there is no such row. @returned: the site
 * is a return address, as all are but those of thread starts. The texts belong to @names.
 */
const struct cpa_place *cpa_names_component(struct cpa_names *names, uint32_t component);
const struct cpa_place *cpa_names_site(struct cpa_names *names, uint32_t site, bool returned);

/* The printable text in row @name of the names table, for the caller to free; NULL: no such row. */
char *cpa_names_text(const struct cpa_names *names, uint32_t name);

/* One word for each kind, "other" for those unknown. */
const char *cpa_names_component_kind(uint32_t kind);
const char *cpa_names_object_kind(uint32_t kind);
const char *cpa_names_event(uint32_t kind);
const char *cpa_names_clock(uint32_t kind);

#endif
