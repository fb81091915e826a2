/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe_pool.c - find conditions that behave as queues
 *
 * Of a hand-made queue or task pool the journal has the calls only: visits to a mutex, waits on its
 * conditions, signals. The assumption is that a condition counts something: visits that look like
 * those that wait on it take one unit, and wait while there is none; signals in other visits add
 * one.
 *
 * The recording is used to check this. Whenever a thread went to sleep, nothing can have been left;
 * so the units taken until then, minus those added, are the initial number, which must be the same
 * each time, and no unit may be taken before it was added. A condition that passes is replayed as a
 * queue: the first thread that comes gets the next unit, whether or not it had to wait in the
 * recording.
 *
 * Threads of one class are assumed to do the same; if that does not fit, each waiting thread is
 * taken for itself. If several threads of one class take units, the work that followed a unit goes
 * to the thread that gets it in the replay.
 *
 * Otherwise the replay would keep the recorded distribution of the units: for the program "pool" of
 * benchmarks/accuracy.md the predicted times of the changes on 2 cores are then 5 to 11 % longer,
 * of pigz 1 to 6 %. Programs whose queues are behind another lock (Perl, Python, xz) do not change.
 *
 * Often each taker comes a last time only to learn that nothing more will come. More units are then
 * taken than added, and these last visits keep the recorded order.
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/transcribe_stages.h"
#include "analysis/predict/transcribe_visits.h"

#define LOOKS 16
#define CONDS 32 /* conditions of one mutex for which visits are examined */

enum entry_kind { ENTRY_PUT, ENTRY_GET, ENTRY_SLEEP };

struct entry {
	uint64_t now;
	enum entry_kind kind;
	bool last;		/* last get of its thread */
	uint32_t thread, visit; /* visit: index + 1 */
	size_t event;
};

/* Features by which visits are compared. */
struct look {
	uint32_t place;
	uint64_t signalled;
};

/* Data on one condition. */
struct pool {
	struct transcribe *t;
	const struct transcribe_visits *visits;
	uint32_t *of_mutex, *first; /* visits by mutex: of_mutex[first[row]] up to first[row + 1] */
	uint8_t *asked;		    /* by mutex: number of conditions so far */
	bool *get;		    /* [visit]: it takes a unit */
	bool *waits;		    /* [slot of a class], or [thread] if each stands for itself; */
	bool alone;
	struct look look[LOOKS]; /* different looks of the visits that wait */
	size_t looks;
	const struct transcribe_call *sleep, *signal;
	size_t sleeps, signals;
	uint32_t cond, mutex;
	struct entry *entry;
	size_t entries, room;
	uint32_t slot;	  /* first class that waits; */
	bool mixed;	  /* several classes wait */
	bool late;	  /* a waiting visit signalled before; others wait */
	bool nested, own; /* puts by a class that also waits */
	uint64_t puts, gets, initial;
	uint32_t takers;
};

static uint32_t slot_of(const struct pool *p, uint32_t thread)
{
	uint32_t slot = p->t->run->thread[thread].thread.slot;

	return slot < p->t->cast->slots ? slot : 0;
}

static void add_entry(struct pool *p, struct entry entry)
{
	if (p->entries == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->entry = XRESIZEVEC(struct entry, p->entry, p->room);
	}
	p->entry[p->entries++] = entry;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->now != y->now)
		return x->now < y->now ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static bool *waits(const struct pool *p, uint32_t thread)
{
	return &p->waits[p->alone ? thread : slot_of(p, thread)];
}

static bool looks_like(const struct pool *p, const struct transcribe_visit *visit)
{
	for (size_t i = 0; i < p->looks; i++)
		if (p->look[i].place == visit->place && p->look[i].signalled == visit->signalled)
			return true;
	return false;
}

/*
 * Find the threads that wait, and the looks of their visits. Return false if they do not behave as
 * with a queue.
 */
