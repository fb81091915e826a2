/* SPDX-License-Identifier: MIT */
/* preload/code/places.h - rows of the sites where frames are, remembered from walk to walk */
#ifndef CPA_PRELOAD_CODE_PLACES_H
#define CPA_PRELOAD_CODE_PLACES_H

#include "preload/unwind/walk.h"
#include "shadow/store/table.h"

#define CPA_PLACES 256u /* that are remembered */

/* Where a frame is. */
struct cpa_place {
	uint64_t key;	   /* cpa_place_key(); 0: none */
	uint32_t site;	   /* row of its call in the table of sites, or of its function */
	uint32_t function; /* row of its function; 0: it is one of cpa, which is left out */
};

/* All zeros at first, and where modules were unloaded. */
struct cpa_places {
	struct cpa_place place[CPA_PLACES];
};

/* Whether stacks have no line any more, as the session has many sites. */
CPA_HIDDEN bool cpa_places_have_many_sites(void);

/* Find where @frame is, by the tables of the session. Takes no lock. */
CPA_HIDDEN struct cpa_place cpa_place_find(const struct cpa_walk_frame *frame);

/*
 * The call, or the complement of the function: code without unwind tables is a function that begins where its
 * page does, and that may be the last byte of a call of other code.
 */
static inline uint64_t cpa_place_key(const struct cpa_walk_frame *frame)
{
	return frame->call ? frame->call : ~frame->function;
}

/* Where @frame is. Valid until the next call. */
static inline const struct cpa_place *cpa_place_of(struct cpa_places *places,
						   const struct cpa_walk_frame *frame)
{
	uint64_t key = cpa_place_key(frame);
	struct cpa_place *place = &places->place[(key ^ key >> 8) % CPA_PLACES];

	if (place->key != key)
		*place = cpa_place_find(frame);
	return place;
}

#endif
