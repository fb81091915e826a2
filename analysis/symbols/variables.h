/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/variables.h - static variables of a module, from its DWARF
 *
 * The ELF symbol table gives the start of a variable; DWARF also gives the element and member at an
 * address, and the place of the declaration.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_VARIABLES_H
#define CPA_ANALYSIS_SYMBOLS_VARIABLES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

struct cpa_variables;

/* All texts are printable; cpa_variable_fini() frees them. */
struct cpa_variable {
	char *name;	/* NULL: no variable */
	char *part;	/* "[2].lock", "+0x10", or "" */
	char *location; /* "file:line"; NULL: not known */
};

/* Read the static variables of @file, if it has DWARF. Close them before the Dwfl. */
struct cpa_variables *cpa_variables_open(Dwfl_Module *file);
void cpa_variables_close(struct cpa_variables *variables); /* NULL is allowed */

/*
 * Describe the variable that contains file address @address. @whole: for a struct that begins
 * there, name the struct, not its first member.
 */
void cpa_variables_find(struct cpa_variables *variables, uint64_t address, bool whole,
			struct cpa_variable *found);
void cpa_variable_fini(struct cpa_variable *variable);

#endif
