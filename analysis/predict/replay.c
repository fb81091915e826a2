/* SPDX-License-Identifier: MIT */
/* analysis/predict/replay.c - run the steps of threads, with their waits and wake-ups */
#include "analysis/predict/replay_state.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

static const struct replay_waiters nobody = { CPA_NOWHERE, CPA_NOWHERE };

bool replay_block(struct replay *replay, uint32_t thread, struct replay_waiters *waiters)
{
	struct replay_thread *self = &replay->thread[thread];

	self->phase = PHASE_BLOCKED;
	self->on = waiters;
	self->next = CPA_NOWHERE;
	if (waiters->first == CPA_NOWHERE)
		waiters->first = thread;
	else
		replay->thread[waiters->last].next = thread;
	waiters->last = thread;

	self->before = replay->newest;
	self->after = CPA_NOWHERE;
	if (replay->newest == CPA_NOWHERE)
		replay->oldest = thread;
	else
		replay->thread[replay->newest].after = thread;
	replay->newest = thread;
	replay->result.blocked++;
	return false;
}

static void leave_waiters(struct replay *replay, uint32_t thread, struct replay_waiters *waiters)
{
	uint32_t previous = CPA_NOWHERE;

	for (uint32_t i = waiters->first; i != thread; i = replay->thread[i].next)
		previous = i;
	if (previous == CPA_NOWHERE)
		waiters->first = replay->thread[thread].next;
	else
		replay->thread[previous].next = replay->thread[thread].next;
	if (waiters->last == thread)
		waiters->last = previous;
}

/*
 * Ticks that the message takes which @thread, at @step, waits for; UINT64_MAX: @step is no such
 * wait, or the message is of the thread's own group and takes what it did.
 */
static uint64_t takes(const struct replay *replay, uint32_t thread, const struct cpa_step *step)
{
	const uint32_t *group = replay->placement->group;

	if (step->kind != CPA_STEP_AWAIT || !step->value || !replay->offer[step->object].made ||
	    (replay->script->between && group[thread] == group[replay->offer[step->object].by]))
		return UINT64_MAX;
	return step->value - 1;
}

void replay_wake(struct replay *replay, uint32_t thread)
{
	uint64_t ticks = takes(replay, thread, &replay->script->step[replay->thread[thread].step]);
	struct replay_thread *self = &replay->thread[thread];

	leave_waiters(replay, thread, self->on);
	if (self->before == CPA_NOWHERE)
		replay->oldest = self->after;
	else
		replay->thread[self->before].after = self->after;
	if (self->after == CPA_NOWHERE)
		replay->newest = self->before;
	else
		replay->thread[self->after].before = self->before;
	self->phase = PHASE_WAKING;
	if (ticks == UINT64_MAX)
		cpa_engine_wake(replay->engine, thread, replay->script->latency);
	else
		cpa_engine_delay(replay->engine, thread, ticks);
}

void replay_wake_first(struct replay *replay, struct replay_waiters *waiters)
{
	if (waiters->first != CPA_NOWHERE)
		replay_wake(replay, waiters->first);
}

void replay_wake_all(struct replay *replay, struct replay_waiters *waiters)
{
	while (waiters->first != CPA_NOWHERE)
		replay_wake(replay, waiters->first);
}

/* Begin the thread's step with its work. Return false if the thread is busy with it now. */
static bool begin_step(struct replay *replay, uint32_t thread)
{
	struct replay_thread *self = &replay->thread[thread];
	uint64_t work = replay->script->step[self->step].work;

	if (!work)
		return true;
	self->phase = PHASE_WORKING;
	cpa_engine_work(replay->engine, thread, work);
	return false;
}

static bool is_born(struct replay *replay, uint32_t thread)
{
	struct replay_thread *self = &replay->thread[thread];

	if (self->phase != PHASE_UNBORN)
		return false;
	self->phase = PHASE_PAUSING;
	self->step = replay->script->thread[thread].first;
	return true;
}

static bool pause_for(struct replay *replay, uint32_t thread, uint64_t ticks)
{
	replay->thread[thread].phase = PHASE_PAUSING;
	replay->thread[thread].step++;
	cpa_engine_delay(replay->engine, thread, ticks);
	return false;
}

