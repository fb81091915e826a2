/* SPDX-License-Identifier: MIT */
#include "shadow/store/table.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "shadow/store/index.h"
#include "shadow/store/kernel.h"

#define PAGE	   UINT64_C(4096)
#define PATIENCE   2000u  /* times 0.1 ms */
#define LEAST_STEP 65536u /* least bytes of a chunk that get file space at once */
#define STEPS	   8u	  /* or 1/STEPS of the chunk, if that is more */

/*
 * Atomic: 1 while a thread of the process grows a table. Others wait for its result, because blocks
 * are large and the blocks of losers would be wasted. It is not a lock: a thread that has waited
 * long enough (it may be a signal handler that interrupted the growing thread) goes on, and clears
 * it afterwards, as the other thread may have been killed or left by a jump.
 */
static uint32_t growing;
/* Atomic: smallest block that found no space; larger requests fail at once. */
static uint64_t too_large;
/* Atomic: smallest step in a chunk that found no file space; larger requests fail at once. */
static uint64_t no_space;

void cpa_tables_joined(void)
{
	growing = 0;
	too_large = no_space = UINT64_MAX;
}

void cpa_tables_init(void)
{
	cpa_tables_joined();
	for (int i = 0; i < CPA_TABLES; i++) {
		const struct cpa_table_shape shape = cpa_table_shape((enum cpa_table_id)i);

		cpa_table(i)->row_size = shape.row_size;
		cpa_table(i)->first_rows = shape.first_rows;
	}
}

bool cpa_tables_alike(const struct cpa_header *h)
{
	for (int i = 0; i < CPA_TABLES; i++) {
		const struct cpa_table_shape shape = cpa_table_shape((enum cpa_table_id)i);

		if (h->table[i].row_size != shape.row_size ||
		    h->table[i].first_rows != shape.first_rows)
			return false;
	}
	return h->tables == CPA_TABLES;
}

uint64_t cpa_block_alloc(uint64_t size)
{
	return cpa_session_alloc(size, PAGE);
}

