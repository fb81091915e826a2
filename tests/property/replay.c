/* SPDX-License-Identifier: MIT */
/*
 * tests/property/replay.c - the replay equals a simulation tick by tick
 *
 * Random scripts on random placements: analysis/predict/replay.h and replay_slow.h must agree on
 * the tick of the end, the work done, the waits, and how often the longest waiter had to be
 * released. CPA_SEED=n repeats a run, CPA_LONG=1 runs many more.
 */
#include <stdio.h>

#include "tests/property/claims.h"
#include "tests/property/replay_slow.h"

#define LOCKS	3
#define SEMS	1
#define QUEUES	2
#define STREAMS 2

static uint32_t stream[MAKER_STEPS]; /* of the script */

enum { BARRIER = LOCKS + SEMS, QUEUE, OBJECTS = QUEUE + QUEUES };

static struct {
	struct rnd r;
	struct cpa_placement placement;
	uint32_t cores[3], group[MAKER_THREADS];
	uint32_t workers; /* threads that get items of the first queue: the last ones */
	uint32_t offers;
	/* items that may be taken from the queue: numbers 0, 2, 4 ... or 1, 3, 5 ... */
	uint32_t items[QUEUES];
	uint32_t put[QUEUES];
	bool held[LOCKS];
	uint64_t seen[CPA_STEPS], forced, blocked;
	uint64_t repeated, waited; /* recordings, and waits in them */
	bool recorded;		   /* the script is for a recording: one unbounded queue */
} run;

static uint64_t some(uint64_t n)
{
	return rnd_below(&run.r, n);
}

static uint64_t work(void)
{
	return some(3) ? some(12) : 0;
}

static void make_objects(void)
{
	for (uint32_t i = 0; i < LOCKS; i++)
		make_object(CPA_SCRIPT_LOCK, some(8) != 0);
	make_object(CPA_SCRIPT_SEM, (uint32_t)some(3));
	make_object(CPA_SCRIPT_BARRIER, 1 + (uint32_t)some(3));
	for (uint32_t i = 0; i < QUEUES; i++) {
		make_object(CPA_SCRIPT_QUEUE, run.recorded || some(6) ? 0 : 1 + (uint32_t)some(3));
		maker.object[QUEUE + i].deal = i == 0  ? CPA_DEAL_ITEMS :
					       some(2) ? CPA_DEAL_COUNT :
							 CPA_DEAL_RECORDED;
		if (maker.object[QUEUE + i].deal == CPA_DEAL_COUNT)
			maker.object[QUEUE + i].initial = (uint32_t)some(3);
		maker.object[QUEUE + i].lock = run.recorded || some(2) ? CPA_NOWHERE : i;
	}
}

static void make_section(void)
{
	uint32_t lock = (uint32_t)some(LOCKS);

	/* Mostly in one order, so that few scripts end in a deadlock. */
	for (uint32_t i = lock; i < LOCKS && (run.recorded || some(20)); i++)
		if (run.held[i])
			lock = i;
	if (run.held[lock])
		make_step(work(), CPA_STEP_UNLOCK, lock, 0);
	else
		make_step(work(), some(3) ? CPA_STEP_LOCK : CPA_STEP_READ, lock, 0);
	run.held[lock] = !run.held[lock];
}

/* Wait for @offer, a message unless @value is 0, whose bytes may have to wait for others of its stream. */
static void make_await(uint32_t offer, uint64_t value)
{
	make_step(work(), CPA_STEP_AWAIT, offer, value);
	if (value && some(2))
		make_step(0, CPA_STEP_CARRY, offer, some(30));
}

