/* SPDX-License-Identifier: MIT */
/*
 * tests/property/replay_history.c - random synchronization histories, replayed without changes
 *
 * Random programs (generate.h) go through the online algebra (online.h) into a journal, from there
 * into a script, and are replayed on as many cores as there are threads. If released threads
 * continue at once, the replay takes as long as the history, to the tick. This is checked for
 * histories with an unambiguous order (order.h) in which nothing is taken for a queue
 * (transcribe_pool.c leaves open which thread waits then). CPA_SEED=n repeats a run, CPA_LONG=1
 * runs more.
 */
#include "analysis/predict/replay.h"
#include "analysis/predict/transcribe.h"
#include "tests/property/claims.h"
#include "tests/property/generate.h"
#include "tests/property/online.h"
#include "tests/property/order.h"

#define SLOTS 128u

enum claim { READABLE, SAME_WORK, BOUNDED, TO_THE_TICK, ENOUGH, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[READABLE] = "the journal becomes a run",
	[SAME_WORK] = "what all have done is what they did",
	[BOUNDED] = "it ends, and takes no longer than one thing after the other",
	[TO_THE_TICK] = "where it is clear who comes first, as long as it took, to the tick",
	[ENOUGH] =
		"it is clear in a third of those that could be, and most take as long as they took",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "histories" };

static struct {
	uint64_t same, clear, whole, forced, blocked;
	struct cpa_cast cast;
	uint8_t *kind;
	uint32_t *owner;
} run;

static struct sim sim;
static struct history history;
static struct online online;

static void expect(enum claim claim, const char *what, uint64_t have, uint64_t want)
{
	if (!claims_fail(&claims, claim, have == want))
		return;
	if (!claims.any)
		history_print(&history);
	claims.any = true;
	printf("# %s: seed %llu history %llu %s: replayed %llu, was %llu\n", claim_name[claim],
	       (unsigned long long)claims.seed, (unsigned long long)claims.number, what,
	       (unsigned long long)have, (unsigned long long)want);
}

/* Fill in the objects of the session, as from a dump. */
static void read_cast(void)
{
	uint32_t rows = cpa_table(CPA_TABLE_OBJECTS)->used;

	run.kind = calloc(rows + 1, sizeof(*run.kind));
	run.owner = calloc(rows + 1, sizeof(*run.owner));
	for (uint32_t i = 1; run.kind && run.owner && i <= rows; i++) {
		const struct cpa_object *row = cpa_row(CPA_TABLE_OBJECTS, i);

		run.kind[i] = (uint8_t)row->kind;
		run.owner[i] = row->queue;
	}
	run.cast = (struct cpa_cast){ .objects = rows,
				      .queues = cpa_table(CPA_TABLE_QUEUES)->used,
				      .slots = SLOTS,
				      .components = 0,
				      .cores = THREADS,
				      .object_kind = run.kind,
				      .object_queue = run.owner };
}

/* Give the events the kinds that they have in a program's journal. */
static void name_kinds(struct cpa_run *recorded)
{
	static const uint8_t kind[ONLINE_KINDS] = {
		[CPA_EV_ONCE] = CPA_EV_LOCK,	    [ONLINE_READ_UNLOCK] = CPA_EV_UNLOCK,
		[ONLINE_WRITE_LOCK] = CPA_EV_LOCK,  [ONLINE_WRITE_UNLOCK] = CPA_EV_UNLOCK,
		[ONLINE_ONCE_DONE] = CPA_EV_UNLOCK, [ONLINE_FUTEX_SLEEP] = CPA_EV_MARK,
		[ONLINE_REFUSED] = CPA_EV_MARK,
	};

	for (size_t i = 0; i < recorded->threads; i++)
		for (size_t k = 0; k < recorded->thread[i].events; k++) {
			struct cpa_history_event *event = &recorded->thread[i].event[k];

			if (event->kind < ONLINE_KINDS && kind[event->kind])
				event->kind = kind[event->kind];
		}
}

static struct cpa_run *read_run(void)
{
	static char name[] = "session";
	struct cpa_dump dump = { .file = name,
				 .base = (const unsigned char *)cpa_base,
				 .size = cpa_header()->reserved };
	char *error = NULL;
	struct cpa_run *recorded = NULL;

