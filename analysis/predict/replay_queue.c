/* SPDX-License-Identifier: MIT */
/* analysis/predict/replay_queue.c - work queues of a replay: which thread gets which item */
#include "analysis/predict/replay_state.h"

/* Let @thread wait on @waiters; it gives up the queue's own lock, if it has it. Return false. */
static bool wait_without_lock(struct replay *replay, uint32_t thread, uint32_t queue,
			      struct replay_waiters *waiters)
{
	struct replay_thread *self = &replay->thread[thread];
	uint32_t lock = replay->script->object[queue].lock;

	for (uint32_t i = 0; i < self->held_count; i++) {
		if (self->held[i].object != lock)
			continue;
		self->regain = true;
		replay_release(replay, thread, lock);
		break;
	}
	return replay_block(replay, thread, waiters);
}

/* After a wait, take the queue's own lock again. Return false if the thread must wait for it. */
static bool regain_lock(struct replay *replay, uint32_t thread, uint32_t queue)
{
	struct replay_thread *self = &replay->thread[thread];

	if (self->regain &&
	    !replay_acquire(replay, thread, replay->script->object[queue].lock, false))
		return false;
	self->regain = false;
	return true;
}

/* Wake the thread that waits for @item alone. */
static void wake_receiver(struct replay *replay, struct replay_object *queue, uint64_t item)
{
	for (uint32_t i = queue->waiters.first; i != CPA_NOWHERE; i = replay->thread[i].next) {
		if (replay->script->step[replay->thread[i].step].value != item)
			continue;
		replay_wake(replay, i);
		return;
	}
}

bool replay_put(struct replay *replay, uint32_t thread, uint32_t object, uint64_t item)
{
	const struct cpa_script_object *what = &replay->script->object[object];
	struct replay_object *queue = &replay->object[object];

	if (!regain_lock(replay, thread, object))
		return false;
	if (what->count && queue->tokens >= what->count && !replay->thread[thread].forced)
		return wait_without_lock(replay, thread, object, &queue->full);
	if (what->deal == CPA_DEAL_ITEMS && replay->script->item[item].first == CPA_NOWHERE)
		return true;
	queue->tokens++;
	if (what->deal == CPA_DEAL_COUNT) {
		replay_wake_first(replay, &queue->waiters);
		return true;
	}
	replay->item[item].put = true;
	if (what->deal == CPA_DEAL_RECORDED) {
		wake_receiver(replay, queue, item);
		return true;
	}
	replay->item[item].next = CPA_NOWHERE;
	if (queue->first == CPA_NOWHERE)
		queue->first = (uint32_t)item;
	else
		replay->item[queue->last].next = (uint32_t)item;
	queue->last = (uint32_t)item;
	replay_wake_first(replay, &queue->waiters);
	return true;
}

static void took(struct replay *replay, struct replay_object *queue)
{
	queue->tokens--;
	replay_wake_first(replay, &queue->full);
}

static bool get_recorded(struct replay *replay, uint32_t thread, uint32_t object, uint64_t item)
{
	struct replay_thread *self = &replay->thread[thread];
	struct replay_object *queue = &replay->object[object];

	if (!replay->item[item].put && !self->forced)
		return wait_without_lock(replay, thread, object, &queue->waiters);
	if (replay->item[item].put)
		took(replay, queue);
	self->step++;
	return true;
}

static bool get_any(struct replay *replay, uint32_t thread, uint32_t object)
{
	struct replay_thread *self = &replay->thread[thread];
	struct replay_object *queue = &replay->object[object];

	if (!queue->tokens && !self->forced)
		return wait_without_lock(replay, thread, object, &queue->waiters);
	if (queue->tokens)
		took(replay, queue);
	self->step++;
	return true;
}

bool replay_get(struct replay *replay, uint32_t thread, uint32_t object, uint64_t recorded)
{
	struct replay_thread *self = &replay->thread[thread];
	struct replay_object *queue = &replay->object[object];
	const struct cpa_script_item *item;
	uint32_t got;

	if (!regain_lock(replay, thread, object))
		return false;
	if (replay->script->object[object].deal == CPA_DEAL_RECORDED)
		return get_recorded(replay, thread, object, recorded);
	if (replay->script->object[object].deal == CPA_DEAL_COUNT)
		return get_any(replay, thread, object);
	if (!self->claimed && queue->claims == queue->total) {
		self->step = replay->script->thread[thread].tail;
		self->until = CPA_NOWHERE;
		return true;
	}
	if (!self->claimed) {
		self->claimed = true;
		queue->claims++;
	}
	got = queue->first;
	if (got == CPA_NOWHERE && !self->forced)
		return wait_without_lock(replay, thread, object, &queue->waiters);
	self->claimed = false;
	if (got == CPA_NOWHERE) {
		self->step = replay->script->thread[thread].tail;
		self->until = CPA_NOWHERE;
		return true;
	}
	queue->first = replay->item[got].next;
	took(replay, queue);
	item = &replay->script->item[got];
	self->step = item->first;
	self->until = item->end;
	self->again = item->first - 1;
	return true;
}
