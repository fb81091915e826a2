/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/symbol_table.h - which ELF symbol covers an address, in logarithmic time
 *
 * libdwfl looks at each symbol of a module for each address: a compiler's library has some hundred
 * thousand of them.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_SYMBOL_TABLE_H
#define CPA_ANALYSIS_SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>

struct cpa_symbol_table;

/* Read the symbols of @file, none if it has none. Close before the Dwfl ends. */
struct cpa_symbol_table *cpa_symbol_table_open(Dwfl_Module *file);
void cpa_symbol_table_close(struct cpa_symbol_table *table); /* NULL is no table */

/*
 * The name of the symbol that covers @address of libdwfl's address space, and how far into it that
 * is; NULL: none. A symbol without a size covers its own address. Of several the choice is, in this
 * order: global or weak before local, the highest start, global before weak, the smallest, the
 * first of the file.
 */
const char *cpa_symbol_table_find(const struct cpa_symbol_table *table, GElf_Addr address,
				  GElf_Off *offset);

#endif
