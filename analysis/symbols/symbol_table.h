/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/symbol_table.h - find the ELF symbol that covers an address, in O(log n)
 *
 * libdwfl searches linearly, and a compiler's library has some hundred thousand symbols.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_SYMBOL_TABLE_H
#define CPA_ANALYSIS_SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>

struct cpa_symbol_table;

/* Read the symbols of @file, if any. Close the table before the Dwfl. */
struct cpa_symbol_table *cpa_symbol_table_open(Dwfl_Module *file);
void cpa_symbol_table_close(struct cpa_symbol_table *table); /* NULL is allowed */

/*
 * The name of the symbol that covers @address (in libdwfl's address space), and the offset in it;
 * NULL: none. A symbol without a size covers one address. Of several symbols the order is: global
 * or weak before local, highest start, global before weak, smallest, first in the file.
 */
const char *cpa_symbol_table_find(const struct cpa_symbol_table *table, GElf_Addr address,
				  GElf_Off *offset);

#endif
