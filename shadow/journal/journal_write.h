/* SPDX-License-Identifier: MIT */
/*
 * shadow/journal/journal_write.h - what the writers of records share; for shadow/journal*.c only
 */
#ifndef CPA_SHADOW_JOURNAL_JOURNAL_WRITE_H
#define CPA_SHADOW_JOURNAL_JOURNAL_WRITE_H

#include "shadow/journal/journal.h"

#define CPA_PENDING 64u /* charges kept before they are written */

/* Bytes of a number at most: any, one of 32 bits, a slot or how many there are. */
#define NUMBER 10u
#define WORD   5u
#define SLOT   3u

/* What numbers are likely to be; all 0 at the begin of a block. */
struct cpa_guess {
	uint32_t edge[CPA_JOURNAL_GUESS], acquired[CPA_JOURNAL_GUESS], released[CPA_JOURNAL_GUESS];
	uint32_t number[CPA_JOURNAL_GUESS];
	struct {
		uint16_t slots, slot[CPA_JOURNAL_LIST];
	} list[CPA_JOURNAL_GUESS];
	uint32_t object; /* the one acquired last */
	uint64_t gap, item;
};

struct cpa_pending {
	uint32_t slot;
	uint64_t ticks;
};

/* What a thread's journal needs. The second part is the state that records are relative to. */
struct cpa_journal {
	struct cpa_journal_block *block; /* NULL: none was free */
	uint8_t *at, *end;
	uint32_t thread, sequence;
	uint32_t wait; /* events until a block is looked for */
	/* Of the activity that has ended. */
	uint64_t process, external, runqueue;
	uint32_t to, taken; /* node and edge */
	uint32_t uses;
	uint32_t holds, hold[CPA_HELD_MAX];
	uint32_t slot_now;
	unsigned charges;
	struct cpa_pending charge[CPA_PENDING];
	uint32_t queue; /* of the next record; 0: it is about no item */
	uint64_t item;
	bool failed; /* the wait that the next record ends */

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

/* Another block. NULL: there is none. */
CPA_HIDDEN uint8_t *cpa_journal_turn(struct cpa_self *self);

/* The thread is at its next event. */
CPA_HIDDEN void cpa_journal_next(struct cpa_self *self);

/* Where @size bytes can be written; NULL: nowhere. */
static inline uint8_t *room(struct cpa_self *self, size_t size)
{
	const struct cpa_journal *j = self->journal;

	return likely((size_t)(j->end - j->at) >= size) ? j->at : cpa_journal_turn(self);
}

/* What is written up to @at is whole. */
static inline void publish(struct cpa_journal *j, uint8_t *at)
{
	j->at = at;
	/* RELEASE: a reader that sees the number sees the records (J3). */
	__atomic_store_n(&j->block->used, (uint32_t)(at - j->block->records), __ATOMIC_RELEASE);
}

/* The thread's path is that of its current event. */
static inline void name_path(const struct cpa_journal *j, struct cpa_path *path)
{
	path->event = (uint64_t)j->thread << 32 | j->event;
}

#endif
