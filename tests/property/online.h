/* SPDX-License-Identifier: MIT */
/*
 * tests/property/online.h - replays a history through the online algebra of shadow/
 *
 * It uses only operations, clocks and activities, as the wrappers of the preload library would.
 * Several simulated threads, each with its own cpa_self, share one real thread. The path at each
 * event to be checked is kept as a copy, which must not change later: that is part of the test.
 */
#ifndef CPA_TESTS_ONLINE_H
#define CPA_TESTS_ONLINE_H

#include "shadow/edge/acquire.h"
#include "shadow/graph/activity.h"
#include "shadow/edge/cell.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/store/epoch.h"
#include "shadow/edge/item.h"
#include "shadow/journal/journal.h"
#include "shadow/journal/journal_write.h"
#include "shadow/edge/part.h"
#include "shadow/edge/queue.h"
#include "shadow/edge/release.h"
#include "shadow/graph/run.h"
#include "shadow/graph/summary.h"

#include "tests/property/history.h"
#include "tests/unit/shadow_session.h"

struct online_thread {
	struct cpa_self self;
	bool running, ended, joined;
	uint32_t number;
	uint64_t round;
	struct cpa_object *barrier; /* the barrier that the thread is in; NULL: none */
};

struct online {
	const struct history *h;
	struct online_thread thread[THREADS];
	struct cpa_object *object[OBJECTS], *handle[THREADS];
	uint32_t class[CLASSES + QCLASSES], routine[THREADS]; /* component rows */
	uint32_t queue[OBJECTS];			      /* queue rows */
	uint32_t slot[COMPONENTS], row[COMPONENTS];
	/* number of each thread's first event in the journal; 0: the usual one */
	uint32_t first_event;
	unsigned wrong_wakes, wrong_matches;
	int at;			  /* the event being replayed */
	struct cpa_self observer; /* reads paths; has no thread row */
	int room;
	struct cpa_path *snapshot; /* by event */
	uint32_t *id;		   /* id of the thread at that time, by event */
};

static uint32_t online_component(enum cpa_component_kind kind, enum cpa_class_by by,
				 uint64_t address)
{
	struct cpa_component_name name = { .kind = kind, .by = by, .address = address };

	return cpa_component_intern(&name);
}

/* Each third is a whole function; the two behind it are parts of it, by who called it. */
static uint32_t online_function(uint32_t i)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION,
					   .by = i % 3 ? CPA_BY_CALLERS : CPA_BY_ADDRESS,
					   .address = 0x400000 + 32 * (i / 3),
					   .context = i % 3 ? i : 0 };

	return cpa_component_intern(&name);
}

