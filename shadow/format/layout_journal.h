/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_journal.h - the journal in the session file, byte by byte (design 9)
 *
 * header.journal is the offset of a struct cpa_journal_pool. Each thread writes records into a
 * block of its own. When the block is full the thread takes the next free block of the pool or,
 * once the pool has all its blocks, the oldest full block of any thread. The journals of all
 * threads therefore reach back to about the same time.
 *
 * A record is a byte followed by numbers. The byte's lowest two bits are an enum cpa_record; its
 * other bits say which numbers follow. A number has seven bits in each byte, lowest first, and the
 * highest bit set in all bytes but the last; a signed number is stored as (n << 1 ^ n >> 63).
 * Records are relative to a state that starts anew with each block: the block's header contains it.
 *
 * The events of a thread are numbered from 1, its start; {thread:32, number:32} names an event,
 * with the number modulo 2^32. The paths of the session name the event that published them
 * (cpa_path.event).
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_JOURNAL_H
#define CPA_SHADOW_FORMAT_LAYOUT_JOURNAL_H

#include <stdint.h>

/*
 * cpa_path.event of a thread's own path while its last changes have no record yet. It names no event: no
 * thread has the id 0.
 */
#define CPA_JOURNAL_PENDING 1u

#define CPA_JOURNAL_BLOCK 4096u
#define CPA_JOURNAL_HELD  16u
#define CPA_JOURNAL_GUESS 64u /* guesses of each kind, indexed by edge or thread modulo this */
#define CPA_JOURNAL_LIST  4u  /* slots of charges that a guess remembers */
/* A queue from here on is no queue, but a stream: its row is what is above, its item bytes. */
#define CPA_JOURNAL_STREAM (1u << 24)

enum cpa_record {
	CPA_RECORD_EVENT,   /* an activity ends, with the next number */
	CPA_RECORD_ACQUIRE, /* the thread's path is joined with others */
	CPA_RECORD_RELEASE, /* the event's path is published */
	CPA_RECORD_OTHER,   /* enum cpa_record_other in the next two bits */
};

/*
 * EVENT. Numbers in this order: edge, held, slot of the thread, process ticks, gap, external ticks,
 * run-queue ticks, uses of locks not timed, charges. Process ticks are always there.
 *
 * edge: row of the PAG summary's edge that leads to the event; 0: no edge, and the node follows. If
 * absent: the edge that followed the last occurrence of the previous edge. held: changes to the
 * list of slots of held locks, regions and items. 0 removes the last slot; 1 is followed by the
 * number of slots and all slots; n > 1 appends slot n - 2. gap: clock now, minus the state's clock,
 * process, external and run-queue ticks. It is signed and relative to the last gap. The state's
 * clock then becomes the clock now.
 *
 * charges: ticks of functions, external kinds and the like, by slot. 0: same slots as the last
 * charges after this edge. Otherwise 1 + 2 * n + whole, followed by n slots. Ticks follow for each
 * slot, except for the last one if the charges add up to the process ticks (whole, or 0). If
 * charges are absent and process ticks are not 0, all process ticks belong to the single slot of
 * the last charges after this edge.
 */
#define CPA_EVENT_EDGE	   0x04u
#define CPA_EVENT_HELD	   0x08u
#define CPA_EVENT_SLOT	   0x10u
#define CPA_EVENT_GAP	   0x20u
#define CPA_EVENT_EVENTFUL 0x40u /* external, run queue and untimed uses follow */
#define CPA_EVENT_CHARGES  0x80u

/*
 * ACQUIRE. If the thread has released or joined a path since its last event, the acquire is an
 * event of its own, with the next number. Numbers in this order: more (CPA_ACQUIRE_...), object,
 * the other object, queue (row, or CPA_JOURNAL_STREAM + row of a stream) and item (signed, relative
 * to the last item; of a stream the bytes that the thread took, 0 if it only waited), joined paths
 * ({thread, number}; number is signed, relative to the last number of that thread), ticks waited, and those of
 * them, at the end, in which the thread was ready without a processor.
 *
 * If no object follows, it is the object of the last ACQUIRE after the same edge.
 */
