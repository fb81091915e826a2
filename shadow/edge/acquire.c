/* SPDX-License-Identifier: MIT */
#include "shadow/edge/acquire.h"

#include <string.h>

#include "shadow/edge/cell.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/edge/fifo.h"
#include "shadow/journal/journal.h"
#include "shadow/edge/merge.h"
#include "shadow/edge/object.h"
#include "shadow/path/path.h"
#include "shadow/store/epoch.h"

#define GRANT (UINT64_C(1) << 32)

/*
 * Divide the last @ticks of the wait, which passed after the release that ended it: first the time
 * that the thread was ready without a processor (run queue); the rest is hand-off latency.
 */
static void count_latency(struct cpa_path *path, const struct cpa_wait *w, uint64_t ticks)
{
	uint64_t ready = w->runqueue < ticks ? w->runqueue : ticks;

	path->observed[CPA_TIME_RUNQUEUE] += ready;
	path->observed[CPA_TIME_HANDOFF] += ticks - ready;
}

/* The clock of the release @remote; if @w is CPA_WAIT_LATE as if profiling had been on all the time since then. */
static inline uint64_t clock_of(const struct cpa_path *remote, const struct cpa_wait *w)
{
	const struct cpa_header *h = cpa_header();
	uint64_t released = remote->released;

	if (likely(w->border != CPA_WAIT_LATE) || released >= w->now)
		return released;
	return w->now - (cpa_epoch_on(h, w->now) - cpa_epoch_on(h, released));
}

/*
 * Join @remote. The observed path becomes the remote one only if the release came after the
 * thread's arrival and is the @latest. Return whether it did.
 */
static bool join(struct cpa_self *self, const struct cpa_path *remote, bool latest,
		 struct cpa_wait *w)
{
	struct cpa_path *path = &self->row->path;
	uint64_t released = clock_of(remote, w);
	bool observed = latest && released > w->arrived && w->border != CPA_WAIT_CUT;

	if (w->observed_only && observed)
		cpa_path_observe(self, path, remote);
	else if (!w->observed_only)
		w->followed |= cpa_path_join(self, path, remote, observed);
	if (latest)
		w->from = remote->node;
	if (!observed)
		return false;
	/*
	 * A release after the thread's return: clocks of two cores, or the thread lost its processor
	 * before it came here. No latency; and the path is at that release.
	 */
	if (unlikely(remote->released > w->now))
		path->released = remote->released;
	else
		count_latency(path, w, w->now - released);
	w->arrived = w->now;
	return true;
}

/* The part of the wait that no release explains stays on the local path. */
static void settle(struct cpa_self *self, struct cpa_wait *w)
{
	if (w->matched && w->now > w->arrived) {
		uint64_t since = cpa_self_since(self, w->arrived);

		if (likely(w->border == CPA_WAIT_WITHIN || w->border == CPA_WAIT_LATE))
			count_latency(&self->row->path, w, w->now - since);
		else
			w->arrived = w->now;
	}
	/* The next release of the thread publishes its path again. */
	if (likely(self->row->path.released < w->now))
		self->row->path.released = w->now;
	self->row->path.owner = self->id;
}

static bool usable(const struct cpa_self *self, const struct cpa_path *remote)
{
	/*
	 * The thread's own earlier path is a prefix of its present one: joining it changes nothing.
	 */
	return remote && remote->owner && remote->owner != self->id;
}

/*
 * Join two releases, each of which may be NULL. The observed path is that of the later one. @on and
 * @other: the acquired objects, for the journal.
 */
static inline void join_two(struct cpa_self *self, const struct cpa_path *a,
			    const struct cpa_path *b, const struct cpa_object *on,
			    const struct cpa_object *other, struct cpa_wait *w)
{
	bool a_last = a && (!b || a->released > b->released);
	uint64_t latest = a_last ? a->released : b ? b->released : 0;
	unsigned came = 0;

	if (unlikely(latest > w->now)) { /* C1 of shadow/graph/checkpoint.h */
		self->slow++;		 /* what follows overlaps with the path: cpa_done_slow() */
		cpa_checkpoint(self, latest);
		w->now = cpa_checkpoint(self, w->now);
	}
	cpa_writing(self->row);
	if (usable(self, a))
		came = join(self, a, a_last, w);
	if (usable(self, b))
		came |= (unsigned)join(self, b, !a_last, w) << 1;
	settle(self, w);
	cpa_journal_pending(self);
	cpa_written(self->row);
	if (unlikely(self->journal))
		cpa_journal_acquire_write(self, on, other, a, b, came, w);
}

void cpa_acquire_object(struct cpa_self *self, const struct cpa_path *remote,
			const struct cpa_object *on, struct cpa_wait *w)
{
	if (remote && remote->owner)
		w->matched = true;
	join_two(self, NULL, remote, on, NULL, w);
}

