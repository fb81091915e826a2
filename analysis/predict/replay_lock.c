/* SPDX-License-Identifier: MIT */
/* analysis/predict/replay_lock.c - locks, semaphores and barriers of a replay */
#include "analysis/predict/replay_state.h"

#include "shadow/store/hash.h"

/* The lock of a split one that this use takes: random, but the same in each replay. */
static uint32_t pick(const struct replay *replay, uint32_t thread, uint32_t object)
{
	uint64_t x = cpa_hash(replay->thread[thread].step);

	return replay->object[object].lock +
	       (uint32_t)((x >> 32) % replay->script->object[object].count);
}

/* Index in `held` of the lock @object if @thread holds it; else held_count. */
static uint32_t find_held(const struct replay_thread *self, uint32_t object)
{
	uint32_t i = 0;

	while (i < self->held_count && self->held[i].object != object)
		i++;
	return i;
}

bool replay_acquire(struct replay *replay, uint32_t thread, uint32_t object, bool read)
{
	struct replay_thread *self = &replay->thread[thread];
	struct replay_lock *lock;
	uint32_t which;

	if (!replay->script->object[object].count || self->held_count == REPLAY_HELD ||
	    find_held(self, object) < self->held_count)
		return true;
	which = pick(replay, thread, object);
	lock = &replay->lock[which];
	if (self->forced)
		return true;
	if (lock->owner != CPA_NOWHERE || (!read && lock->readers)) {
		self->reader = read;
		return replay_block(replay, thread, &lock->waiters);
	}
	if (read)
		lock->readers++;
	else
		lock->owner = thread;
	self->held[self->held_count].object = object;
	self->held[self->held_count++].lock = which;
	return true;
}

static bool wake_readers(struct replay *replay, const struct replay_waiters *waiters)
{
	bool any = false;

	for (uint32_t i = waiters->first, next; i != CPA_NOWHERE; i = next) {
		next = replay->thread[i].next;
		if (!replay->thread[i].reader)
			continue;
		replay_wake(replay, i);
		any = true;
	}
	return any;
}

void replay_release(struct replay *replay, uint32_t thread, uint32_t object)
{
	struct replay_thread *self = &replay->thread[thread];
	uint32_t at = find_held(self, object);
	struct replay_lock *lock;

	if (at == self->held_count)
		return;
	lock = &replay->lock[self->held[at].lock];
	self->held[at] = self->held[--self->held_count];
	if (lock->owner == thread) {
		lock->owner = CPA_NOWHERE;
		if (!wake_readers(replay, &lock->waiters))
			replay_wake_first(replay, &lock->waiters);
	} else if (--lock->readers == 0) {
		replay_wake_first(replay, &lock->waiters);
	}
}

void replay_post(struct replay *replay, uint32_t object)
{
	replay->object[object].tokens++;
	replay_wake_first(replay, &replay->object[object].waiters);
}

bool replay_take(struct replay *replay, uint32_t thread, uint32_t object)
{
	struct replay_object *sem = &replay->object[object];

	if (sem->tokens) {
		sem->tokens--;
		return true;
	}
	return replay->thread[thread].forced || replay_block(replay, thread, &sem->waiters);
}

bool replay_arrive(struct replay *replay, uint32_t thread, uint32_t object)
{
	struct replay_thread *self = &replay->thread[thread];
	struct replay_object *barrier = &replay->object[object];

	if (!self->arrived) {
		self->arrived = true;
		self->round = barrier->round;
		if (++barrier->tokens == replay->script->object[object].count) {
			barrier->tokens = 0;
			barrier->round++;
			replay_wake_all(replay, &barrier->waiters);
		}
	}
	if (self->round == barrier->round && !self->forced)
		return replay_block(replay, thread, &barrier->waiters);
	self->arrived = false;
	return true;
}
