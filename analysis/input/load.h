/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/load.h - open a session file and check it before use
 *
 * The file may belong to a running or killed program, be truncated, or be hostile. A damaged header
 * is refused; a damaged row is skipped by its reader and counted. All data is copied, because the
 * writer may change the file between two reads. A file that is truncated while open reads as zeros
 * from there on; therefore only one file may be open at a time.
 */
#ifndef CPA_ANALYSIS_INPUT_LOAD_H
#define CPA_ANALYSIS_INPUT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_SLOTS_MAX UINT16_MAX /* a delta has 16 bits for the slot */

struct cpa_dump {
	char *file;		   /* name of the file, printable */
	const unsigned char *base; /* of the mapping */
	uint64_t size;
	uint32_t owner;		     /* user who owns the file */
	struct cpa_header header;    /* checked copy */
	bool live;		     /* the writer had not finished: rows may change */
	uint32_t rows[CPA_TABLES];   /* rows 1 to this number may lie in the file */
	uint64_t broken[CPA_TABLES]; /* number of skipped rows */
	uint64_t broken_paths;	     /* number of skipped paths */
	uint64_t unsteady;	     /* rows that changed during each of several reads */
	bool idle_weighs;	     /* the user asks for paths in which idle time weighs */
};

/*
 * Map @file read-only and check its header. Return 0, and the caller closes it; or -1 with *@error
 * the message, which begins with the file's name and is freed by the caller.
 */
int cpa_dump_open(struct cpa_dump *dump, const char *file, char **error);

/*
 * The same with the file mapped at @base, @size bytes, already. The mapping stays the caller's;
 * instead of cpa_dump_close() the caller frees dump->file, also after an error.
 */
int cpa_dump_over(struct cpa_dump *dump, const char *file, const void *base, uint64_t size,
		  char **error);

void cpa_dump_close(struct cpa_dump *dump);

/*
 * Read the header again, to see what the writer has added since, and reset the counts of broken
 * rows. Return 0; or -1 with *@error the message, which the caller frees, and then only
 * cpa_dump_close() may be called. The number of slots never changes.
 */
int cpa_dump_again(struct cpa_dump *dump, char **error);

/*
 * Update the number of rows of @table, and reset its count of broken rows. A damaged table
 * description is ignored.
 */
void cpa_dump_grow(struct cpa_dump *dump, enum cpa_table_id table);

/*
 * Return false if the file was truncated while open, or could not be read: then discard everything
 * read.
 */
bool cpa_dump_whole(const struct cpa_dump *dump);

/* Copy @size bytes at @offset. Return false if they are not in the file, after its header. */
bool cpa_dump_bytes(const struct cpa_dump *dump, uint64_t offset, void *copy, uint64_t size);

/*
 * Copy the first @size bytes of @row; bytes beyond the row's end become zero. Return false if the
 * row is not in the file or unused (key 0).
 */
bool cpa_dump_row(struct cpa_dump *dump, enum cpa_table_id table, uint32_t row, void *copy,
		  size_t size);

/*
 * Copy @size bytes at @field of @row, atomically if they are a word. Return false if they are not
 * in the file or in the row.
 */
bool cpa_dump_field(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t row,
		    size_t field, void *copy, size_t size);

/* Offset of @row in the file; 0: not in it. */
uint64_t cpa_dump_place(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t row);

/* Count a row of @table that the caller skips. */
void cpa_dump_skip(struct cpa_dump *dump, enum cpa_table_id table);

#endif
