/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/table.h - rows that never move, found by number or by key
 *
 * The index is insert-only: a key is never removed. A reader therefore needs no grace period, no
 * lock and no barrier beyond the acquire on the index word, in any context. liburcu's cds_lfht is
 * no alternative: it allocates with the program's malloc, resizes in a thread of its own, and holds
 * pointers where the session file needs offsets. Rows of destroyed objects stay and are used again
 * with their address, so a table is bounded by the number of addresses ever used.
 *
 * Level k of the index has 64 << 2k lines of one cache line each. A key hashes to one line per
 * level, and also to the next lines of the last level; it goes to the first line with room. A
 * look-up may therefore stop at the first line that is not full.
 *
 *             find  intern  append      "-": the calls may overlap
 *   find       -      -       -
 *   intern     -      -       -
 *   append     -      -       -
 *
 * I1  An index word is written once, from 0 to {hash, row}, after the row's key was written.
 * I2  One key has one row: a thread that loses the race for a word first looks at the winner.
 * Progress: find is wait-free; intern and append are lock-free and may allocate session space.
 */
#ifndef CPA_SHADOW_STORE_TABLE_H
#define CPA_SHADOW_STORE_TABLE_H

#include "shadow/store/session.h"

/* Set row sizes and first chunks of a new session. */
CPA_HIDDEN void cpa_tables_init(void);

/* Return whether the tables of session @h have the row sizes of this build. */
CPA_HIDDEN bool cpa_tables_alike(const struct cpa_header *h);

/* Prepare the tables in a process that has just joined the session and has one thread. */
CPA_HIDDEN void cpa_tables_joined(void);

static inline struct cpa_table *cpa_table(enum cpa_table_id id)
{
	return &cpa_header()->table[id];
}

struct cpa_table_shape {
	uint32_t row_size, first_rows;
};

/* Return row size and first rows of table @id in this build; a constant if @id is one. */
static inline __attribute__((always_inline)) struct cpa_table_shape
cpa_table_shape(enum cpa_table_id id)
{
	static const struct cpa_table_shape shape[CPA_TABLES] = {
		[CPA_TABLE_THREADS] = { sizeof(struct cpa_thread), 4 },
		[CPA_TABLE_OBJECTS] = { sizeof(struct cpa_object), 64 },
		[CPA_TABLE_COMPONENTS] = { sizeof(struct cpa_component), 64 },
		[CPA_TABLE_SITES] = { sizeof(struct cpa_site), 128 },
		[CPA_TABLE_MODULES] = { sizeof(struct cpa_module), 8 },
		[CPA_TABLE_NODES] = { sizeof(struct cpa_node), 64 },
		[CPA_TABLE_EDGES] = { sizeof(struct cpa_edge), 64 },
		[CPA_TABLE_TOKENS] = { sizeof(struct cpa_token), 16 },
		[CPA_TABLE_NAMES] = { sizeof(struct cpa_name), 16 },
		[CPA_TABLE_QUEUES] = { sizeof(struct cpa_queue), 4 },
		[CPA_TABLE_BASES] = { sizeof(struct cpa_base), 64 },
		[CPA_TABLE_MARKS] = { sizeof(struct cpa_mark), 32 },
		[CPA_TABLE_SERIES] = { sizeof(struct cpa_slot_series), 32 },
		[CPA_TABLE_POINTS] = { sizeof(struct cpa_thread_series), 4 },
		[CPA_TABLE_PROCESSES] = { sizeof(struct cpa_process_row), 8 },
		[CPA_TABLE_PATHS] = { sizeof(struct cpa_path), 16 },
		[CPA_TABLE_STREAMS] = { sizeof(struct cpa_stream), 4 },
		[CPA_TABLE_CONTEXTS] = { sizeof(struct cpa_context), 128 },
		[CPA_TABLE_STACKS] = { sizeof(struct cpa_stack), 128 },
		[CPA_TABLE_USES] = { sizeof(struct cpa_use), 32 },
	};

	return shape[id];
}

/* Return row @number (from 1) of table @id; the row must have been handed out. */
static inline __attribute__((always_inline)) void *cpa_row(enum cpa_table_id id, uint32_t number)
{
	const struct cpa_table *t = cpa_table(id);
	const struct cpa_table_shape shape = cpa_table_shape(id);
	uint32_t i = number - 1 + shape.first_rows;
	uint32_t top = 31 - (uint32_t)__builtin_clz(i);
	uint32_t chunk = top - (uint32_t)__builtin_ctz(shape.first_rows);

	/*
	 * Relaxed: the number was received through a release that followed the store of the chunk.
	 */
	return cpa_at(__atomic_load_n(&t->chunk[chunk], __ATOMIC_RELAXED) +
		      (uint64_t)(i - (1u << top)) * shape.row_size);
}

/* Append a zeroed row. Return its number; 0: no space (counted in `refused`). */
CPA_HIDDEN uint32_t cpa_table_append(enum cpa_table_id id);

/* Return the row with @key (not 0); 0: none. */
CPA_HIDDEN uint32_t cpa_table_find(enum cpa_table_id id, uint64_t key);

/*
 * Return the row with @key. If there is none, it is made: fill(row, argument), unless NULL, writes
 * the row before other threads can find it. Return 0 if there is no space.
 */
CPA_HIDDEN uint32_t cpa_table_intern(enum cpa_table_id id, uint64_t key,
				     void (*fill)(void *row, const void *argument),
				     const void *argument);

/*
 * Find the next gap, a range of whole pages for rows without file space, that ends behind @at.
 * Return its begin and set *@end; UINT64_MAX: none. Even reading a gap may raise SIGBUS.
 */
CPA_HIDDEN uint64_t cpa_tables_gap(uint64_t at, uint64_t *end);

/* Allocate the table's first rows, for later appends by processes that cannot allocate. */
CPA_HIDDEN void cpa_table_prepare(enum cpa_table_id id);

#endif