static bool find_sleeps(struct pool *p)
{
	p->mutex = p->sleep[0].mutex;
	p->slot = slot_of(p, p->sleep[0].thread);
	for (size_t i = 0; i < p->sleeps; i++) {
		const struct transcribe_call *sleep = &p->sleep[i];
		const struct transcribe_visit *visit;

		if (!sleep->visit || sleep->mutex != p->mutex)
			return false;
		visit = &p->visits->visit[sleep->visit - 1];
		p->mixed |= slot_of(p, sleep->thread) != p->slot;
		p->late |= sleep->late;
		*waits(p, sleep->thread) = true;
		add_entry(p, (struct entry){ .now = sleep->now, .kind = ENTRY_SLEEP });
		if (looks_like(p, visit))
			continue;
		if (p->looks == LOOKS)
			return false;
		p->look[p->looks++] = (struct look){ visit->place, visit->signalled };
	}
	return true;
}

static bool add_gets(struct pool *p)
{
	for (uint32_t i = p->first[p->mutex]; i < p->first[p->mutex + 1]; i++) {
		uint32_t which = p->of_mutex[i];
		const struct transcribe_visit *visit = &p->visits->visit[which];

		p->get[which] = !visit->failed && *waits(p, visit->thread) && looks_like(p, visit);
		if (!p->get[which])
			continue;
		if (visit->several || (visit->cond && visit->cond != p->cond))
			return false;
		p->nested |= visit->nested;
		add_entry(p, (struct entry){ .now = visit->end,
					     .kind = ENTRY_GET,
					     .thread = visit->thread,
					     .visit = which + 1 });
	}
	return true;
}

static void add_puts(struct pool *p)
{
	for (size_t i = 0; i < p->signals; i++) {
		const struct transcribe_call *signal = &p->signal[i];

		if (signal->visit && p->get[signal->visit - 1])
			continue;
		p->own |= *waits(p, signal->thread);
		add_entry(p,
			  (struct entry){ .now = signal->visit ?
							 p->visits->visit[signal->visit - 1].end :
							 signal->now,
					  .kind = ENTRY_PUT,
					  .thread = signal->thread,
					  .event = signal->event });
	}
}

/* The initial number of units; CPA_NOWHERE: the condition does not count. */
static uint64_t find_initial(const struct pool *p)
{
	uint64_t puts = 0, gets = 0, initial = CPA_NOWHERE;

	for (size_t i = 0; i < p->entries; i++) {
		const struct entry *entry = &p->entry[i];

		puts += entry->kind == ENTRY_PUT;
		gets += entry->kind == ENTRY_GET;
		if (entry->kind != ENTRY_SLEEP)
			continue;
		if (gets < puts || (initial != CPA_NOWHERE && initial != gets - puts))
			return CPA_NOWHERE;
		initial = gets - puts;
	}
	return initial;
}

/* Do not count the last visit of each thread, nor the last @puts puts. */
static void drop_last(struct pool *p, uint64_t puts)
{
	size_t to = 0;

	for (size_t i = p->entries; i-- > 0 && puts;)
		if (p->entry[i].kind == ENTRY_PUT) {
			p->entry[i].kind = ENTRY_SLEEP;
			puts--;
		}
	for (size_t i = 0; i < p->entries; i++) {
		struct entry *entry = &p->entry[i];

		if (entry->kind == ENTRY_PUT || (entry->kind == ENTRY_GET && !entry->last))
			p->entry[to++] = *entry;
		p->gets -= entry->kind == ENTRY_GET && entry->last;
	}
	p->entries = to;
}

/* Count the takers, and mark the last visit of each. */
static void find_takers(struct pool *p)
{
	bool *seen = XCNEWVEC(bool, p->t->run->threads);

	for (size_t i = p->entries; i-- > 0;) {
		struct entry *entry = &p->entry[i];

		p->puts += entry->kind == ENTRY_PUT;
		p->gets += entry->kind == ENTRY_GET;
		if (entry->kind != ENTRY_GET || seen[entry->thread])
			continue;
		seen[entry->thread] = entry->last = true;
		p->takers++;
	}
	free(seen);
}

