/* SPDX-License-Identifier: MIT */
#include "shadow/edge/thread.h"

#include <errno.h>
#include <string.h>

#include "shadow/edge/acquire.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/graph/role.h"
#include "shadow/store/heap.h"
#include "shadow/journal/journal.h"
#include "shadow/path/path.h"
#include "shadow/store/stack.h"
#include "shadow/edge/process.h"
#include "shadow/edge/queue.h"
#include "shadow/graph/owed.h"
#include "shadow/graph/summary.h"
#include "shadow/store/table.h"
#include "shadow/path/token.h"

#define LOOKS 8u /* free rows at which a new thread looks */

/* Rows from which on any free one is used again, if rows are used again from @kept on. */
#define MOST(kept) ((kept) + (kept) / 2)

/* A row has a bit of its own in the bitmaps of queues. */
_Static_assert(MOST(CPA_THREADS_KEPT) <= 64 * CPA_ROLE_WORDS, "one bit for two rows");

static struct cpa_thread *row_at(uint32_t number)
{
	return cpa_row(CPA_TABLE_THREADS, number);
}

static uint32_t *below(uint32_t number)
{
	return &row_at(number)->next_done;
}

/* Whether the last thread of row @number had the start routine of @component. */
static bool is_like(uint32_t number, uint32_t component)
{
	/* Relaxed: the stack orders. */
	return !component || cpa_role_routine(row_at(number)->component) == component;
}

/*
 * Pop a free row whose last thread had the start routine of @component, of the LOOKS rows that were freed last. 0:
 * none. Others meanwhile find fewer free rows.
 */
static uint32_t pop_like(uint32_t component)
{
	uint32_t other[LOOKS], n = 0, number = 0;

	while (n < LOOKS && (number = cpa_stack_pop(&cpa_header()->done, below)) &&
	       !is_like(number, component)) {
		other[n++] = number;
		number = 0;
	}
	while (n)
		cpa_stack_push(&cpa_header()->done, other[--n], below);
	return number;
}

/* A row that a thread has left, if there are @kept rows. Its next thread is of @component. 0: none. */
static uint32_t use_again(uint32_t kept, uint32_t component)
{
	/* Relaxed: the number only decides when rows are used again. */
	uint32_t used = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);
	uint32_t number = used < kept ? 0 : pop_like(component);

	/* Some more rows, so that those of different threads are not one. */
	if (!number && used >= MOST(kept))
		number = cpa_stack_pop(&cpa_header()->done, below);
	return number;
}

uint32_t cpa_thread_claim(uint32_t process, uint32_t component)
{
	/* Relaxed: the number only decides when rows are used again. */
	uint64_t processes = __atomic_load_n(&cpa_header()->process_ids, __ATOMIC_RELAXED);
	uint32_t kept = processes > CPA_TREE_KEPT / 2 ? CPA_TREE_KEPT : CPA_THREADS_KEPT;
	uint32_t number = use_again(kept, component);

	if (number) { /* the creator may name the new thread before it begins */
		memset(row_at(number)->name, 0, sizeof(row_at(number)->name));
		row_at(number)->role = 0;
	}
	if (!number)
		number = cpa_table_append(CPA_TABLE_THREADS);
	if (!number) {
		cpa_diag(CPA_DIAG_THREADS_REFUSED);
		return 0;
	}
	cpa_process_claims(row_at(number), process);
	/* RELEASE: detach, exit and the end of the process, in whatever thread, come after this. */
	__atomic_store_n(&row_at(number)->state, CPA_THREAD_RUNNING, __ATOMIC_RELEASE);
	return number;
}

static bool is_in_use(uint32_t id)
{
	uint32_t n = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_thread *row = row_at(i);

		/* In a later part of the run a thread's id differs from its row's key. */
		if ((row->key == id || row->path.owner == id) &&
		    /*
		     * Relaxed: another thread that draws an id at the same time draws another
		     * number.
		     */
		    __atomic_load_n(&row->state, __ATOMIC_RELAXED) != CPA_THREAD_DONE)
			return true;
	}
	return false;
}

