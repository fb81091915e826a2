/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/frame_table.h - the description of a function in its module's .eh_frame
 *
 * Modules carry these tables also when they are stripped. They are found by _dl_find_object(),
 * which takes no lock. Everything is read within the module's one mapped segment that holds the
 * tables, and checked: a damaged table yields nothing. Formats: LSB 5.0, Core, 10.6.
 *
 * What is found points into the module, and is valid until that is unloaded: cpa_unload_hold().
 * Async-signal-safe; no system calls.
 */
#ifndef CPA_PRELOAD_UNWIND_FRAME_TABLE_H
#define CPA_PRELOAD_UNWIND_FRAME_TABLE_H

#include <elf.h>

#include "preload/unwind/cursor.h"

struct dl_find_object;

/* A module's search table: its PT_GNU_EH_FRAME segment. */
struct cpa_frame_table {
	uint64_t start, end;	  /* mapped addresses of the module */
	const uint8_t *from, *to; /* the segment with its tables */
	const uint8_t *header;	  /* the search table is relative to it */
	const uint8_t *entries;
	uint32_t count; /* of entries, by address */
};

/* What the compiler says of a function. */
struct cpa_frame_description {
	uint64_t start, end;	       /* addresses in memory; end: just behind the last byte */
	struct cpa_cursor common, own; /* programs of the CIE and of the FDE */
	uint64_t code_unit;	       /* bytes of code that an advance counts in */
	int64_t data_unit;	       /* bytes that offsets count in */
	uint64_t return_column;	       /* number of the register that holds the return address */
	bool is_signal;		       /* frame of the kernel's call of a signal handler */
};

/*
 * The program headers of a module, *@count of them; NULL: not known. The kernel tells those of the program
 * itself, for which the loader may give the addresses of one segment only.
 */
__attribute__((visibility("hidden"))) const Elf64_Phdr *
cpa_frame_headers(const struct dl_find_object *o, uint64_t *count);

/* The mapped segment of a module that holds @address, all of it. False: there is none. */
__attribute__((visibility("hidden"))) bool cpa_frame_segment(const struct dl_find_object *o,
							     const uint8_t *address,
							     struct cpa_cursor *segment);

/* Find the table of the module that holds @address. False: there is none that is understood. */
__attribute__((visibility("hidden"))) bool cpa_frame_table_find(uint64_t address,
								struct cpa_frame_table *table);

/* Find the description of the function that holds @pc. False: the table has none. */
__attribute__((visibility("hidden"))) bool
cpa_frame_description_find(const struct cpa_frame_table *table, uint64_t pc,
			   struct cpa_frame_description *found);

#endif