/* Begin a new session; return 0 or -errno. */
static int online_session(struct online *o, uint64_t limit, uint32_t slots)
{
	int ret = test_session(limit, slots);

	if (ret)
		return ret;
	cpa_header()->start_ticks = start_clock;
	for (unsigned i = 0; i < OBJECTS; i++) {
		o->object[i] =
			cpa_row(CPA_TABLE_OBJECTS,
				cpa_table_intern(CPA_TABLE_OBJECTS, 0x1000 + 64 * i, NULL, NULL));
		o->queue[i] = cpa_queue_intern(0x5000 + 64 * i, 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		o->handle[i] =
			cpa_row(CPA_TABLE_OBJECTS,
				cpa_table_intern(CPA_TABLE_OBJECTS, 0x9000 + 64 * i, NULL, NULL));
	return ret;
}

/* End the session; return the bytes that were not given back. */
static uint64_t online_session_end(struct online *o)
{
	uint64_t live;

	test_rows_clear(&o->observer);
	live = cpa_heap_live();
	cpa_session_destroy();
	return live;
}

static void online_hold(const struct online *o, struct cpa_self *self, int component)
{
	cpa_hold(self, o->row[component], o->slot[component]);
}

/* As external_idle[] of history.h. */
static const enum cpa_external external_kind[EXTERNALS] = { CPA_EXT_OTHER,  CPA_EXT_SLEEP,
							    CPA_EXT_READ,   CPA_EXT_POLL,
							    CPA_EXT_UNSEEN, CPA_EXT_INPUT };

/*
 * Intern the components in an order that differs between histories, so that different ones get
 * slots first.
 */
static void online_components(struct online *o, unsigned turn)
{
	for (unsigned k = 0; k < FUNCTIONS; k++) {
		unsigned i = (k + turn) % FUNCTIONS;

		o->slot[C_FUNCTION + i] = cpa_component_slot(online_function(i));
	}
	o->slot[C_UNSAMPLED] = CPA_SLOT_UNSAMPLED;
	for (unsigned i = 0; i < CLASSES; i++) {
		o->class[i] = online_component(CPA_LOCK, CPA_BY_INIT_SITE, 0x500000 + i);
		o->row[C_LOCK + i] = o->class[i];
		o->slot[C_LOCK + i] = cpa_component_slot(o->class[i]);
	}
	for (unsigned i = 0; i < QCLASSES; i++) {
		o->class[CLASSES + i] = online_component(CPA_QUEUE, CPA_BY_ADDRESS, 0x700000 + i);
		o->slot[C_QUEUE + i] = cpa_component_slot(o->class[CLASSES + i]);
	}
	for (unsigned i = 0; i < REGIONS; i++) {
		o->row[C_REGION + i] = online_component(CPA_REGION, CPA_BY_NAME, 1 + i);
		o->slot[C_REGION + i] = cpa_component_slot(o->row[C_REGION + i]);
	}
	for (unsigned i = 0; i < ROUTINES; i++) {
		o->routine[i] = online_component(CPA_THREAD, CPA_BY_ADDRESS, 0x600000 + 16 * i);
		o->slot[C_THREAD + i] = cpa_component_slot(o->routine[i]);
	}
	for (unsigned i = 0; i < EXTERNALS; i++)
		o->slot[C_EXTERNAL + i] = cpa_component_slot(
			online_component(CPA_EXTERNAL, CPA_BY_EXTERNAL, external_kind[i]));
}

static void online_objects(struct online *o)
{
	static const enum cpa_object_kind kind[OBJECT_KINDS] = {
		[MUTEX] = CPA_MUTEX, [RWLOCK] = CPA_RWLOCK,   [COND] = CPA_COND,
		[SEM] = CPA_SEM,     [BARRIER] = CPA_BARRIER, [ONCE] = CPA_ONCE,
		[FUTEX] = CPA_FUTEX, [CELL] = CPA_ANNOTATION
	};
	for (unsigned i = 0; i < o->h->objects; i++) {
		const struct object *from = &o->h->object[i];
		struct cpa_object *to = o->object[i];

		struct cpa_queue *q = cpa_queue(o->queue[i]);

		to->class = o->class[from->class + (from->kind == QUEUE ? CLASSES : 0)];
		to->kind = kind[from->kind];
		to->queue = from->own;
		*q = (struct cpa_queue){ .key = q->key, .component = to->class };
		if (from->kind == SEM)
			to->waiting = from->initial;
		else if (from->kind == BARRIER)
			to->waiting = from->members;
	}
}

/* Kinds of events that are one kind in a program's journal, but not here; no report knows them. */
enum {
	ONLINE_READ_UNLOCK = 64,
	ONLINE_WRITE_LOCK,
	ONLINE_WRITE_UNLOCK,
	ONLINE_ONCE_DONE,
	ONLINE_FUTEX_SLEEP,
	ONLINE_REFUSED,
	ONLINE_KINDS
};

static uint32_t online_node(struct online *o, const struct event *e)
{
	static const unsigned kind[OPS] = { [OP_START] = CPA_EV_START,
					    [OP_EXIT] = CPA_EV_EXIT,
					    [OP_CREATE] = CPA_EV_CREATE,
					    [OP_JOIN] = CPA_EV_JOIN,
					    [OP_LOCK] = CPA_EV_LOCK,
					    [OP_TRY_FAILED] = CPA_EV_TRY_FAILED,
					    [OP_UNLOCK] = CPA_EV_UNLOCK,
					    [OP_READ_LOCK] = CPA_EV_RDLOCK,
					    [OP_READ_UNLOCK] = ONLINE_READ_UNLOCK,
					    [OP_WRITE_LOCK] = ONLINE_WRITE_LOCK,
					    [OP_WRITE_UNLOCK] = ONLINE_WRITE_UNLOCK,
					    [OP_SLEEP] = CPA_EV_SLEEP,
					    [OP_WAIT] = CPA_EV_WAIT,
					    [OP_SIGNAL] = CPA_EV_SIGNAL,
					    [OP_BROADCAST] = CPA_EV_BROADCAST,
					    [OP_POST] = CPA_EV_POST,
					    [OP_SEM_WAIT] = CPA_EV_SEM_WAIT,
					    [OP_ARRIVE] = CPA_EV_ARRIVE,
					    [OP_LEAVE] = CPA_EV_LEAVE,
					    [OP_ONCE_DONE] = ONLINE_ONCE_DONE,
					    [OP_ONCE] = CPA_EV_ONCE,
					    [OP_FUTEX_SLEEP] = ONLINE_FUTEX_SLEEP,
					    [OP_FUTEX_WAIT] = CPA_EV_FUTEX_WAIT,
					    [OP_FUTEX_WAKE] = CPA_EV_FUTEX_WAKE,
					    [OP_EXTERNAL] = CPA_EV_EXTERNAL,
					    [OP_ENQUEUE] = CPA_EV_ENQUEUE,
					    [OP_REFUSED] = ONLINE_REFUSED,
					    [OP_DEQUEUE] = CPA_EV_DEQUEUE,
					    [OP_DONE] = CPA_EV_DONE,
					    [OP_BEFORE] = CPA_EV_BEFORE,
					    [OP_AFTER] = CPA_EV_AFTER,
					    [OP_REGION] = CPA_EV_REGION,
					    [OP_REGION_END] = CPA_EV_REGION_END,
					    [OP_STOP] = CPA_EV_STOP,
					    [OP_RESTART] = CPA_EV_RESTART };
	uint32_t class = e->object < 0 || e->op <= OP_JOIN ? 0 : o->object[e->object]->class;

	return cpa_summary_node(kind[e->op], e->site + 1, class);
}

static void online_activity(struct online *o, struct cpa_self *self, const struct event *e,
			    uint32_t node)
{
	const struct activity *a = &e->activity;
	bool idle = cpa_external_class(external_kind[a->external_kind]) != CPA_EXT_SERVICE;
	uint32_t blocked = o->slot[C_EXTERNAL + a->external_kind];
	struct cpa_sampled sample[SAMPLES];
	struct cpa_span span = { .process = a->process,
				 .external = idle ? 0 : a->external,
				 .idle = idle ? a->external : 0,
				 .runqueue = a->runqueue,
				 .probe = a->probe,
				 .external_slot = blocked,
				 .idle_slot = blocked,
				 .sampled = a->sampled,
				 .sample = sample };

	/* Ticks per sample; the results must not depend on it. */
	static const uint64_t period[] = { 0, 1, 100, 10000 };
	static unsigned hint[8]; /* hints, right or wrong, shared by all threads */
	uint32_t from;

	o->id[o->at] = self->id;
	for (unsigned i = 0; i < a->sampled; i++) {
		sample[i].function = o->slot[C_FUNCTION + a->function[i]];
		sample[i].count = a->weight[i];
	}
	span.sample_period = period[e->now % 4];
	span.sampled_ticks = e->now % 7 * a->process / 4;
	from = self->row->node;
	if (a->external || a->runqueue || a->probe || a->sampled || self->journal)
		cpa_activity_end(self, &span, node);
	else
		cpa_activity_run(self, a->process, node, &hint[node % 8]);
	self->row->path.released = e->op == OP_START ? e->now : e->arrived;
	cpa_journal_event(self, self->row->path.released);
	if (a->component >= 0) {
		uint32_t edge = cpa_table_find(CPA_TABLE_EDGES, (uint64_t)from << 32 | node);
		uint32_t slot = edge ? ((struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, edge))->slot :
				       0;

		o->slot[a->component] = slot == CPA_EDGE_SLOTLESS ? 0 : slot;
	}
}

/* Pretend that the thread had many earlier events, whose blocks are gone. */
static void online_skip_events(struct cpa_self *self, uint32_t number)
{
	struct cpa_journal *j = self->journal;

	j->number = j->event = number;
	if (j->block)
		j->block->number = j->block->event = number;
	name_path(j, &self->row->path);
}

static void online_start(struct online *o, const struct event *e)
{
	struct online_thread *t = &o->thread[e->thread];
	struct cpa_wait w = { .arrived = e->arrived, .now = e->now, .runqueue = ready_of(e) };
	const struct cpa_path *from = e->thread ? cpa_object_path(o->handle[e->thread]) : NULL;

	memset(t, 0, sizeof(*t));
	if (cpa_thread_begin(&t->self, o->routine[o->h->routine[e->thread]], 1, from, &w))
		abort();
	if (o->first_event && t->self.journal)
		online_skip_events(&t->self, o->first_event);
	t->running = true;
	t->number = t->self.number;
	online_activity(o, &t->self, e, online_node(o, e));
	cpa_dependency(&t->self, &w, 0);
}

static void online_exit(struct online *o, int thread, uint64_t now)
{
	struct online_thread *t = &o->thread[thread];

	if (o->h->detached[thread])
		cpa_thread_detached(t->number);
	cpa_thread_end(&t->self, now);
	t->ended = true;
}

/*
 * End the thread's activity at a stop; sleeping threads are found asleep by the first thread of the
 * next part.
 */
static void online_stop(struct online *o, struct cpa_self *self, const struct event *e)
{
	struct cpa_header *h = cpa_header();

	cpa_epoch_change(h, false, o->h->cut[e->part + 1].from);
	if (!e->asleep)
		cpa_part_end(self, cpa_epoch(h), e->released);
}

static void online_release(struct online *o, struct cpa_self *self, const struct event *e)
{
	struct cpa_object *object = e->object < 0 ? NULL : o->object[e->object];

	switch (e->op) {
	case OP_CREATE:
		return cpa_lock_release(self, o->handle[e->object]);
	case OP_READ_UNLOCK:
		if (!e->dark)
			cpa_unhold(self, o->row[C_LOCK + o->h->object[e->object].class]);
		return cpa_read_release(self, object);
	case OP_UNLOCK:
	case OP_WRITE_UNLOCK:
		if (!e->dark)
			cpa_unhold(self, o->row[C_LOCK + o->h->object[e->object].class]);
		return cpa_lock_release(self, object);
	case OP_SLEEP:
		cpa_wait_begin(object);
		if (!e->dark)
			cpa_unhold(self, o->row[C_LOCK + o->h->object[e->mutex].class]);
		return cpa_lock_release(self, o->object[e->mutex]);
	case OP_FUTEX_SLEEP:
		return cpa_wait_begin(object);
	case OP_ONCE_DONE:
		return cpa_lock_release(self, object);
	case OP_SIGNAL:
	case OP_BROADCAST:
	case OP_FUTEX_WAKE:
		if (cpa_wake(self, object, e->most) != e->granted)
			o->wrong_wakes++;
		return cpa_wake_undo(self, object, e->undone);
	case OP_POST:
		return cpa_sem_release(self, object);
	case OP_ARRIVE:
		o->thread[e->thread].barrier = object;
		o->thread[e->thread].round =
			cpa_barrier_arrive(self, object, o->h->object[e->object].members);
		return;
	case OP_EXTERNAL:
		if (e->mutex >= 0)
			online_hold(o, self, C_LOCK + o->h->object[e->mutex].class);
		return;
	case OP_ENQUEUE:
		return cpa_queue_put(self, o->queue[e->object], e->item, e->now);
	case OP_REFUSED:
		return cpa_queue_unput(self, o->queue[e->object], e->item);
	case OP_DONE:
		return cpa_queue_done(self, o->queue[e->object], e->item);
	case OP_BEFORE:
		return cpa_cell_release(self, &object->merged, &self->row->path);
	case OP_REGION:
		return online_hold(o, self, C_REGION + e->item);
	case OP_STOP:
		return online_stop(o, self, e);
	case OP_REGION_END:
		return cpa_unhold(self, o->row[C_REGION + e->item]);
	default:
		return;
	}
}

static bool online_acquire(struct online *o, struct cpa_self *self, const struct event *e,
			   struct cpa_wait *w)
{
	struct cpa_object *object = e->object < 0 ? NULL : o->object[e->object];

	switch (e->op) {
	case OP_LOCK:
	case OP_ONCE:
		cpa_lock_acquired(self, object, w);
		break;
	case OP_READ_LOCK:
		cpa_read_acquired(self, object, w);
		break;
	case OP_WRITE_LOCK:
		cpa_write_acquired(self, object, w);
		break;
	case OP_WAIT:
		cpa_wait_end(self, object, e->woken, o->object[e->mutex], w);
		break;
	case OP_FUTEX_WAIT:
		cpa_wait_end(self, object, e->woken, NULL, w);
		break;
	case OP_SEM_WAIT:
		cpa_sem_acquired(self, object, w);
		break;
	case OP_LEAVE:
		o->thread[e->thread].barrier = NULL;
		cpa_barrier_left(self, object, o->thread[e->thread].round, w);
		break;
	case OP_JOIN:
		cpa_acquire_path(self, &o->thread[e->object].self.row->path, w);
		cpa_thread_joined(o->thread[e->object].number);
		o->thread[e->object].joined = true;
		break;
	case OP_DEQUEUE:
		cpa_queue_take(self, o->queue[e->object], e->item, w);
		cpa_queue_begin(self, o->queue[e->object], e->item);
		break;
	case OP_AFTER:
		cpa_cell_acquired(self, &object->merged, w);
		break;
	default:
		return false;
	}
	if (e->op == OP_LOCK || e->op == OP_READ_LOCK || e->op == OP_WRITE_LOCK)
		online_hold(o, self, C_LOCK + o->h->object[e->object].class);
	else if (e->op == OP_WAIT && (e->matched || e->now == e->arrived))
		online_hold(o, self, C_LOCK + o->h->object[e->mutex].class);
	return true;
}

static void online_restart(struct online *o, struct cpa_self *self, const struct event *e)
{
	struct cpa_header *h = cpa_header();

	cpa_epoch_change(h, true, e->now);
	cpa_checkpoint(self, e->now);
	if (self->row->left < cpa_epoch(h) - 1)
		cpa_part_end(self, cpa_epoch(h) - 1, self->row->path.released);
	if (!cpa_part_open(self, cpa_epoch(h)))
		o->wrong_wakes++;
	cpa_part_begin(self, cpa_epoch(h));
	self->row->node = self->row->path.node = online_node(o, e);
}

static void online_event(struct online *o, int i)
{
	const struct event *e = &o->h->event[i];
	struct cpa_self *self = &o->thread[e->thread].self;
	struct cpa_wait w = { .arrived = e->arrived, .now = e->now, .runqueue = ready_of(e) };

	if (e->op == OP_START) {
		online_start(o, e);
	} else if (e->op == OP_RESTART) {
		online_restart(o, self, e);
	} else {
		self->inner = e->inner;
		cpa_checkpoint(self, e->arrived);
		online_activity(o, self, e, online_node(o, e));
		w.now = cpa_checkpoint(self, e->now);
		if (online_acquire(o, self, e, &w)) {
			if (w.matched != e->matched)
				o->wrong_matches++;
			cpa_dependency(self, &w, e->now - e->arrived);
		} else {
			online_release(o, self, e);
		}
	}
	if (e->check)
		cpa_path_copy(&o->observer, &o->snapshot[i], &self->row->path);
	if (e->op == OP_EXIT)
		online_exit(o, e->thread, e->now);
}

/* Each history starts its clock again, but the clock of a session never goes back. */
static void online_rewind(struct online *o)
{
	cpa_header()->passed = 0;
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_THREADS)->used; i++) {
		struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, i);

		cpa_checkpoint_forget(&o->observer, row);
		row->period = 0;
	}
}