void cpa_thread_new_id(struct cpa_self *self)
{
	uint64_t n;

	do {
		/* Relaxed: the number must only be unique. */
		n = __atomic_add_fetch(&cpa_header()->started, 1, __ATOMIC_RELAXED);
		self->id = (uint32_t)n;
	} while (self->id + 1 <= 1 || (n > UINT32_MAX && is_in_use(self->id)));
}

/*
 * An edge cache already in the row belongs to a thread that was killed with its process; its sums
 * are added to the edges' rows as entries are replaced.
 */
static void take_edges(struct cpa_self *self)
{
	struct cpa_edge_caches *caches = self->row->edges ? cpa_at(self->row->edges) :
							    cpa_heap_alloc(sizeof(*caches));

	self->edges = caches ? caches->edge : NULL;
	self->row->edges = caches ? cpa_offset(caches) : 0;
}

/* Free the edge cache; its sums must have been added to the edges' rows. */
static void give_edges(struct cpa_self *self)
{
	cpa_writing(self->row);
	self->row->edges = 0;
	cpa_written(self->row);
	if (self->edges)
		cpa_heap_free(self->edges);
	self->edges = NULL;
}

/* Of what all threads of a row were so far: @was, but for the last of them, which was of @component. */
static uint32_t of_all(uint32_t earlier, uint32_t was, uint32_t component)
{
	return component && (!earlier || was == component) ? component : UINT32_MAX;
}

/*
 * Join the path that the last thread of the row left into those of the threads before it, of event @before. Return
 * the journal event that was its last; 0: none, or it was in no part of the run.
 */
static uint64_t retire(struct cpa_self *self, uint64_t before)
{
	struct cpa_thread *row = self->row;
	bool was_in_part = row->path.released != 0;
	uint64_t last = was_in_part ? cpa_journal_known(row->path.event) : 0;

	if (was_in_part) {
		row->was = of_all(row->earlier, row->was, row->component);
		row->was_routine =
			of_all(row->earlier, row->was_routine, cpa_role_routine(row->component));
		row->earlier++;
	}
	cpa_path_join(self, &row->retired, &row->path, false);
	/* Relaxed: while the row changes; see copy_still() of shadow/edge/part.c. */
	__atomic_store_n(&row->retired.event, last ? CPA_JOURNAL_PENDING : before,
			 __ATOMIC_RELAXED);
	cpa_path_clear(self, &row->path);
	/* Relaxed: the row's path is empty; see gather_row() of shadow/edge/part.c. */
	__atomic_store_n(&row->left, 0, __ATOMIC_RELAXED);
	return last;
}

/* Name the event of the path in which retire() has joined those of the events @before and @last. */
static void name_retired(struct cpa_self *self, uint64_t before, uint64_t last)
{
	struct cpa_path *path = &self->row->retired;

	if (before && self->journal)
		cpa_journal_merge_write(self, path, before, last);
	/* RELEASE: the path is complete. Pairs with copy_still() of shadow/edge/part.c. */
	if (path->event == CPA_JOURNAL_PENDING)
		__atomic_store_n(&path->event, last, __ATOMIC_RELEASE);
}

/*
 * The thread of @row has stopped for good. If that was in the middle of a change to the row, let others read it
 * again; the change has no record in the journal.
 */
static void stopped(struct cpa_thread *row)
{
	if (likely(row->writing % 2 == 0))
		return;
	if (cpa_header()->journal)
		/* Relaxed: cpa_written() publishes it. */
		__atomic_store_n(&row->path.event, CPA_JOURNAL_PENDING, __ATOMIC_RELAXED);
	cpa_written(row);
}

void cpa_thread_left(struct cpa_self *self)
{
	if (unlikely(self->row->writing % 2)) /* in a join the path has all of the other one */
		self->row->path.owner = self->id;
	stopped(self->row);
	if (unlikely(self->journal))
		cpa_journal_left(self);
}

