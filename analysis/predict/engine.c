/* SPDX-License-Identifier: MIT */
/* analysis/predict/engine.c - a virtual clock, and fair sharing of processors by turns */
#include "analysis/predict/engine.h"

#include <stdlib.h>

#include "analysis/util/thread_heap.h"

#define NOBODY	   UINT32_MAX
#define FOREVER	   ((cpa_long)1 << 90)
#define MANY_TURNS 64
/* Largest number of visits to cores and threads, some seconds of work; a longer replay is ended. */
#define LOOKS_MAX (UINT64_C(1) << 31)

struct thread {
	cpa_long left; /* ticks of work left, while it waits for a core */
	/*
	 * Virtual time at `since` if the thread has a core; it then grows with the clock. behind:
	 * for a thread that needs no core, how far it was behind the mean, if it was.
	 */
	cpa_long had, behind;
	cpa_long since;
	cpa_long deadline;
	cpa_long protect; /* the thread keeps its core up to this virtual time, whoever wakes */
	uint32_t core;
};

struct group {
	uint32_t cores;
	uint32_t *on;	/* [core]: thread, or NOBODY */
	uint32_t *idle; /* stack of idle cores */
	uint32_t idles;
	struct heap running; /* by end of work; without the thread named last */
	struct heap waiting; /* by virtual deadline */
	cpa_long sum;  /* sum of the virtual times of all threads that need a core, as of clock 0 */
	cpa_long mean; /* mean when the last of them left */
	bool woken;    /* a thread has just begun to wait for a core */
};

struct cpa_engine {
	const struct cpa_placement *placement;
	uint64_t now, number;
	uint64_t interrupts; /* timer interrupts so far */
	uint64_t looks;
	uint32_t named;	  /* named by the last cpa_engine_next(), without work since; or NOBODY */
	uint32_t active;  /* threads of the program with work, a delay or a wait for a core */
	uint32_t waiting; /* threads waiting for a core, all groups */
	struct group *group;
	struct heap delays;
	struct thread *thread; /* threads of the placement, then background ones */
	uint32_t *place;       /* [thread]: place in its heap */
	uint32_t *group_of;    /* [thread] */
};

static uint32_t needing(const struct group *group)
{
	return group->cores - group->idles + group->waiting.count;
}

static cpa_long mean(const struct cpa_engine *engine, const struct group *group)
{
	uint32_t running = group->cores - group->idles;

	return needing(group) ? (group->sum + (cpa_long)running * engine->now) / needing(group) :
				group->mean;
}

/* The virtual time of a thread that has a core. */
static cpa_long had(const struct cpa_engine *engine, const struct thread *thread)
{
	return thread->had + engine->now - thread->since;
}

static void push(struct cpa_engine *engine, struct heap *heap, cpa_long key, uint32_t thread)
{
	heap_push(heap, engine->place, (struct heap_entry){ key, engine->number++, thread });
}

/* Give an idle core to @thread, which is in no heap and not in the group's sum. */
static void begin_turn(struct cpa_engine *engine, struct group *group, uint32_t thread,
		       uint64_t latency)
{
	struct thread *self = &engine->thread[thread];

	self->core = group->idle[--group->idles];
	group->on[self->core] = thread;
	self->since = (cpa_long)engine->now + latency;
	self->protect = self->deadline;
	group->sum += self->had - self->since;
	push(engine, &group->running, self->since + self->left, thread);
}

/* Free the core of @thread, which is then in no heap. */
static void end_turn(struct cpa_engine *engine, struct group *group, uint32_t thread)
{
	struct thread *self = &engine->thread[thread];

	group->sum -= self->had - self->since;
	self->had = had(engine, self);
	group->on[self->core] = NOBODY;
	group->idle[group->idles++] = self->core;
}

static void begin_waiting(struct cpa_engine *engine, struct group *group, uint32_t thread)
{
	struct thread *self = &engine->thread[thread];

	group->sum += self->had;
	engine->waiting++;
	push(engine, &group->waiting, self->deadline, thread);
}

/* Remove the thread with the next turn from the heap and return it. */
static uint32_t end_waiting(struct cpa_engine *engine, struct group *group)
{
	uint32_t thread = group->waiting.entry[0].thread;

	heap_remove(&group->waiting, engine->place, thread);
	engine->waiting--;
	group->sum -= engine->thread[thread].had;
	return thread;
}

