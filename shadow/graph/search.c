/* SPDX-License-Identifier: MIT */
#include "shadow/graph/search.h"

#include <string.h>

#include "shadow/graph/component.h"
#include "shadow/path/path.h"

#define MOST_SETS 256u
#define ROOM	  (CPA_MOST_SLOTS + 8) /* length of a vector: versions round up */
/* shortest and longest interval, in units of 4 ms: 0.1 s and 1 s */
#define SHORTEST 25u
#define LONGEST	 250u
#define PART_RUN 32u /* between these limits an interval is 1/PART_RUN of the run */

/* The members of one slot, and their destination. */
struct set {
	uint32_t slot;
	uint64_t growth;
	bool home;    /* return them to their buckets */
	uint32_t got; /* number of slots to divide them among */
	uint16_t slots[CPA_SEARCH_PARTS];
	uint32_t seen; /* members handled so far */
};

/* State of the searching thread. */
static struct {
	uint64_t len, share[CPA_MOST_SLOTS]; /* values at the last step, ticks */
	bool part[CPA_MOST_SLOTS];	     /* the slot belongs to the search */
	bool threads[CPA_MOST_SLOTS];	     /* the slot has held thread components */
	uint32_t base[CPA_MOST_SLOTS];	     /* row in the table of bases; 0: none */
	bool named[CPA_MOST_SLOTS];	     /* its component was heavy when alone */
	/*
	 * Of a bucket: steps to rest, divisions without result, its fraction of the path at the
	 * last one.
	 */
	uint8_t rest[CPA_MOST_SLOTS], vain[CPA_MOST_SLOTS];
	uint16_t tried[CPA_MOST_SLOTS];
	uint32_t open; /* parts that have members and are not named */
	/* State of one step. */
	uint64_t growth[CPA_MOST_SLOTS], grown;
	uint32_t rows; /* rows of the components table */
	/* number of members, and one of them */
	uint32_t members[CPA_MOST_SLOTS], member[CPA_MOST_SLOTS];
	struct set set[MOST_SETS];
	/* the first `parts` sets to divide are parts; sets from `homes` on return home */
	uint32_t sets, parts, homes;
	uint16_t pool[CPA_MOST_SLOTS];
	uint32_t pooled;
} s;

static uint64_t longest; /* atomic: longest path seen, ticks */
static uint32_t busy;	 /* atomic: 1 while a thread is in a step */

void cpa_search_reset(void)
{
	memset(&s, 0, sizeof(s));
	longest = 0;
	busy = 0;
}

static bool searched(const struct cpa_component *c)
{
	return (c->kind == CPA_FUNCTION && c->by != CPA_BY_CALL) || c->kind == CPA_LOCK ||
	       c->kind == CPA_REGION || c->kind == CPA_QUEUE || c->kind == CPA_THREAD;
}

/* Return component @row if the search may move it, else NULL. */
static struct cpa_component *candidate(uint32_t row)
{
	struct cpa_component *c = cpa_component(row);

	/* ACQUIRE: the rest of the row was filled before. Pairs with cpa_table_intern(). */
	return __atomic_load_n(&c->key, __ATOMIC_ACQUIRE) && searched(c) && c->slot ? c : NULL;
}

/* Return whether @slot had at least @n / @m of the path's growth in the interval. */
static bool had(uint32_t slot, uint32_t n, uint32_t m)
{
	return s.growth[slot] >= (unsigned __int128)s.grown * n / m;
}

/* Return the fraction of @slot in the path's growth in the interval, in units of 1 / UINT16_MAX. */
static uint32_t part_of(uint32_t slot)
{
	unsigned __int128 part = (unsigned __int128)s.growth[slot] * UINT16_MAX / s.grown;

	return part < UINT16_MAX ? (uint32_t)part : UINT16_MAX;
}

/*
 * Return whether a bucket is left alone: its division gave no result, and it has not got heavier.
 */
static bool rests(uint32_t slot)
{
	return s.rest[slot] &&
	       part_of(slot) < s.tried[slot] + UINT16_MAX / (2 * cpa_component_top());
}

static bool heavy(uint32_t slot)
{
	uint32_t m = cpa_component_top();

	return s.part[slot] ? had(slot, 1, 2 * m) :
			      cpa_component_is_bucket(slot) && had(slot, 3, 4 * m) && !rests(slot);
}