static void make_any_step(void)
{
	switch (some(run.recorded ? 28 : 14)) {
	case 0:
		make_step(work(), CPA_STEP_PAUSE, 0, 1 + some(20));
		break;
	case 1:
		make_step(work(), CPA_STEP_NONE, 0, 0);
		break;
	case 2:
		make_step(work(), CPA_STEP_OFFER, run.offers++, 0);
		break;
	case 3:
		make_await((uint32_t)some(run.offers + !some(run.recorded ? 1000 : 20)),
			   run.recorded || some(2) ? 0 : 1 + some(30));
		break;
	case 4:
	case 5:
		make_step(work(), CPA_STEP_POST, LOCKS, 0);
		break;
	case 6:
		if (some(4))
			make_step(work(), CPA_STEP_POST, LOCKS, 0);
		make_step(work(), CPA_STEP_TAKE, LOCKS, 0);
		break;
	case 7:
		if (some(6))
			break;
		make_step(work(), CPA_STEP_ARRIVE, BARRIER, 0);
		break;
	case 8:
		make_step(work(), some(2) ? CPA_STEP_JOIN : CPA_STEP_CREATE,
			  (uint32_t)some(maker.script.threads - !!some(20)), 0);
		break;
	case 9:
	case 10: {
		uint32_t q = (uint32_t)some(QUEUES);

		make_step(work(), CPA_STEP_PUT, QUEUE + q, 2 * run.put[q]++ + q);
		break;
	}
	default:
		make_section();
	}
}

/*
 * Workers get items of the first queue in order; other threads get items of the second in any
 * order.
 */
static void make_get(bool worker)
{
	uint32_t q = worker ? 0 : 1;

	if (run.recorded && !worker)
		return;
	if (run.items[q] >= run.put[q] && some(20))
		make_step(work(), CPA_STEP_PUT, QUEUE + q, 2 * run.put[q]++ + q);
	make_step(work(), CPA_STEP_GET, QUEUE + q, 2 * run.items[q]++ + q);
}

static void make_body(uint32_t threads, uint32_t steps, bool worker)
{
	memset(run.held, 0, sizeof(run.held));
	for (uint32_t i = 1; maker.script.threads == 1 && i < threads; i++)
		make_step(work(), CPA_STEP_CREATE, i, 0);
	for (uint32_t i = 0; i < steps; i++)
		if (some(100) < 12)
			make_get(worker);
		else
			make_any_step();
	if (worker) {
		make_get(true);
		make_any_step();
		make_tail();
	}
	for (uint32_t i = 0; i < LOCKS; i++)
		if (run.held[i] && some(50))
			make_step(work(), CPA_STEP_UNLOCK, i, 0);
	make_exit(work());
}

static void make_placement(uint32_t threads)
{
	run.placement = (struct cpa_placement){ .groups = 1 + (uint32_t)some(3),
						.cores = run.cores,
						.load = some(2) ? 0 : (uint32_t)some(4),
						.threads = threads,
						.group = run.group };
	run.placement.slice = 1 + some(5);
	run.placement.interrupt = run.placement.slice + some(8);
	for (uint32_t i = 0; i < run.placement.groups; i++)
		run.cores[i] = 1 + (uint32_t)some(3);
	for (uint32_t i = 0; i < threads; i++)
		run.group[i] = (uint32_t)some(run.placement.groups);
}

static void make_random(void)
{
	uint32_t threads = 2 + (uint32_t)some(6), steps = 1 + (uint32_t)some(24);
	uint32_t workers = (uint32_t)some(threads);

	make_script(some(2) ? 0 : some(9));
	make_objects();
	run.offers = 0;
	memset(run.items, 0, sizeof(run.items));
	memset(run.put, 0, sizeof(run.put));
	for (uint32_t i = 0; i < threads; i++) {
		make_thread(i && some(2), some(3) ? 0 : some(40));
		make_body(threads, steps, i >= threads - workers);
	}
	maker.script.offers = run.offers + 1;
	maker.script.between = some(2);
	maker.script.streams = STREAMS;
	maker.script.stream = stream;
	for (uint32_t i = 0; i < maker.script.offers; i++)
		stream[i] = (uint32_t)some(STREAMS);
	for (uint32_t q = 0; q < QUEUES; q++)
		if (2 * run.items[q] + q > maker.script.items)
			maker.script.items = 2 * run.items[q] + q;
	maker.script.ends = run.recorded || some(2) ? CPA_NOWHERE : 0;
	make_placement(threads);
}

