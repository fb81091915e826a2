/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/journal.h - the records of a journal, thread by thread
 *
 * What shadow/format/layout_journal.h describes, read by copies of whole blocks: the file may be that of a
 * running program, or hostile. A thread's blocks that are left are read from the oldest one behind
 * the last gap on; a record that makes no sense ends the thread there, and is counted.
 */
#ifndef CPA_ANALYSIS_INPUT_JOURNAL_H
#define CPA_ANALYSIS_INPUT_JOURNAL_H

#include "analysis/input/load.h"
#include "shadow/format/layout_journal.h"

/* A block, by what its header says. */
struct cpa_leaf {
	uint64_t offset, ticket, clock;
	uint32_t thread, row, sequence;
	uint32_t number, event; /* the state at its begin */
};

/* A thread with records: leaves first .. first + leaves - 1. */
struct cpa_strand {
	uint32_t id, row;
	size_t first, leaves;
	uint32_t dropped; /* events that are not there any more */
	uint64_t begun;	  /* clock of the first record's state */
};

struct cpa_journal_file {
	struct cpa_dump *dump;
	uint32_t slots;
	struct cpa_leaf *leaf;
	size_t leaves;
	struct cpa_strand *strand; /* by id */
	size_t strands;
	uint64_t size;		       /* bytes that the blocks have */
	uint64_t overwritten, refused; /* events */
	uint64_t broken;	       /* strands that end in nonsense */
	/* Of the edges table, by row: slot and end. */
	struct cpa_journal_edge {
		uint32_t slot, to;
	} * edge;
	uint32_t edges;
};

/*
 * Find what there is. Return false if @dump has no journal, or *@error (to be freed) is set: it
 * makes no sense. Closed by the caller if true.
 */
bool cpa_journal_open(struct cpa_journal_file *file, struct cpa_dump *dump, char **error);
void cpa_journal_close(struct cpa_journal_file *file);

/* The strand of thread @id; NULL: there is none. */
const struct cpa_strand *cpa_journal_strand(const struct cpa_journal_file *file, uint32_t id);

/* Names an event: as {thread:32, number:32} in the file. 0: none. */
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
	CPA_ENTRY_START,   /* the thread begins: its first event, without an activity */
	CPA_ENTRY_EVENT,   /* number, activity */
	CPA_ENTRY_ACQUIRE, /* causes; of the current event, or (fresh) of one of its own */
	CPA_ENTRY_RELEASE,
	CPA_ENTRY_MERGE, /* number, causes; not in the thread's own order */
};

struct cpa_held_charge {
	uint32_t slot;
	uint64_t ticks;
};

struct cpa_entry {
	enum cpa_entry_kind kind;
	uint32_t number;
	bool fresh;
	unsigned flags, more; /* of the record; more of an ACQUIRE */
	unsigned causes;
	cpa_event_name cause[2];
	uint32_t object, other, queue, count;
	uint64_t item;
	uint64_t process, external, runqueue;
	uint32_t edge, node, uses;
	uint64_t clock; /* the state's, after it */
	/*
	 * Functions, external kinds and the like; not yet those of the state. Good until the next
	 * one.
	 */
	size_t charges;
	const struct cpa_held_charge *charge;
};

/* A place in a strand, and the state there. */
struct cpa_cursor {
	const struct cpa_journal_file *file;
	const struct cpa_strand *strand;
	size_t leaf; /* the next one to be copied, of the strand's */
	size_t last; /* the one behind the last to be read */
	bool broken;
	bool begin; /* the strand's START is to be told */
	const unsigned char *at, *end;
	uint32_t number, event, released, node, edge, slot;
	uint32_t held_count, held[CPA_JOURNAL_HELD];
	uint64_t clock, gap, item;
	uint32_t edge_guess[CPA_JOURNAL_GUESS], acquired[CPA_JOURNAL_GUESS];
	uint32_t released_guess[CPA_JOURNAL_GUESS], number_guess[CPA_JOURNAL_GUESS];
	uint32_t object; /* the one acquired last */
	struct {
		uint32_t slots, slot[CPA_JOURNAL_LIST];
	} list[CPA_JOURNAL_GUESS];
	size_t charges, room;
	struct cpa_held_charge *charge;
	unsigned char block[CPA_JOURNAL_BLOCK] __attribute__((aligned(8)));
};

/* At the begin of leaf @leaf of @strand; @leaves of them are to be read. */
void cpa_cursor_init(struct cpa_cursor *cursor, const struct cpa_journal_file *file,
		     const struct cpa_strand *strand, size_t leaf, size_t leaves);
void cpa_cursor_fini(struct cpa_cursor *cursor);

/* The next record. Return false at the end. */
bool cpa_cursor_next(struct cpa_cursor *cursor, struct cpa_entry *entry);

#endif