static void offer(struct replay *replay, uint32_t thread, uint32_t number)
{
	replay->offer[number].made = true;
	replay->offer[number].at = cpa_engine_now(replay->engine);
	replay->offer[number].by = thread;
	replay_wake_all(replay, &replay->offer[number].waiters);
}

static bool await(struct replay *replay, uint32_t thread, const struct cpa_step *step)
{
	uint64_t ticks = takes(replay, thread, step), passed;

	if (replay->thread[thread].forced)
		return true;
	if (!replay->offer[step->object].made)
		return replay_block(replay, thread, &replay->offer[step->object].waiters);
	passed = cpa_engine_now(replay->engine) - replay->offer[step->object].at;
	if (ticks == UINT64_MAX || ticks <= passed)
		return true;
	replay->thread[thread].phase = PHASE_WAKING;
	cpa_engine_delay(replay->engine, thread, ticks - passed);
	return false;
}

/* The message behind whose AWAIT @step is has been there for a while, but its bytes may have to wait for others. */
static bool carry(struct replay *replay, uint32_t thread, const struct cpa_step *step)
{
	uint64_t ticks = takes(replay, thread, step - 1), now = cpa_engine_now(replay->engine);
	uint64_t *carried;

	if (ticks == UINT64_MAX || replay->thread[thread].forced)
		return true;
	carried = &replay->carried[replay->script->stream[step->object]];
	if (*carried < replay->offer[step->object].at)
		*carried = replay->offer[step->object].at;
	*carried += step->value;
	return *carried + ticks <= now ? true : pause_for(replay, thread, *carried + ticks - now);
}

static bool join(struct replay *replay, uint32_t thread, uint32_t other)
{
	struct replay_thread *joined = &replay->thread[other];

	if (joined->phase == PHASE_DONE || replay->thread[thread].forced)
		return true;
	return replay_block(replay, thread, &joined->joiners);
}

static void finish(struct replay *replay, uint32_t thread)
{
	replay->thread[thread].phase = PHASE_DONE;
	replay_wake_all(replay, &replay->thread[thread].joiners);
}

/* Do the operation of the thread's step. Return false if the thread cannot go on at once. */
static bool operate(struct replay *replay, uint32_t thread, const struct cpa_step *step)
{
	switch ((enum cpa_step_kind)step->kind) {
	case CPA_STEP_EXIT:
		finish(replay, thread);
		return false;
	case CPA_STEP_PAUSE:
		return pause_for(replay, thread, step->value);
	case CPA_STEP_LOCK:
		return replay_acquire(replay, thread, step->object, false);
	case CPA_STEP_READ:
		return replay_acquire(replay, thread, step->object, true);
	case CPA_STEP_UNLOCK:
		replay_release(replay, thread, step->object);
		return true;
	case CPA_STEP_OFFER:
		offer(replay, thread, step->object);
		return true;
	case CPA_STEP_AWAIT:
		return await(replay, thread, step);
	case CPA_STEP_CARRY:
		return carry(replay, thread, step);
	case CPA_STEP_POST:
		replay_post(replay, step->object);
		return true;
	case CPA_STEP_TAKE:
		return replay_take(replay, thread, step->object);
	case CPA_STEP_ARRIVE:
		return replay_arrive(replay, thread, step->object);
	case CPA_STEP_CREATE:
		if (is_born(replay, step->object))
			cpa_engine_wake(replay->engine, step->object, replay->script->latency);
		return true;
	case CPA_STEP_JOIN:
		return join(replay, thread, step->object);
	case CPA_STEP_PUT:
		return replay_put(replay, thread, step->object, step->value);
	case CPA_STEP_GET:
		return replay_get(replay, thread, step->object, step->value);
	case CPA_STEP_NONE:
	case CPA_STEPS:
		break;
	}
	return true;
}

/* Whether the thread's present service ends here, so that it asks for the next item. */
static bool served(struct replay_thread *self)
{
	if (self->step != self->until)
		return false;
	self->step = self->again;
	self->until = CPA_NOWHERE;
	return true;
}

/* Continue with the thread's operation, until it works, pauses, waits or ends. */
static void go_on(struct replay *replay, uint32_t thread)
{
	struct replay_thread *self = &replay->thread[thread];

	for (;;) {
		const struct cpa_step *step = &replay->script->step[self->step];
		uint32_t at = self->step;

		if (!operate(replay, thread, step))
			return;
		self->forced = false;
		if (step->kind != CPA_STEP_GET)
			self->step = at + 1;
		if (!served(self) && !begin_step(replay, thread))
			return;
	}
}