void cpa_acquire_path(struct cpa_self *self, const struct cpa_path *remote, struct cpa_wait *w)
{
	cpa_acquire_object(self, remote, NULL, w);
}

static bool queues_own(const struct cpa_self *self, const struct cpa_object *o)
{
	return self->inner || o->queue;
}

/*
 * Return whether a later release of the same thread was joined already. That path continued
 * @remote, so the longest path to here is no shorter, whichever component weighs zero. With equal
 * times either release may be the later one.
 */
static bool joined_later(const struct cpa_self *self, const struct cpa_path *remote)
{
	unsigned at = remote->owner % CPA_JOINED;

	return self->joined[at].owner == remote->owner &&
	       self->joined[at].released > remote->released;
}

void cpa_lock_acquired(struct cpa_self *self, struct cpa_object *o, struct cpa_wait *w)
{
	const struct cpa_path *remote = cpa_object_path(o);

	w->observed_only = queues_own(self, o);
	w->matched = true; /* the lock was never released before: the wait has no other cause */
	if (clock_of(remote, w) <= w->arrived && joined_later(self, remote)) {
		w->from = remote->node;
		join_two(self, NULL, NULL, o, NULL, w);
		return;
	}
	cpa_acquire_object(self, remote, o, w);
	if (usable(self, remote) && !w->observed_only) {
		self->joined[remote->owner % CPA_JOINED].owner = remote->owner;
		self->joined[remote->owner % CPA_JOINED].released = remote->released;
	}
}

void cpa_read_acquired(struct cpa_self *self, struct cpa_object *o, struct cpa_wait *w)
{
	cpa_lock_acquired(self, o, w);
}

void cpa_read_release(struct cpa_self *self, struct cpa_object *o)
{
	cpa_journal_release(self, o, CPA_RELEASE_READ, 0);
	cpa_merge_release(self, &o->merged, 0, &self->row->path);
}

void cpa_write_acquired(struct cpa_self *self, struct cpa_object *o, struct cpa_wait *w)
{
	uint32_t token = cpa_merge_take(&o->merged);

	w->observed_only = queues_own(self, o);
	w->matched = true;
	join_two(self, token ? &cpa_token(token)->path : NULL, cpa_object_path(o), o, NULL, w);
	if (token)
		cpa_token_free(self, token);
}

void cpa_join_release(struct cpa_self *self, struct cpa_object *o, uint64_t round)
{
	cpa_journal_release(self, o, CPA_RELEASE_READ, 0);
	cpa_merge_release_read(self, &o->merged, round + 1, &self->row->path);
}

void cpa_join_acquired(struct cpa_self *self, struct cpa_object *o, uint64_t round,
		       struct cpa_wait *w)
{
	w->matched = true; /* who released nothing came to its end before this thread */
	join_two(self, cpa_merge_read(&o->merged, round + 1), NULL, o, NULL, w);
}

void cpa_wait_begin(struct cpa_object *o)
{
	/* Relaxed: the word only counts; the waiter's mutex orders it before the signal. */
	__atomic_fetch_add(&o->waiting, 1, __ATOMIC_RELAXED);
}