int cpa_thread_begin(struct cpa_self *self, uint32_t component, uint32_t tid,
		     const struct cpa_path *from, struct cpa_wait *wait)
{
	struct cpa_thread *row;
	uint64_t last = 0, before = 0;

	if (!self->number)
		self->number = cpa_thread_claim(self->process, component);
	if (!self->number)
		return -ENOMEM;
	row = row_at(self->number);
	self->row = row;
	cpa_thread_new_id(self);
	stopped(row); /* the last thread was killed */
	cpa_checkpoint_begin(self, !row->key, wait->now);
	cpa_writing(row);
	if (row->key) {
		before = cpa_journal_known(row->retired.event);
		last = retire(self, before);
	} else {
		void *totals = cpa_heap_alloc(cpa_header()->slots * sizeof(uint64_t));

		row->totals_slots = totals ? cpa_header()->slots : 0;
		row->totals = totals ? cpa_offset(totals) : 0;
		row->start_ticks = wait->now;
	}
	take_edges(self);
	cpa_summary_begin(&self->noting, self->id, cpa_header()->note);
	/* Relaxed: gather_row() of shadow/edge/part.c only wants to know whether there was a thread. */
	__atomic_store_n(&row->key, self->id, __ATOMIC_RELAXED);
	cpa_process_enter(row, self->process);
	row->tid = tid;
	row->component = component;
	row->thread_slot = cpa_component_slot(component);
	row->node = 0;
	cpa_owed_forget(self);
	memset(&self->owed, 0, sizeof(self->owed));
	row->held_count = 0;
	row->end_ticks = 0;
	row->path.owner = self->id;
	row->path.released = wait->now;
	cpa_written(row);
	cpa_role_take(self);
	cpa_journal_begin(self);
	if (unlikely(last))
		name_retired(self, before, last);
	if (from)
		cpa_acquire_path(self, from, wait);
	return 0;
}

void cpa_thread_joined(uint32_t number)
{
	/*
	 * RELEASE: the joiner has read the path; the thread that pops the row acquires it through
	 * the stack. A row that is free already must not be pushed again.
	 */
	if (__atomic_exchange_n(&row_at(number)->state, CPA_THREAD_DONE, __ATOMIC_RELEASE) ==
	    CPA_THREAD_DONE)
		return;
	cpa_stack_push(&cpa_header()->done, number, below);
}

/*
 * Change the state from @from to @to. If it is @otherwise, the other of exit and detach came first:
 * free the row and return true. Otherwise return false.
 */
static bool transition(uint32_t number, uint32_t from, uint32_t to, uint32_t otherwise)
{
	struct cpa_thread *row = row_at(number);

	/*
	 * ACQ_REL: the later of exit and detach frees the row, after all that the earlier one did
	 * to it.
	 */
	if (__atomic_compare_exchange_n(&row->state, &from, to, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return false;
	if (from == otherwise)
		cpa_thread_joined(number);
	return from == otherwise;
}

bool cpa_thread_detached(uint32_t number)
{
	return transition(number, CPA_THREAD_RUNNING, CPA_THREAD_DETACHED, CPA_THREAD_EXITED);
}

void cpa_thread_forget(struct cpa_self *self)
{
	cpa_summary_flush(self);
	cpa_journal_end(self);
	cpa_token_forget_spares(self); /* which gives versions back */
	cpa_version_forget_spares(self);
}

bool cpa_thread_end(struct cpa_self *self, uint64_t now)
{
	uint32_t number = self->number;

	cpa_queue_leave(self);
	self->row->end_ticks = now;
	cpa_thread_forget(self);
	give_edges(self);
	cpa_process_give(self->row);
	return transition(number, CPA_THREAD_RUNNING, CPA_THREAD_EXITED, CPA_THREAD_DETACHED);
}