/* From now on @thread needs a core. */
static void begin_need(struct cpa_engine *engine, uint32_t thread, uint64_t latency)
{
	struct group *group = &engine->group[engine->group_of[thread]];
	struct thread *self = &engine->thread[thread];
	uint32_t others = needing(group);
	cpa_long now = mean(engine, group);

	/* As far behind the mean as before, once the mean includes it. */
	if (self->behind)
		self->had = now - self->behind - (others ? self->behind / others : 0);
	else if (self->had < now)
		self->had = now;
	self->deadline = self->had + engine->placement->slice;
	self->left = 0;
	if (group->idles) {
		begin_turn(engine, group, thread, latency);
		return;
	}
	begin_waiting(engine, group, thread);
	group->woken = true;
}

/* From now on @thread, which was named last, needs no core. */
static void end_need(struct cpa_engine *engine, uint32_t thread)
{
	struct group *group = &engine->group[engine->group_of[thread]];
	struct thread *self = &engine->thread[thread];
	cpa_long now = mean(engine, group);
	cpa_long most = engine->placement->interrupt;

	end_turn(engine, group, thread);
	self->behind = 0;
	if (!group->waiting.count) {
		/* Each thread had a core: none is behind. */
		self->had = now;
	} else if (self->had < now) {
		self->behind = now - self->had < most ? now - self->had : most;
	} else if (self->had > now + most) {
		self->had = now + most;
	}
	if (!needing(group))
		group->mean = now;
}

/* Set the next deadline of a thread with a core, if it has passed its deadline. */
static void renew(const struct cpa_engine *engine, struct thread *thread, cpa_long reached)
{
	if (reached >= thread->deadline)
		thread->deadline = reached + engine->placement->slice;
}

/* Do what the last timer interrupt did, if the thread had its core then. */
static void renew_interrupted(const struct cpa_engine *engine, struct thread *thread)
{
	cpa_long interrupt = engine->placement->interrupt;
	cpa_long past = engine->now ? (engine->now - 1) / interrupt : 0;

	if (past < engine->interrupts)
		past = engine->interrupts;
	if (past * interrupt > thread->since)
		renew(engine, thread, thread->had + past * interrupt - thread->since);
}

/*
 * Whether the thread on @core has used its slice and a waiting thread's turn comes before its next
 * one.
 */
static bool is_over(struct cpa_engine *engine, struct group *group, uint32_t core)
{
	struct thread *self = &engine->thread[group->on[core]];

	renew_interrupted(engine, self);
	if (had(engine, self) < self->protect)
		return false;
	renew(engine, self, had(engine, self));
	return group->waiting.entry[0].key <= self->deadline;
}

static void swap(struct cpa_engine *engine, struct group *group, uint32_t core)
{
	uint32_t out = group->on[core], in = end_waiting(engine, group);
	struct thread *self = &engine->thread[out];

	self->left = group->running.entry[engine->place[out]].key - engine->now;
	heap_remove(&group->running, engine->place, out);
	end_turn(engine, group, out);
	begin_waiting(engine, group, out);
	begin_turn(engine, group, in, 0);
}

/*
 * Give a woken thread the core of the thread that has had most, among those that must give it up.
 */
static void preempt(struct cpa_engine *engine, struct group *group)
{
	while (group->waiting.count) {
		uint32_t best = NOBODY;
		cpa_long most = 0;

		engine->looks += group->cores;
		for (uint32_t i = 0; i < group->cores; i++) {
			cpa_long reached;

			if (!is_over(engine, group, i))
				continue;
			reached = had(engine, &engine->thread[group->on[i]]);
			if (best != NOBODY && reached <= most)
				continue;
			best = i;
			most = reached;
		}
		if (best == NOBODY)
			return;
		swap(engine, group, best);
	}
}

/* Hand out cores after an event. */
static void settle(struct cpa_engine *engine)
{
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		struct group *group = &engine->group[i];

		while (group->idles && group->waiting.count)
			begin_turn(engine, group, end_waiting(engine, group), 0);
		if (group->woken)
			preempt(engine, group);
		group->woken = false;
	}
}

