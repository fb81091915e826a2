/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict.c - predict run times from the journal of a dump */
#include "analysis/predict/predict.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/journal.h"
#include "analysis/util/format.h"
#include "analysis/predict/placement.h"
#include "analysis/predict/predict_state.h"
#include "analysis/derived/find.h"
#include "analysis/derived/function.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define BRIEF 1000000 /* bytes of a journal, which has 7 to 10 for an event */

static void read_objects(struct inquiry *q)
{
	uint32_t rows = q->dump->rows[CPA_TABLE_OBJECTS];

	q->object_kind = XCNEWVEC(uint8_t, rows + 1);
	q->object_queue = XCNEWVEC(uint32_t, rows + 1);
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_object row;
		const struct cpa_component *class;

		if (!cpa_dump_row(q->dump, CPA_TABLE_OBJECTS, i, &row, sizeof(row)))
			continue;
		/* A destroyed object has the kind of its class. */
		class = cpa_names_row(&q->names, row.class);
		q->object_kind[i] = (uint8_t)(row.kind ? row.kind : class ? class->object_kind : 0);
		q->object_queue[i] = row.queue;
	}
	q->cast.objects = rows;
	q->cast.object_kind = q->object_kind;
	q->cast.object_queue = q->object_queue;
}

static void read_probes(struct inquiry *q)
{
	q->probe = XCNEWVEC(uint64_t, q->run->threads + 1);
	for (size_t i = 0; i < q->run->threads; i++)
		for (size_t k = 0; k < q->profile->threads; k++)
			if (q->profile->thread[k].id == q->run->thread[i].thread.id)
				q->probe[i] = cpa_history_ticks(q->profile->thread[k].probe_s /
								q->profile->tick_s);
	q->cast.probe = q->probe;
}

/* Number of cores in the dump, limited to a possible one. */
static uint32_t recorded_cores(const struct inquiry *q)
{
	uint32_t cores = q->profile->program.cores;

	return cores < 1 ? 1 : cores < CPA_CORES_MAX ? cores : CPA_CORES_MAX;
}

static void read_cast(struct inquiry *q)
{
	uint32_t rows = q->dump->rows[CPA_TABLE_QUEUES];

	read_objects(q);
	read_probes(q);
	q->queue_class = XCNEWVEC(uint32_t, rows + 1);
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_queue row;

		if (cpa_dump_row(q->dump, CPA_TABLE_QUEUES, i, &row, sizeof(row)))
			q->queue_class[i] = row.component;
	}
	q->slot_kind = XCNEWVEC(uint8_t, q->dump->header.slots + 1);
	q->slot_kind[CPA_SLOT_UNSAMPLED] = CPA_FUNCTION;
	for (uint32_t i = 1; i <= q->names.components; i++) {
		const struct cpa_component *row = cpa_names_row(&q->names, i);

		if (row && row->slot >= CPA_SLOT_FIRST)
			q->slot_kind[row->slot] = (uint8_t)row->kind;
	}
	q->cast.queues = rows;
	q->cast.queue_class = q->queue_class;
	q->cast.slots = q->dump->header.slots;
	q->cast.components = q->names.components;
	q->cast.cores = recorded_cores(q);
	q->cast.slot_kind = q->slot_kind;
}

static bool is_named(struct inquiry *q, uint32_t component, const struct cpa_change *change)
{
	const struct cpa_component *row = cpa_names_row(&q->names, component);

	return row && row->kind == change->of && row->by != CPA_BY_CALL &&
	       cpa_is_row_named(q->profile, &q->names, component, change->name);
}