/* Record that the bucket @slot is being divided. */
static void try_bucket(uint32_t slot)
{
	if (s.vain[slot] < CPA_SEARCH_REST)
		s.vain[slot]++;
	s.rest[slot] = (uint8_t)(1u << s.vain[slot]);
	s.tried[slot] = (uint16_t)part_of(slot);
}

/* The component alone in @slot is heavy: it keeps the slot. */
static void name_it(uint32_t slot)
{
	uint32_t bucket = cpa_component_bucket(cpa_component(s.member[slot]));

	s.named[slot] = true;
	s.rest[bucket] = s.vain[bucket] = 0;
}

/* Measure the growth in the interval. Return whether there may be something to do. */
static bool measure(const struct cpa_search_view *view, uint32_t slots)
{
	bool wanted = s.open > 0;

	s.grown = view->len - s.len;
	for (uint32_t i = CPA_SLOT_FIRST; i < slots; i++) {
		/* Another thread's path may have become the longest. */
		s.growth[i] = view->share[i] > s.share[i] ? view->share[i] - s.share[i] : 0;
		s.share[i] = view->share[i];
		s.rest[i] -= s.rest[i] > 0;
		wanted |= heavy(i) && !s.part[i];
	}
	s.len = view->len;
	return wanted;
}

static void count_members(void)
{
	memset(s.members, 0, sizeof(s.members));
	s.rows = __atomic_load_n(&cpa_table(CPA_TABLE_COMPONENTS)->used, __ATOMIC_RELAXED);
	for (uint32_t row = 1; row <= s.rows; row++) {
		const struct cpa_component *c = candidate(row);

		if (!c)
			continue;
		s.members[c->slot]++;
		s.member[c->slot] = row;
	}
}

static void add_set(uint32_t slot, bool home)
{
	if (s.sets == MOST_SETS)
		return;
	s.set[s.sets++] = (struct set){ .slot = slot, .growth = s.growth[slot], .home = home };
}

/* Return whether @x comes before @y: parts first, then by weight. */
static bool before(const struct set *x, const struct set *y)
{
	if (s.part[x->slot] != s.part[y->slot])
		return s.part[x->slot];
	return x->growth > y->growth;
}

static void sort_sets(void)
{
	for (uint32_t i = 1; i < s.sets; i++) {
		struct set x = s.set[i];
		uint32_t at = i;

		for (; at > 0 && before(&x, &s.set[at - 1]); at--)
			s.set[at] = s.set[at - 1];
		s.set[at] = x;
	}
}

/* Collect the sets to divide, in order, followed by the sets that return home. */
static void find_sets(uint32_t slots)
{
	s.sets = s.parts = 0;
	for (uint32_t i = CPA_SLOT_FIRST; i < slots; i++) {
		if (!heavy(i) || !s.members[i])
			continue;
		if (s.part[i] && s.members[i] == 1)
			name_it(i);
		else
			add_set(i, false);
	}
	sort_sets();
	s.homes = s.sets;
	while (s.parts < s.sets && s.part[s.set[s.parts].slot])
		s.parts++;
	for (uint32_t i = CPA_SLOT_FIRST; i < slots; i++)
		if (s.part[i] && s.members[i] && !s.named[i] && !heavy(i))
			add_set(i, true);
}

/*
 * Return the ticks charged to @slot in all threads; *@total: those of them in the totals. The
 * threads write these words meanwhile; such additions are of components that have left the slot.
 */
static __attribute__((no_sanitize_thread)) uint64_t charged(uint32_t slot, uint64_t *total)
{
	uint32_t rows = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);
	uint64_t external = 0;

	*total = 0;
	for (uint32_t i = 1; i <= rows; i++) {
		const struct cpa_thread *t = cpa_row(CPA_TABLE_THREADS, i);
		/* Relaxed: sums. */
		uint64_t totals = __atomic_load_n(&t->totals, __ATOMIC_RELAXED);
		uint64_t held = __atomic_load_n(&t->held_external, __ATOMIC_RELAXED);

		if (totals && slot < t->totals_slots)
			*total += __atomic_load_n((uint64_t *)cpa_at(totals) + slot,
						  __ATOMIC_RELAXED);
		if (held)
			external +=
				__atomic_load_n((uint64_t *)cpa_at(held) + slot, __ATOMIC_RELAXED);
	}
	return *total + external;
}

