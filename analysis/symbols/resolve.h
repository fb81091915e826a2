/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/resolve.h - find names of addresses by reading modules' files in this process
 *
 * analysis/symbols/symbols.h calls this in a process of its own, because the files may be damaged
 * or hostile and are parsed by third-party libraries.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_RESOLVE_H
#define CPA_ANALYSIS_SYMBOLS_RESOLVE_H

#include "analysis/symbols/symbols.h"

struct cpa_resolver;

/* Whether servers are asked for debug files that are not installed: DEBUGINFOD_URLS names them. */
bool cpa_resolver_asks_servers(void);

/* Open a resolver. A module's file is opened at the first question about it. */
struct cpa_resolver *cpa_resolver_open(void);
void cpa_resolver_close(struct cpa_resolver *resolver);

/* As cpa_symbols_update(). The second function tells whether an update would change anything. */
void cpa_resolver_update(struct cpa_resolver *resolver, const struct cpa_module *modules,
			 uint32_t count);
bool cpa_resolver_differs(const struct cpa_resolver *resolver, const struct cpa_module *modules,
			  uint32_t count);

/*
 * As cpa_symbols_code(), cpa_symbols_inlined() and cpa_symbols_variable(), but a text that the file
 * does not have is NULL.
 */
struct cpa_place cpa_resolver_code(struct cpa_resolver *resolver, uint32_t module, uint64_t address,
				   bool returned);
struct cpa_place cpa_resolver_inlined(struct cpa_resolver *resolver, uint32_t module,
				      uint64_t address);
struct cpa_place cpa_resolver_variable(struct cpa_resolver *resolver, uint32_t module,
				       uint64_t address, bool whole);
const char *cpa_resolver_trouble(const struct cpa_resolver *resolver, uint32_t module);

/* The row of @module; NULL: none. */
const struct cpa_module *cpa_resolver_row(const struct cpa_resolver *resolver, uint32_t module);

/* Replace texts of @place, for @address, that are NULL by module and offset. */
void cpa_resolver_complete(const struct cpa_resolver *resolver, uint32_t module, uint64_t address,
			   struct cpa_place *place);

/* The separate debug file of @module's names; NULL: none. Valid until the next call. */
const char *cpa_resolver_debug_file(const struct cpa_resolver *resolver, uint32_t module);

/* Whether a question about @module would read its file. */
bool cpa_resolver_has_file(const struct cpa_resolver *resolver, uint32_t module);

/* Never read the file of @module again, because it @why ("is no readable ELF file"). */
void cpa_resolver_give_up(struct cpa_resolver *resolver, uint32_t module, const char *why);

/*
 * Why the file of @module was not read, as in cpa_resolver_give_up(); NULL: it was, or was not
 * needed.
 */
const char *cpa_resolver_why(const struct cpa_resolver *resolver, uint32_t module);

#endif