static void react(struct replay *replay, uint32_t thread)
{
	struct replay_thread *self = &replay->thread[thread];

	if (self->phase == PHASE_WORKING)
		replay->result.worked += replay->script->step[self->step].work;
	if (self->phase == PHASE_PAUSING && !served(self) && !begin_step(replay, thread))
		return;
	go_on(replay, thread);
}

/*
 * No thread can go on: end the wait of the thread that has waited longest. Return false if none
 * waits.
 */
static bool force(struct replay *replay)
{
	uint32_t thread = replay->oldest;

	if (thread == CPA_NOWHERE)
		return false;
	replay->thread[thread].forced = true;
	replay->result.forced++;
	replay_wake(replay, thread);
	return true;
}

static void run(struct replay *replay)
{
	uint32_t ends = replay->script->ends, thread;

	for (uint32_t i = 0; i < replay->script->threads; i++)
		if (!replay->script->thread[i].created && is_born(replay, i))
			cpa_engine_delay(replay->engine, i, replay->script->thread[i].begin);
	do {
		while (cpa_engine_next(replay->engine, &thread)) {
			react(replay, thread);
			if (ends != CPA_NOWHERE && replay->thread[ends].phase == PHASE_DONE)
				return;
		}
	} while (force(replay));
}

static void prepare_objects(struct replay *replay)
{
	const struct cpa_script *script = replay->script;
	uint32_t locks = 0;

	replay->object = XCNEWVEC(struct replay_object, script->objects);
	for (uint32_t i = 0; i < script->objects; i++) {
		struct replay_object *object = &replay->object[i];

		*object = (struct replay_object){ .lock = locks,
						  .first = CPA_NOWHERE,
						  .last = CPA_NOWHERE,
						  .waiters = nobody,
						  .full = nobody };
		if (script->object[i].kind == CPA_SCRIPT_LOCK)
			locks += script->object[i].count;
		else if (script->object[i].kind == CPA_SCRIPT_SEM)
			object->tokens = script->object[i].count;
		else if (script->object[i].kind == CPA_SCRIPT_QUEUE)
			object->tokens = script->object[i].initial;
	}
	replay->lock = XNEWVEC(struct replay_lock, locks);
	for (uint32_t i = 0; i < locks; i++)
		replay->lock[i] = (struct replay_lock){ CPA_NOWHERE, 0, nobody };
	for (uint32_t i = 0; i < script->steps; i++)
		if (script->step[i].kind == CPA_STEP_GET)
			replay->object[script->step[i].object].total++;
}

static void prepare(struct replay *replay)
{
	const struct cpa_script *script = replay->script;

	prepare_objects(replay);
	replay->item = XCNEWVEC(struct replay_item, script->items);
	replay->thread = XCNEWVEC(struct replay_thread, script->threads);
	for (uint32_t i = 0; i < script->threads; i++) {
		replay->thread[i].until = CPA_NOWHERE;
		replay->thread[i].joiners = nobody;
	}
	replay->offer = xcalloc(script->offers + 1, sizeof(*replay->offer));
	for (uint32_t i = 0; i < script->offers; i++)
		replay->offer[i].waiters = nobody;
	replay->carried = XCNEWVEC(uint64_t, script->streams + 1);
	replay->oldest = replay->newest = CPA_NOWHERE;
}

struct cpa_replay_result cpa_replay(const struct cpa_script *script,
				    const struct cpa_placement *placement)
{
	struct replay replay = { .script = script,
				 .engine = cpa_engine_new(placement),
				 .placement = placement };

	prepare(&replay);
	run(&replay);
	replay.result.ticks = cpa_engine_now(replay.engine);
	for (uint32_t i = 0; i < script->threads; i++)
		replay.result.unfinished += replay.thread[i].phase != PHASE_UNBORN &&
					    replay.thread[i].phase != PHASE_DONE;
	cpa_engine_free(replay.engine);
	free(replay.object);
	free(replay.lock);
	free(replay.item);
	free(replay.thread);
	free(replay.offer);
	free(replay.carried);
	return replay.result;
}