/* Threads of earlier histories take no part in this one. */
static void online_parts(struct online *o)
{
	struct cpa_header *h = cpa_header();

	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_THREADS)->used; i++) {
		struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, i);

		cpa_path_clear(&o->observer, &row->path);
		cpa_path_clear(&o->observer, &row->retired);
		row->gathered = 0; /* epochs begin anew */
	}
	memset(h->border, 0, sizeof(h->border));
	h->part = 0;
	cpa_epoch_begin(h, true);
}

/* Replay @h. o->slot and o->snapshot are valid until online_finish(). */
static void online_run(struct online *o, const struct history *h, unsigned turn)
{
	o->h = h;
	o->wrong_wakes = o->wrong_matches = 0;
	if (h->events > o->room) {
		/* Snapshots hold references; all of them are empty here. */
		free(o->snapshot);
		o->room = h->events * 2;
		o->snapshot = aligned_alloc(CPA_CACHE_LINE, (size_t)o->room * sizeof(*o->snapshot));
		o->id = realloc(o->id, (size_t)o->room * sizeof(*o->id));
		if (!o->snapshot || !o->id)
			abort();
		memset(o->snapshot, 0, (size_t)o->room * sizeof(*o->snapshot));
	}
	memset(o->thread, 0, sizeof(o->thread));
	online_rewind(o);
	online_parts(o);
	online_components(o, turn);
	online_objects(o);
	for (o->at = 0; o->at < h->events; o->at++)
		online_event(o, o->at);
}

