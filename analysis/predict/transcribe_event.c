/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_event.c - make the steps of one event */
#include <libiberty/libiberty.h>

#include "analysis/predict/transcribe_stages.h"

static void emit_pause(struct transcribe *t, uint64_t ticks)
{
	if (ticks)
		transcribe_emit(t, CPA_STEP_PAUSE, 0, ticks);
}

/*
 * Whether @event tells what the wait of the event before was, which no release explains: the wait
 * is a pause, or is replayed.
 */
static bool tells_before(const struct cpa_history_event *event)
{
	return event->kind == CPA_HISTORY_MORE &&
	       event[-1].now - event[-1].arrived >= event->external + event->runqueue;
}

/* A wait without a known release becomes a pause, as long as the thread was blocked. */
static void emit_unexplained(struct transcribe *t, const struct cpa_history_event *event)
{
	uint64_t blocked, runqueue;

	if (event->now <= event->arrived)
		return;
	runqueue = transcribe_ready(t, event);
	blocked = event->now - event->arrived - runqueue;
	t->out->runqueue += runqueue;
	t->out->weakness.unexplained++;
	t->out->weakness.unexplained_ticks += blocked;
	emit_pause(t, blocked + (t->changes->runqueue ? runqueue : 0));
}

static void emit_lock(struct transcribe *t, enum cpa_step_kind kind, uint32_t row, uint32_t class)
{
	const uint32_t *locks = t->changes->locks;

	if (row == 0 || row > t->cast->objects) {
		transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		return;
	}
	if (!t->lock[row])
		t->lock[row] = transcribe_object(
				       t, CPA_SCRIPT_LOCK,
				       locks && class <= t->cast->components ? locks[class] : 1) +
			       1;
	transcribe_emit(t, kind, t->lock[row] - 1, 0);
}

static void emit_on(struct transcribe *t, enum cpa_step_kind step, uint32_t *index, uint32_t row,
		    enum cpa_script_kind kind, uint32_t count)
{
	if (row == 0 || row > t->cast->objects) {
		transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		return;
	}
	if (!index[row])
		index[row] = transcribe_object(t, kind, count) + 1;
	transcribe_emit(t, step, index[row] - 1, 0);
}

/* What messages of the stream of @event take; NULL: as recorded. */
static const struct cpa_transfer *transfer_of(const struct transcribe *t,
					      const struct cpa_history_event *event)
{
	const struct cpa_transfer *transfer = t->changes->transfer;

	if (!transfer || !event->stream || event->stream > t->cast->streams ||
	    event->kind == CPA_EV_WRITE)
		return NULL;
	transfer += event->stream;
	return transfer->fixed == 0 && transfer->recorded == 1 && transfer->per_byte == 0 ?
		       NULL :
		       transfer;
}

/* For how long the message that @event waited for, or read, is under way, plus 1; 0: as recorded. */
static uint64_t under_way(const struct transcribe *t, const struct cpa_transfer *transfer)
{
	double latency = (double)t->out->script.latency;

	return transfer ?
		       1 + cpa_history_ticks(transfer->fixed + transfer->recorded * latency + 0.5) :
		       0;
}

/* The bytes that @event took are carried, from when the first of its writes, offer @number, was made. */
static void emit_carry(struct transcribe *t, const struct cpa_history_event *event,
		       const struct cpa_transfer *transfer, uint32_t number)
{
	struct cpa_script *script = &t->out->script;
	uint64_t ticks = cpa_history_ticks(transfer->per_byte * (double)event->bytes + 0.5);

	if (!ticks)
		return;
	if (!script->stream) {
		script->streams = t->cast->streams;
		script->stream = XCNEWVEC(uint32_t, script->offers + 1);
	}
	script->stream[number] = event->stream - 1;
	transcribe_emit(t, CPA_STEP_CARRY, number, ticks);
}

/* Add waits for the releases that the recorded acquire met. Return their number. */
static uint32_t emit_awaits(struct transcribe *t, const struct cpa_history_event *event)
{
	const struct cpa_transfer *transfer = transfer_of(t, event);
	uint64_t ticks = under_way(t, transfer);
	uint32_t met = 0, awaits = 0;

	for (uint32_t i = 0; i < event->causes; i++) {
		uint32_t *number, thread = transcribe_thread(t, event->cause[i].thread);
		const struct cpa_history_event *cause =
			transcribe_cause(t, &event->cause[i], &number);

		if (!cause || !transcribe_ordered(t, event, cause))
			continue;
		met++;
		if (!*number || t->thread[thread].removed)
			continue;
		transcribe_emit(t, CPA_STEP_AWAIT, *number - 1, ticks);
		if (transfer && ++awaits == 1)
			emit_carry(t, event, transfer, *number - 1);
	}
	return met;
}

/* An acquire in recorded order, which is counted in *@count. */
static void emit_ordered(struct transcribe *t, const struct cpa_history_event *event,
			 uint64_t *count)
{
	if (emit_awaits(t, event))
		++*count;
	else if (!event->matched)
		emit_unexplained(t, event);
}