/* A recording of the script on as many cores as it needs ends at the same tick when replayed. */
static bool repeats(uint64_t number)
{
	uint8_t kind[OBJECTS + 1] = { 0 };
	uint32_t locks[OBJECTS + 1] = { 0 };
	const struct cpa_cast cast = {
		.objects = OBJECTS, .queues = OBJECTS, .components = OBJECTS, .object_kind = kind
	};
	const struct cpa_changes changes = { .locks = locks };
	struct cpa_replay_result slowly, again;
	struct cpa_transcript *transcript;

	run.placement.groups = 1;
	run.placement.load = 0;
	run.cores[0] = MAKER_THREADS;
	memset(run.group, 0, sizeof(run.group));
	slowly = slow_replay(&maker.script, &run.placement);
	if (slowly.forced || record.full)
		return true;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		kind[i + 1] = i < LOCKS ? CPA_MUTEX : i < BARRIER ? CPA_SEM : CPA_BARRIER;
		locks[i + 1] = maker.object[i].count;
	}
	record.run.end = slowly.ticks;
	transcript = cpa_transcribe(&record.run, &cast, &changes);
	transcript->script.latency = maker.script.latency;
	again = cpa_replay(&transcript->script, &run.placement);
	cpa_transcript_free(transcript);
	run.repeated++;
	run.waited += slowly.blocked;
	if (again.ticks == slowly.ticks && !again.forced)
		return true;
	printf("# script %llu: recorded %llu, replayed %llu, forced %llu\n",
	       (unsigned long long)number, (unsigned long long)slowly.ticks,
	       (unsigned long long)again.ticks, (unsigned long long)again.forced);
	return false;
}

static bool agree(uint64_t number)
{
	struct cpa_replay_result fast = cpa_replay(&maker.script, &run.placement);
	struct cpa_replay_result tick = slow_replay(&maker.script, &run.placement);

	for (uint32_t i = 0; i < maker.script.steps; i++)
		run.seen[maker.step[i].kind]++;
	run.forced += fast.forced;
	run.blocked += fast.blocked;
	if (fast.ticks == tick.ticks && fast.worked == tick.worked &&
	    fast.blocked == tick.blocked && fast.forced == tick.forced)
		return true;
	printf("# script %llu: end %llu, tick by tick %llu; work %llu, %llu; waits %llu, %llu; "
	       "forced %llu, %llu\n",
	       (unsigned long long)number, (unsigned long long)fast.ticks,
	       (unsigned long long)tick.ticks, (unsigned long long)fast.worked,
	       (unsigned long long)tick.worked, (unsigned long long)fast.blocked,
	       (unsigned long long)tick.blocked, (unsigned long long)fast.forced,
	       (unsigned long long)tick.forced);
	return false;
}

int main(void)
{
	uint64_t seed = rnd_seed(), scripts = claims_long() ? 1000000 : 20000;
	bool same = true, repeated = true;

	printf("# seed %llu\n", (unsigned long long)seed);
	for (uint64_t n = 0; n < scripts && same; n++) {
		run.r = rnd_sequence(seed, n);
		run.recorded = false;
		make_random();
		same = agree(n);
	}
	for (uint64_t n = 0; n < scripts && repeated; n++) {
		run.r = rnd_sequence(seed, n);
		run.recorded = true;
		make_random();
		repeated = repeats(n);
	}
	printf("# steps by kind:");
	for (unsigned i = 0; i < CPA_STEPS; i++)
		printf(" %llu", (unsigned long long)run.seen[i]);
	printf("\n# waits %llu, of them forced to end %llu\n", (unsigned long long)run.blocked,
	       (unsigned long long)run.forced);
	printf("# %llu scripts recorded, with %llu waits\n", (unsigned long long)run.repeated,
	       (unsigned long long)run.waited);
	printf("%sok 1 - a replay is what happens tick by tick (seed %llu)\n", same ? "" : "not ",
	       (unsigned long long)seed);
	printf("%sok 2 - a recorded run with nothing changed takes as long (seed %llu)\n1..2\n",
	       repeated ? "" : "not ", (unsigned long long)seed);
	return !same || !repeated;
}
