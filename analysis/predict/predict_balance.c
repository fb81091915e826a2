/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_balance.c - work of a parallel region divided evenly among its threads */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/exact/stints.h"
#include "analysis/predict/predict_state.h"
#include "analysis/util/format.h"

/* The innermost of the stints @at that is of a region to balance; NULL: none. */
static const struct cpa_stint *balanced_at(const struct inquiry *q, const struct cpa_stints *all,
					   const struct cpa_stints_at *at)
{
	for (unsigned i = at->open; i-- > 0;) {
		const struct cpa_stint *stint = &all->stint[at->stint[i]];

		if (stint->region <= q->names.components && q->balanced[stint->region])
			return stint;
	}
	return NULL;
}

/* What balancing needs, by stint. */
struct balancing {
	const struct cpa_stints *stints;
	struct cpa_stint_finder finder;
	double *wanted; /* work, ticks */
};

static uint32_t fewest_cores(const struct inquiry *q)
{
	uint32_t fewest = q->question->cores ? q->question->core[0] : q->cast.cores;

	for (size_t i = 0; i < q->question->cores; i++)
		if (q->question->core[i] < fewest)
			fewest = q->question->core[i];
	return fewest;
}

/*
 * Divide the work of a round of @n stints among as many threads as the question says. Threads that the
 * run did not have are not replayed: there are cores for them, where they take as long as the others.
 */
static int divide(const struct inquiry *q, struct balancing *b, const struct cpa_stint **round,
		  size_t n, char **error)
{
	uint32_t region = round[0]->region, threads;
	double work = 0;

	if (region > q->names.components || !q->balanced[region])
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

static int divide_all(const struct inquiry *q, struct balancing *b, char **error)
{
	const struct cpa_stint **order = cpa_stints_by_round(b->stints);
	int ret = 0;

	b->wanted = XCNEWVEC(double, b->stints->stints + 1);
	for (size_t i = 0, n; i < b->stints->stints && ret == 0; i += n) {
		n = cpa_stint_round(&order[i], b->stints->stints - i);
		ret = divide(q, b, &order[i], n, error);
	}
	free(order);
	return ret;
}

/* Return whether a stint of the thread is of a region to balance. */
static bool balance_thread(const struct inquiry *q, struct balancing *b, size_t strand,
			   const struct cpa_run_thread *thread, struct cpa_activity_change *change)
{
	const struct cpa_stints *all = b->stints;
	bool any = false;

	for (size_t i = 0; i < thread->events; i++) {
		uint32_t number = thread->event[i].number;
		const struct cpa_stint *stint =
			balanced_at(q, all, cpa_stints_of(&b->finder, strand, number));
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

/* Return whether any thread has a stint of a region to balance. */
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
			any |= balance_thread(q, b, (size_t)(s - file->strand), thread,
					      &q->activity[base]);
		base += thread->events;
	}
	cpa_stint_finder_fini(&b->finder);
	return any;
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
	ret = divide_all(q, &b, error);
	if (ret == 0 && !balance_all(q, &b, &file)) {
		*error = xstrdup(
			"--what-if: balance, threads: the region is not a parallel region of "
			"OpenMP (cpa-report --level region lists them)");
		ret = -1;
	}
	free(b.wanted);
	cpa_stints_free(stints);
	cpa_journal_close(&file);
	return ret;
}