/* Leave the barrier that @thread was about to leave at the end of the history, if any. */
static void online_leave(struct online *o, int thread)
{
	struct online_thread *t = &o->thread[thread];
	struct cpa_wait w = { 0 };

	if (t->barrier && t->round < t->barrier->passes / t->barrier->waiting)
		cpa_barrier_left(&t->self, t->barrier, t->round, &w);
}

/* Take out items that were not dequeued. */
static void online_drain(struct online *o, uint32_t queue)
{
	for (unsigned item = 0; item < ITEMS; item++)
		for (uint32_t row; (row = cpa_item_take(&o->observer, queue, item));)
			cpa_token_free(&o->observer, row);
}

/* Give back everything that the history allocated, including for threads blocked at its end. */
static void online_finish(struct online *o)
{
	for (int i = 0; i < o->h->events; i++)
		if (o->h->event[i].check)
			cpa_path_clear(&o->observer, &o->snapshot[i]);
	for (unsigned i = 0; i < THREADS; i++)
		online_leave(o, (int)i);
	for (unsigned i = 0; i < OBJECTS; i++) {
		cpa_object_clear(&o->observer, o->object[i]);
		online_drain(o, o->queue[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		cpa_object_clear(&o->observer, o->handle[i]);
		if (o->thread[i].running && !o->thread[i].ended)
			online_exit(o, (int)i, 0);
		if (o->thread[i].running && !o->thread[i].joined && !o->h->detached[i])
			cpa_thread_joined(o->thread[i].number);
	}
	cpa_cell_clear(&o->observer, &cpa_header()->final);
	cpa_token_forget_spares(&o->observer);
}

#endif
