/* SPDX-License-Identifier: MIT */
/* analysis/predict/engine.c - a virtual clock, and processors that are shared fairly, turn by turn */
#include "analysis/predict/engine.h"

#include <stdlib.h>

#include "analysis/util/thread_heap.h"

#define NOBODY	   UINT32_MAX
#define FOREVER	   ((cpa_long)1 << 90)
#define MANY_TURNS 64
/* Looks at cores and threads, some seconds' worth: a replay that takes more ends early. */
#define LOOKS_MAX (UINT64_C(1) << 31)

struct thread {
	cpa_long left; /* work, while it waits for a core */
	/*
	 * Virtual time, as it was at `since` if the thread has a core, and grows with the clock;
	 * of one that needs none, how far it was behind the mean then, if it was.
	 */
	cpa_long had, behind;
	cpa_long since;
	cpa_long deadline;
	cpa_long protect; /* the virtual time up to which others that wake leave it its core */
	uint32_t core;
};

struct group {
	uint32_t cores;
	uint32_t *on;	/* [core] thread, or NOBODY */
	uint32_t *idle; /* a stack of cores */
	uint32_t idles;
	struct heap running; /* by the end of the work; without the thread that was named last */
	struct heap waiting; /* by deadline */
	cpa_long sum; /* of the virtual times of all that need a core, as they would be at clock 0 */
	cpa_long mean; /* when the last of them went */
	bool woken;    /* somebody waits for a core since just now */
};

struct cpa_engine {
	const struct cpa_placement *placement;
	uint64_t now, number;
	uint64_t interrupts; /* of the timer, up to now */
	uint64_t looks;
	uint32_t named;	  /* by the last cpa_engine_next(), and it has no work yet; or NOBODY */
	uint32_t active;  /* threads of the program with something going on */
	uint32_t waiting; /* threads for a core, in all groups */
	struct group *group;
	struct heap delays;
	struct thread *thread; /* the background behind those of the placement */
	uint32_t *place;       /* [thread] in its heap */
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

/* Give @thread, which is in no heap and not counted in the group's sum, a core that is idle. */
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

/* Its core becomes idle; it is in no heap then. */
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

/* The thread whose turn is next, out of the heap. */
static uint32_t end_waiting(struct cpa_engine *engine, struct group *group)
{
	uint32_t thread = group->waiting.entry[0].thread;

	heap_remove(&group->waiting, engine->place, thread);
	engine->waiting--;
	group->sum -= engine->thread[thread].had;
	return thread;
}

/* @thread needs a core from now on. */
static void begin_need(struct cpa_engine *engine, uint32_t thread, uint64_t latency)
{
	struct group *group = &engine->group[engine->group_of[thread]];
	struct thread *self = &engine->thread[thread];
	uint32_t others = needing(group);
	cpa_long now = mean(engine, group);

	/* As much behind the mean as it was, once it is one of those that the mean is of. */
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

/* @thread, which was named last, needs no core any more. */
static void end_need(struct cpa_engine *engine, uint32_t thread)
{
	struct group *group = &engine->group[engine->group_of[thread]];
	struct thread *self = &engine->thread[thread];
	cpa_long now = mean(engine, group);
	cpa_long most = engine->placement->interrupt;

	end_turn(engine, group, thread);
	self->behind = 0;
	if (!group->waiting.count) {
		/* There was a core for each: none is behind. */
		self->had = now;
	} else if (self->had < now) {
		self->behind = now - self->had < most ? now - self->had : most;
	} else if (self->had > now + most) {
		self->had = now + most;
	}
	if (!needing(group))
		group->mean = now;
}

/* Set the next deadline of a thread that has a core, if it has passed its deadline. */
static void renew(const struct cpa_engine *engine, struct thread *thread, cpa_long reached)
{
	if (reached >= thread->deadline)
		thread->deadline = reached + engine->placement->slice;
}

/* As the last interrupt of the timer did, if it came while the thread had its core. */
static void renew_interrupted(const struct cpa_engine *engine, struct thread *thread)
{
	cpa_long interrupt = engine->placement->interrupt;
	cpa_long past = engine->now ? (engine->now - 1) / interrupt : 0;

	if (past < engine->interrupts)
		past = engine->interrupts;
	if (past * interrupt > thread->since)
		renew(engine, thread, thread->had + past * interrupt - thread->since);
}

/* The thread on @core had its slice, and there is one that waits whose turn is before its next. */
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

/* Who was woken takes the core of the one that had most, of those that must let it go. */
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

/* Give cores away, after something has happened. */
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
	engine->looks += group->cores + group->waiting.count; /* these in undisturbed() */
	for (uint32_t i = 0; i < group->cores && group->waiting.count; i++)
		if (group->on[i] != NOBODY && is_over(engine, group, i))
			swap(engine, group, i);
}

/* The clock value of the next interrupt that has not been. */
static cpa_long next_interrupt(const struct cpa_engine *engine)
{
	cpa_long interrupt = engine->placement->interrupt;
	cpa_long next = ((cpa_long)engine->now + interrupt - 1) / interrupt;

	if (next <= engine->interrupts)
		next = (cpa_long)engine->interrupts + 1;
	return next * interrupt;
}

/*
 * How long the threads of all groups only take turns: nobody comes, nobody's work ends. Or 0, if
 * that is not for many turns of each.
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

/* Each of the group gets its share of the next @ticks. */
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

/* Of a long time in which threads only take turns, all but the end at once. */
static void skip_turns(struct cpa_engine *engine)
{
	cpa_long ticks = undisturbed(engine);

	ticks -= ticks % engine->placement->interrupt;
	if (!ticks)
		return;
	if (engine->now + ticks > UINT64_MAX) { /* no run is that long */
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

/* The group in which work ends next, and when; NULL: nowhere. */
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

/* What is next, if it is not the end of work: by then nobody's work ends. */
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
			return false; /* no run is that long */
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

/*
 * Processes that always work, and are of no account otherwise: one on each core, then another ...
 */
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
