/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/seat.h - threads that meet: each depends on the releases of all others
 *
 * Each thread publishes into a seat of its own and reads those of the others. So there are no atomic
 * operations, and no cache lines move but those with the paths.
 *
 *              release  read     "X": the caller excludes the pair, by what the threads meet in.
 *   release       X       X      Of one seat; different seats are independent.
 *   read          X       -
 *
 * A seat that was not written for this meeting has an older release of a thread that has met all
 * since. To join that again changes nothing. Memory: one path for each seat that was used.
 */
#ifndef CPA_SHADOW_EDGE_SEAT_H
#define CPA_SHADOW_EDGE_SEAT_H

#include "shadow/path/wait.h"
#include "shadow/store/self.h"

#define CPA_SEATS      16u /* threads in one struct cpa_seats */
#define CPA_SEAT_LINES 3u  /* cache lines that most paths use */

/* Meetings that may overlap: a thread may be in the next one while others leave the last one. */
enum cpa_meeting { CPA_MEET_EVEN, CPA_MEET_ODD, CPA_MEET_END, CPA_MEETINGS };

/* Offsets of paths in cache lines; 0: none yet. */
struct cpa_seats {
	struct cpa_seats *next; /* atomic: of the next threads; NULL: none yet */
	uint32_t seat[CPA_SEATS][CPA_MEETINGS];
};

static inline struct cpa_path *cpa_seat_path(uint32_t seat)
{
	return cpa_at((uint64_t)seat * CPA_CACHE_LINE);
}

/* Fetch the cache lines of @path that will be read soon, or if @to_write, be written. */
static inline void cpa_seat_fetch(const struct cpa_path *path, bool to_write)
{
	const char *line = (const char *)path;

	for (unsigned i = 0; i < CPA_SEAT_LINES; i++, line += CPA_CACHE_LINE) {
		if (to_write)
			__builtin_prefetch(line, 1);
		else
			__builtin_prefetch(line, 0);
	}
}

/* Publish the thread's path in @seat, for @readers. */
CPA_HIDDEN void cpa_seat_release(struct cpa_self *self, uint32_t *seat, uint32_t readers);

/*
 * The thread in seat @own depends on the releases of the other @members at the meeting @which. The list
 * from @seats on is as long as they needed it.
 */
CPA_HIDDEN void cpa_seats_acquired(struct cpa_self *self, const struct cpa_seats *seats,
				   enum cpa_meeting which, uint32_t members, uint32_t own,
				   struct cpa_wait *wait);

#endif
