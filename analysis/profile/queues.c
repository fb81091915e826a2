/* SPDX-License-Identifier: MIT */
/* analysis/profile/queues.c - work queues, by class */
#include "shadow/edge/queue.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/build.h"
#include "analysis/profile/queues.h"

#define ROLES (CPA_ROLE_WORDS * 64u)

/* The queues of one class. Counters are ticks or numbers, as in struct cpa_queue. */
struct sum {
	uint32_t class; /* component row, 0: none */
	uint64_t queues, enqueued, dequeued, depth, max_depth, twice, unmatched;
	uint64_t waited, services, service;
	uint64_t undone; /* services that ended with the next dequeue */
	double queued;	 /* ticks that all items spent in the queues */
	uint64_t producers[CPA_ROLE_WORDS], consumers[CPA_ROLE_WORDS];
	uint64_t histogram[CPA_HISTOGRAM];
};

/* Threads of one role, or of both. */
struct role {
	uint32_t threads;
	uint64_t work, runqueue, wait; /* ticks */
	uint64_t share;		       /* of the critical path, of the threads' classes */
};

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/*
 * Of items that left, the time they were in the queue, of the others up to the run's end: sums of
 * clocks wrap, their difference does not. The clock is that of shadow/edge/queue.c, which goes on
 * between parts of the run; no item is in a queue from one part to the next. What cannot be is 0 or
 * the most that can: an item may have come after the last event that we know of, and a dump may be
 * damaged.
 */
static double queued_ticks(const struct cpa_build *build, const struct cpa_queue *row)
{
	uint64_t run = cpa_epoch_on(&build->dump->header, build->end);
	uint64_t end = build->end - build->dump->header.start_ticks;
	uint64_t ticks = row->left - row->entered + row->depth * end;
	double most = (double)row->max_depth * (double)run;

	if ((double)ticks <= most)
		return (double)ticks;
	return ticks >> 63 ? 0 : most;
}

static void add_queue(struct cpa_build *build, struct sum *sum, struct cpa_queue *row)
{
	/* A counter below zero: a dump of a run that was killed between two of them, or worse. */
	if (row->depth > row->enqueued)
		row->depth = row->depth >> 63 ? 0 : row->enqueued;
	if (row->max_depth > row->enqueued)
		row->max_depth = row->enqueued;
	/* It is brought up to date when items leave. */
	if (row->max_depth < row->depth)
		row->max_depth = row->depth;
	sum->queues++;
	sum->undone += row->done_used ? 0 : row->services;
	sum->enqueued = add(sum->enqueued, row->enqueued);
	sum->dequeued = add(sum->dequeued, row->dequeued);
	sum->depth = add(sum->depth, row->depth);
	sum->max_depth = add(sum->max_depth, row->max_depth);
	sum->twice = add(sum->twice, row->twice);
	sum->unmatched = add(sum->unmatched, row->unmatched);
	sum->waited = add(sum->waited, row->waited);
	sum->services = add(sum->services, row->services);
	sum->service = add(sum->service, row->service);
	sum->queued += queued_ticks(build, row);
	for (unsigned i = 0; i < CPA_ROLE_WORDS; i++) {
		sum->producers[i] |= row->producers[i];
		sum->consumers[i] |= row->consumers[i];
	}
	for (unsigned i = 0; i < CPA_HISTOGRAM; i++)
		sum->histogram[i] += row->histogram[i];
}

/* 0: a queue whose class found no space. */
static bool class_is_sound(const struct cpa_build *build, uint32_t class)
{
	const struct cpa_component *row = cpa_names_row(build->names, class);

	return class == 0 || (row && row->kind == CPA_QUEUE);
}

uint32_t cpa_build_queue_class(const struct cpa_build *build, uint32_t queue)
{
	struct cpa_queue row;

	if (queue == 0 || !cpa_dump_row(build->dump, CPA_TABLE_QUEUES, queue, &row,
					offsetof(struct cpa_queue, done_used)))
		return 0;
	return class_is_sound(build, row.component) ? row.component : 0;
}

/* Return the sums of all classes, and their number in *@count. */
static struct sum *sum_queues(struct cpa_build *build, size_t *count)
{
	struct cpa_dump *dump = build->dump;
	/* + 1; 0: none yet */
	size_t *index = xcalloc(build->names->components + 1, sizeof(*index));
	size_t room = 1;
	struct sum *sums = xmalloc(sizeof(*sums));
	struct cpa_queue row;

	*count = 0;
	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_QUEUES]; i++) {
		if (!cpa_dump_row(dump, CPA_TABLE_QUEUES, i, &row, sizeof(row)))
			continue;
		if (!class_is_sound(build, row.component)) {
			cpa_dump_skip(dump, CPA_TABLE_QUEUES);
			continue;
		}
		if (index[row.component] == 0) {
			if (*count == room)
				sums = xrealloc(sums, (room *= 2) * sizeof(*sums));
			sums[*count] = (struct sum){ .class = row.component };
			index[row.component] = ++*count;
		}
		add_queue(build, &sums[index[row.component] - 1], &row);
	}
	free(index);
	return sums;
}

double cpa_build_quantile(const uint64_t *histogram, double part)
{
	double all = 0, before = 0;

	for (unsigned i = 0; i < CPA_HISTOGRAM; i++)
		all += (double)histogram[i];
	for (unsigned i = 0; i < CPA_HISTOGRAM; i++) {
		double count = (double)histogram[i], start = (double)cpa_histogram_start(i);
		double width = (double)cpa_histogram_start(i + 1) - start;

		if (count > 0 && before + count >= part * all)
			return start + width * (part * all - before) / count;
		before += count;
	}
	return 0;
}

