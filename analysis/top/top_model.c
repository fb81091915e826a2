/* SPDX-License-Identifier: MIT */
/* analysis/top/top_model.c - two moments of a session and their differences */
#include "analysis/top/top_views.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#include <libiberty/hashtab.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cpa_top_init(struct cpa_top *top, uint32_t slots, bool ascii)
{
	*top = (struct cpa_top){
		.slots = slots,
		.saved = xcalloc((size_t)CPA_TOP_HISTORY * slots, sizeof(double)),
		.ascii = ascii,
	};
}

static void free_moment(struct cpa_top_moment *moment)
{
	if (moment->profile)
		cpa_profile_free(moment->profile);
	free(moment->task);
	*moment = (struct cpa_top_moment){ 0 };
}

static void free_matches(struct cpa_top *top)
{
	free(top->lock_before);
	free(top->queue_before);
	free(top->thread_before);
	free(top->stream_before);
	top->lock_before = top->queue_before = top->thread_before = top->stream_before = NULL;
}

void cpa_top_fini(struct cpa_top *top)
{
	free_moment(&top->now);
	free_moment(&top->before);
	free_matches(top);
	free(top->saved);
	free(top->message);
}

typedef uint64_t identity(const struct cpa_profile *profile, size_t i);

static uint64_t lock_identity(const struct cpa_profile *profile, size_t i)
{
	return profile->object[i].row;
}

static uint64_t queue_identity(const struct cpa_profile *profile, size_t i)
{
	return profile->queue[i].row;
}

static uint64_t thread_identity(const struct cpa_profile *profile, size_t i)
{
	return profile->thread[i].id;
}

uint64_t cpa_top_stream_id(const struct cpa_profile *profile, size_t i)
{
	const struct cpa_stream_figures *stream = &profile->stream[i];

	return (uint64_t)htab_hash_string(stream->name) << 8 | ((uint64_t)stream->kind + 1);
}

/* For each of @count items of @now its index among the @others items of @before, SIZE_MAX: new. */
static size_t *match(const struct cpa_profile *now, size_t count, const struct cpa_profile *before,
		     size_t others, identity *identify)
{
	size_t *found = xcalloc(count + 1, sizeof(*found)), at = 0, tries;

	for (size_t i = 0; i < count; i++, at++) {
		/* Most items keep their order: begin after the last match. */
		for (tries = 0; tries < others; tries++, at++) {
			at = at < others ? at : 0;
			if (identify(before, at) == identify(now, i))
				break;
		}
		found[i] = tries < others ? at : SIZE_MAX;
	}
	return found;
}

/* Path lengths never shrink: see top.h. */
static void keep_lengths(struct cpa_program_figures *now, const struct cpa_program_figures *before)
{
	now->critical_path_s = fmax(now->critical_path_s, before->critical_path_s);
	/* Keep its parts too: it is their sum. */
	if (now->observed_path_s < before->observed_path_s) {
		now->observed_path_s = before->observed_path_s;
		memcpy(now->segment_s, before->segment_s, sizeof(now->segment_s));
	}
}

static void remember(struct cpa_top *top)
{
	const struct cpa_profile *profile = top->now.profile;
	double *saved = top->saved + top->moments++ % CPA_TOP_HISTORY * top->slots;

	for (uint32_t i = 0; i < top->slots; i++)
		saved[i] = 0;
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].slot < top->slots)
			saved[profile->component[i].slot] = profile->component[i].saved_s;
}

size_t cpa_top_index(const struct cpa_top *top, struct cpa_top_key key)
{
	const struct cpa_top_table *table = cpa_top_table(key.view);

	for (size_t i = 0; i < table->count(top->now.profile); i++)
		if (table->key(top, i).id == key.id)
			return i;
	return SIZE_MAX;
}

/* The figure shown on the page of the detailed item, if it is not stored by slot. */
static double followed(const struct cpa_top *top)
{
	size_t i = cpa_top_index(top, top->detail);

	if (i == SIZE_MAX)
		return NAN;
	if (top->detail.view == CPA_TOP_QUEUES)
		return (double)top->now.profile->queue[i].never_dequeued;
	if (top->detail.view == CPA_TOP_THREADS)
		return cpa_top_cpu(top, i) / cpa_top_interval(top);
	return NAN;
}

static void follow(struct cpa_top *top)
{
	struct cpa_top_trail *trail = &top->trail;

	if (top->detail.view != trail->of.view || top->detail.id != trail->of.id)
		*trail = (struct cpa_top_trail){ .of = top->detail };
	if (top->detail.id)
		trail->value[trail->readings++ % CPA_TOP_HISTORY] = followed(top);
}

/* Match the items of the present moment with those of the one before. */
static void compare(struct cpa_top *top)
{
	const struct cpa_profile *before = top->before.profile, *now = top->now.profile;

	keep_lengths(&top->now.profile->program, &before->program);
	top->lock_before = match(now, now->objects, before, before->objects, lock_identity);
	top->queue_before = match(now, now->queues, before, before->queues, queue_identity);
	top->thread_before = match(now, now->threads, before, before->threads, thread_identity);
	top->stream_before = match(now, now->streams, before, before->streams, cpa_top_stream_id);
}

void cpa_top_advance(struct cpa_top *top, struct cpa_top_moment moment)
{
	free_moment(&top->before);
	free_matches(top);
	top->before = top->now;
	top->now = moment;
	remember(top);
	if (top->before.profile)
		compare(top);
	follow(top);
}

double cpa_top_interval(const struct cpa_top *top)
{
	return top->before.profile ? top->now.at_s - top->before.at_s : 0;
}

double cpa_top_saved(const struct cpa_top *top, uint32_t slot, size_t back)
{
	if (back >= top->moments || back >= CPA_TOP_HISTORY || slot >= top->slots)
		return NAN;
	return top->saved[(top->moments - 1 - back) % CPA_TOP_HISTORY * top->slots + slot];
}

static int compare_tids(const void *a, const void *b)
{
	const struct cpa_process_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

const struct cpa_process_task *cpa_top_task(const struct cpa_top_moment *moment, uint32_t tid)
{
	if (moment->tasks == 0)
		return NULL;
	return bsearch(&(struct cpa_process_task){ .tid = tid }, moment->task, moment->tasks,
		       sizeof(*moment->task), compare_tids);
}

/* For a thread that the kernel no longer knows, only the CPU time up to its last event is known. */
double cpa_top_cpu(const struct cpa_top *top, size_t thread)
{
	const struct cpa_thread_figures *now = &top->now.profile->thread[thread];
	const struct cpa_process_task *task = cpa_top_task(&top->now, now->tid), *earlier;
	const struct cpa_thread_figures *before;

	if (!top->before.profile)
		return NAN;
	/* The tid may belong to another thread by now. */
	if (now->state == CPA_THREAD_EXITED || now->state == CPA_THREAD_DONE)
		task = NULL;
	/* The row's sums include those of its earlier threads. */
	if (top->thread_before[thread] == SIZE_MAX)
		return task ? task->cpu_s : now->earlier ? NAN : now->cpu_s;
	before = &top->before.profile->thread[top->thread_before[thread]];
	earlier = cpa_top_task(&top->before, before->tid);
	if (task && earlier)
		return fmax(task->cpu_s - earlier->cpu_s, 0);
	return fmax(now->cpu_s - before->cpu_s, 0);
}
