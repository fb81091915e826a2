/* SPDX-License-Identifier: MIT */
#include "shadow/edge/part.h"

#include <string.h>

#include "shadow/edge/cell.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/store/epoch.h"
#include "shadow/store/heap.h"
#include "shadow/edge/item.h"
#include "shadow/format/layout_journal.h"
#include "shadow/path/path.h"
#include "shadow/edge/queue.h"
#include "shadow/store/table.h"
#include "shadow/store/unseen.h"
#include "shadow/edge/thread.h"

#define READINGS 4u

/*
 * header.part: epoch of the latest part that was begun, times 2, plus OPEN once all paths are
 * collected.
 */
#define OPEN 1u

/*
 * Cut time after @until off the observed path: an operation in progress at the end of a part went
 * on a little.
 */
static void trim(struct cpa_path *path, uint64_t until)
{
	static const enum cpa_time_kind order[CPA_TIME_KINDS] = { CPA_TIME_PROBE, CPA_TIME_RUNQUEUE,
								  CPA_TIME_HANDOFF,
								  CPA_TIME_EXTERNAL,
								  CPA_TIME_PROCESS };
	uint64_t sum = cpa_path_observed(path), over = sum > until ? sum - until : 0;

	for (unsigned i = 0; over && i < CPA_TIME_KINDS; i++) {
		uint64_t *kind = &path->observed[order[i]];
		uint64_t less = over < *kind ? over : *kind;

		*kind -= less;
		over -= less;
	}
}

/*
 * Extend the observed path to @until, the total of all earlier parts; unknown time counts as
 * external.
 */
static void tile(struct cpa_path *path, uint64_t until)
{
	uint64_t sum = cpa_path_observed(path);

	trim(path, until);
	if (until > sum)
		path->observed[CPA_TIME_EXTERNAL] += until - sum;
}

void cpa_part_trim(struct cpa_self *self)
{
	struct cpa_path *path = &self->row->path;

	cpa_writing(self->row);
	trim(path, cpa_epoch_on(cpa_header(), path->released));
	cpa_written(self->row);
}

void cpa_part_end(struct cpa_self *self, uint64_t stop, uint64_t end)
{
	struct cpa_path *path = &self->row->path;

	cpa_writing(self->row);
	path->released = end;
	trim(path, cpa_epoch_on(cpa_header(), end));
	cpa_written(self->row);
	cpa_cell_release(self, &cpa_header()->final, path);
	/*
	 * RELEASE: a thread that sees the mark finds the path in the cell. Pairs with gather_row().
	 */
	__atomic_store_n(&self->row->left, stop, __ATOMIC_RELEASE);
}

CPA_UNSEEN static uint32_t slots_of(uint64_t version)
{
	return version ? ((const struct cpa_version *)cpa_at(version))->slots : 0;
}

/*
 * Set *@to to the offset of a copy of @version, 0 for 0. Return false: no memory, or @version no
 * longer is one.
 */
static bool copy_version(uint64_t *to, uint64_t version, bool of_o)
{
	uint32_t slots = slots_of(version);
	struct cpa_version *v;

	*to = 0;
	if (!version)
		return true;
	/* Relaxed: it only grows, and the version lay in it. */
	if (slots > cpa_header()->slots + CPA_VERSION_BLOCK ||
	    version + cpa_version_size(slots, of_o) >
		    __atomic_load_n(&cpa_header()->reserved, __ATOMIC_RELAXED))
		return false;
	v = cpa_heap_take(cpa_version_size(slots, of_o));
	if (!v) {
		cpa_diag(CPA_DIAG_VERSIONS_REFUSED);
		return false;
	}
	cpa_unseen_copy(v, cpa_at(version), cpa_version_size(slots, of_o));
	v->refs = 1;
	v->slots = slots;
	*to = cpa_offset(v);
	return true;
}

static uint32_t changes(const struct cpa_thread *row)
{
	/* ACQUIRE: the paths are as the writer left them. Pairs with cpa_written(). */
	return __atomic_load_n(&row->writing, __ATOMIC_ACQUIRE);
}