/* Apply @change to the component in row @component. Return false if it cannot be changed so. */
static bool apply(struct inquiry *q, uint32_t component, const struct cpa_change *change)
{
	const struct cpa_component *row = cpa_names_row(&q->names, component);

	switch (change->kind) {
	case CPA_CHANGE_DROP:
		q->locks[component] = 0;
		return true;
	case CPA_CHANGE_SPLIT:
		q->locks[component] = change->number;
		return true;
	case CPA_CHANGE_WORKERS:
		q->workers[component] = change->number;
		return true;
	case CPA_CHANGE_BALANCE:
	case CPA_CHANGE_DYNAMIC:
		q->divided[component] = change->kind;
		q->divides = true;
		q->team[component] = change->number;
		return true;
	case CPA_CHANGE_TRANSFER: /* of no component */
	case CPA_CHANGE_SCALE:
		break;
	}
	if (row->slot < CPA_SLOT_FIRST)
		return false;
	if (row->shared)
		predict_note(
			q->answer,
			"%s shares a slot with other components: the change applies to these, too.",
			cpa_names_component(&q->names, component)->name);
	q->factor[row->slot] = change->factor;
	return true;
}

static int apply_all(struct inquiry *q, char **error)
{
	q->factor = XNEWVEC(double, q->dump->header.slots + 1);
	q->locks = XNEWVEC(uint32_t, q->names.components + 1);
	q->workers = XCNEWVEC(uint32_t, q->names.components + 1);
	q->divided = XCNEWVEC(enum cpa_change_kind, q->names.components + 1);
	q->divided_at = XCNEWVEC(bool, q->dump->rows[CPA_TABLE_NODES] + 1);
	q->team = XCNEWVEC(uint32_t, q->names.components + 1);
	for (uint32_t i = 0; i <= q->dump->header.slots; i++)
		q->factor[i] = 1;
	for (uint32_t i = 0; i <= q->names.components; i++)
		q->locks[i] = 1;
	for (size_t k = 0; k < q->question->changes; k++) {
		const struct cpa_change *change = &q->question->change[k];
		bool any = false;

		if (change->kind == CPA_CHANGE_TRANSFER)
			continue;
		for (uint32_t i = 1; i <= q->names.components; i++)
			if (is_named(q, i, change))
				any |= apply(q, i, change);
		if (any || (change->kind == CPA_CHANGE_DYNAMIC && predict_loops(q, change)))
			continue;
		*error = cpa_format_text("--what-if: no %s has the name '%s' (cpa-report --level "
					 "component lists them)",
					 change->kind == CPA_CHANGE_DYNAMIC ?
						 "loop or region" :
						 cpa_names_component_kind(change->of),
					 change->name);
		return -1;
	}
	return q->divides ? predict_balance(q, error) : 0;
}

/* The name of the thread with @id for --group; NULL: not known. */
static const char *thread_name(const struct cpa_profile *profile, uint32_t id)
{
	for (size_t i = 0; i < profile->threads; i++)
		if (profile->thread[i].id == id)
			return profile->thread[i].last_name && *profile->thread[i].last_name ?
				       profile->thread[i].last_name :
				       profile->thread[i].last_routine;
	return NULL;
}

static int place(struct inquiry *q, const struct cpa_transcript *transcript, uint32_t cores,
		 struct cpa_placement *placement, char **error)
{
	uint32_t threads = transcript->script.threads;
	const char **name = XNEWVEC(const char *, threads);
	int ret;

	for (uint32_t i = 0; i < threads; i++)
		name[i] = thread_name(q->profile, q->run->thread[transcript->source[i]].thread.id);
	ret = cpa_placement_init(placement, cores, q->question->load, q->question->groups, name,
				 threads, error);
	free(name);
	if (ret == 0)
		cpa_placement_turns(placement, recorded_cores(q), q->profile->tick_s);
	return ret;
}

double predict_seconds(const struct inquiry *q, uint64_t ticks)
{
	return (double)ticks * q->profile->tick_s;
}

int predict_replay(struct inquiry *q, const struct cpa_transcript *transcript, uint32_t cores,
		   struct cpa_replay_result *result, char **error)
{
	struct cpa_placement placement;

	if (place(q, transcript, cores, &placement, error) < 0)
		return -1;
	*result = cpa_replay(&transcript->script, &placement);
	cpa_placement_fini(&placement);
	return 0;
}

