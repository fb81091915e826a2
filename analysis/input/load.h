/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/load.h - a session file, checked before use
 *
 * The file may be that of a running program, of a killed one, cut short, or hostile. A header
 * that makes no sense is refused; a row that makes none is skipped by whoever reads it and
 * counted. All reading copies: the writer may change the file between two looks at it. A file that
 * is cut while it is open reads as zeros from there; only one may be open at a time for that.
 */
#ifndef CPA_ANALYSIS_INPUT_LOAD_H
#define CPA_ANALYSIS_INPUT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_SLOTS_MAX UINT16_MAX /* a delta has 16 bits for the slot */

struct cpa_dump {
	char *file;		   /* printable */
	const unsigned char *base; /* of the mapping */
	uint64_t size;
	struct cpa_header header;    /* a copy, checked */
	bool live;		     /* the writer had not finished: rows may change */
	uint32_t rows[CPA_TABLES];   /* the rows 1 to this number may lie in the file */
	uint64_t broken[CPA_TABLES]; /* rows that were skipped */
	uint64_t broken_paths;	     /* paths that were skipped */
	uint64_t unsteady;	     /* rows that changed during each of several readings */
};

/*
 * Map @file read-only and check its header. Return 0; or -1 with *@error the message, which
 * begins with the file's name and is freed by the caller. Close in the first case only.
 */
int cpa_dump_open(struct cpa_dump *dump, const char *file, char **error);
void cpa_dump_close(struct cpa_dump *dump);

/*
 * Read the header anew, to learn what the writer has done since; nothing is counted as broken yet.
 * Return as above; after -1 only close @dump. The number of slots is never another one.
 */
int cpa_dump_again(struct cpa_dump *dump, char **error);

/*
 * Look how many rows @table has now. What was counted as broken in it is forgotten. A description
 * that makes no sense any more is not taken over.
 */
void cpa_dump_grow(struct cpa_dump *dump, enum cpa_table_id table);

/* False: the file was cut while it was open, or could not be read. What was read is worthless. */
bool cpa_dump_whole(const struct cpa_dump *dump);

/* Copy @size bytes at @offset. Return false if they do not lie in the file, behind its header. */
bool cpa_dump_bytes(const struct cpa_dump *dump, uint64_t offset, void *copy, uint64_t size);

/*
 * Copy the first @size bytes of @row; what the row is too short for is zero. Return false if the
 * row does not lie in the file or is not in use, that is, if its key is 0.
 */
bool cpa_dump_row(struct cpa_dump *dump, enum cpa_table_id table, uint32_t row, void *copy,
		  size_t size);

/*
 * Copy @size bytes at @field of @row, in one go if they are a word. Return false if they do not lie
 * in the file or in the row.
 */
bool cpa_dump_field(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t row,
		    size_t field, void *copy, size_t size);

/* Where in the file @row lies; 0: not in it. */
uint64_t cpa_dump_place(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t row);

/* Count a row of @table that the caller skips. */
void cpa_dump_skip(struct cpa_dump *dump, enum cpa_table_id table);

#endif
