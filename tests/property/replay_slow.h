/* SPDX-License-Identifier: MIT */
/*
 * tests/property/replay_slow.h - the result of a script, tick by tick
 *
 * The obvious implementation of analysis/predict/replay.h: in each tick the threads that have a
 * core work for one tick (turns_slow.h); then, while any work or delay has ended, the first such
 * thread continues. Waiters are found by looking at all threads. No heap, no list, no virtual
 * clock.
 */
#ifndef CPA_TESTS_REPLAY_SLOW_H
#define CPA_TESTS_REPLAY_SLOW_H

#include <string.h>

#include "analysis/predict/replay.h"
#include "tests/property/replay_record.h"
#include "tests/property/turns_slow.h"
#include "tests/unit/script_maker.h"

enum slow_mode { SLOW_NONE, SLOW_GOES, SLOW_BLOCKED, SLOW_DONE };
enum slow_what { SLOW_LOCK, SLOW_SEM, SLOW_BARRIER, SLOW_OFFER, SLOW_EXIT, SLOW_ITEMS, SLOW_SPACE };

struct slow_thread {
	enum slow_mode mode;
	bool working;
	uint32_t at;
	bool operating; /* its work is done, but not its operation */
	bool holds[MAKER_OBJECTS], reads[MAKER_OBJECTS];
	enum slow_what what; /* kind of object that it is blocked on */
	uint32_t which;
	uint64_t since; /* number of the wait */
	bool reader, let_go, regain, arrived, claim;
	uint64_t round;
	uint32_t end, get; /* of the last service */
	uint64_t got;	   /* item taken; UINT64_MAX: none */
};

static struct slow {
	const struct cpa_script *script;
	struct slow_thread thread[MAKER_THREADS];
	uint64_t tokens[MAKER_OBJECTS], rounds[MAKER_OBJECTS], claims[MAKER_OBJECTS];
	uint64_t waits;
	uint32_t row[MAKER_OBJECTS][MAKER_ITEMS], length[MAKER_OBJECTS];
	bool put[MAKER_ITEMS], offered[MAKER_STEPS];
	uint64_t offered_at[MAKER_STEPS]; /* tick, */
	uint32_t offered_by[MAKER_STEPS]; /* and thread */
	uint64_t carried[MAKER_STEPS];	  /* tick up to which a stream carries bytes */
	const struct cpa_placement *placement;
	struct cpa_replay_result result;
} slow;

static bool slow_block(uint32_t t, enum slow_what what, uint32_t which)
{
	slow.thread[t].mode = SLOW_BLOCKED;
	slow.thread[t].what = what;
	slow.thread[t].which = which;
	slow.thread[t].since = slow.waits++;
	slow.result.blocked++;
	return false;
}

/* Return the thread that has been blocked there longest; only readers if @readers; -1: none. */
static int slow_oldest(bool any, enum slow_what what, uint32_t which, bool readers)
{
	int best = -1;

	for (uint32_t i = 0; i < slow.script->threads; i++) {
		const struct slow_thread *t = &slow.thread[i];

		if (t->mode != SLOW_BLOCKED ||
		    (!any && (t->what != what || t->which != which || (readers && !t->reader))))
			continue;
		if (best < 0 || t->since < slow.thread[best].since)
			best = (int)i;
	}
	return best;
}

static void slow_wake(int t)
{
	if (t < 0)
		return;
	slow.thread[t].mode = SLOW_GOES;
	turns_need((uint32_t)t, slow.script->latency);
}

/* Whether what was offered is of the thread's own group, and messages within one take no time. */
static bool slow_is_near(uint32_t t, uint32_t offer)
{
	return slow.script->between &&
	       slow.placement->group[t] == slow.placement->group[slow.offered_by[offer]];
}

/* A message that was sent arrives so many ticks from now; -1: it takes no time of its own. */
static int64_t slow_arrives(uint32_t t, const struct cpa_step *step)
{
	if (!step->value || slow_is_near(t, step->object))
		return -1;
	return (int64_t)(slow.offered_at[step->object] + step->value - 1) - (int64_t)turns.now;
}