/* A lock is taken or given back; of pthread_once() the recorded order is kept. */
static void emit_use(struct transcribe *t, const struct cpa_history_event *event)
{
	bool once = transcribe_kind(t, event->object) == CPA_ONCE;

	if (event->kind == CPA_EV_RDLOCK)
		emit_lock(t, CPA_STEP_READ, event->object, event->class);
	else if (event->kind == CPA_EV_LOCK && once)
		emit_ordered(t, event, &t->out->weakness.ordered);
	else if (!once)
		emit_lock(t, event->kind == CPA_EV_LOCK ? CPA_STEP_LOCK : CPA_STEP_UNLOCK,
			  event->object, event->class);
}

static void emit_sleep(struct transcribe *t, const struct cpa_history_event *event)
{
	if (event->causes) /* a wait for a signal's handler, which is one event */
		emit_ordered(t, event, &t->out->weakness.ordered);
	else if (event->other && !transcribe_owner(t, event->object))
		emit_lock(t, CPA_STEP_UNLOCK, event->other, 0);
}

static void emit_wait(struct transcribe *t, const struct cpa_history_event *event)
{
	uint32_t met;

	if (transcribe_owner(t, event->object)) {
		transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		return;
	}
	met = event->failed ? 0 : emit_awaits(t, event);
	/* The time of a wait that timed out is external time of the activity. */
	if (!met && !event->external)
		emit_unexplained(t, event);
	if (met && transcribe_kind(t, event->object) == CPA_COND)
		t->out->weakness.conditions++;
	else if (met)
		t->out->weakness.ordered++;
	if (event->other)
		emit_lock(t, CPA_STEP_LOCK, event->other, 0);
}

static void emit_thread(struct transcribe *t, enum cpa_step_kind kind, uint32_t id)
{
	uint32_t thread = transcribe_thread(t, id);

	if (thread == CPA_NOWHERE || t->thread[thread].removed) {
		transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		return;
	}
	transcribe_emit(t, kind, thread, 0);
	for (uint32_t i = 0; i < t->thread[thread].addeds; i++)
		transcribe_emit(t, kind, t->thread[thread].added + i, 0);
}

static void emit_join(struct transcribe *t, const struct cpa_history_event *event)
{
	t->out->weakness.children += event->kind == CPA_EV_CHILD && event->peer != 0;
	if (!event->failed && transcribe_thread(t, event->peer) != CPA_NOWHERE)
		emit_thread(t, CPA_STEP_JOIN, event->peer);
	else
		emit_unexplained(t, event);
}

static void emit_token(struct transcribe *t, const struct cpa_history_event *event)
{
	if (event->kind == CPA_EV_POST)
		emit_on(t, CPA_STEP_POST, t->sem, event->object, CPA_SCRIPT_SEM, 0);
	else if (event->kind == CPA_EV_ARRIVE && event->count)
		emit_on(t, CPA_STEP_ARRIVE, t->barrier, event->object, CPA_SCRIPT_BARRIER,
			event->count);
	else if (event->kind == CPA_EV_SEM_WAIT && !event->failed && event->matched)
		emit_on(t, CPA_STEP_TAKE, t->sem, event->object, CPA_SCRIPT_SEM, 0);
	else if (event->kind == CPA_EV_SEM_WAIT)
		emit_unexplained(t, event);
}

static void emit_item(struct transcribe *t, const struct cpa_history_event *event, uint32_t number)
{
	struct cpa_script *script = &t->out->script;
	uint32_t queue;

	if (!number || !event->queue || event->queue > t->cast->queues) {
		emit_unexplained(t, event);
		transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		return;
	}
	queue = t->queue[event->queue].object;
	transcribe_emit(t, event->kind == CPA_EV_ENQUEUE ? CPA_STEP_PUT : CPA_STEP_GET, queue,
			number - 1);
	if (event->kind == CPA_EV_ENQUEUE)
		return;
	script->item[number - 1].first = script->steps;
	t->out->weakness.undealt += script->object[queue].deal == CPA_DEAL_RECORDED;
}

/* Whether @event is a write that finds room after the changes, whatever it waited for. */
static bool has_room(const struct transcribe *t, const struct cpa_history_event *event)
{
	return event->kind == CPA_EV_WRITE && t->changes->transfer && event->stream &&
	       event->stream <= t->cast->streams && t->changes->transfer[event->stream].roomy;
}

static void note_limit(struct cpa_weakness *weakness, uint8_t kind)
{
	if (kind == CPA_EV_TRY_FAILED)
		weakness->tries++;
	else
		weakness->cut++;
}

