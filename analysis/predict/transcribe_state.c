/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_state.c - look things up in the run; add to the script */
#include "analysis/predict/transcribe_state.h"

#include <libiberty/libiberty.h>

/* t->by_id is sorted by id, and threads have ids in about the order in which they began. */
uint32_t transcribe_thread(const struct transcribe *t, uint32_t id)
{
	size_t low = 0, high = t->run->threads;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->thread[t->by_id[middle]].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->run->threads && t->thread[t->by_id[low]].id == id ? t->by_id[low] :
									    CPA_NOWHERE;
}

const struct cpa_history_event *transcribe_cause(const struct transcribe *t,
						 const struct cpa_cause *cause, uint32_t **number)
{
	uint32_t which = cause->thread ? transcribe_thread(t, cause->thread) : CPA_NOWHERE;
	const struct cpa_run_thread *thread;
	size_t low = 0, high;

	if (which == CPA_NOWHERE)
		return NULL;
	/* Event numbers rise, with gaps. */
	thread = &t->run->thread[which];
	high = thread->events;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (thread->event[middle].number < cause->number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == thread->events || thread->event[low].number != cause->number)
		return NULL;
	*number = &t->number[t->thread[which].base + low];
	return &thread->event[low];
}

uint32_t transcribe_owner(const struct transcribe *t, uint32_t object)
{
	uint32_t queue = object <= t->cast->objects && t->cast->object_queue ?
				 t->cast->object_queue[object] :
				 0;

	return queue <= t->cast->queues ? queue : 0;
}

enum cpa_object_kind transcribe_kind(const struct transcribe *t, uint32_t object)
{
	return object <= t->cast->objects && t->cast->object_kind ? t->cast->object_kind[object] :
								    0;
}

/* Each kind has its line: the compiler tells of a new one. */
enum transcribe_way transcribe_way(uint8_t kind)
{
	switch ((enum cpa_event_kind)kind) {
	case CPA_EV_CREATE:
	case CPA_EV_FORK:
	case CPA_EV_EXEC:
		return WAY_CREATE;
	case CPA_EV_CHILD:
	case CPA_EV_JOIN:
		return WAY_JOIN;
	case CPA_EV_LOCK:
	case CPA_EV_RDLOCK:
	case CPA_EV_UNLOCK:
		return WAY_LOCK;
	case CPA_EV_SLEEP:
	case CPA_EV_WAIT:
		return WAY_COND;
	case CPA_EV_ARRIVE:
	case CPA_EV_SEM_WAIT:
	case CPA_EV_POST:
		return WAY_TOKEN;
	case CPA_EV_ENQUEUE:
	case CPA_EV_DEQUEUE:
		return WAY_ITEM;
	case CPA_EV_AFTER:
	case CPA_EV_PART:
	case CPA_EV_PART_END: /* also where the master of the team goes on */
	case CPA_EV_TEAM_END:
	case CPA_EV_TEAM_LEAVE:
	case CPA_EV_TASK_START:
	case CPA_EV_TASK_WAIT:
		return WAY_ORDERED;
	case CPA_EV_READ:
	case CPA_EV_WRITE:
	case CPA_EV_POLL:
		return WAY_STREAM;
	case CPA_EV_TRY_FAILED:
	case CPA_EV_STOP:
	case CPA_EV_RESTART:
		return WAY_COUNTED;
	case CPA_EV_START:
	case CPA_EV_EXIT:
	case CPA_EV_SIGNAL:
	case CPA_EV_BROADCAST:
	case CPA_EV_LEAVE:
	case CPA_EV_ONCE:
	case CPA_EV_EXTERNAL:
	case CPA_EV_FUTEX_WAIT:
	case CPA_EV_FUTEX_WAKE:
	case CPA_EV_BEFORE:
	case CPA_EV_DONE:
	case CPA_EV_REGION:
	case CPA_EV_REGION_END:
	case CPA_EV_MARK:
	case CPA_EV_TEAM:
	case CPA_EV_TEAM_ARRIVE:
	case CPA_EV_TASK:
	case CPA_EV_TASK_END:
	case CPA_EV_CLOSE:
	case CPA_EV_NAME:
	case CPA_EV_CHUNK:
	case CPA_EV_KINDS:
		break;
	}
	return WAY_NONE;
}

bool transcribe_ordered(const struct transcribe *t, const struct cpa_history_event *event,
			const struct cpa_history_event *cause)
{
	enum transcribe_way way = transcribe_way(event->kind);

	if (event->kind == CPA_EV_LOCK)
		return transcribe_kind(t, event->object) == CPA_ONCE;
	if (way != WAY_COND && way != WAY_ORDERED && way != WAY_STREAM)
		return false;
	return cause->kind != CPA_EV_UNLOCK && cause->kind != CPA_EV_SLEEP &&
	       cause->kind != CPA_EV_ENQUEUE && cause->kind != CPA_EV_DEQUEUE;
}

uint32_t transcribe_object(struct transcribe *t, enum cpa_script_kind kind, uint32_t count)
{
	struct cpa_script *script = &t->out->script;

	if (script->objects == t->object_room) {
		t->object_room = t->object_room ? 2 * t->object_room : 64;
		script->object =
			XRESIZEVEC(struct cpa_script_object, script->object, t->object_room);
	}
	script->object[script->objects] =
		(struct cpa_script_object){ .kind = kind, .count = count, .lock = CPA_NOWHERE };
	return script->objects++;
}

uint32_t transcribe_item(struct transcribe *t)
{
	struct cpa_script *script = &t->out->script;

	if (script->items == t->item_room) {
		t->item_room = t->item_room ? 2 * t->item_room : 64;
		script->item = XRESIZEVEC(struct cpa_script_item, script->item, t->item_room);
	}
	script->item[script->items] = (struct cpa_script_item){ CPA_NOWHERE, CPA_NOWHERE };
	return ++script->items;
}

void transcribe_emit(struct transcribe *t, enum cpa_step_kind kind, uint32_t object, uint64_t value)
{
	struct cpa_script *script = &t->out->script;

	if (script->steps == t->step_room) {
		t->step_room = t->step_room ? 2 * t->step_room : 1024;
		script->step = XRESIZEVEC(struct cpa_step, script->step, t->step_room);
	}
	script->step[script->steps++] = (struct cpa_step){ kind, object, t->work, value };
	t->work = 0;
}
