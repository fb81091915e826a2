/* SPDX-License-Identifier: MIT */
/*
 * shadow/journal/journal.h - writes events into the journal (layout_journal.h)
 *
 * Each thread writes into a block of its own. The only word that other threads read meanwhile is
 * the number of complete bytes, set by one store after each record. Taking a block needs one atomic
 * addition and one exchange; until the pool has its maximum number of blocks, a new block is new
 * memory of the session.
 *
 *            record  begin,end      "-": the calls may overlap in several threads. In one thread
 *   record      -        -          they never do: the guard (preload/core/worker.h) keeps signal
 *   begin,end   -        -          handlers out.
 *
 * J1  A block is written by the thread that set `open`, and by no other until `open` is 0 again.
 * J2  Bytes covered by `used` are not written before `ticket` is 0. Readers load `ticket` before
 * and after.
 * J3  A thread that finds the event of a path can read its record: it was written before the path
 * was published.
 * Progress: lock-free. After CPA_JOURNAL_TRIES blocks that were open, events are dropped and
 * counted.
 *
 * With the journal off each hook is one load and one branch, at each acquire and each release.
 */
#ifndef CPA_SHADOW_JOURNAL_JOURNAL_H
#define CPA_SHADOW_JOURNAL_JOURNAL_H

#include "shadow/path/span.h"
#include "shadow/path/wait.h"
#include "shadow/store/self.h"
#include "shadow/format/layout_journal.h"

#define CPA_JOURNAL_TRIES 64u
#define CPA_JOURNAL_LEAST (16u * CPA_JOURNAL_BLOCK)

/*
 * Give the session a journal of at most @size bytes. Called before any thread exists. Return false:
 * no space.
 */
CPA_HIDDEN bool cpa_journal_init(uint64_t size);

/* Begin the thread's journal, at the clock of its path; end it. */
CPA_HIDDEN void cpa_journal_begin(struct cpa_self *self);
CPA_HIDDEN void cpa_journal_end(struct cpa_self *self);

/*
 * The following functions require self->journal. An event is written in two steps:
 * cpa_activity_end() records its activity and the charges; then cpa_journal_event_write() writes
 * all of it with the clock @now.
 */
CPA_HIDDEN void cpa_journal_activity(struct cpa_self *self, const struct cpa_span *span,
				     const struct cpa_edge_cache *edge);
CPA_HIDDEN void cpa_journal_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks);
CPA_HIDDEN void cpa_journal_untimed(struct cpa_self *self, uint32_t uses);
CPA_HIDDEN void cpa_journal_event_write(struct cpa_self *self, uint64_t now);

/*
 * The thread acquired @on (NULL: no object), and @other if there are two. @a and @b are the joined
 * paths (each may be NULL). Bits of @came: 1: the observed path is that of @a; 2: of @b.
 */
CPA_HIDDEN void cpa_journal_acquire_write(struct cpa_self *self, const struct cpa_object *on,
					  const struct cpa_object *other, const struct cpa_path *a,
					  const struct cpa_path *b, unsigned came,
					  const struct cpa_wait *w);

/* Note that the wait which the thread's next acquire ends was not woken. */
CPA_HIDDEN void cpa_journal_failed(struct cpa_self *self);

/* Note that the next record concerns @item of queue row @queue. */
CPA_HIDDEN void cpa_journal_item(struct cpa_self *self, uint32_t queue, uint64_t item);

/* Note that the next record concerns @bytes of the stream @stream. */
CPA_HIDDEN void cpa_journal_stream_write(struct cpa_self *self, const struct cpa_stream *stream,
					 uint64_t bytes);

/* The thread publishes its path to @count acquires (0: any number). @how: CPA_RELEASE_... bits. */
CPA_HIDDEN void cpa_journal_release_write(struct cpa_self *self, const struct cpa_object *on,
					  unsigned how, uint32_t count);

/* @path, published as event @was, was joined with event @from and is about to be published. */
CPA_HIDDEN void cpa_journal_merge_write(struct cpa_self *self, struct cpa_path *path, uint64_t was,
					uint64_t from);

/*
 * The thread's path has changed, and no record says so yet: until one does, no other thread may take the
 * path for that of the event before. Called before cpa_written().
 */
static inline void cpa_journal_pending(struct cpa_self *self)
{
	/* Relaxed: cpa_written() publishes it. Pairs with copy_still() of shadow/edge/part.c. */
	if (unlikely(self->journal))
		__atomic_store_n(&self->row->path.event, CPA_JOURNAL_PENDING, __ATOMIC_RELAXED);
}

/*
 * The calling thread has left our code for good, perhaps while it wrote a record. If the event
 * of its path is CPA_JOURNAL_PENDING, that event has no record. The next record begins a block: the block's header has
 * the clock and the rows that its records are differences from.
 */
CPA_HIDDEN void cpa_journal_left(struct cpa_self *self);

/*
 * Return @event of a path; 0 if that is pending: its thread was killed with its process, and the journal is
 * incomplete.
 */
CPA_HIDDEN uint64_t cpa_journal_known(uint64_t event);

static inline void cpa_journal_event(struct cpa_self *self, uint64_t now)
{
	if (unlikely(self->journal))
		cpa_journal_event_write(self, now);
}

static inline void cpa_journal_stream(struct cpa_self *self, const struct cpa_stream *stream,
				      uint64_t bytes)
{
	if (unlikely(self->journal))
		cpa_journal_stream_write(self, stream, bytes);
}

static inline void cpa_journal_release(struct cpa_self *self, const struct cpa_object *on,
				       unsigned how, uint32_t count)
{
	if (unlikely(self->journal))
		cpa_journal_release_write(self, on, how, count);
}

#endif