/* Return whether no path can have more of @slot than the allowed error. */
static bool may_be_used_again(uint32_t slot)
{
	uint64_t total;

	return !s.threads[slot] && charged(slot, &total) <= s.len / (4 * cpa_component_top());
}

/* Collect the slots that can be given out: at least @wanted if there are enough. */
static void fill_pool(uint32_t wanted, uint32_t slots)
{
	uint32_t slot;

	s.pooled = 0;
	for (uint32_t i = CPA_SLOT_FIRST; i < slots; i++)
		if (s.part[i] && !s.members[i] && may_be_used_again(i))
			s.pool[s.pooled++] = (uint16_t)i;
	while (s.pooled < wanted && (slot = cpa_component_fresh_slot())) {
		s.part[slot] = true;
		s.pool[s.pooled++] = (uint16_t)slot;
	}
}

/*
 * Return @wanted components that are alone and light to their buckets: their slots are free for the
 * next step.
 */
static void evict(uint32_t wanted, uint32_t slots)
{
	for (uint32_t i = CPA_SLOT_FIRST; wanted && i < slots; i++) {
		if (s.members[i] != 1 || s.part[i] != s.named[i] || cpa_component_is_bucket(i) ||
		    had(i, 1, 4 * cpa_component_top()) ||
		    cpa_component(s.member[i])->kind == CPA_THREAD || !may_be_used_again(i))
			continue;
		s.part[i] = true;
		s.named[i] = false;
		add_set(i, true);
		wanted--;
	}
}

/*
 * Record the present contents of @slot, before components get it. Return false without space: the
 * slot must not be used.
 */
static bool note_base(const struct cpa_search_view *view, uint32_t slot)
{
	struct cpa_base base = { .key = slot,
				 .slack = view->slack[slot],
				 .share = view->share[slot],
				 .observed = view->observed[slot] };

	base.most = charged(slot, &base.total);
	if (!base.most)
		return true;
	if (!s.base[slot])
		s.base[slot] = cpa_table_append(CPA_TABLE_BASES);
	if (s.base[slot])
		*(struct cpa_base *)cpa_row(CPA_TABLE_BASES, s.base[slot]) = base;
	return s.base[slot];
}

/* Give @slot to @set, to divide its members among. */
static void give(struct set *set, uint32_t slot, const struct cpa_search_view *view)
{
	if (!note_base(view, slot))
		return;
	s.named[slot] = false;
	set->slots[set->got++] = (uint16_t)slot;
}

/* Divide the pool evenly among the sets; if it is too small, the first sets get all. */
static void give_all(const struct cpa_search_view *view)
{
	uint32_t each = s.homes ? s.pooled / s.homes : 0;

	each = each < 1 ? 1 : each < CPA_SEARCH_PARTS ? each : CPA_SEARCH_PARTS;
	for (uint32_t i = 0; i < s.homes; i++) {
		struct set *set = &s.set[i];
		uint32_t members = s.members[set->slot], want = members < each ? members : each;

		while (set->got < want && s.pooled)
			give(set, s.pool[--s.pooled], view);
		if (!set->got)
			cpa_diag(CPA_DIAG_SEARCH_WAITS);
		/* A part keeps its slot, with the slot's contents, only if it must. */
		if (set->got == 1 && s.part[set->slot])
			give(set, set->slot, view);
		if (set->got && !s.part[set->slot])
			try_bucket(set->slot);
	}
}

/* Move @c from its slot to @slot. */
static void move(struct cpa_component *c, uint32_t slot, const struct cpa_search_view *view)
{
	uint32_t old = c->slot, i = 0;

	while (i < c->earlier_count && i < CPA_EARLIER && c->earlier[i] != old)
		i++;
	if (i < CPA_EARLIER)
		c->earlier[i] = (uint16_t)old;
	if (i == c->earlier_count || i == CPA_EARLIER)
		c->earlier_count++;
	if (!c->among)
		c->among = s.members[old];
	c->since = view->now;
	c->since_len = view->len;
	/* Relaxed: the step ends with a release. */
	__atomic_store_n(&c->slot, slot, __ATOMIC_RELAXED);
}

/* Return how many of @count members go to place @at of @places, taken in turn. */
static uint32_t shared_by(uint32_t count, uint32_t at, uint32_t places)
{
	return count / places + (at < count % places);
}