static bool count(struct cpa_object *o, uint64_t old, uint64_t new)
{
	/* RELEASE: the token of a grant is in the queue. ACQUIRE: the granted waiter finds it. */
	return __atomic_compare_exchange_n(&o->waiting, &old, new, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static uint64_t counts(struct cpa_object *o)
{
	/* ACQUIRE pairs with count(): the token of a grant is visible. */
	return __atomic_load_n(&o->waiting, __ATOMIC_ACQUIRE);
}

uint32_t cpa_wake(struct cpa_self *self, struct cpa_object *o, uint32_t most)
{
	uint32_t n = 0;

	while (n < most) {
		uint32_t token;
		uint64_t old = counts(o);

		if (!(uint32_t)old)
			break;
		token = cpa_token_new(self, &self->row->path);
		if (!token || !cpa_fifo_put(self, o, token))
			break;
		/* A waiter may have timed out between the load and the grant. */
		while ((uint32_t)old && !count(o, old, old - 1 + GRANT))
			old = counts(o);
		if (!(uint32_t)old) {
			token = cpa_fifo_take(self, o);
			if (token)
				cpa_token_free(self, token);
			break;
		}
		n++;
	}
	cpa_journal_release(self, o, n ? 0 : CPA_RELEASE_NOTHING, n);
	return n;
}

void cpa_wake_undo(struct cpa_self *self, struct cpa_object *o, uint32_t n)
{
	while (n--) {
		uint64_t old = counts(o);
		uint32_t token;

		while (old >= GRANT && !count(o, old, old - GRANT + 1))
			old = counts(o);
		if (old < GRANT)
			return;
		token = cpa_fifo_take(self, o);
		if (token)
			cpa_token_free(self, token);
	}
}

void cpa_wait_end(struct cpa_self *self, struct cpa_object *o, bool woken,
		  const struct cpa_object *mutex, struct cpa_wait *w)
{
	const struct cpa_path *path = mutex ? cpa_object_path(mutex) : NULL;
	uint64_t old, new;
	uint32_t token = 0;
	bool granted;

	do {
		old = counts(o);
		/*
		 * Woken: use up a grant if there is one. Otherwise: one waiter less, unless all are
		 * granted.
		 */
		granted = old >= GRANT && (woken || !(uint32_t)old);
		new = granted ? old - GRANT : (uint32_t)old ? old - 1 : old;
	} while (!count(o, old, new));
	if (granted)
		token = cpa_fifo_take(self, o);
	w->observed_only = queues_own(self, o);
	w->matched = (token && woken) || (path && path->released > w->arrived);
	if (unlikely(self->journal && !woken))
		cpa_journal_failed(self);
	join_two(self, token && woken ? &cpa_token(token)->path : NULL, path, o, mutex, w);
	if (token)
		cpa_token_free(self, token);
}

void cpa_sem_release(struct cpa_self *self, struct cpa_object *o)
{
	uint32_t token = cpa_token_new(self, &self->row->path);

	if (token)
		cpa_fifo_put(self, o, token);
	cpa_journal_release(self, o, 0, 1);
}

void cpa_sem_acquired(struct cpa_self *self, struct cpa_object *o, struct cpa_wait *w)
{
	uint64_t initial = counts(o);
	uint32_t token;

	w->observed_only = queues_own(self, o);
	while (initial && !count(o, initial, initial - 1))
		initial = counts(o);
	if (initial) {
		w->matched = true;
		join_two(self, NULL, NULL, o, NULL, w);
		return;
	}
	token = cpa_fifo_take(self, o);
	cpa_acquire_object(self, token ? &cpa_token(token)->path : NULL, o, w);
	if (token)
		cpa_token_free(self, token);
}

void cpa_barrier_arrive_at(struct cpa_self *self, struct cpa_object *o, uint64_t round,
			   uint32_t members)
{
	cpa_journal_release(self, o, 0, members);
	cpa_merge_release(self, &o->round[round % CPA_ROUNDS], round + 1, &self->row->path);
}

void cpa_barrier_arrive_again(struct cpa_self *self, struct cpa_object *o, uint64_t round,
			      uint32_t members)
{
	/* ACQUIRE: pairs with (A) in cpa_merge_release(). */
	uint64_t row = __atomic_load_n(&o->round[round % CPA_ROUNDS], __ATOMIC_ACQUIRE);

	/*
	 * Relaxed: who left did so before it made what this thread ran. If this is still the token of
	 * the round, it cannot be freed before this thread has left.
	 */
	if (row && cpa_token(row)->key == round + 1 &&
	    __atomic_load_n(&cpa_token(row)->left, __ATOMIC_RELAXED))
		return;
	cpa_barrier_arrive_at(self, o, round, members);
}

uint64_t cpa_barrier_arrive(struct cpa_self *self, struct cpa_object *o, uint32_t members)
{
	/* Relaxed: the number only selects the round; the exchange on the slot orders the paths. */
	uint64_t round = __atomic_fetch_add(&o->passes, 1, __ATOMIC_RELAXED) / members;

	cpa_barrier_arrive_at(self, o, round, members);
	return round;
}

void cpa_barrier_left(struct cpa_self *self, struct cpa_object *o, uint64_t round,
		      struct cpa_wait *w)
{
	uint64_t *slot = &o->round[round % CPA_ROUNDS], members = o->waiting;
	/* ACQUIRE: pairs with (A) in cpa_merge_release(). */
	uint64_t row = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	struct cpa_token *t = row ? cpa_token(row) : NULL;

	w->observed_only = queues_own(self, o);
	/* The token of this round cannot be freed before this thread has added to `left`. */
	if (!t || t->key != round + 1) {
		/* a lost edge must not count as time outside of synchronization */
		w->matched = true;
		cpa_diag(CPA_DIAG_UNMATCHED_WAKES);
		join_two(self, NULL, NULL, o, NULL, w);
		return;
	}
	cpa_acquire_object(self, &t->path, o, w);
	/* ACQ_REL: all threads have read before the last one frees. */
	if (__atomic_add_fetch(&t->left, 1, __ATOMIC_ACQ_REL) < members)
		return;
	/* Relaxed: threads that lost a race in shadow/edge/item.c may read them late. */
	__atomic_store_n(&t->left, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->key, 0, __ATOMIC_RELAXED);
	/*
	 * ACQ_REL: all threads have read before the token is freed. Fails if a later round has
	 * taken the token out.
	 */
	if (__atomic_compare_exchange_n(slot, &row, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		cpa_token_free(self, t->row);
}
