/* SPDX-License-Identifier: MIT */
/*
 * shadow/journal/journal_write.h - functions shared by the writers of records; only for the .c
 * files of shadow/journal
 */
#ifndef CPA_SHADOW_JOURNAL_JOURNAL_WRITE_H
#define CPA_SHADOW_JOURNAL_JOURNAL_WRITE_H

#include "shadow/journal/journal.h"

#define CPA_PENDING 64u /* charges collected before they are written */

/* Maximum bytes of a number: of any, of one of 32 bits, of a slot or a count of slots. */
#define NUMBER 10u
#define WORD   5u
#define SLOT   3u

/* Predicted values of numbers; all 0 at the begin of a block. */
struct cpa_guess {
	uint32_t edge[CPA_JOURNAL_GUESS], acquired[CPA_JOURNAL_GUESS], released[CPA_JOURNAL_GUESS];
	uint32_t number[CPA_JOURNAL_GUESS];
	struct {
		uint16_t slots, slot[CPA_JOURNAL_LIST];
	} list[CPA_JOURNAL_GUESS];
	uint32_t object; /* the object acquired last */
	uint64_t gap, item;
};

struct cpa_pending {
	uint32_t slot;
	uint64_t ticks;
};

/* State of a thread's journal. From `number` on it is the state that records are relative to. */
struct cpa_journal {
	struct cpa_journal_block *block; /* NULL: no block was free */
	uint8_t *at, *end;
	uint32_t thread, sequence;
	uint32_t wait; /* events until the thread tries to get a block again */
	/* The activity that has ended. */
	uint64_t process, external, runqueue;
	uint32_t to, taken; /* its end node, and its edge */
	uint32_t uses;
	uint32_t holds, hold[CPA_HELD_MAX];
	uint32_t slot_now;
	unsigned charges;
	struct cpa_pending charge[CPA_PENDING];
	uint32_t queue; /* of the next record; 0: the record has no item */
	uint64_t item;
	bool failed; /* the wait that the next record ends was not woken */
	bool left;   /* the thread may have left a record unfinished: the next one begins a block */

	uint32_t number, event, released;
	uint32_t node, edge, slot;
	uint32_t held_count, held[CPA_HELD_MAX];
	uint64_t clock;
	struct cpa_guess guess;
};

static inline struct cpa_journal_pool *cpa_journal_pool(void)
{
	return cpa_at(cpa_header()->journal);
}

/* Something has no record: readers see that the journal is incomplete. */
static inline void refused(void)
{
	/* Relaxed: a statistic. */
	__atomic_fetch_add(&cpa_journal_pool()->refused, 1, __ATOMIC_RELAXED);
}

static inline uint8_t *put(uint8_t *at, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*at++ = (uint8_t)(n | 0x80);
	*at++ = (uint8_t)n;
	return at;
}

static inline uint8_t *put_signed(uint8_t *at, uint64_t n)
{
	return put(at, n << 1 ^ (uint64_t)((int64_t)n >> 63));
}

/* Close the block and take another one. Return where to write; NULL: none is free. */
CPA_HIDDEN uint8_t *cpa_journal_turn(struct cpa_self *self);

/* The thread is at its next event: give it a number. name_path() follows, behind its record. */
CPA_HIDDEN void cpa_journal_next(struct cpa_self *self);

/* Return where @size bytes can be written; NULL: nowhere. */
static inline uint8_t *room(struct cpa_self *self, size_t size)
{
	const struct cpa_journal *j = self->journal;

	return likely((size_t)(j->end - j->at) >= size && !j->left) ? j->at :
								      cpa_journal_turn(self);
}

/* Records up to @at are complete: let readers see them. */
static inline void publish(struct cpa_journal *j, uint8_t *at)
{
	j->at = at;
	/* RELEASE: a reader that sees the new `used` sees the records (J3). */
	__atomic_store_n(&j->block->used, (uint32_t)(at - j->block->records), __ATOMIC_RELEASE);
}

static inline uint64_t event_name(const struct cpa_journal *j)
{
	return (uint64_t)j->thread << 32 | j->event;
}

/* Make @path name the thread's current event. */
static inline void name_path(const struct cpa_journal *j, struct cpa_path *path)
{
	/* RELEASE: the path is as the event left it. Pairs with copy_still() of shadow/edge/part.c. */
	__atomic_store_n(&path->event, event_name(j), __ATOMIC_RELEASE);
}

#endif