/* Replay the run with @changes on @cores, otherwise as it was. Return seconds. */
static double replay_recorded(struct inquiry *q, const struct cpa_changes *changes, uint32_t cores)
{
	struct cpa_transcript *transcript = cpa_transcribe(q->run, &q->cast, changes);
	struct cpa_answer *answer = q->answer;
	struct cpa_placement placement;
	struct cpa_replay_result result;

	cpa_placement_init(&placement, cores, 0, NULL, NULL, transcript->script.threads, NULL);
	cpa_placement_turns(&placement, recorded_cores(q), q->profile->tick_s);
	result = cpa_replay(&transcript->script, &placement);
	cpa_placement_fini(&placement);
	answer->recorded_s = predict_seconds(q, transcript->recorded);
	answer->start_s = predict_seconds(q, transcript->start);
	answer->probe_s = predict_seconds(q, transcript->probe);
	answer->runqueue_s = predict_seconds(q, transcript->runqueue);
	answer->latency_s = predict_seconds(q, transcript->script.latency);
	answer->waits = transcript->weakness.waits;
	cpa_transcript_free(transcript);
	return predict_seconds(q, result.ticks);
}

/*
 * Replay the unchanged run twice: with the run's cores shared fairly, and with the recorded waiting
 * for processors, which other programs may have caused. The second shows whether the order of
 * events is right.
 */
static void check(struct inquiry *q)
{
	const struct cpa_changes shared = { .probes = true };
	const struct cpa_changes as_recorded = { .probes = true, .runqueue = true };
	uint32_t threads = (uint32_t)q->run->threads;

	q->answer->reordered_s = replay_recorded(q, &as_recorded, threads ? threads : 1);
	q->answer->replayed_s = replay_recorded(q, &shared, recorded_cores(q));
}

/* Compute one row of the answer for each number of cores. */
static int answer_rows(struct inquiry *q, const struct cpa_transcript *same,
		       const struct cpa_transcript *changed, char **error)
{
	struct cpa_answer *answer = q->answer;
	uint32_t recorded = recorded_cores(q);
	uint64_t forced = 0;
	uint32_t unfinished = 0;

	answer->rows = q->question->cores ? q->question->cores : 1;
	answer->row = XCNEWVEC(struct cpa_answer_row, answer->rows);
	for (size_t i = 0; i < answer->rows; i++) {
		struct cpa_answer_row *row = &answer->row[i];
		struct cpa_replay_result before, after;

		row->cores = q->question->cores ? q->question->core[i] : recorded;
		if (predict_replay(q, same, row->cores, &before, error) < 0)
			return -1;
		after = before;
		if (changed && predict_replay(q, changed, row->cores, &after, error) < 0)
			return -1;
		row->unchanged_s = predict_seconds(q, before.ticks);
		row->changed_s = predict_seconds(q, after.ticks);
		row->utilization =
			after.ticks ? (double)after.worked / (double)after.ticks / row->cores : 0;
		forced = after.forced > forced ? after.forced : forced;
		unfinished = after.unfinished > unfinished ? after.unfinished : unfinished;
	}
	predict_note_order(q, forced, unfinished);
	return 0;
}

static int answer_question(struct inquiry *q, char **error)
{
	struct cpa_changes none = { 0 }, changes = { .factor = q->factor,
						     .locks = q->locks,
						     .workers = q->workers,
						     .activity = q->activity,
						     .transfer = q->transfer,
						     .between = q->question->network.asked &&
								q->question->groups };
	struct cpa_transcript *same, *changed = NULL;
	int ret;

	check(q);
	q->answer->changed = q->question->changes > 0 || q->question->network.asked;
	same = cpa_transcribe(q->run, &q->cast, &none);
	if (q->answer->changed)
		changed = cpa_transcribe(q->run, &q->cast, &changes);
	predict_note_limits(q, &same->weakness);
	if (changed && changed->weakness.refused) {
		*error = xstrdup(
			"--what-if: workers: cannot be changed for this queue: its consumers also "
			"serve another queue, or are of several classes, or the end of the work "
			"on an item is not known");
		ret = -1;
	} else {
		ret = answer_rows(q, same, changed, error);
	}
	if (ret == 0 && q->question->curves)
		ret = predict_curves(q, error);
	cpa_transcript_free(same);
	if (changed)
		cpa_transcript_free(changed);
	return ret;
}