/* Those that wait for an offer which was made now. */
static void slow_send(uint32_t offer)
{
	int t;

	while ((t = slow_oldest(false, SLOW_OFFER, offer, false)) >= 0) {
		int64_t left = slow_arrives((uint32_t)t, &slow.script->step[slow.thread[t].at]);

		if (left < 0) {
			slow_wake(t);
			continue;
		}
		slow.thread[t].mode = SLOW_GOES;
		turns_delay((uint32_t)t, (uint64_t)left);
	}
}

static bool slow_await(uint32_t t, const struct cpa_step *step)
{
	if (slow.thread[t].let_go)
		return true;
	if (!slow.offered[step->object])
		return slow_block(t, SLOW_OFFER, step->object);
	if (slow_arrives(t, step) <= 0)
		return true;
	turns_rest(t);
	turns_delay(t, (uint64_t)slow_arrives(t, step));
	return false;
}

static bool slow_carry(uint32_t t, const struct cpa_step *step)
{
	uint64_t at = slow.offered_at[step->object], end;
	uint64_t *carried = &slow.carried[slow.script->stream[step->object]];

	if (!slow.offered[step->object] || slow.thread[t].let_go || slow_is_near(t, step->object))
		return true;
	*carried = (at > *carried ? at : *carried) + step->value;
	end = *carried + step[-1].value - 1;
	if (end <= turns.now)
		return true;
	turns_rest(t);
	turns_delay(t, end - turns.now);
	slow.thread[t].at++;
	slow.thread[t].operating = false;
	return false;
}

static void slow_wake_all(enum slow_what what, uint32_t which, bool readers)
{
	int t;

	while ((t = slow_oldest(false, what, which, readers)) >= 0)
		slow_wake(t);
}

static bool slow_acquire(uint32_t t, uint32_t lock, bool read)
{
	struct slow_thread *self = &slow.thread[t];
	bool taken = false;

	if (!slow.script->object[lock].count || self->holds[lock] || self->reads[lock])
		return true;
	for (uint32_t i = 0; i < slow.script->threads; i++)
		taken |= slow.thread[i].holds[lock] || (!read && slow.thread[i].reads[lock]);
	if (self->let_go)
		return true;
	self->reader = read;
	if (taken)
		return slow_block(t, SLOW_LOCK, lock);
	(read ? self->reads : self->holds)[lock] = true;
	return true;
}

static void slow_release(uint32_t t, uint32_t lock)
{
	struct slow_thread *self = &slow.thread[t];
	bool others = false;

	if (self->holds[lock]) {
		self->holds[lock] = false;
		if (slow_oldest(false, SLOW_LOCK, lock, true) >= 0)
			slow_wake_all(SLOW_LOCK, lock, true);
		else
			slow_wake(slow_oldest(false, SLOW_LOCK, lock, false));
	} else if (self->reads[lock]) {
		self->reads[lock] = false;
		for (uint32_t i = 0; i < slow.script->threads; i++)
			others |= slow.thread[i].reads[lock];
		if (!others)
			slow_wake(slow_oldest(false, SLOW_LOCK, lock, false));
	}
}

static bool slow_arrive(uint32_t t, uint32_t barrier)
{
	struct slow_thread *self = &slow.thread[t];

	if (!self->arrived) {
		self->arrived = true;
		self->round = slow.rounds[barrier];
		if (++slow.tokens[barrier] == slow.script->object[barrier].count) {
			slow.tokens[barrier] = 0;
			slow.rounds[barrier]++;
			slow_wake_all(SLOW_BARRIER, barrier, false);
		}
	}
	if (slow.rounds[barrier] == self->round && !self->let_go)
		return slow_block(t, SLOW_BARRIER, barrier);
	self->arrived = false;
	return true;
}

static bool slow_wait_outside(uint32_t t, enum slow_what what, uint32_t queue)
{
	uint32_t lock = slow.script->object[queue].lock;

	if (lock != CPA_NOWHERE && (slow.thread[t].holds[lock] || slow.thread[t].reads[lock])) {
		slow.thread[t].regain = true;
		slow_release(t, lock);
	}
	return slow_block(t, what, queue);
}

static bool slow_regain(uint32_t t, uint32_t queue)
{
	if (slow.thread[t].regain && !slow_acquire(t, slow.script->object[queue].lock, false))
		return false;
	slow.thread[t].regain = false;
	return true;
}