#define CPA_ACQUIRE_OBJECT 0x04u
#define CPA_ACQUIRE_FIRST  0x08u /* a path was joined */
#define CPA_ACQUIRE_WAITED \
	0x10u /* the clock advances; the first joined path is that of the observed path */
#define CPA_ACQUIRE_MORE  0x20u
#define CPA_ACQUIRE_ITEM  0x40u
#define CPA_ACQUIRE_OTHER 0x80u

#define CPA_ACQUIRE_SECOND	  0x01u /* a second path was joined, after the first */
#define CPA_ACQUIRE_OBSERVED_ONLY 0x02u /* the joined paths are no edges of the inherent path */
/* the first joined path is that of the observed path, with or without WAITED */
#define CPA_ACQUIRE_FIRST_OBSERVED  0x04u
#define CPA_ACQUIRE_SECOND_OBSERVED 0x08u
#define CPA_ACQUIRE_UNMATCHED	    0x10u
#define CPA_ACQUIRE_FAILED	    0x20u /* the wait ended without being woken */
#define CPA_ACQUIRE_SAID	    0x40u /* always set */
#define CPA_ACQUIRE_READY	    0x80u /* the thread was ready, without a processor, before it went on */

/*
 * RELEASE. Numbers in this order: object, queue and item, number of acquires that it lets through.
 * Object, queue and item are coded as in ACQUIRE, except that an object that follows is 0 for the
 * object acquired last and its number + 1 otherwise.
 */
#define CPA_RELEASE_OBJECT  0x04u
#define CPA_RELEASE_ITEM    0x08u
#define CPA_RELEASE_COUNT   0x10u
#define CPA_RELEASE_ONE	    0x80u /* the count is 1 */
#define CPA_RELEASE_READ    0x20u
#define CPA_RELEASE_NOTHING 0x40u /* no path is published: an item is done, or was refused */
/* READ and NOTHING: added to a cell, which any number of threads may join at any time */
#define CPA_RELEASE_CELL 0x60u

enum cpa_record_other {
	/*
	 * Two published paths, {thread, number} each, were joined into one, which gets the next
	 * number.
	 */
	CPA_RECORD_MERGE = 0,
	/* Charges, coded as in EVENT, of the activity whose EVENT comes later. */
	CPA_RECORD_CHARGES = 1,
};

/* A block being prepared is all zero except for `open` and `used`. */
struct cpa_journal_block {
	uint64_t ticket; /* atomic: 1, 2, 3 ... over all blocks; 0: not ready */
	uint32_t open;	 /* atomic: 1: its thread still writes records into it */
	uint32_t used;	 /* atomic: bytes of complete records */
	uint32_t events; /* event numbers used in the block, set when it is closed */
	uint32_t thread; /* id of the thread when the block began */
	uint32_t row;	 /* row of the threads table */
	/* 0, 1, 2 ... of the thread's blocks; 0 with number 1: from the thread's start */
	uint32_t sequence;
	/* State at the begin of the block; any other state is 0. */
	uint32_t number; /* last event number given */
	uint32_t event;	 /* the thread's current event; other numbers are merges */
	uint32_t released;
	uint32_t node;
	uint32_t edge;
	uint32_t slot; /* slot of the thread's class */
	uint32_t held_count;
	uint32_t held[CPA_JOURNAL_HELD];
	uint64_t clock;
	uint8_t records[]; /* up to the end of the block */
};

struct cpa_journal_pool {
	uint32_t block_size;
	uint32_t blocks;      /* maximum number of blocks */
	uint64_t next;	      /* atomic: tickets given so far */
	uint64_t overwritten; /* atomic: events in blocks that were used again */
	uint64_t refused;     /* atomic: events that found no block */
	/* atomic: offset of the block with ticket t at (t - 1) % blocks; 0: none yet */
	uint64_t block[];
};

#endif
