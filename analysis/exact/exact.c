/* SPDX-License-Identifier: MIT */
#include "analysis/exact/exact.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/values.h"

#define QUANTUM (UINT64_C(1) << 20) /* ticks that one thread may be read ahead of the others */
#define NOBODY	SIZE_MAX
#define RUNS	8 /* passes at most, until all values that are needed were kept */

/* The release that a thread's current event publishes, if any. */
struct release {
	bool is;	 /* there is one */
	bool read;	 /* by a reader of a lock */
	bool cell;	 /* joined with what was released to the cell before */
	bool merged;	 /* part of a merge: nothing refers to it by its own name */
	uint32_t object; /* 0: none that will be released again */
	uint32_t count;	 /* acquires that use it; 0: any number, until `object` is released again */
};

/* The state of reading one thread's strand. */
struct runner {
	struct cpa_cursor *cursor; /* NULL: not begun, or ended */
	struct cpa_entry entry;	   /* the next one, if `ready` */
	bool ready, begun, over;
	bool forced; /* continue although a cause is missing */
	uint32_t event;
	uint32_t published; /* the values of events up to this number are final */
	struct release release;
	uint64_t clock;
	uint64_t *value; /* [lanes]: value of the current event */
	/*
	 * Head of the list of threads that wait for an event of this one; next entry of the list
	 * that this thread is in.
	 */
	size_t waiting, next;
	cpa_event_name wants;
	/*
	 * Two bits for each event from `first` on: whether its first and second cause was longer.
	 */
	uint32_t first;
	uint8_t *choice;
	size_t choices;
};

struct cpa_exact_work {
	struct runner *runner;
	struct cpa_values values;
	size_t *heap, heaped; /* threads that can continue, by clock */
	size_t blocked;
	bool again; /* values were missing that the next pass will keep */
};

struct cpa_exact *cpa_exact_new(const struct cpa_journal_file *file)
{
	struct cpa_exact *x = xcalloc(1, sizeof(*x));

	x->file = file;
	x->lanes = 1;
	x->lane_of = xcalloc(file->slots, sizeof(*x->lane_of));
	x->total = xcalloc(file->slots, sizeof(*x->total));
	x->strand = xcalloc(file->strands ? file->strands : 1, sizeof(*x->strand));
	x->work = xcalloc(1, sizeof(*x->work));
	x->work->runner = xcalloc(file->strands ? file->strands : 1, sizeof(struct runner));
	x->work->heap = xcalloc(file->strands ? file->strands : 1, sizeof(*x->work->heap));
	return x;
}

static void stop(struct runner *r)
{
	if (r->cursor)
		cpa_cursor_fini(r->cursor);
	free(r->cursor);
	r->cursor = NULL;
}

void cpa_exact_free(struct cpa_exact *x)
{
	for (size_t i = 0; i < x->file->strands; i++) {
		stop(&x->work->runner[i]);
		free(x->work->runner[i].value);
		free(x->work->runner[i].choice);
	}
	cpa_values_fini(&x->work->values);
	free(x->work->runner);
	free(x->work->heap);
	free(x->work);
	free(x->lane_of);
	free(x->total);
	free(x->strand);
	free(x);
}

static bool before(const struct cpa_exact_work *w, size_t a, size_t b)
{
	return w->runner[a].clock < w->runner[b].clock;
}