static bool slow_put(uint32_t t, uint32_t queue, uint32_t item)
{
	const struct cpa_script_object *q = &slow.script->object[queue];
	int receiver = -1;

	if (!slow_regain(t, queue))
		return false;
	if (q->count && slow.length[queue] >= q->count && !slow.thread[t].let_go)
		return slow_wait_outside(t, SLOW_SPACE, queue);
	if (q->deal == CPA_DEAL_ITEMS && slow.script->item[item].first == CPA_NOWHERE)
		return true;
	if (q->deal != CPA_DEAL_COUNT) {
		slow.put[item] = true;
		slow.row[queue][slow.length[queue]] = item;
	}
	slow.length[queue]++;
	if (q->deal != CPA_DEAL_RECORDED) {
		slow_wake(slow_oldest(false, SLOW_ITEMS, queue, false));
		return true;
	}
	for (uint32_t i = 0; i < slow.script->threads; i++)
		if (slow.thread[i].mode == SLOW_BLOCKED && slow.thread[i].what == SLOW_ITEMS &&
		    slow.thread[i].which == queue &&
		    slow.script->step[slow.thread[i].at].value == item)
			receiver = (int)i;
	slow_wake(receiver);
	return true;
}

static void slow_remove(uint32_t queue, uint32_t item)
{
	uint32_t *row = slow.row[queue], at = 0;

	while (row[at] != item)
		at++;
	memmove(&row[at], &row[at + 1], (--slow.length[queue] - at) * sizeof(*row));
	slow_wake(slow_oldest(false, SLOW_SPACE, queue, false));
}

static uint64_t slow_gets(uint32_t queue)
{
	uint64_t gets = 0;

	for (uint32_t i = 0; i < slow.script->steps; i++)
		gets += slow.script->step[i].kind == CPA_STEP_GET &&
			slow.script->step[i].object == queue;
	return gets;
}

static bool slow_get(uint32_t t, uint32_t queue, uint32_t item)
{
	struct slow_thread *self = &slow.thread[t];

	if (!slow_regain(t, queue))
		return false;
	if (slow.script->object[queue].deal == CPA_DEAL_COUNT) {
		if (!slow.length[queue] && !self->let_go)
			return slow_wait_outside(t, SLOW_ITEMS, queue);
		if (slow.length[queue]) {
			slow.length[queue]--;
			slow_wake(slow_oldest(false, SLOW_SPACE, queue, false));
		}
		self->at++;
		return true;
	}
	if (slow.script->object[queue].deal == CPA_DEAL_RECORDED) {
		if (!slow.put[item] && !self->let_go)
			return slow_wait_outside(t, SLOW_ITEMS, queue);
		if (slow.put[item]) {
			slow_remove(queue, item);
			self->got = item;
		}
		self->at++;
		return true;
	}
	if (!self->claim && slow.claims[queue] == slow_gets(queue)) {
		self->at = slow.script->thread[t].tail;
		self->end = CPA_NOWHERE;
		return true;
	}
	slow.claims[queue] += !self->claim;
	self->claim = true;
	if (!slow.length[queue] && !self->let_go)
		return slow_wait_outside(t, SLOW_ITEMS, queue);
	self->claim = false;
	if (!slow.length[queue]) {
		self->at = slow.script->thread[t].tail;
		self->end = CPA_NOWHERE;
		return true;
	}
	item = slow.row[queue][0];
	self->got = item;
	slow_remove(queue, item);
	self->at = slow.script->item[item].first;
	self->end = slow.script->item[item].end;
	self->get = slow.script->item[item].first - 1;
	return true;
}

