/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/resolve.h - names of addresses, read from the modules' files in this process
 *
 * As analysis/symbols/symbols.h, which asks this in a process of its own: the files may be anything, and
 * what reads them are libraries of others.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_RESOLVE_H
#define CPA_ANALYSIS_SYMBOLS_RESOLVE_H

#include "analysis/symbols/symbols.h"

struct cpa_resolver;

/* No file is opened before the first question about its module. */
struct cpa_resolver *cpa_resolver_open(void);
void cpa_resolver_close(struct cpa_resolver *resolver);

/* As cpa_symbols_update(); and whether that would make a difference. */
void cpa_resolver_update(struct cpa_resolver *resolver, const struct cpa_module *modules,
			 uint32_t count);
bool cpa_resolver_differs(const struct cpa_resolver *resolver, const struct cpa_module *modules,
			  uint32_t count);

/* As their namesakes, but a text that the file does not tell is NULL. */
struct cpa_place cpa_resolver_code(struct cpa_resolver *resolver, uint32_t module, uint64_t address,
				   bool returned);
struct cpa_place cpa_resolver_variable(struct cpa_resolver *resolver, uint32_t module,
				       uint64_t address, bool whole);
const char *cpa_resolver_trouble(const struct cpa_resolver *resolver, uint32_t module);

/* The row of @module; NULL if no module is there. */
const struct cpa_module *cpa_resolver_row(const struct cpa_resolver *resolver, uint32_t module);

/* Put module and offset in the place of the texts that are NULL in @place, which is of @address. */
void cpa_resolver_complete(const struct cpa_resolver *resolver, uint32_t module, uint64_t address,
			   struct cpa_place *place);

/*
 * The separate file with debug information that names of @module are from, NULL if there is none;
 * valid until the next call.
 */
const char *cpa_resolver_debug_file(const struct cpa_resolver *resolver, uint32_t module);

/* Whether a question about @module would have its file read. */
bool cpa_resolver_has_file(const struct cpa_resolver *resolver, uint32_t module);

/* Never read the file of @module, which exists, because it @why ("is no readable ELF file"). */
void cpa_resolver_give_up(struct cpa_resolver *resolver, uint32_t module, const char *why);

/* Why the file of @module was not read, as above; NULL: it was, or nobody asked. */
const char *cpa_resolver_why(const struct cpa_resolver *resolver, uint32_t module);

#endif
