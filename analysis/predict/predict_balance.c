/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/predict_balance.c - work of a parallel region divided evenly among its threads
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/exact/exact.h"
#include "analysis/exact/stints.h"
#include "analysis/predict/predict_state.h"
#include "analysis/util/format.h"

/* What dividing needs, by stint. */
struct balancing {
	const struct cpa_stints *stints;
	struct cpa_stint_finder finder;
	double *wanted; /* work, ticks; less than 0: as it was */
};

/* The innermost of the stints @at whose work is divided anew; NULL: none. */
static const struct cpa_stint *balanced_at(const struct balancing *b,
					   const struct cpa_stints_at *at)
{
	for (unsigned i = at->open; i-- > 0;)
		if (b->wanted[at->stint[i]] >= 0)
			return &b->stints->stint[at->stint[i]];
	return NULL;
}

static uint32_t fewest_cores(const struct inquiry *q)
{
	uint32_t fewest = q->question->cores ? q->question->core[0] : q->cast.cores;

	for (size_t i = 0; i < q->question->cores; i++)
		if (q->question->core[i] < fewest)
			fewest = q->question->core[i];
	return fewest;
}

/*
 * Divide the work of a round of @n stints among as many threads as the question says. Threads that
 * the run did not have are not replayed: there are cores for them, where they take as long as the
 * others.
 */
static int divide(const struct inquiry *q, struct balancing *b, const struct cpa_stint **round,
		  size_t n, char **error)
{
	uint32_t region = round[0]->region, threads;
	double work = 0;

	if (region > q->names.components || q->divided[region] != CPA_CHANGE_BALANCE)
		return 0;
	threads = q->team[region] ? q->team[region] : (uint32_t)n;
	if (threads > n && threads > fewest_cores(q)) {
		*error = cpa_format_text("--what-if: threads=%u: more threads than the region had "
					 "need as many cores (--cores %u)",
					 threads, threads);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		work += (double)round[i]->work;
	for (size_t i = 0; i < n; i++)
		b->wanted[round[i] - b->stints->stint] = i < threads ? work / threads : 0;
	return 0;
}

static int divide_all(struct inquiry *q, struct balancing *b, const struct cpa_journal_file *file,
		      char **error)
{
	const struct cpa_stint **order = cpa_stints_by_round(b->stints);
	double *work = XNEWVEC(double, b->stints->stints + 1);
	struct predict_dynamic dynamic;
	int ret = 0;

	b->wanted = XNEWVEC(double, b->stints->stints + 1);
	for (size_t i = 0; i < b->stints->stints; i++)
		b->wanted[i] = -1;
	predict_dynamic_begin(&dynamic, file, b->stints);
	for (size_t i = 0, n; i < b->stints->stints && ret == 0; i += n) {
		n = cpa_stint_round(&order[i], b->stints->stints - i);
		if (!predict_dynamic_round(q, &dynamic, b->stints, &order[i], n, work)) {
			ret = divide(q, b, &order[i], n, error);
			continue;
		}
		for (size_t k = 0; k < n; k++)
			b->wanted[order[i + k] - b->stints->stint] = work[k];
	}
	predict_dynamic_end(&dynamic);
	free(work);
	free(order);
	return ret;
}

/* Return whether a stint of the thread has another amount of work. */
static bool balance_thread(struct balancing *b, size_t strand, const struct cpa_run_thread *thread,
			   struct cpa_activity_change *change)
{
	const struct cpa_stints *all = b->stints;
	bool any = false;

	for (size_t i = 0; i < thread->events; i++) {
		uint32_t number = thread->event[i].number;
		const struct cpa_stint *stint =
			balanced_at(b, cpa_stints_of(&b->finder, strand, number));
		double wanted = stint ? b->wanted[stint - all->stint] : 0;

		if (!stint)
			continue;
		any = true;
		if ((double)stint->work > wanted)
			change[i].part = wanted / (double)stint->work;
		else
			change[i].more = cpa_stint_balanced(stint, wanted, number, 0);
	}
	return any;
}

/* Return whether any thread has a stint whose work is divided anew. */
static bool balance_all(struct inquiry *q, struct balancing *b, const struct cpa_journal_file *file)
{
	bool any = false;
	size_t base = 0;

	cpa_stint_finder_init(&b->finder, b->stints, file->strands);
	q->activity = XNEWVEC(struct cpa_activity_change, q->run->events + 1);
	for (size_t i = 0; i < q->run->events; i++)
		q->activity[i] = (struct cpa_activity_change){ .part = 1 };
	for (size_t i = 0; i < q->run->threads; i++) {
		const struct cpa_run_thread *thread = &q->run->thread[i];
		const struct cpa_strand *s = cpa_journal_strand(file, thread->thread.id);

		if (s)
			any |= balance_thread(b, (size_t)(s - file->strand), thread,
					      &q->activity[base]);
		base += thread->events;
	}
	cpa_stint_finder_fini(&b->finder);
	return any;
}

static void weigh(void *argument, size_t strand, uint32_t number, uint64_t weight, uint64_t *lanes)
{
	struct balancing *b = argument;
	const struct cpa_stint *stint = balanced_at(b, cpa_stints_of(&b->finder, strand, number));

	if (stint)
		lanes[1] = cpa_stint_balanced(stint, b->wanted[stint - b->stints->stint], number,
					      weight);
}

/* The longest path, of what was recorded and with the work divided anew. */
static void find_paths(struct inquiry *q, struct balancing *b, const struct cpa_journal_file *file)
{
	struct cpa_exact *x = cpa_exact_new(file);

	cpa_stint_finder_init(&b->finder, b->stints, file->strands);
	x->lanes = 2;
	x->weigh = weigh;
	x->weigh_argument = b;
	cpa_exact_run(x);
	q->answer->path_s = predict_seconds(q, x->result[0]);
	q->answer->divided_path_s = predict_seconds(q, x->result[1]);
	cpa_stint_finder_fini(&b->finder);
	cpa_exact_free(x);
}

int predict_balance(struct inquiry *q, char **error)
{
	struct cpa_journal_file file;
	struct cpa_stints *stints;
	struct balancing b = { 0 };
	int ret;

	*error = NULL;
	if (!cpa_journal_open(&file, q->dump, error)) {
		if (!*error)
			*error = xstrdup("--what-if: the journal cannot be read again");
		return -1;
	}
	b.stints = stints = cpa_stints_read(&file);
	ret = divide_all(q, &b, &file, error);
	if (ret == 0 && !balance_all(q, &b, &file)) {
		*error = xstrdup(
			"--what-if: balance, threads, dynamic: the region is not a parallel region of "
			"OpenMP (cpa-report --level region lists them)");
		ret = -1;
	}
	if (ret == 0)
		find_paths(q, &b, &file);
	free(b.wanted);
	cpa_stints_free(stints);
	cpa_journal_close(&file);
	return ret;
}
