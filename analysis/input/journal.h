/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/journal.h - read the records of a journal, thread by thread
 *
 * Reads the format of shadow/format/layout_journal.h by copying whole blocks, because the file may
 * be that of a running program, or hostile. Of each thread it reads the blocks after the last gap.
 * A damaged record ends its thread there, and is counted.
 */
#ifndef CPA_ANALYSIS_INPUT_JOURNAL_H
#define CPA_ANALYSIS_INPUT_JOURNAL_H

#include "analysis/input/load.h"
#include "shadow/format/layout_journal.h"

/* A block, as its header describes it. */
struct cpa_leaf {
	uint64_t offset, ticket, clock;
	uint32_t thread, row, sequence;
	uint32_t number, event; /* state at its beginning */
};

/* A thread with records: leaves first .. first + leaves - 1. */
struct cpa_strand {
	uint32_t id, row;
	size_t first, leaves;
	uint32_t dropped; /* events that were overwritten */
	uint64_t begun;	  /* clock at the first record */
};

struct cpa_journal_file {
	struct cpa_dump *dump;
	uint32_t slots;
	struct cpa_leaf *leaf;
	size_t leaves;
	struct cpa_strand *strand; /* sorted by thread id */
	size_t strands;
	uint64_t size;		       /* bytes of all blocks */
	uint64_t overwritten, refused; /* numbers of events */
	uint64_t broken;	       /* strands with a damaged record */
	/* From the edges table, by row: slot, begin and end node. */
	struct cpa_journal_edge {
		uint32_t slot, from, to;
	} * edge;
	uint32_t edges;
	uint8_t *kind; /* by slot: enum cpa_external + 1; 0: no slot of external time */
	bool *idle;    /* by slot: what is charged to it weighs nothing */
};

/*
 * Open the journal of @dump. Return true if there is one; the caller then closes it. Else *@error
 * is NULL (no journal) or a message, which the caller frees (damaged).
 */
bool cpa_journal_open(struct cpa_journal_file *file, struct cpa_dump *dump, char **error);
void cpa_journal_close(struct cpa_journal_file *file);

/* The strand of the thread with id @thread; NULL: none. */
const struct cpa_strand *cpa_journal_strand(const struct cpa_journal_file *file, uint32_t id);

/* Name of an event: {thread:32, number:32} as in the file. 0: none. */
typedef uint64_t cpa_event_name;

static inline uint32_t cpa_event_thread(cpa_event_name name)
{
	return (uint32_t)(name >> 32);
}

static inline cpa_event_name cpa_event_of(uint32_t thread, uint32_t number)
{
	return (uint64_t)thread << 32 | number;
}

enum cpa_entry_kind {
	CPA_ENTRY_START,   /* the thread's first event, without an activity */
	CPA_ENTRY_EVENT,   /* number, activity */
	CPA_ENTRY_ACQUIRE, /* causes of the current event or (fresh) of an event of its own */
	CPA_ENTRY_RELEASE,
	CPA_ENTRY_MERGE, /* number and causes of joined releases; not in thread order */
};

struct cpa_held_charge {
	uint32_t slot;
	uint64_t ticks;
};

struct cpa_entry {
	enum cpa_entry_kind kind;
	uint32_t number;
	bool fresh;
	unsigned flags, more; /* of the record; more: of an ACQUIRE */
	unsigned causes;
	cpa_event_name cause[2];
	uint32_t object, other, queue, count;
	uint64_t item;
	uint32_t stream; /* row of the stream that was waited for, 0: none; */
	uint64_t bytes;	 /* and what was taken from it */
	uint64_t process, external, runqueue;
	uint64_t idle;	/* part of `external` that weighs nothing in the inherent path */
	uint64_t ready; /* of an ACQUIRE: ticks at the end of the wait, without a processor */
	uint32_t edge, node, uses;
	uint64_t clock; /* clock after the record */
	/*
	 * Charges that the record itself lists: functions, external kinds and the like, not those
	 * of the state. Valid until the next record.
	 */
	size_t charges;
	const struct cpa_held_charge *charge;
};

/* The weight of an EVENT's activity in the inherent path, ticks. */
static inline uint64_t cpa_entry_weight(const struct cpa_entry *e)
{
	return e->process + e->external - e->idle;
}

/* A position in a strand, with the decoder's state. */
struct cpa_cursor {
	const struct cpa_journal_file *file;
	const struct cpa_strand *strand;
	size_t leaf; /* next leaf of the strand to copy */
	size_t last; /* one past the last leaf to read */
	bool broken;
	bool begin; /* the strand's START is still to be returned */
	const unsigned char *at, *end;
	uint32_t number, event, released, node, edge, slot;
	uint32_t held_count, held[CPA_JOURNAL_HELD];
	uint64_t clock, gap, item;
	uint32_t edge_guess[CPA_JOURNAL_GUESS], acquired[CPA_JOURNAL_GUESS];
	uint32_t released_guess[CPA_JOURNAL_GUESS], number_guess[CPA_JOURNAL_GUESS];
	uint32_t object; /* last object acquired */
	struct {
		uint32_t slots, slot[CPA_JOURNAL_LIST];
	} list[CPA_JOURNAL_GUESS];
	size_t charges, room;
	struct cpa_held_charge *charge;
	unsigned char block[CPA_JOURNAL_BLOCK] __attribute__((aligned(8)));
};

/* Start at leaf @leaf of @strand, to read @leaves leaves. */
void cpa_cursor_init(struct cpa_cursor *cursor, const struct cpa_journal_file *file,
		     const struct cpa_strand *strand, size_t leaf, size_t leaves);
void cpa_cursor_fini(struct cpa_cursor *cursor);

/* Read the next record. Return false at the end. */
bool cpa_cursor_next(struct cpa_cursor *cursor, struct cpa_entry *entry);

#endif