static void interrupt_group(struct cpa_engine *engine, struct group *group)
{
	engine->looks += group->cores + group->waiting.count; /* those visited in undisturbed() */
	for (uint32_t i = 0; i < group->cores && group->waiting.count; i++)
		if (group->on[i] != NOBODY && is_over(engine, group, i))
			swap(engine, group, i);
}

/* The clock of the next timer interrupt. */
static cpa_long next_interrupt(const struct cpa_engine *engine)
{
	cpa_long interrupt = engine->placement->interrupt;
	cpa_long next = ((cpa_long)engine->now + interrupt - 1) / interrupt;

	if (next <= engine->interrupts)
		next = (cpa_long)engine->interrupts + 1;
	return next * interrupt;
}

/*
 * Ticks during which the threads of all groups only take turns: no thread comes and no work ends. 0
 * if that is less than many turns of each.
 */
static cpa_long undisturbed(const struct cpa_engine *engine)
{
	cpa_long least = FOREVER, round = 0;

	if (engine->delays.count)
		least = engine->delays.entry[0].key - engine->now;
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		const struct group *group = &engine->group[i];
		cpa_long turns = (cpa_long)needing(group) * engine->placement->interrupt;

		if (group->waiting.count && turns > round)
			round = turns;
		if (group->running.count && group->running.entry[0].key - engine->now < least)
			least = group->running.entry[0].key - engine->now;
	}
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		const struct group *group = &engine->group[i];

		for (uint32_t k = 0; k < group->waiting.count && least > MANY_TURNS * round; k++)
			if (engine->thread[group->waiting.entry[k].thread].left < least)
				least = engine->thread[group->waiting.entry[k].thread].left;
	}
	return least > MANY_TURNS * round ? least - 2 * round : 0;
}

/* Give each thread of the group its share of the next @ticks. */
static void share_out(struct cpa_engine *engine, struct group *group, cpa_long ticks)
{
	cpa_long each = ticks * group->cores / needing(group), less = ticks - each;

	for (uint32_t i = 0; i < group->running.count; i++) {
		struct thread *thread = &engine->thread[group->running.entry[i].thread];

		group->running.entry[i].key += less;
		thread->since += less;
		thread->deadline += each;
		thread->protect += each;
		group->sum -= less;
	}
	for (uint32_t i = 0; i < group->waiting.count; i++) {
		struct thread *thread = &engine->thread[group->waiting.entry[i].thread];

		group->waiting.entry[i].key += each;
		thread->left -= each;
		thread->had += each;
		thread->deadline += each;
		group->sum += each;
	}
}

/* Skip most of a long time in which threads only take turns. */
static void skip_turns(struct cpa_engine *engine)
{
	cpa_long ticks = undisturbed(engine);

	ticks -= ticks % engine->placement->interrupt;
	if (!ticks)
		return;
	if (engine->now + ticks > UINT64_MAX) { /* no run is so long */
		engine->looks = LOOKS_MAX + 1;
		return;
	}
	for (uint32_t i = 0; i < engine->placement->groups; i++)
		if (engine->group[i].waiting.count)
			share_out(engine, &engine->group[i], ticks);
	engine->now += (uint64_t)ticks;
}

static void interrupt(struct cpa_engine *engine)
{
	engine->interrupts = engine->now / engine->placement->interrupt;
	for (uint32_t i = 0; i < engine->placement->groups; i++)
		interrupt_group(engine, &engine->group[i]);
	skip_turns(engine);
}

/* The group in which work ends next, and the time; NULL: none. */
static struct group *next_end(const struct cpa_engine *engine, cpa_long *end)
{
	struct group *first = NULL;

	*end = FOREVER;
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		struct group *group = &engine->group[i];

		if (!group->running.count || group->running.entry[0].key >= *end)
			continue;
		first = group;
		*end = group->running.entry[0].key;
	}
	return first;
}

/* Advance to the next event that is not an end of work; until then no work ends. */
static void pass(struct cpa_engine *engine, cpa_long ready, cpa_long timer)
{
	uint32_t thread;

	engine->now = (uint64_t)(ready <= timer ? ready : timer);
	if (timer < ready) {
		interrupt(engine);
		return;
	}
	thread = engine->delays.entry[0].thread;
	heap_remove(&engine->delays, engine->place, thread);
	begin_need(engine, thread, 0);
}