	if (cpa_dump_again(&dump, &error) == 0)
		recorded = cpa_run_read(&dump, &error);
	if (recorded)
		name_kinds(recorded);
	else
		printf("# no run: %s\n", error ? error : "none");
	free(error);
	return recorded;
}

static struct cpa_replay_result replay(const struct cpa_transcript *transcript)
{
	uint32_t cores = transcript->script.threads ? transcript->script.threads : 1;
	uint32_t *group = calloc(cores, sizeof(*group));
	const struct cpa_placement placement = { 1,	&cores, 0, transcript->script.threads,
						 group, 1,	1 };
	struct cpa_replay_result result = cpa_replay(&transcript->script, &placement);

	free(group);
	return result;
}

/* Return the ticks of the whole script, one step after the other. */
static uint64_t sum(const struct cpa_script *script, uint64_t *work)
{
	uint64_t ticks = 0;

	for (uint32_t i = 0; i < script->steps; i++) {
		*work += script->step[i].work;
		ticks += script->step[i].kind == CPA_STEP_PAUSE ? script->step[i].value : 0;
	}
	for (uint32_t i = 0; i < script->threads; i++)
		ticks += script->thread[i].created ? script->latency : script->thread[i].begin;
	return ticks + *work;
}

static void compare(bool whole)
{
	const struct cpa_changes changes = { .probes = true, .runqueue = true };
	struct cpa_run *recorded = read_run();
	struct cpa_transcript *transcript;
	struct cpa_replay_result result;
	uint64_t most, work = 0;

	expect(READABLE, "run", recorded != NULL, 1);
	if (!recorded)
		return;
	read_cast();
	transcript = cpa_transcribe(recorded, &run.cast, &changes);
	if (sim.prompt)
		transcript->script.latency = 0;
	result = replay(transcript);
	most = sum(&transcript->script, &work) + result.blocked * transcript->script.latency;
	if (!result.unfinished && !result.forced)
		expect(SAME_WORK, "work", result.worked, work);
	expect(BOUNDED, "more than all", result.ticks > most, 0);
	run.forced += result.forced;
	run.blocked += result.blocked;
	if (whole && !transcript->weakness.guessed && !transcript->weakness.polls &&
	    order_is_clear(&history)) {
		run.clear++;
		expect(TO_THE_TICK, "ticks", result.ticks, transcript->recorded);
	}
	run.whole += whole;
	run.same += whole && result.ticks == transcript->recorded;
	cpa_transcript_free(transcript);
	cpa_run_free(recorded);
	free(run.kind);
	free(run.owner);
}

/* Test @histories of up to @events events, with @blocks of a journal or as many as needed. */
static void test(uint64_t histories, int events, unsigned blocks, bool parts, bool prompt)
{
	for (uint64_t n = 0; n < histories && !claims.any; n++, claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		if (online_session(&online, UINT64_C(64) << 20, SLOTS) ||
		    !cpa_journal_init((uint64_t)(blocks ? blocks : 64) * CPA_JOURNAL_BLOCK)) {
			expect(READABLE, "session", 0, 1);
			return;
		}
		sim.prompt = prompt;
		history.sampling = rnd_percent(&r, 60) ? SAMPLED : SPARSE;
		generate(&sim, &history, r,
			 events / 3 + (int)rnd_below(&r, (uint64_t)events * 2 / 3), parts);
		online_run(&online, &history, 0);
		compare(prompt);
		online_finish(&online);
		online_session_end(&online);
	}
}

int main(void)
{
	unsigned times = claims_long() ? 20 : 1;

	claims_begin(&claims);
	test(600 * times, 60, 0, false, true);
	test(20 * times, 1000, 0, false, false);
	test(200 * times, 60, 0, true, false);
	test(30 * times, 3000, 6, false, false);
	test(30 * times, 3000, 3, true, false);
	expect(ENOUGH, "a third of them is clear", 3 * run.clear > run.whole, 1);
	expect(ENOUGH, "four in five to the tick", 5 * run.same > 4 * run.whole, 1);
	printf("# %llu of %llu histories to the tick, in %llu it is clear who comes first; of %llu waits "
	       "%llu were forced to end\n",
	       (unsigned long long)run.same, (unsigned long long)run.whole,
	       (unsigned long long)run.clear, (unsigned long long)run.blocked,
	       (unsigned long long)run.forced);
	return claims_end(&claims);
}