uint64_t cpa_block_slow(uint64_t *where, uint64_t size, uint64_t (*alloc)(uint64_t size))
{
	static const struct timespec a_while = { .tv_nsec = 100000 };
	uint64_t at = 0, mine;
	bool ours = false;
	int err = errno;

	/* Relaxed: a hint. */
	if (size >= __atomic_load_n(&too_large, __ATOMIC_RELAXED))
		return 0;
	for (unsigned i = 0; i < PATIENCE && !ours && !at; i++) {
		/*
		 * ACQUIRE: the previous thread's store to *where is visible. Pairs with the RELEASE
		 * at the end.
		 */
		ours = !__atomic_exchange_n(&growing, 1, __ATOMIC_ACQUIRE);
		if (!ours)
			cpa_kernel(SYS_nanosleep, &a_while, NULL); /* no cancellation point */
		/* ACQUIRE pairs with the exchange below. */
		at = __atomic_load_n(where, __ATOMIC_ACQUIRE);
	}
	ours |= !at;
	mine = at ? at : alloc(size);
	if (!mine)
		__atomic_store_n(&too_large, size, __ATOMIC_RELAXED);
	/* RELEASE: pairs with the ACQUIRE loads of *where here and in cpa_block(). */
	if (!at && mine &&
	    !__atomic_compare_exchange_n(where, &at, mine, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		/* lost block: it must not remain a gap, see shadow/store/copy_out.h */
		cpa_session_back(mine, size);
		mine = at;
	}
	/* RELEASE: pairs with the exchange of the thread that grows a table next. */
	if (ours)
		__atomic_store_n(&growing, 0, __ATOMIC_RELEASE);
	errno = err;
	return mine;
}

static uint32_t refuse(struct cpa_table *t)
{
	/* Relaxed: a statistic. */
	__atomic_fetch_add(&t->refused, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Position of a row: number and size (bytes) of its chunk, and the row's offset in it. */
struct place {
	uint32_t chunk, top;
	uint64_t size, from;
};

static struct place place_of(const struct cpa_table *t, uint32_t row)
{
	uint32_t i = row - 1 + t->first_rows, top = 31 - (uint32_t)__builtin_clz(i);

	return (struct place){ .chunk = top - (uint32_t)__builtin_ctz(t->first_rows),
			       .top = top,
			       .size = (uint64_t)t->row_size << top,
			       .from = (uint64_t)(i - (1u << top)) * t->row_size };
}

/*
 * Allocate file space for @row, which is not handed out yet, and for rows behind it in its chunk;
 * in small chunks for all of them. Several threads may do so at once.
 */
static bool make_usable(struct cpa_table *t, uint32_t row)
{
	const struct place p = place_of(t, row);
	uint64_t step = p.size / STEPS > LEAST_STEP ? p.size / STEPS : LEAST_STEP, at;
	uint32_t rows, have;

	if (p.chunk >= CPA_CHUNKS)
		return false;
	/* ACQUIRE, also in the next call: pairs with cpa_block_slow(). */
	at = __atomic_load_n(&t->chunk[p.chunk], __ATOMIC_ACQUIRE);
	if (!at)
		at = cpa_block_slow(&t->chunk[p.chunk], p.size, cpa_session_reserve);
	step = step < p.size - p.from ? step : p.size - p.from;
	/* Relaxed, both: a hint. */
	if (!at || step >= __atomic_load_n(&no_space, __ATOMIC_RELAXED))
		return false;
	while (!cpa_session_back(at + p.from, step)) {
		if (step <= LEAST_STEP) {
			__atomic_store_n(&no_space, step, __ATOMIC_RELAXED);
			return false;
		}
		step = LEAST_STEP;
	}
	rows = (1u << p.top) - t->first_rows + (uint32_t)((p.from + step) / t->row_size);
	have = __atomic_load_n(&t->usable, __ATOMIC_RELAXED);
	/* RELEASE: the chunk is there. Pairs with the load in cpa_table_append(). */
	while (have < rows && !__atomic_compare_exchange_n(&t->usable, &have, rows, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return true;
}

uint64_t cpa_tables_gap(uint64_t at, uint64_t *end)
{
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < CPA_TABLES; i++) {
		const struct cpa_table *t = cpa_table((enum cpa_table_id)i);
		/* ACQUIRE, both: pair with make_usable() and cpa_block_slow(). */
		struct place p = place_of(t, __atomic_load_n(&t->usable, __ATOMIC_ACQUIRE) + 1);
		uint64_t chunk = p.chunk < CPA_CHUNKS ?
					 __atomic_load_n(&t->chunk[p.chunk], __ATOMIC_ACQUIRE) :
					 0;
		uint64_t begin = cpa_round_up(chunk + p.from, PAGE);
		uint64_t until = cpa_round_up(chunk + p.size, PAGE);

		if (chunk && begin < until && until > at && begin < first) {
			first = begin;
			*end = until;
		}
	}
	return first;
}

void cpa_table_prepare(enum cpa_table_id id)
{
	make_usable(cpa_table(id), 1);
}

uint32_t cpa_table_append(enum cpa_table_id id)
{
	struct cpa_table *t = cpa_table(id);
	uint32_t old = __atomic_load_n(&t->used, __ATOMIC_RELAXED);

	do {
		/* ACQUIRE pairs with make_usable(). */
		if (old >= __atomic_load_n(&t->usable, __ATOMIC_ACQUIRE) &&
		    !make_usable(t, old + 1))
			return refuse(t);
		/* Relaxed: the number is private until it is published, which releases the row. */
	} while (!__atomic_compare_exchange_n(&t->used, &old, old + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return old + 1;
}

/* Return the row in @cell if it has @key, else 0. Every row begins with its key. */
static uint32_t match(enum cpa_table_id id, uint64_t cell, uint64_t hash, uint64_t key)
{
	if ((cell ^ hash) >> 32 || *(const uint64_t *)cpa_row(id, (uint32_t)cell) != key)
		return 0;
	return (uint32_t)cell;
}

uint32_t cpa_table_find(enum cpa_table_id id, uint64_t key)
{
	struct cpa_table *t = cpa_table(id);
	uint64_t hash = cpa_index_hash(key);

	for (unsigned k = 0; k < CPA_INDEX_PROBES; k++) {
		const uint64_t *line = cpa_index_line(t->index, k, hash);

		if (!line)
			return 0;
		for (unsigned i = 0; i < CPA_INDEX_LINE; i++) {
			/*
			 * ACQUIRE: the row was filled before. Pairs with (A) in cpa_table_intern().
			 */
			uint64_t cell = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE);
			uint32_t row = cell ? match(id, cell, hash, key) : 0;

			if (row || !cell)
				return row;
		}
	}
	return 0;
}

/* Clear the key of row @number, which no thread can find. */
static void disown(enum cpa_table_id id, uint32_t number)
{
	/* Relaxed: the search may still take it for a component without any time. */
	__atomic_store_n((uint64_t *)cpa_row(id, number), 0, __ATOMIC_RELAXED);
}

uint32_t cpa_table_intern(enum cpa_table_id id, uint64_t key,
			  void (*fill)(void *row, const void *argument), const void *argument)
{
	struct cpa_table *t = cpa_table(id);
	uint64_t hash = cpa_index_hash(key), cell;
	uint32_t mine = 0, row;

	for (unsigned k = 0; k < CPA_INDEX_PROBES; k++) {
		uint64_t *line = cpa_index_line_new(t->index, k, hash);

		for (unsigned i = 0; line && i < CPA_INDEX_LINE; i++) {
			/* ACQUIRE: the row was filled before. Pairs with (A) below. */
			cell = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE);
			if (!cell && !mine) {
				mine = cpa_table_append(id);
				if (!mine)
					return 0;
				if (fill)
					fill(cpa_row(id, mine), argument);
				/* RELEASE: for the search, which reads all rows in order. */
				__atomic_store_n((uint64_t *)cpa_row(id, mine), key,
						 __ATOMIC_RELEASE);
			}
			/* (A) RELEASE: key and row are complete before they can be found. */
			if (!cell &&
			    __atomic_compare_exchange_n(&line[i], &cell, (hash >> 32 << 32) | mine,
							false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return mine;
			row = match(id, cell, hash, key);
			if (row) {
				if (mine) /* lost against the same key: the row stays unused */
					disown(id, mine);
				return row;
			}
		}
		if (!line)
			break;
	}
	if (mine)
		disown(id, mine);
	return refuse(t);
}
