/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/chunks.h - iterations of OpenMP loops, as threads took them from the runtime
 *
 * A chunk is what a thread did from one event CPA_EV_CHUNK to the next of the same stint. What
 * comes before the first of a stint, or behind the last, is no iteration that another thread could
 * have taken. A loop whose schedule is static has no such events, and one chunk is all that each
 * thread does in a loop that OMP_SCHEDULE makes static.
 *
 * The order is that of the iterations. Of a dynamic schedule it is that in which they were taken.
 * Where all threads have the same number of chunks, or one less, it is that of a static schedule:
 * in turns.
 *
 * Chunks of loops with ordered iterations are left out: they depend on each other.
 */
#ifndef CPA_ANALYSIS_EXACT_CHUNKS_H
#define CPA_ANALYSIS_EXACT_CHUNKS_H

#include "analysis/exact/stints.h"

struct cpa_chunk {
	uint64_t order; /* among those of its round: the clock where it begins, or its number */
	uint64_t work;	/* ticks */
	uint32_t stint; /* of the thread that took it */
	uint32_t node;	/* row of the event at which it was taken */
	bool turn;	/* those of its round were taken in turns */
};

struct cpa_chunks {
	size_t chunks;
	struct cpa_chunk *chunk; /* by team, round, then by `order` */
	bool *ordered;		 /* by stint: it has ordered iterations */
};

/* Read the journal @file, of which @stints were read. The caller calls cpa_chunks_free(). */
struct cpa_chunks *cpa_chunks_read(const struct cpa_journal_file *file,
				   const struct cpa_stints *stints);
void cpa_chunks_free(struct cpa_chunks *chunks);

/* The number of chunks from @first on that are of the round of @stint. */
size_t cpa_chunks_of(const struct cpa_chunks *chunks, const struct cpa_stints *stints, size_t first,
		     const struct cpa_stint *stint);

/*
 * The work of each of the @n stints of @round, ticks, if each of its @count chunks goes to the
 * thread that is free first, in their order: @work. A thread is not free before it began in the
 * recorded run: the runtime wakes threads one after the other, and each needs some time to wake.
 */
void cpa_chunks_deal(const struct cpa_stints *stints, const struct cpa_stint *const *round,
		     size_t n, const struct cpa_chunk *chunk, size_t count, double *work);

/*
 * Ticks that @threads threads need for the @count chunks of a round, at least one, and for @rest more, of which
 * each has its share: chunks go to the thread that is free first, in their order, or in turns if that is how
 * they were taken.
 */
double cpa_chunks_ticks(const struct cpa_chunk *chunk, size_t count, double rest, uint32_t threads);

/* Whether each of the @count chunks is all that a thread has: a static schedule divided the loop. */
bool cpa_chunks_are_shares(const struct cpa_chunk *chunk, size_t count);

#endif
