/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_journal.h - the journal in the session file, byte by byte (design 9)
 *
 * header.journal is the offset of a struct cpa_journal_pool. A thread writes records into a block
 * of its own; when that is full it takes the next free one of the pool, or, when there are as many
 * as there may be, the oldest of all that are full: so what is left of all threads is of the same
 * time.
 *
 * A record is a byte, whose lowest two bits are an enum cpa_record and whose other bits say what
 * follows, then numbers: seven bits a byte, the lowest first, the highest bit set in all but the
 * last byte; signed ones as (n << 1 ^ n >> 63). What a record says is relative to a state that
 * begins anew with each block: its header has it.
 *
 * Events of a thread have numbers, from 1 for its start; {thread:32, number:32} names one, number
 * modulo 2^32. The paths of the session name the event that published them (cpa_path.event).
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_JOURNAL_H
#define CPA_SHADOW_FORMAT_LAYOUT_JOURNAL_H

#include <stdint.h>

#define CPA_JOURNAL_BLOCK 4096u
#define CPA_JOURNAL_HELD  16u
#define CPA_JOURNAL_GUESS 64u /* of each kind, by edge modulo the number, or by thread */
#define CPA_JOURNAL_LIST  4u  /* slots of charges that are remembered */

enum cpa_record {
	CPA_RECORD_EVENT,   /* an activity ends, with the next number */
	CPA_RECORD_ACQUIRE, /* the thread's path is joined with others */
	CPA_RECORD_RELEASE, /* the event's path is published */
	CPA_RECORD_OTHER,   /* enum cpa_record_other in the next two bits */
};

/*
 * EVENT. Numbers in this order: edge, held, slot of the thread, process ticks, gap, external ticks,
 * run-queue ticks, uses of locks not timed, charges. Always: process.
 *
 * edge: row of the edge of the PAG summary that leads here; 0: none, then the node follows. Else
 * that which followed the last one before. held: changes of the slots of locks, regions and items
 * held in the activity: 0: the last one no more, 1: the number of all and each, n: n - 2 is one
 * more. gap: clock now, minus the state's clock, process, external and run-queue ticks: signed,
 * minus the last gap; the state's clock is then that.
 *
 * charges: functions, external kinds and the like, by slot. 0: the slots are those of the last ones
 * after the same edge; else 1 + 2 * n + whole, and n slots. With each slot follow its ticks, but
 * for the last one if (whole, or 0) all are the process ticks together. None said, and process
 * ticks: all are of the one slot of the last ones after the same edge.
 */
#define CPA_EVENT_EDGE	   0x04u
#define CPA_EVENT_HELD	   0x08u
#define CPA_EVENT_SLOT	   0x10u
#define CPA_EVENT_GAP	   0x20u
#define CPA_EVENT_EVENTFUL 0x40u /* external, run queue and untimed uses follow */
#define CPA_EVENT_CHARGES  0x80u

/*
 * ACQUIRE. If the thread has released or joined a path since its last event, it is one of its own,
 * with the next number. Numbers in this order: more (CPA_ACQUIRE_...), object, the other object,
 * queue (its row) and item (signed, minus the last one), the paths joined ({thread, number}, the
 * latter signed, minus the last number of that thread), ticks waited.
 *
 * The object, if it does not follow, is that of the last record of this kind after the same edge.
 */
#define CPA_ACQUIRE_OBJECT 0x04u
#define CPA_ACQUIRE_FIRST  0x08u /* a path was joined */
#define CPA_ACQUIRE_WAITED \
	0x10u /* the clock moves on; the first one is that of the observed path */
#define CPA_ACQUIRE_MORE  0x20u
#define CPA_ACQUIRE_ITEM  0x40u
#define CPA_ACQUIRE_OTHER 0x80u

#define CPA_ACQUIRE_SECOND	    0x01u /* a second path was joined, after the first */
#define CPA_ACQUIRE_OBSERVED_ONLY   0x02u /* they are no edges of the inherent path */
#define CPA_ACQUIRE_FIRST_OBSERVED  0x04u /* it is that of the observed path, whatever WAITED says */
#define CPA_ACQUIRE_SECOND_OBSERVED 0x08u
#define CPA_ACQUIRE_UNMATCHED	    0x10u
#define CPA_ACQUIRE_FAILED	    0x20u /* a wait that was not woken */
#define CPA_ACQUIRE_SAID	    0x40u /* always */

/*
 * RELEASE. Numbers in this order: object, queue and item, how many acquires it is for. Objects and
 * items as above, but an object that follows is 0, if it is the one acquired last, or 1 more than
 * its number.
 */
#define CPA_RELEASE_OBJECT  0x04u
#define CPA_RELEASE_ITEM    0x08u
#define CPA_RELEASE_COUNT   0x10u
#define CPA_RELEASE_ONE	    0x80u /* the count is 1 */
#define CPA_RELEASE_READ    0x20u
#define CPA_RELEASE_NOTHING 0x40u /* no path is published: an item is done, or was refused */
#define CPA_RELEASE_CELL    0x60u /* READ and NOTHING: added to what any number may join at any time */

enum cpa_record_other {
	/* Two published paths, {thread, number} each, became one, which has the next number. */
	CPA_RECORD_MERGE = 0,
	/* Charges, as in EVENT, of the activity whose EVENT will follow. */
	CPA_RECORD_CHARGES = 1,
};

/* Zero but for `open` and `used` while it is being made ready. */
struct cpa_journal_block {
	uint64_t ticket;   /* atomic: 1, 2, 3 ... of all blocks; 0: not ready */
	uint32_t open;	   /* atomic: 1: its thread writes more into it */
	uint32_t used;	   /* atomic: bytes of records that are whole */
	uint32_t events;   /* numbers given in it when it was closed */
	uint32_t thread;   /* its id when it began */
	uint32_t row;	   /* of the threads table */
	uint32_t sequence; /* 0, 1, 2 ... of the thread's blocks; 0 with number 1: from its start */
	/* The state at its begin; what is not here is 0. */
	uint32_t number; /* the last one given */
	uint32_t event;	 /* the thread's current one: others are merges */
	uint32_t released;
	uint32_t node;
	uint32_t edge;
	uint32_t slot; /* of the thread's class */
	uint32_t held_count;
	uint32_t held[CPA_JOURNAL_HELD];
	uint64_t clock;
	uint8_t records[]; /* to the end of the block */
};

struct cpa_journal_pool {
	uint32_t block_size;
	uint32_t blocks;      /* that there may be */
	uint64_t next;	      /* atomic: tickets given */
	uint64_t overwritten; /* atomic: events */
	uint64_t refused;     /* atomic: events that found no block */
	uint64_t block[];     /* atomic: offsets, of ticket t at (t - 1) % blocks; 0: none yet */
};

#endif
