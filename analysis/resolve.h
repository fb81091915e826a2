/* SPDX-License-Identifier: MIT */
/*
 * analysis/resolve.h - names of addresses, read from the modules' files in this process
 *
 * As analysis/symbols.h, which asks this in a process of its own: the files may be anything, and
 * what reads them are libraries of others.
 */
#ifndef CPA_ANALYSIS_RESOLVE_H
#define CPA_ANALYSIS_RESOLVE_H

#include "analysis/symbols.h"

struct cpa_resolver;

/* No file is opened before the first question about its module. */
struct cpa_resolver *cpa_resolver_open(void);
void cpa_resolver_close(struct cpa_resolver *resolver);

/* As cpa_symbols_update(). Return whether there is a difference. */
bool cpa_resolver_update(struct cpa_resolver *resolver, const struct cpa_module *modules,
			 uint32_t count);

/* As their namesakes. */
struct cpa_place cpa_resolver_code(struct cpa_resolver *resolver, uint32_t module, uint64_t address,
				   bool returned);
struct cpa_place cpa_resolver_variable(struct cpa_resolver *resolver, uint32_t module,
				       uint64_t address, bool whole);
const char *cpa_resolver_trouble(const struct cpa_resolver *resolver, uint32_t module);

/* Whether a question about @module would have its file read. */
bool cpa_resolver_has_file(const struct cpa_resolver *resolver, uint32_t module);

/* Never read the file of @module, which exists, because it @why ("is no readable ELF file"). */
void cpa_resolver_give_up(struct cpa_resolver *resolver, uint32_t module, const char *why);

/* Why the file of @module was not read, as above; NULL: it was, or nobody asked. */
const char *cpa_resolver_why(const struct cpa_resolver *resolver, uint32_t module);

#endif
