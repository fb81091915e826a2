/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/symbols.h - names of addresses, from the modules' files
 *
 * A module's file is read only if its build-id is the one that ran: a wrong name is worse than
 * none. Separate debug files are found where the system keeps them; nothing is fetched. They may be
 * anything, and are read in processes of their own: if one dies, a module has no names. What was
 * found is kept for the next report (analysis/symbols/cache.h).
 */
#ifndef CPA_ANALYSIS_SYMBOLS_SYMBOLS_H
#define CPA_ANALYSIS_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_symbols;

/* Read the files in this process, for whoever looks for errors in that (tests). */
extern bool cpa_symbols_here;

/* What is known of an address. Both texts are printable and freed by the caller. */
struct cpa_place {
	char *name;	/* "compute", "pool.queue[2].lock", "prog+0x1234", "0x7f12 [anonymous]" */
	char *location; /* "/src/queue.c:88", else the module "libc.so.6", else NULL */
};

/* Prepare for the @count rows at @modules, which are copied. A row whose key is 0 is unused. */
struct cpa_symbols *cpa_symbols_open(const struct cpa_module *modules, uint32_t count);
void cpa_symbols_close(struct cpa_symbols *symbols); /* NULL is none */

/* The same when there may be more @modules than before; what is known of the others stays. */
struct cpa_symbols *cpa_symbols_update(struct cpa_symbols *symbols,
				       const struct cpa_module *modules, uint32_t count);

/* One of the next two, which see. */
struct cpa_symbols_question {
	uint64_t address;
	uint32_t module;
	bool variable; /* cpa_symbols_variable(), else cpa_symbols_code() */
	bool flag;     /* its last parameter */
};

/*
 * Find the answers to @questions, of which there are @count and which may be put into another order,
 * by as many processes as are of use. To ask them is quick from then on.
 */
void cpa_symbols_prepare(struct cpa_symbols *symbols, struct cpa_symbols_question *questions,
			 size_t count);

/*
 * The function at the run-time @address of the module in row @module, where row 0 and rows that
 * do not exist mean that no module holds it. @returned: the address is where a call returns to,
 * and the call is in front of it.
 */
struct cpa_place cpa_symbols_code(struct cpa_symbols *symbols, uint32_t module, uint64_t address,
				  bool returned);

/*
 * The same for a variable, or the part of one. @whole: of a struct that begins there, the struct,
 * not its first member.
 */
struct cpa_place cpa_symbols_variable(struct cpa_symbols *symbols, uint32_t module,
				      uint64_t address, bool whole);

/*
 * Why the module in row @module (1 to count) gave no names: a sentence, owned by @symbols; NULL
 * if it did or if it was not asked, or if an earlier row of the same file has the reason.
 */
const char *cpa_symbols_trouble(const struct cpa_symbols *symbols, uint32_t module);

#endif