/* Whether the condition counts. If so, only puts and gets remain, and no get comes too early. */
static bool counts(struct pool *p)
{
	uint64_t there;

	qsort(p->entry, p->entries, sizeof(*p->entry), by_time);
	p->initial = find_initial(p);
	if (p->initial == CPA_NOWHERE)
		return false;
	find_takers(p);
	if (p->gets > p->puts + p->initial) {
		uint64_t more = p->gets - p->puts - p->initial;

		if (more > p->takers)
			return false;
		drop_last(p, p->takers - more);
	} else {
		for (size_t i = 0; i < p->entries; i++)
			p->entry[i].last = false;
		drop_last(p, 0);
	}
	there = p->initial;
	for (size_t i = 0; i < p->entries; i++) {
		if (p->entry[i].kind == ENTRY_GET && !there)
			return false;
		there = p->entry[i].kind == ENTRY_GET ? there - 1 : there + 1;
	}
	return p->gets > 0;
}

/* The event at which a visit gets a unit; the visit's waits are for that. */
static size_t get_event(const struct pool *p, const struct entry *entry)
{
	const struct transcribe_visit *visit = &p->visits->visit[entry->visit - 1];
	size_t base = p->t->thread[visit->thread].base;

	if (!visit->cond)
		return p->late ? visit->unlock : visit->lock;
	for (size_t i = visit->lock + 1; i < visit->wait; i++) {
		const struct cpa_history_event *event = &p->t->run->thread[visit->thread].event[i];

		if ((event->kind == CPA_EV_SLEEP || event->kind == CPA_EV_WAIT) &&
		    event->object == p->cond)
			p->t->part[base + i].role = ROLE_SKIP;
	}
	return visit->wait;
}

/* Whether the work that follows a unit can be given to another thread. */
static bool can_deal(const struct pool *p)
{
	bool deal = !p->initial && !p->mixed && !p->nested && !p->own && p->takers > 1;

	for (size_t i = 0; i < p->entries && deal; i++)
		if (p->entry[i].kind == ENTRY_GET && p->t->thread[p->entry[i].thread].queue)
			deal = false;
	return deal;
}

/* After its last item a thread continues with its last visit, or ends. */
static void set_tail(const struct pool *p, uint32_t thread, size_t last_get, size_t unlock)
{
	const struct cpa_run_thread *run = &p->t->run->thread[thread];
	struct transcribe_thread *self = &p->t->thread[thread];

	self->queue = POOL;
	self->last_get = last_get;
	for (self->tail = unlock + 1; self->tail < run->events; self->tail++)
		if (run->event[self->tail].kind == CPA_EV_LOCK &&
		    run->event[self->tail].object == p->mutex)
			break;
}

static void cast_pool(struct pool *p)
{
	struct transcribe *t = p->t;
	struct cpa_script_object *object;
	bool deal = can_deal(p);
	uint32_t queue = transcribe_object(t, CPA_SCRIPT_QUEUE, 0);
	uint32_t items = t->out->script.items, put = 0, got = 0;

	object = &t->out->script.object[queue];
	object->deal = deal ? CPA_DEAL_ITEMS : CPA_DEAL_COUNT;
	object->initial = (uint32_t)p->initial;
	t->pool = XRESIZEVEC(struct transcribe_pool, t->pool, t->pools + 1);
	t->pool[t->pools++] = (struct transcribe_pool){ queue, p->mutex };
	for (uint64_t i = 0; deal && i < p->puts; i++)
		transcribe_item(t);
	for (size_t i = 0; i < p->entries; i++) {
		const struct entry *entry = &p->entry[i];
		bool get = entry->kind == ENTRY_GET;
		size_t event = get ? get_event(p, entry) : entry->event;
		struct transcribe_part *part;
		uint32_t item = deal ? items + (get ? ++got : ++put) : 0;

		part = &t->part[t->thread[entry->thread].base + event];
		part->role = get ? ROLE_GET : ROLE_PUT;
		part->queue = queue;
		part->item = item;
		if (deal && get)
			set_tail(p, entry->thread, event,
				 p->visits->visit[entry->visit - 1].unlock);
	}
	t->out->weakness.guessed += p->gets;
}