static void push(struct cpa_exact_work *w, size_t who)
{
	size_t i = w->heaped++;

	for (; i && before(w, who, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = who;
}

static size_t pop(struct cpa_exact_work *w)
{
	size_t top = w->heap[0], last = w->heap[--w->heaped], i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < w->heaped && before(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (child >= w->heaped || !before(w, w->heap[child], last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

static bool reached(uint32_t published, uint32_t number)
{
	return (int32_t)(published - number) >= 0;
}

static struct runner *runner_of(const struct cpa_exact *x, cpa_event_name name)
{
	const struct cpa_strand *s = cpa_journal_strand(x->file, cpa_event_thread(name));

	return s ? &x->work->runner[s - x->file->strand] : NULL;
}

/*
 * The values of all events of @runner up to @number are final: wake the threads that wait for them.
 */
static void publish(struct cpa_exact *x, struct runner *r, uint32_t number)
{
	struct cpa_exact_work *w = x->work;
	size_t *link = &r->waiting;

	if (!reached(r->published, number))
		r->published = number;
	else if (!r->over)
		return;
	while (*link != NOBODY) {
		struct runner *other = &w->runner[*link];

		if (!r->over && !reached(number, (uint32_t)other->wants)) {
			link = &other->next;
			continue;
		}
		push(w, *link);
		w->blocked--;
		*link = other->next;
	}
}

/* Whether the value of event @name is final. If not, let thread @who wait for it. */
static bool available(struct cpa_exact *x, size_t who, cpa_event_name name)
{
	struct runner *me = &x->work->runner[who], *r = runner_of(x, name);

	if (!r || r == me || r->over || me->forced || reached(r->published, (uint32_t)name))
		return true;
	me->wants = name;
	me->next = r->waiting;
	r->waiting = who;
	x->work->blocked++;
	return false;
}

/* The value of a cause. NULL: the journal has no record of it. */
static const uint64_t *value_of(struct cpa_exact *x, cpa_event_name name)
{
	const struct runner *r = runner_of(x, name);
	const uint64_t *value;

	if (r && r->begun && r->event == (uint32_t)name)
		return r->value;
	value = cpa_values_get(&x->work->values, name);
	if (value)
		return value;
	x->missing++;
	/* It existed, so the next pass can keep it. */
	if (r && r->begun && reached(r->published, (uint32_t)name) &&
	    reached((uint32_t)name, r->first))
		x->work->again |= cpa_values_keep(&x->work->values, name);
	return NULL;
}

static void choose(struct runner *r, uint32_t number, unsigned bit)
{
	size_t at = number - r->first;

	if (at / 4 >= r->choices) {
		size_t more = r->choices ? 2 * r->choices : 256;

		while (at / 4 >= more)
			more *= 2;
		r->choice = xrealloc(r->choice, more);
		memset(r->choice + r->choices, 0, more - r->choices);
		r->choices = more;
	}
	r->choice[at / 4] |= (uint8_t)(bit << at % 4 * 2);
}

bool cpa_exact_chosen(const struct cpa_exact *x, size_t strand, uint32_t number, unsigned cause)
{
	const struct runner *r = &x->work->runner[strand];
	size_t at = number - r->first;
	unsigned bit = 1u << cause;

	return at / 4 < r->choices && r->choice[at / 4] >> at % 4 * 2 & bit;
}

static void larger(uint64_t *to, const uint64_t *from, unsigned lanes)
{
	for (unsigned k = 0; k < lanes; k++)
		to[k] = to[k] > from[k] ? to[k] : from[k];
}

/* How many acquires use the value of @l. */
static uint32_t uses_of(const struct release *l)
{
	return l->read ? 1 : l->count ? l->count : CPA_USES_ANY;
}

/*
 * The object whose latest release @l is; 0: none, or (cells) not yet. For a lock only the latest
 * release is needed; the next release of a reader joins this one.
 */
static uint64_t owner_of(const struct release *l, uint32_t thread)
{
	if (l->read)
		return cpa_event_of(l->object, thread);
	return l->count || l->cell ? 0 : l->object;
}

/* Keep the value of the current event, which ends, for later events that need it. */
static void keep(struct cpa_exact *x, struct runner *r, uint32_t thread)
{
	struct cpa_values *v = &x->work->values;
	const struct release *l = &r->release;
	cpa_event_name name = cpa_event_of(thread, r->event);
	uint64_t owner = owner_of(l, thread);

	if ((!l->is || l->merged || (owner && !cpa_values_owns(v, owner, name))) &&
	    !cpa_values_kept(v, name))
		return;
	memcpy(cpa_values_put(v, name, uses_of(l)), r->value, x->lanes * sizeof(*r->value));
	if (l->cell && l->object)
		cpa_values_own(v, l->object, name);
}

static void apply_release(struct cpa_exact *x, struct runner *r, uint32_t thread)
{
	const struct cpa_entry *e = &r->entry;
	unsigned how = e->flags & CPA_RELEASE_CELL;
	uint64_t owner;

	if (how == CPA_RELEASE_NOTHING)
		return;
	r->release = (struct release){ .is = true,
				       .read = how == CPA_RELEASE_READ,
				       .cell = how == CPA_RELEASE_CELL,
				       .object = e->object,
				       .count = e->count };
	owner = owner_of(&r->release, thread);
	if (owner)
		cpa_values_own(&x->work->values, owner, cpa_event_of(thread, e->number));
	publish(x, r, e->number);
}

static void charge(struct cpa_exact *x, struct runner *r, uint32_t slot, uint64_t ticks)
{
	x->total[slot] += ticks;
	if (x->lane_of[slot] && !x->file->idle[slot])
		r->value[x->lane_of[slot]] -= ticks;
}

/*
 * The part of an activity of @weight that counts if @slot, active for @ticks of it, weighs nothing.
 */
static uint64_t less(const struct cpa_exact *x, uint64_t weight, uint32_t slot, uint64_t ticks)
{
	return !x->zero[slot] ? weight : weight > ticks ? weight - ticks : 0;
}

/* The weight of the activity in the context. */
static uint64_t weigh(const struct cpa_exact *x, size_t who, const struct runner *r)
{
	const struct cpa_entry *e = &r->entry;
	const struct cpa_cursor *c = r->cursor;
	uint64_t full = cpa_entry_weight(e), weight = full;

	if (x->skip && x->skip(x->skip_argument, who, e->number))
		return 0;
	if (!x->zero)
		return full;
	weight = less(x, weight, c->slot, full);
	for (unsigned i = 0; i < c->held_count; i++)
		weight = less(x, weight, c->held[i], full);
	for (size_t i = 0; i < e->charges; i++)
		if (!x->file->idle[e->charge[i].slot])
			weight = less(x, weight, e->charge[i].slot, e->charge[i].ticks);
	return weight;
}

static void apply_event(struct cpa_exact *x, size_t who)
{
	struct runner *r = &x->work->runner[who];
	struct cpa_exact_strand *s = &x->strand[who];
	const struct cpa_entry *e = &r->entry;
	const struct cpa_cursor *c = r->cursor;
	uint64_t full = cpa_entry_weight(e), weight = weigh(x, who, r), lane[CPA_LANES];

	for (unsigned k = 0; k < x->lanes; k++)
		lane[k] = weight;
	if (x->weigh)
		x->weigh(x->weigh_argument, who, e->number, weight, lane);
	for (unsigned k = 0; k < x->lanes; k++)
		r->value[k] += lane[k];
	charge(x, r, c->slot, full);
	for (unsigned i = 0; i < c->held_count; i++)
		charge(x, r, c->held[i], full);
	for (size_t i = 0; i < e->charges; i++)
		charge(x, r, e->charge[i].slot, e->charge[i].ticks);
	s->process += e->process;
	s->external += e->external;
	s->runqueue += e->runqueue;
	s->uses += e->uses;
	s->events++;
	x->events++;
}

static void apply_acquire(struct cpa_exact *x, struct runner *r)
{
	const struct cpa_entry *e = &r->entry;

	for (unsigned i = 0; i < e->causes; i++) {
		const uint64_t *value = NULL;

		if (!(e->more & CPA_ACQUIRE_OBSERVED_ONLY))
			value = value_of(x, e->cause[i]);
		if (value && value[0] > r->value[0])
			choose(r, e->number, 1u << i);
		if (value)
			larger(r->value, value, x->lanes);
		cpa_values_use(&x->work->values, e->cause[i]);
	}
}

/*
 * Merge two releases: store the result under the record's number, and drop the original values (not
 * always those of cells).
 */
static void apply_merge(struct cpa_exact *x, struct runner *r, uint32_t thread)
{
	const struct cpa_entry *e = &r->entry;
	struct cpa_values *v = &x->work->values;
	struct release *l = &r->release;
	uint64_t both[CPA_LANES] = { 0 };
	bool cell = l->cell || !l->is;
	cpa_event_name name = cpa_event_of(thread, e->number);

	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *value = value_of(x, e->cause[i]);

		if (value && value[0] > both[0] && i)
			choose(r, e->number, 2);
		if (value)
			larger(both, value, x->lanes);
		/*
		 * Another thread may be about to join the cell's former value: see
		 * cpa_values_own().
		 */
		if (!cell || !i)
			cpa_values_drop(v, e->cause[i]);
	}
	memcpy(cpa_values_put(v, name,
			      cell    ? CPA_USES_ANY :
			      l->read ? 1 :
					l->count),
	       both, x->lanes * sizeof(*both));
	if (cell && l->object)
		cpa_values_own(v, l->object, name);
	l->merged = true;
}

/* The thread moves on from its current event to the next. */
static void leave(struct cpa_exact *x, struct runner *r, uint32_t thread, uint32_t number)
{
	keep(x, r, thread);
	publish(x, r, r->event);
	r->release = (struct release){ 0 };
	r->event = number;
}

static void apply(struct cpa_exact *x, size_t who)
{
	struct runner *r = &x->work->runner[who];
	const struct cpa_entry *e = &r->entry;
	uint32_t thread = x->file->strand[who].id;

	r->clock = e->clock;
	switch (e->kind) {
	case CPA_ENTRY_START:
		break;
	case CPA_ENTRY_EVENT:
		leave(x, r, thread, e->number);
		apply_event(x, who);
		break;
	case CPA_ENTRY_ACQUIRE:
		if (e->fresh)
			leave(x, r, thread, e->number);
		apply_acquire(x, r);
		break;
	case CPA_ENTRY_RELEASE:
		apply_release(x, r, thread);
		break;
	case CPA_ENTRY_MERGE:
		apply_merge(x, r, thread);
		publish(x, r, e->number);
		break;
	}
}

static void begin(struct cpa_exact *x, size_t who)
{
	const struct cpa_strand *s = &x->file->strand[who];
	struct runner *r = &x->work->runner[who];

	r->begun = true;
	r->cursor = xmalloc(sizeof(*r->cursor));
	cpa_cursor_init(r->cursor, x->file, s, 0, s->leaves);
	free(r->value);
	r->value = xcalloc(x->lanes, sizeof(*r->value));
}

static void finish(struct cpa_exact *x, size_t who)
{
	struct runner *r = &x->work->runner[who];

	if (r->cursor->broken)
		x->broken++;
	stop(r);
	r->over = true;
	if (r->value[0] > x->result[0])
		x->longest = who;
	larger(x->result, r->value, x->lanes);
	x->strand[who].len = r->value[0];
	x->strand[who].last = r->event;
	publish(x, r, r->event);
}

/*
 * Read thread @who until clock @until, or until it needs an event of another thread that was not
 * read yet.
 */
static void advance(struct cpa_exact *x, size_t who, uint64_t until)
{
	struct runner *r = &x->work->runner[who];

	if (!r->begun)
		begin(x, who);
	while (r->clock <= until || r->ready) {
		if (!r->ready && !cpa_cursor_next(r->cursor, &r->entry)) {
			finish(x, who);
			return;
		}
		r->ready = true;
		/*
		 * An acquire that is an event of its own may depend on who waits for the one
		 * before.
		 */
		if (r->entry.kind == CPA_ENTRY_ACQUIRE && r->entry.number != r->event)
			publish(x, r, r->event);
		if (r->entry.kind == CPA_ENTRY_ACQUIRE || r->entry.kind == CPA_ENTRY_MERGE)
			for (unsigned i = 0; i < r->entry.causes; i++)
				if (!available(x, who, r->entry.cause[i]))
					return;
		apply(x, who);
		r->ready = r->forced = false;
	}
	push(x->work, who);
}

/*
 * All threads wait for each other, because records are missing or damaged: let the first one
 * continue.
 */
static void force(struct cpa_exact *x)
{
	struct cpa_exact_work *w = x->work;
	struct runner *owner;
	size_t first = NOBODY, *link;

	for (size_t i = 0; i < x->file->strands; i++)
		if (w->runner[i].ready && (first == NOBODY || before(w, i, first)))
			first = i;
	owner = runner_of(x, w->runner[first].wants);
	for (link = &owner->waiting; *link != first; link = &w->runner[*link].next)
		;
	*link = w->runner[first].next;
	w->blocked--;
	w->runner[first].forced = true;
	push(w, first);
}

static void reset(struct cpa_exact *x)
{
	struct cpa_exact_work *w = x->work;

	memset(x->result, 0, sizeof(x->result));
	memset(x->total, 0, x->file->slots * sizeof(*x->total));
	memset(x->strand, 0, x->file->strands * sizeof(*x->strand));
	x->events = x->missing = x->broken = 0;
	x->longest = 0;
	cpa_values_clear(&w->values, x->lanes);
	w->heaped = w->blocked = 0;
	w->again = false;
	for (size_t i = 0; i < x->file->strands; i++) {
		struct runner *r = &w->runner[i];

		r->begun = r->over = r->ready = r->forced = false;
		r->release = (struct release){ 0 };
		r->first = r->event = x->file->leaf[x->file->strand[i].first].event;
		r->published = r->event - 1;
		r->clock = x->file->strand[i].begun;
		r->waiting = r->next = NOBODY;
		if (r->choices)
			memset(r->choice, 0, r->choices);
		push(w, i);
	}
}

static void run_once(struct cpa_exact *x)
{
	struct cpa_exact_work *w = x->work;

	reset(x);
	while (w->heaped || w->blocked) {
		size_t who;

		if (!w->heaped)
			force(x);
		who = pop(w);
		advance(x, who, w->heaped ? w->runner[w->heap[0]].clock + QUANTUM : UINT64_MAX);
	}
	if (w->values.most > x->most_values)
		x->most_values = w->values.most;
}

void cpa_exact_run(struct cpa_exact *x)
{
	/* If so many passes are not enough, the records are damaged. */
	for (unsigned i = 0; i < RUNS; i++) {
		run_once(x);
		if (!x->work->again)
			return;
	}
}