/*
 * @path of @row, which other threads know by @event, is about to be copied. Return false if its last changes
 * have no record yet.
 */
static bool close_event(struct cpa_thread *row, const struct cpa_path *path, uint64_t event)
{
	/* Relaxed: the exchange below orders. */
	uint64_t before = __atomic_load_n(&row->copied, __ATOMIC_RELAXED);

	if (event == CPA_JOURNAL_PENDING)
		return false;
	/* No acquire is added to the event of earlier threads. */
	if (!event || path != &row->path)
		return true;
	/*
	 * SEQ_CST: either the thread, before it records an acquire, sees that its event is closed, or
	 * copy_still() that the path has changed. Pairs with close_copied() of shadow/journal/journal.c. The
	 * event is not later than one that who opens another part has closed, unless the path has changed.
	 */
	while ((!before || (int64_t)(event - before) > 0) &&
	       !__atomic_compare_exchange_n(&row->copied, &before, event, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
	/* SEQ_CST: also if it was closed before. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

/*
 * Copy @from, a path of @row whose thread sleeps or has ended, with copies of its versions. The thread may
 * wake up: return false if it did; *@to is then useless. Stale offsets read meanwhile still lie within the
 * session.
 */
static bool copy_still(struct cpa_path *to, struct cpa_thread *row, const struct cpa_path *from)
{
	uint32_t word = changes(row);
	struct cpa_path was;
	bool copied;

	/* ACQUIRE: the path has its record. Pairs with name_path() of shadow/journal/journal_write.h. */
	if (word % 2 || !close_event(row, from, __atomic_load_n(&from->event, __ATOMIC_ACQUIRE)))
		return false;
	cpa_unseen_copy(&was, from, sizeof(was));
	memcpy(to, &was, sizeof(*to));
	to->version = to->observed_version = 0;
	copied = copy_version(&to->version, was.version, false) &&
		 copy_version(&to->observed_version, was.observed_version, true);
	/* The paths and versions are read before the row is looked at again: C3 of checkpoint.h. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (copied && changes(row) == word)
		return true;
	if (to->version)
		cpa_heap_free(cpa_at(to->version));
	if (to->observed_version)
		cpa_heap_free(cpa_at(to->observed_version));
	return false;
}

/* Whether the part of @epoch is claimed, and not open yet: then no thread has an event in it. */
static bool is_opening(uint64_t epoch)
{
	/* ACQUIRE: who has an event in the part found it open before. Pairs with cpa_part_open(). */
	return __atomic_load_n(&cpa_header()->part, __ATOMIC_ACQUIRE) == 2 * epoch;
}

/* Whether the thread was in no part yet, and its clock may lie behind the end of the latest one. */
CPA_UNSEEN static bool is_empty(const struct cpa_path *path)
{
	return !path->len && !cpa_path_observed(path);
}

/*
 * Add @path of @row, whose thread sleeps or has ended, to those with which the part of @epoch begins. Return false
 * if that part is open already, or over.
 */
static bool gather(struct cpa_self *self, struct cpa_thread *row, const struct cpa_path *path,
		   uint64_t epoch)
{
	uint64_t end = cpa_epoch_begun(cpa_header(), epoch - 1);
	struct cpa_path copy;
	unsigned n = 0;
	bool opening;

	if (is_empty(path))
		return true;
	while (n < READINGS && !copy_still(&copy, row, path))
		n++;
	if (n == READINGS) /* the thread runs, and will add its path itself */
		return true;
	copy.owner = UINT32_MAX; /* belongs to no thread */
	if (copy.released > end)
		copy.released = end;
	/*
	 * The copy may have an event of the part only if the part is open now: such an event is in the row before the
	 * row's last change, which copy_still() has seen. A path from before the part may be added late: whoever
	 * opened the part has added it, too, and joining it twice changes nothing.
	 */
	opening = is_opening(epoch);
	if (opening)
		cpa_cell_release(self, &cpa_header()->final, &copy);
	cpa_path_clear(self, &copy);
	return opening;
}

/* gather() of both paths of @row, unless another thread has done so. */
static bool gather_row(struct cpa_self *self, struct cpa_thread *row, uint64_t epoch)
{
	/*
	 * Relaxed: who begins in the row later has no path yet. ACQUIRE: the paths are in the cell. Pairs
	 * with the RELEASE below.
	 */
	if (!__atomic_load_n(&row->key, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&row->gathered, __ATOMIC_ACQUIRE) == epoch)
		return true;
	/* ACQUIRE pairs with cpa_part_end(). */
	if (__atomic_load_n(&row->left, __ATOMIC_ACQUIRE) < epoch - 1 &&
	    !gather(self, row, &row->path, epoch))
		return false;
	if (!gather(self, row, &row->retired, epoch))
		return false;
	/* RELEASE: the paths are in the cell. A thread that comes late only makes another one add them again. */
	__atomic_store_n(&row->gathered, epoch, __ATOMIC_RELEASE);
	return true;
}

/*
 * Collect the paths with which the part of @epoch begins, unless it is open or over: those of all rows, of which row
 * @first + 1 is the first.
 */
static void gather_all(struct cpa_self *self, uint64_t epoch, uint32_t first)
{
	uint32_t rows = cpa_table(CPA_TABLE_THREADS)->used;

	for (uint32_t i = 0; i < rows; i++)
		if (!gather_row(self, cpa_row(CPA_TABLE_THREADS, (first + i) % rows + 1), epoch))
			return;
	if (is_opening(epoch))
		cpa_queue_forget(self, cpa_epoch_begun(cpa_header(), epoch));
}

bool cpa_part_open(struct cpa_self *self, uint64_t epoch)
{
	struct cpa_header *h = cpa_header();
	/* ACQUIRE: once the part is open, the cell has all paths. Pairs with the RELEASE below. */
	uint64_t word = __atomic_load_n(&h->part, __ATOMIC_ACQUIRE);
	bool claimed = false;

	if (likely(word == 2 * epoch + OPEN))
		return true;
	/* Relaxed: what is claimed says nothing of the paths. */
	while (word < 2 * epoch && !claimed)
		claimed = __atomic_compare_exchange_n(&h->part, &word, 2 * epoch, false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	/*
	 * Others may be here, too: nobody waits for a thread that has lost its processor. Each but the first begins
	 * at its own row, so that they share the work.
	 */
	if (word <= 2 * epoch)
		gather_all(self, epoch, claimed ? 0 : self->number);
	word = 2 * epoch;
	/* RELEASE, ACQUIRE: as above. A larger word: the part is open, or the epoch has changed again. */
	return __atomic_compare_exchange_n(&h->part, &word, 2 * epoch + OPEN, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
	       word == 2 * epoch + OPEN;
}

/*
 * Acquire the path that the parts before ended with, at the begin of the part of @epoch. A thread that
 * was in the part before, and did not wait for others when it ended, keeps its observed path; that of
 * others becomes that of the cell, without latency: their return is no later than its release.
 */
static void acquire_final(struct cpa_self *self, uint64_t epoch)
{
	const struct cpa_thread *row = self->row;
	uint64_t *cell = &cpa_header()->final;
	struct cpa_token *token = cpa_cell_pin(cell);
	const struct cpa_path *path = token ? &token->path : NULL;
	struct cpa_wait wait = { .now = path ? path->released : 0 };

	/* Relaxed: only the thread itself writes it. */
	if (__atomic_load_n(&row->left, __ATOMIC_RELAXED) == epoch - 1)
		wait.arrived = row->path.released;
	cpa_checkpoint(self, wait.now); /* C1 of shadow/graph/checkpoint.h */
	cpa_acquire_path(self, path, &wait);
	if (token)
		cpa_cell_unpin(self, cell, token);
}

void cpa_part_begin(struct cpa_self *self, uint64_t epoch)
{
	uint64_t now = cpa_epoch_begun(cpa_header(), epoch);

	cpa_thread_new_id(self);
	acquire_final(self, epoch);
	cpa_writing(self->row);
	tile(&self->row->path, cpa_epoch_on(cpa_header(), now));
	self->row->path.released = now;
	cpa_written(self->row);
	self->row->held_count = 0;
	self->items_in_work = 0;
}
