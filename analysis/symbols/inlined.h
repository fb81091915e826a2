/* SPDX-License-Identifier: MIT */
/* analysis/symbols/inlined.h - functions that the compiler inlined at an address, by DWARF */
#ifndef CPA_ANALYSIS_SYMBOLS_INLINED_H
#define CPA_ANALYSIS_SYMBOLS_INLINED_H

#include <elfutils/libdwfl.h>

/*
 * The functions that are inlined into the one at @address (in libdwfl's address space), the
 * outermost first: "NAME<tab>LOCATION<tab>CALL", and a tab between two of them. CALL: the place at
 * which it is called in the one outside it. Places are as "/src/queue.c:88", or empty. The caller
 * frees the text; names and places have printable characters only. NULL: no function is inlined
 * there, or none is known.
 */
char *cpa_inlined_at(Dwfl_Module *file, GElf_Addr address);

#endif