static bool has_role(const uint64_t *roles, uint32_t row)
{
	return roles[row % ROLES / 64] >> row % 64 & 1;
}

/* Add up the threads whose rows are in all of @roles (and, if not NULL, @also). */
static struct role sum_role(const struct cpa_build *build, const uint64_t *roles,
			    const uint64_t *also, bool *counted)
{
	uint32_t rows = build->dump->rows[CPA_TABLE_THREADS];
	struct role role = { 0 };

	for (uint32_t row = 1; row <= rows; row++) {
		const struct cpa_build_thread *thread = &build->thread[row - 1];

		if (thread->id == 0 || !has_role(roles, row) || (also && !has_role(also, row)))
			continue;
		role.threads++;
		role.work = add(role.work, add(thread->process, thread->external));
		role.runqueue = add(role.runqueue, thread->runqueue);
		role.wait = add(role.wait, thread->wait);
		if (thread->slot >= CPA_SLOT_FIRST && !counted[thread->slot])
			role.share = add(role.share, build->program.share[thread->slot]);
		counted[thread->slot] = true;
	}
	/* Threads of one class have one slot. */
	for (uint32_t row = 1; row <= rows; row++)
		counted[build->thread[row - 1].slot] = false;
	return role;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* An item's mean time; none was longer than the run. */
static double mean_s(const struct cpa_build *build, uint64_t ticks, uint64_t count)
{
	double seconds = ratio(cpa_build_seconds(build, ticks), (double)count);

	return fmin(seconds, build->profile->program.wall_s);
}

static void fill_threads(struct cpa_build *build, const struct sum *sum,
			 struct cpa_queue_figures *figures, bool *counted)
{
	struct role producers = sum_role(build, sum->producers, NULL, counted);
	struct role consumers = sum_role(build, sum->consumers, NULL, counted);
	struct role both = sum_role(build, sum->producers, sum->consumers, counted);
	double time = (double)consumers.work + (double)consumers.runqueue + (double)consumers.wait;

	figures->producers = producers.threads;
	figures->consumers = consumers.threads;
	figures->idle = ratio((double)consumers.wait, time);
	figures->starved = ratio((double)consumers.runqueue, time);
	figures->engaged = ratio(figures->services_s, cpa_build_seconds(build, consumers.work));
	figures->producers_path_s = cpa_build_seconds(build, producers.share);
	figures->consumers_path_s = cpa_build_seconds(build, consumers.share);
	figures->limit = cpa_balance_limit(figures);
	figures->master =
		cpa_balance_master(figures, cpa_build_seconds(build, producers.work), both.threads);
	figures->master.fits = cpa_balance_fits(figures, build->profile->program.critical_path_s);
}

static void add_class(struct cpa_build *build, const struct sum *sum, bool *counted)
{
	struct cpa_profile *profile = build->profile;
	const struct cpa_component *class = cpa_names_row(build->names, sum->class);
	const struct cpa_place *place = cpa_names_component(build->names, sum->class);
	struct cpa_queue_figures *figures = &profile->queue[profile->queues++];
	double wall_s = profile->program.wall_s;

	*figures = (struct cpa_queue_figures){
		.row = sum->class,
		.by = class ? class->by : CPA_BY_NAME,
		.name = xstrdup(place->name ? place->name : "(class lost)"),
		.location = place->location ? xstrdup(place->location) : NULL,
		.queues = sum->queues,
		.enqueued = sum->enqueued,
		.dequeued = sum->dequeued,
		.never_dequeued = sum->depth,
		.twice = sum->twice,
		.unmatched = sum->unmatched,
		.services = sum->services,
		.undone = sum->undone,
		.max_depth = sum->max_depth,
		.mean_depth = ratio(sum->queued * build->tick_s, wall_s),
		.wait_s = mean_s(build, sum->waited, sum->dequeued),
		.wait_p50_s = fmin(cpa_build_quantile(sum->histogram, 0.5) * build->tick_s, wall_s),
		.wait_p99_s =
			fmin(cpa_build_quantile(sum->histogram, 0.99) * build->tick_s, wall_s),
		.service_s = mean_s(build, sum->service, sum->services),
		.services_s = cpa_build_seconds(build, sum->service),
		.slot = class && class->slot >= CPA_SLOT_FIRST ? class->slot : 0,
	};
	if (figures->slot) {
		figures->critical_path_s =
			cpa_build_seconds(build, build->program.share[class->slot]);
		figures->observed_path_s =
			cpa_build_seconds(build, build->program.observed[class->slot]);
		figures->saved_s = cpa_build_seconds(build, build->program.slack[class->slot]);
	}
	fill_threads(build, sum, figures, counted);
}

static int compare_queues(const void *a, const void *b)
{
	const struct cpa_queue_figures *x = a, *y = b;

	if (x->saved_s != y->saved_s)
		return x->saved_s > y->saved_s ? -1 : 1;
	if (x->services_s != y->services_s)
		return x->services_s > y->services_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

void cpa_build_queues(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	bool *counted = xcalloc(build->dump->header.slots, sizeof(*counted));
	size_t count;
	struct sum *sums = sum_queues(build, &count);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	profile->queues_at_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	profile->queue = xcalloc(count + 1, sizeof(*profile->queue));
	for (size_t i = 0; i < count; i++)
		add_class(build, &sums[i], counted);
	qsort(profile->queue, profile->queues, sizeof(*profile->queue), compare_queues);
	free(counted);
	free(sums);
}