/* The steps of an event by its kind alone, not by its role. */
static void emit_by_kind(struct transcribe *t, const struct cpa_history_event *event,
			 uint32_t number)
{
	switch (transcribe_way(event->kind)) {
	case WAY_NONE:
		return;
	case WAY_COUNTED:
		note_limit(&t->out->weakness, event->kind);
		return;
	case WAY_CREATE:
		emit_thread(t, CPA_STEP_CREATE, event->peer);
		return;
	case WAY_JOIN:
		emit_join(t, event);
		return;
	case WAY_LOCK:
		emit_use(t, event);
		return;
	case WAY_COND:
		if (event->kind == CPA_EV_SLEEP)
			emit_sleep(t, event);
		else
			emit_wait(t, event);
		return;
	case WAY_TOKEN:
		emit_token(t, event);
		return;
	case WAY_ITEM:
		emit_item(t, event, number);
		return;
	case WAY_ORDERED:
		emit_ordered(t, event, &t->out->weakness.ordered);
		return;
	case WAY_STREAM:
		if (!has_room(t, event))
			emit_ordered(t, event, &t->out->weakness.streams);
		return;
	}
}

/* Whether @event is of a visit to a queue's own lock and conditions, in which the thread may get an item. */
static bool is_in_queue(const struct transcribe *t, const struct cpa_history_event *event)
{
	return (event->kind == CPA_EV_SLEEP || event->kind == CPA_EV_WAIT ||
		event->kind == CPA_EV_UNLOCK) &&
	       transcribe_owner(t, event->object);
}

/*
 * The thread went on so long after the release that its wait ended with. @unexplained: waits without one,
 * before @event; if it is one, that time is told already.
 */
static void emit_ready(struct transcribe *t, const struct cpa_history_event *event,
		       uint64_t unexplained)
{
	uint64_t runqueue = 0;

	if (event->causes && t->out->weakness.unexplained == unexplained)
		runqueue = transcribe_ready(t, event);
	t->out->runqueue += runqueue;
	if (!t->changes->runqueue)
		return;
	if (is_in_queue(t, event)) {
		/* It follows the item; before that, it would pass while the thread waits for the item. */
		if (event->kind == CPA_EV_WAIT)
			t->ready = runqueue;
		return;
	}
	emit_pause(t, t->ready + runqueue);
	t->ready = 0;
}

static void emit_get(struct transcribe *t, const struct transcribe_part *part)
{
	transcribe_emit(t, CPA_STEP_GET, part->queue, part->item ? part->item - 1 : 0);
	if (part->item)
		t->out->script.item[part->item - 1].first = t->out->script.steps;
}

void transcribe_operation(struct transcribe *t, const struct cpa_history_event *event,
			  uint32_t number, const struct transcribe_part *part)
{
	uint64_t unexplained = t->out->weakness.unexplained;

	switch ((enum transcribe_role)part->role) {
	case ROLE_SKIP:
		return;
	case ROLE_PUT:
		emit_by_kind(t, event, number);
		transcribe_emit(t, CPA_STEP_PUT, part->queue, part->item ? part->item - 1 : 0);
		break;
	case ROLE_GET:
		/* In a visit to the mutex; of one that waited, that was for this. */
		if (event->kind == CPA_EV_LOCK)
			emit_by_kind(t, event, number);
		emit_get(t, part);
		if (event->kind == CPA_EV_UNLOCK)
			emit_by_kind(t, event, number);
		break;
	case ROLE_NONE:
		emit_by_kind(t, event, number);
	}
	emit_ready(t, event, unexplained);
}

/* Apply the change to this activity alone; idle time in it is no work. */
static void change(const struct transcribe *t, uint32_t which,
		   const struct cpa_history_event *event, uint64_t *process, uint64_t *external)
{
	const struct cpa_activity_change *all = t->changes->activity, *one;
	uint64_t idle = event->idle < *external ? event->idle : *external;

	if (!all)
		return;
	one = &all[t->thread[which].base + (size_t)(event - t->run->thread[which].event)];
	*process = cpa_history_ticks((double)*process * one->part + 0.5) + one->more;
	*external = idle + cpa_history_ticks((double)(*external - idle) * one->part + 0.5);
}

void transcribe_activity(struct transcribe *t, uint32_t which,
			 const struct cpa_history_event *event, const struct transcribe_part *part)
{
	struct cpa_weakness *weakness = &t->out->weakness;
	uint64_t process, external, gap = transcribe_gap(event), runqueue = event->runqueue;
	uint64_t probe = cpa_history_ticks((double)gap * t->thread[which].probe);

	transcribe_weigh(t, event, &process, &external);
	change(t, which, event, &process, &external);
	if (part->polled || tells_before(event))
		external = runqueue = 0;
	t->out->probe += probe;
	t->out->work += process;
	t->work += process + (t->changes->probes ? probe : 0);
	runqueue += gap - probe;
	t->out->runqueue += runqueue;
	weakness->untimed += event->untimed;
	if (external) {
		weakness->pauses++;
		weakness->pause_ticks += external;
	}
	emit_pause(t, external + (t->changes->runqueue ? runqueue : 0));
}