static void finish(struct inquiry *q)
{
	cpa_names_fini(&q->names);
	cpa_run_free(q->run);
	free(q->object_kind);
	free(q->object_queue);
	free(q->queue_class);
	free(q->probe);
	free(q->slot_kind);
	free(q->factor);
	free(q->locks);
	free(q->workers);
	free(q->divided);
	free(q->divided_at);
	free(q->team);
	free(q->activity);
	free(q->transfer);
}

/* Read the journal and apply the changes of the question. The caller calls finish() unless CPA_NO_JOURNAL. */
static enum cpa_refusal begin(struct inquiry *q, char **error)
{
	*q->answer = (struct cpa_answer){ 0 };
	q->run = cpa_run_read(q->dump, error);
	if (!q->run)
		return CPA_NO_JOURNAL;
	cpa_names_init(&q->names, q->dump);
	read_cast(q);
	return apply_all(q, error) == 0 && predict_transfers(q, error) == 0 ? CPA_ANSWERED :
									      CPA_BAD_QUESTION;
}

enum cpa_refusal cpa_predict(struct cpa_dump *dump, const struct cpa_profile *profile,
			     const struct cpa_question *question, struct cpa_answer *answer,
			     char **error)
{
	struct inquiry q = {
		.dump = dump, .profile = profile, .question = question, .answer = answer
	};
	enum cpa_refusal refusal = begin(&q, error);

	if (refusal == CPA_NO_JOURNAL)
		return refusal;
	if (refusal == CPA_ANSWERED && answer_question(&q, error) < 0)
		refusal = CPA_BAD_QUESTION;
	if (refusal != CPA_ANSWERED)
		cpa_answer_free(answer);
	finish(&q);
	return refusal;
}

/* Run time on the cores of the run with @changes. */
static double run_time(struct inquiry *q, const struct cpa_changes *changes)
{
	struct cpa_transcript *transcript = cpa_transcribe(q->run, &q->cast, changes);
	struct cpa_replay_result result = { 0 };
	char *error = NULL;

	/* Without groups and load there is nothing to refuse. */
	predict_replay(q, transcript, recorded_cores(q), &result, &error);
	free(error);
	cpa_transcript_free(transcript);
	return predict_seconds(q, result.ticks);
}

bool cpa_predict_is_brief(struct cpa_dump *dump)
{
	struct cpa_journal_file file;
	char *error = NULL;
	bool brief = cpa_journal_open(&file, dump, &error);

	free(error);
	if (brief) {
		brief = file.size <= BRIEF;
		cpa_journal_close(&file);
	}
	return brief;
}

static bool has_inside(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->streams; i++)
		if (cpa_stream_is_inside(&profile->stream[i]))
			return true;
	return false;
}

void cpa_predict_streams(struct cpa_dump *dump, struct cpa_profile *profile, size_t most)
{
	const struct cpa_question question = { 0 };
	struct cpa_answer answer;
	struct inquiry q = {
		.dump = dump, .profile = profile, .question = &question, .answer = &answer
	};
	struct cpa_changes changes = { 0 };
	char *error = NULL;
	enum cpa_refusal refusal;
	double same_s;

	if (!has_inside(profile))
		return;
	refusal = begin(&q, &error);
	free(error);
	if (refusal == CPA_NO_JOURNAL)
		return;
	same_s = refusal == CPA_ANSWERED ? run_time(&q, &changes) : 0;
	changes.transfer = q.transfer;
	for (uint32_t i = 0; refusal == CPA_ANSWERED && i < profile->streams && most > 0; i++) {
		if (!cpa_stream_is_inside(&profile->stream[i]))
			continue;
		predict_zero_stream(&q, i + 1, true);
		profile->stream[i].saved_s = fmax(same_s - run_time(&q, &changes), 0);
		predict_zero_stream(&q, i + 1, false);
		most--;
	}
	cpa_answer_free(&answer);
	finish(&q);
}

void cpa_answer_free(struct cpa_answer *answer)
{
	for (size_t i = 0; i < answer->notes; i++)
		free(answer->note[i]);
	for (size_t i = 0; i < answer->curves; i++)
		free(answer->curve[i].name);
	free(answer->note);
	free(answer->row);
	free(answer->curve);
}
