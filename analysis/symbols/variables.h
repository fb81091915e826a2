/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/variables.h - static variables of a module, from its DWARF
 *
 * The ELF symbol table knows where a variable begins, DWARF also which element and member an
 * address inside it is, and where the variable is declared.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_VARIABLES_H
#define CPA_ANALYSIS_SYMBOLS_VARIABLES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

struct cpa_variables;

/* All texts are printable; cpa_variable_fini frees them. */
struct cpa_variable {
	char *name;	/* NULL: no variable is there */
	char *part;	/* "[2].lock", "+0x10", or "" */
	char *location; /* "file:line", NULL if not known */
};

/* List the static variables of @file, none if it has no DWARF. Close before the Dwfl ends. */
struct cpa_variables *cpa_variables_open(Dwfl_Module *file);
void cpa_variables_close(struct cpa_variables *variables); /* NULL is no variables */

/*
 * Describe the variable that holds @address, which is one of the file. @whole: and of a struct that
 * begins there, the struct, not its first member.
 */
void cpa_variables_find(struct cpa_variables *variables, uint64_t address, bool whole,
			struct cpa_variable *found);
void cpa_variable_fini(struct cpa_variable *variable);

#endif