static bool is_pool(struct pool *p, bool alone)
{
	bool found;

	if (!p->sleep[0].visit || p->asked[p->sleep[0].mutex] == CONDS)
		return false;
	p->asked[p->sleep[0].mutex] += alone;
	p->cond = p->sleep[0].cond;
	p->alone = alone;
	p->entries = p->looks = 0;
	p->puts = p->gets = p->initial = p->takers = 0;
	p->mixed = p->late = p->nested = p->own = false;
	found = find_sleeps(p) && add_gets(p);
	if (found) {
		add_puts(p);
		found = counts(p);
	}
	for (size_t i = 0; i < p->sleeps; i++)
		*waits(p, p->sleep[i].thread) = false;
	return found;
}

/* Sort the visits by mutex (counting sort). */
static void index_visits(struct pool *p)
{
	uint32_t objects = p->t->cast->objects;

	p->first = XCNEWVEC(uint32_t, objects + 2);
	p->of_mutex = XNEWVEC(uint32_t, p->visits->count + 1);
	for (size_t i = 0; i < p->visits->count; i++)
		p->first[p->visits->visit[i].mutex + 1]++;
	for (uint32_t i = 1; i <= objects + 1; i++)
		p->first[i] += p->first[i - 1];
	for (size_t i = p->visits->count; i-- > 0;)
		p->of_mutex[--p->first[p->visits->visit[i].mutex + 1]] = (uint32_t)i;
	/* The indexes are now one row too far. */
	for (uint32_t i = 0; i <= objects; i++)
		p->first[i] = p->first[i + 1];
	p->first[objects + 1] = (uint32_t)p->visits->count;
}

/* Number of calls of the same condition as the first of @calls. */
static size_t same(const struct transcribe_call *calls, size_t most)
{
	size_t n = 0;

	while (n < most && calls[n].cond == calls[0].cond)
		n++;
	return n;
}

void transcribe_polls(struct transcribe *t)
{
	/* By condition: thread whose next wait there ends with a signal, index + 1. */
	uint32_t *signalled = XCNEWVEC(uint32_t, t->cast->objects + 1);

	for (uint32_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];

		for (size_t k = thread->events; k-- > 0;) {
			const struct cpa_history_event *event = &thread->event[k];
			bool failed = event->failed || !event->causes;

			if (event->kind != CPA_EV_WAIT || !event->other ||
			    event->object > t->cast->objects)
				continue;
			if (!failed) {
				signalled[event->object] = i + 1;
			} else if (event->external && signalled[event->object] == i + 1) {
				t->part[t->thread[i].base + k].polled = true;
				t->out->weakness.polls++;
			} else {
				t->out->weakness.timeouts += event->external > 0;
			}
		}
	}
	free(signalled);
}

void transcribe_pools(struct transcribe *t)
{
	struct transcribe_visits visits;
	struct pool p = { .t = t, .visits = &visits };
	size_t signal = 0;

	/* If events were lost, the initial number is not known. */
	if (t->run->dropped)
		return;
	transcribe_visits_init(&visits, t);
	index_visits(&p);
	p.asked = XCNEWVEC(uint8_t, t->cast->objects + 1);
	p.get = XCNEWVEC(bool, visits.count + 1);
	p.waits = XCNEWVEC(bool, t->cast->slots + t->run->threads + 1);
	for (size_t i = 0; i < visits.sleeps.count; i += p.sleeps) {
		const struct transcribe_calls *signals = &visits.signals;

		p.sleep = &visits.sleeps.call[i];
		p.sleeps = same(p.sleep, visits.sleeps.count - i);
		while (signal < signals->count && signals->call[signal].cond < p.sleep->cond)
			signal++;
		p.signal = signal < signals->count ? &signals->call[signal] : NULL;
		p.signals = 0;
		if (p.signal && p.signal->cond == p.sleep->cond)
			p.signals = same(p.signal, signals->count - signal);
		if (is_pool(&p, false) || is_pool(&p, true))
			cast_pool(&p);
	}
	free(p.entry);
	free(p.first);
	free(p.of_mutex);
	free(p.asked);
	free(p.get);
	free(p.waits);
	transcribe_visits_fini(&visits);
}