static void forget_named(struct cpa_engine *engine)
{
	if (engine->named == NOBODY)
		return;
	end_need(engine, engine->named);
	engine->active--;
	engine->named = NOBODY;
}

bool cpa_engine_next(struct cpa_engine *engine, uint32_t *thread)
{
	forget_named(engine);
	for (;;) {
		cpa_long end, ready, timer;
		struct group *group;

		settle(engine);
		if (!engine->active || engine->looks > LOOKS_MAX)
			return false;
		group = next_end(engine, &end);
		ready = engine->delays.count ? engine->delays.entry[0].key : FOREVER;
		timer = engine->waiting ? next_interrupt(engine) : FOREVER;
		if (end > UINT64_MAX && ready > UINT64_MAX && timer > UINT64_MAX)
			return false; /* no run is so long */
		if (end > ready || end > timer) {
			pass(engine, ready, timer);
			continue;
		}
		engine->now = (uint64_t)end;
		*thread = engine->named = group->running.entry[0].thread;
		heap_remove(&group->running, engine->place, *thread);
		return true;
	}
}

void cpa_engine_work(struct cpa_engine *engine, uint32_t thread, uint64_t ticks)
{
	struct group *group = &engine->group[engine->group_of[thread]];

	engine->named = NOBODY;
	push(engine, &group->running, (cpa_long)engine->now + ticks, thread);
}

void cpa_engine_delay(struct cpa_engine *engine, uint32_t thread, uint64_t ticks)
{
	if (thread == engine->named)
		forget_named(engine);
	engine->active++;
	push(engine, &engine->delays, (cpa_long)engine->now + ticks, thread);
}

void cpa_engine_wake(struct cpa_engine *engine, uint32_t thread, uint64_t latency)
{
	engine->active++;
	begin_need(engine, thread, latency);
}

uint64_t cpa_engine_now(const struct cpa_engine *engine)
{
	return engine->now;
}

static void init_group(struct group *group, uint32_t cores)
{
	group->cores = cores;
	group->on = XNEWVEC(uint32_t, cores);
	group->idle = XNEWVEC(uint32_t, cores);
	for (uint32_t i = 0; i < cores; i++) {
		group->on[i] = NOBODY;
		group->idle[group->idles++] = cores - 1 - i;
	}
}

/* Add processes that always work: one on each core, then a second on each, and so on. */
static void add_background(struct cpa_engine *engine)
{
	const struct cpa_placement *placement = engine->placement;
	uint32_t in = 0, core = 0;

	for (uint32_t i = 0; i < placement->load; i++) {
		uint32_t thread = placement->threads + i;
		struct group *group = &engine->group[in];

		engine->group_of[thread] = in;
		engine->thread[thread].left = FOREVER;
		engine->thread[thread].deadline = placement->slice;
		if (group->idles)
			begin_turn(engine, group, thread, 0);
		else
			begin_waiting(engine, group, thread);
		if (++core == placement->cores[in]) {
			core = 0;
			in = in + 1 == placement->groups ? 0 : in + 1;
		}
	}
}

struct cpa_engine *cpa_engine_new(const struct cpa_placement *placement)
{
	struct cpa_engine *engine = XCNEW(struct cpa_engine);
	uint32_t threads = placement->threads + placement->load;

	engine->placement = placement;
	engine->named = NOBODY;
	engine->thread = XCNEWVEC(struct thread, threads);
	engine->place = XNEWVEC(uint32_t, threads);
	engine->group_of = XNEWVEC(uint32_t, threads);
	for (uint32_t i = 0; i < placement->threads; i++)
		engine->group_of[i] = placement->group[i];
	engine->group = XCNEWVEC(struct group, placement->groups);
	for (uint32_t i = 0; i < placement->groups; i++)
		init_group(&engine->group[i], placement->cores[i]);
	add_background(engine);
	return engine;
}

void cpa_engine_free(struct cpa_engine *engine)
{
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		free(engine->group[i].on);
		free(engine->group[i].idle);
		free(engine->group[i].running.entry);
		free(engine->group[i].waiting.entry);
	}
	free(engine->delays.entry);
	free(engine->group);
	free(engine->thread);
	free(engine->place);
	free(engine->group_of);
	free(engine);
}
