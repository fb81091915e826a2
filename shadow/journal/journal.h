/* SPDX-License-Identifier: MIT */
/*
 * shadow/journal/journal.h - writes what happens into the journal (layout_journal.h)
 *
 * Each thread writes into a block that is its own; the only word that others read while it does so
 * is how much of it is whole, set by one store after each record. A block is taken by one atomic
 * addition and one exchange; while there are fewer than may be, it is new memory of the session.
 *
 *            record  begin,end      "-": the calls may overlap, of several threads. Of one thread
 *   record      -        -          none does: the guard (preload/core/worker.h) lets no signal handler in.
 *   begin,end   -        -
 *
 * J1  A block is written by the thread that set `open`, and by nobody else until it is 0 again.
 * J2  What `used` covers is not written before `ticket` is 0. Readers look at `ticket` before and after.
 * J3  Who finds the event of a path can read its record: it was written before the path was published.
 * Progress: lock-free; after CPA_JOURNAL_TRIES blocks that were open events are dropped, and
 * counted.
 *
 * Off, each hook is one load and one branch, and there is one at each acquire and each release.
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
 * Let the session have a journal of at most @size bytes. Before any thread. Return false: no space.
 */
CPA_HIDDEN bool cpa_journal_init(uint64_t size);

/* The thread begins, at the clock of its path; it ends. */
CPA_HIDDEN void cpa_journal_begin(struct cpa_self *self);
CPA_HIDDEN void cpa_journal_end(struct cpa_self *self);

/*
 * The following are called only if self->journal is set. An event: first its activity, by
 * cpa_activity_end(), with what is charged; then, with the clock @now, all of it.
 */
CPA_HIDDEN void cpa_journal_activity(struct cpa_self *self, const struct cpa_span *span,
				     const struct cpa_edge_cache *edge);
CPA_HIDDEN void cpa_journal_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks);
CPA_HIDDEN void cpa_journal_untimed(struct cpa_self *self, uint32_t uses);
CPA_HIDDEN void cpa_journal_event_write(struct cpa_self *self, uint64_t now);

/*
 * The thread has acquired @on (NULL: no object), and @other if there are two. @a and @b, each may
 * be NULL, are what was released; bits of @came: 1, 2: the observed path is that of @a, @b.
 */
CPA_HIDDEN void cpa_journal_acquire_write(struct cpa_self *self, const struct cpa_object *on,
					  const struct cpa_object *other, const struct cpa_path *a,
					  const struct cpa_path *b, unsigned came,
					  const struct cpa_wait *w);

/* The wait that the thread's next acquire ends was not woken. */
CPA_HIDDEN void cpa_journal_failed(struct cpa_self *self);

/* The next record is about @item of queue row @queue. */
CPA_HIDDEN void cpa_journal_item(struct cpa_self *self, uint32_t queue, uint64_t item);

/* The thread publishes its path, to @count acquires (0: as many as like). @how: CPA_RELEASE_... */
CPA_HIDDEN void cpa_journal_release_write(struct cpa_self *self, const struct cpa_object *on,
					  unsigned how, uint32_t count);

/* @path, published as event @was, has been joined with @from, and is about to be published. */
CPA_HIDDEN void cpa_journal_merge_write(struct cpa_self *self, struct cpa_path *path, uint64_t was,
					uint64_t from);

static inline void cpa_journal_event(struct cpa_self *self, uint64_t now)
{
	if (unlikely(self->journal))
		cpa_journal_event_write(self, now);
}

static inline void cpa_journal_release(struct cpa_self *self, const struct cpa_object *on,
				       unsigned how, uint32_t count)
{
	if (unlikely(self->journal))
		cpa_journal_release_write(self, on, how, count);
}

#endif