/* Move the next member of @set to the next of the set's slots in turn. */
static void move_member(struct cpa_component *c, struct set *set,
			const struct cpa_search_view *view)
{
	uint32_t at, slot;

	if (set->home) {
		c->shared = 1;
		move(c, cpa_component_bucket(c), view);
		return;
	}
	at = set->seen++ % set->got;
	slot = set->slots[at];
	c->shared = shared_by(s.members[set->slot], at, set->got) > 1;
	s.open += set->seen <= set->got;
	s.threads[slot] |= c->kind == CPA_THREAD;
	move(c, slot, view);
}

static void move_all(const struct cpa_search_view *view)
{
	static uint16_t set_of[CPA_MOST_SLOTS]; /* number of the set + 1 */

	memset(set_of, 0, sizeof(set_of));
	s.open = 0;
	for (uint32_t i = 0; i < s.sets; i++)
		if (s.set[i].home || s.set[i].got)
			set_of[s.set[i].slot] = (uint16_t)(i + 1);
		else
			s.open += s.part[s.set[i].slot];
	for (uint32_t row = 1; row <= s.rows; row++) {
		struct cpa_component *c = candidate(row);
		uint32_t set = c ? set_of[c->slot] : 0;

		if (set)
			move_member(c, &s.set[set - 1], view);
	}
}

void cpa_search_step(const struct cpa_search_view *view)
{
	uint32_t slots = cpa_header()->slots;

	cpa_diag(CPA_DIAG_SEARCH_STEPS);
	if (view->len <= s.len || !measure(view, slots))
		return;
	count_members();
	find_sets(slots);
	fill_pool(s.homes * CPA_SEARCH_PARTS, slots);
	if (s.pooled < s.homes)
		evict(s.homes - s.pooled, slots);
	/* Two parts waiting for a slot would wait for each other for ever. */
	if (!s.pooled && s.parts > 1)
		s.set[s.parts - 1].home = true;
	give_all(view);
	if (!s.sets) {
		s.open = 0;
		return;
	}
	move_all(view);
	/*
	 * RELEASE: the new slots are visible before the word that announces them. Pairs with
	 * cpa_component_moved().
	 */
	__atomic_fetch_add(&cpa_header()->moves, 1, __ATOMIC_RELEASE);
}

/* Take a step; the calling thread has the longest path. */
static void step_on(const struct cpa_path *path, uint64_t now)
{
	static uint64_t values[3][ROOM];
	uint32_t slots = cpa_header()->slots;
	const struct cpa_search_view view = { .now = now,
					      .len = path->len,
					      .slack = values[CPA_S],
					      .share = values[CPA_H],
					      .observed = values[CPA_O] };

	for (enum cpa_vector v = CPA_S; v <= CPA_O; v++)
		cpa_path_read(path, v, values[v], (slots + 7) & ~7u);
	cpa_search_step(&view);
}

/* Return the length of the next interval, ticks: a fraction of the run, within limits. */
static uint64_t interval(uint64_t now, uint64_t unit)
{
	uint64_t ticks = (now - cpa_header()->start_ticks) / PART_RUN;

	if (ticks < SHORTEST * unit)
		return SHORTEST * unit;
	return ticks < LONGEST * unit ? ticks : LONGEST * unit;
}

void cpa_search_tick(const struct cpa_self *self, uint64_t now, uint64_t unit)
{
	const struct cpa_path *path = &self->row->path;

	if (path->len < __atomic_load_n(&longest, __ATOMIC_RELAXED))
		return;
	/* Relaxed: if two threads race, the slightly shorter path may remain. */
	__atomic_store_n(&longest, path->len, __ATOMIC_RELAXED);
	/*
	 * ACQUIRE pairs with the RELEASE below: the last step is complete. No thread waits: if one
	 * never returns from here, only the search ends.
	 */
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	if (cpa_search_is_due(now)) {
		/* Relaxed: only a hint, see cpa_search_is_due(). */
		__atomic_store_n(&cpa_header()->search_due, now + interval(now, unit),
				 __ATOMIC_RELAXED);
		step_on(path, now);
	}
	/* RELEASE: pairs with the exchange above. */
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

void cpa_search_leave(void)
{
	/* Relaxed: the process has one thread. */
	__atomic_store_n(&busy, 1, __ATOMIC_RELAXED);
}
