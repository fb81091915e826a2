/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/symbols.h - find names of addresses in modules' files
 *
 * A module's file is read only if its build-id is that of the run: a wrong name is worse than none.
 * Separate debug files are searched where the system keeps them, and asked for from the servers
 * that DEBUGINFOD_URLS names; without that nothing is downloaded. The files may be damaged, so
 * processes of their own read them: if one dies, its module has no names. Names are kept for the
 * next report (analysis/symbols/cache.h).
 */
#ifndef CPA_ANALYSIS_SYMBOLS_SYMBOLS_H
#define CPA_ANALYSIS_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_symbols;

/* Read the files in this process; for tests that look for errors in the reading. */
extern bool cpa_symbols_here;

/* Name and location of an address. The texts are printable and freed by the caller. */
struct cpa_place {
	char *name;	/* "compute", "pool.queue[2].lock", "prog+0x1234", "0x7f12 [anonymous]" */
	char *location; /* "/src/queue.c:88", else the module "libc.so.6", else NULL */
	bool nameless; /* the name is an offset: the module's file was read and has no symbol there */
	char *inlined; /* of cpa_symbols_inlined() only: as analysis/symbols/inlined.h says */
};

/*
 * Open with copies of the @count rows at @modules. A row with key 0 is unused. The caller closes
 * it.
 */
struct cpa_symbols *cpa_symbols_open(const struct cpa_module *modules, uint32_t count);
void cpa_symbols_close(struct cpa_symbols *symbols); /* NULL is allowed */

/* Update with more @modules than before; names of unchanged ones stay known. */
struct cpa_symbols *cpa_symbols_update(struct cpa_symbols *symbols,
				       const struct cpa_module *modules, uint32_t count);

/* A question for cpa_symbols_prepare(): a call of one of the functions below. */
struct cpa_symbols_question {
	uint64_t address;
	uint32_t module;
	bool variable; /* true: cpa_symbols_variable(); false: cpa_symbols_code(), */
	bool inlined;  /* or cpa_symbols_inlined() */
	bool flag;     /* the function's last parameter, if it is a bool */
};

/*
 * Find the answers to the @count @questions by several processes, so that the same calls are quick
 * afterwards. The questions are reordered.
 */
void cpa_symbols_prepare(struct cpa_symbols *symbols, struct cpa_symbols_question *questions,
			 size_t count);

/*
 * The function at run-time @address in the module of row @module; row 0, or one that does not
 * exist, means no module. @returned: @address is a return address, so the call before it is meant.
 * The caller frees the texts.
 */
struct cpa_place cpa_symbols_code(struct cpa_symbols *symbols, uint32_t module, uint64_t address,
				  bool returned);

/* As cpa_symbols_code(), for an address that is no return address, with what is inlined there. */
struct cpa_place cpa_symbols_inlined(struct cpa_symbols *symbols, uint32_t module,
				     uint64_t address);

/*
 * The variable, or its part, at @address; as cpa_symbols_code(). @whole: of a struct that begins at
 * @address, name the struct, not its first member.
 */
struct cpa_place cpa_symbols_variable(struct cpa_symbols *symbols, uint32_t module,
				      uint64_t address, bool whole);

/*
 * Why the module in row @module (1 to count) gave no names: a sentence, owned by @symbols. NULL if
 * it gave names, was not asked, or shares its file with an earlier row.
 */
const char *cpa_symbols_trouble(const struct cpa_symbols *symbols, uint32_t module);

#endif