/* Do the operation. Return false if the thread does not continue now. */
static bool slow_operate(uint32_t t, const struct cpa_step *step)
{
	struct slow_thread *self = &slow.thread[t];

	switch ((enum cpa_step_kind)step->kind) {
	case CPA_STEP_EXIT:
		self->mode = SLOW_DONE;
		slow_wake_all(SLOW_EXIT, t, false);
		return false;
	case CPA_STEP_PAUSE:
		turns_rest(t);
		turns_delay(t, step->value);
		self->at++;
		self->operating = false;
		return false;
	case CPA_STEP_LOCK:
	case CPA_STEP_READ:
		return slow_acquire(t, step->object, step->kind == CPA_STEP_READ);
	case CPA_STEP_UNLOCK:
		slow_release(t, step->object);
		return true;
	case CPA_STEP_OFFER:
		slow.offered[step->object] = true;
		slow.offered_at[step->object] = turns.now;
		slow.offered_by[step->object] = t;
		slow_send(step->object);
		return true;
	case CPA_STEP_AWAIT:
		return slow_await(t, step);
	case CPA_STEP_CARRY:
		return slow_carry(t, step);
	case CPA_STEP_POST:
		slow.tokens[step->object]++;
		slow_wake(slow_oldest(false, SLOW_SEM, step->object, false));
		return true;
	case CPA_STEP_TAKE:
		if (slow.tokens[step->object])
			slow.tokens[step->object]--;
		else
			return self->let_go || slow_block(t, SLOW_SEM, step->object);
		return true;
	case CPA_STEP_ARRIVE:
		return slow_arrive(t, step->object);
	case CPA_STEP_CREATE:
		if (slow.thread[step->object].mode == SLOW_NONE)
			slow_wake((int)step->object);
		return true;
	case CPA_STEP_JOIN:
		return slow.thread[step->object].mode == SLOW_DONE || self->let_go ||
		       slow_block(t, SLOW_EXIT, step->object);
	case CPA_STEP_PUT:
		return slow_put(t, step->object, (uint32_t)step->value);
	case CPA_STEP_GET:
		return slow_get(t, step->object, (uint32_t)step->value);
	default:
		return true;
	}
}

static void slow_react(uint32_t t)
{
	struct slow_thread *self = &slow.thread[t];

	if (self->working) {
		slow.result.worked += slow.script->step[self->at].work;
		self->operating = true;
	}
	self->working = false;
	if (self->at == slow.script->thread[t].first && !self->operating &&
	    !record.thread[t].events)
		record_start(t, turns.now, slow.script->thread[t].created);
	for (;;) {
		const struct cpa_step *step;

		if (!self->operating && self->at == self->end) {
			self->at = self->get;
			self->end = CPA_NOWHERE;
			self->operating = true;
		}
		step = &slow.script->step[self->at];
		if (!self->operating && step->work) {
			turns_work(t, step->work);
			self->working = true;
			return;
		}
		self->operating = true;
		record_arrival(t, turns.now);
		self->got = UINT64_MAX;
		if (!slow_operate(t, step)) {
			if (step->kind == CPA_STEP_EXIT || step->kind == CPA_STEP_PAUSE)
				record_operation(t, step, turns.now, self->got, 0);
			return;
		}
		record_operation(t, step, turns.now, self->got,
				 slow.script->object[step->object].count);
		self->let_go = self->operating = false;
		if (step->kind != CPA_STEP_GET)
			self->at++;
	}
}

/*
 * Do everything that can happen in this tick. Return false once the thread that ends the program is
 * done.
 */
static bool slow_moment(void)
{
	int t;

	while ((t = turns_named()) >= 0) {
		uint64_t begun = turns.thread[t].begun;

		slow_react((uint32_t)t);
		/* It has neither work nor a delay. */
		if (turns.thread[t].begun == begun)
			turns_rest((uint32_t)t);
		if (slow.script->ends != CPA_NOWHERE &&
		    slow.thread[slow.script->ends].mode == SLOW_DONE)
			return false;
	}
	return true;
}

static struct cpa_replay_result slow_replay(const struct cpa_script *script,
					    const struct cpa_placement *placement)
{
	int t;

	memset(&slow, 0, sizeof(slow));
	slow.script = script;
	slow.placement = placement;
	turns_begin(placement);
	record_begin(script->threads);
	for (uint32_t i = 0; i < script->objects; i++)
		if (script->object[i].kind == CPA_SCRIPT_SEM)
			slow.tokens[i] = script->object[i].count;
		else if (script->object[i].kind == CPA_SCRIPT_QUEUE)
			slow.length[i] = script->object[i].initial;
	for (uint32_t i = 0; i < script->threads; i++) {
		slow.thread[i].at = script->thread[i].first;
		slow.thread[i].end = CPA_NOWHERE;
		if (script->thread[i].created)
			continue;
		slow.thread[i].mode = SLOW_GOES;
		turns_delay(i, script->thread[i].begin);
	}
	while (slow_moment()) {
		if (turns_tick())
			continue;
		t = slow_oldest(true, 0, 0, false);
		if (t < 0)
			break;
		slow.thread[t].let_go = true;
		slow.result.forced++;
		slow_wake(t);
	}
	slow.result.ticks = turns.now;
	return slow.result;
}

#endif
