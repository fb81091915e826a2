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

/* Return whether a stint of the thread is of a region to balance. */
static bool balance_thread(const struct inquiry *q, struct cpa_stint_finder *finder, size_t strand,
			   const double *mean, const struct cpa_run_thread *thread,
			   struct cpa_activity_change *change)
{
	const struct cpa_stints *all = finder->stints;
	bool any = false;

	for (size_t i = 0; i < thread->events; i++) {
		uint32_t number = thread->event[i].number;
		const struct cpa_stint *stint =
			balanced_at(q, all, cpa_stints_of(finder, strand, number));
		double wanted = stint ? mean[stint - all->stint] : 0;

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

int predict_balance(struct inquiry *q, char **error)
{
	struct cpa_journal_file file;
	struct cpa_stint_finder finder;
	struct cpa_stints *stints;
	double *mean;
	bool any = false;
	size_t base = 0;

	*error = NULL;
	if (!cpa_journal_open(&file, q->dump, error)) {
		if (!*error)
			*error = xstrdup("--what-if: the journal cannot be read again");
		return -1;
	}
	stints = cpa_stints_read(&file);
	mean = cpa_stint_means(stints);
	cpa_stint_finder_init(&finder, stints, file.strands);
	q->activity = XNEWVEC(struct cpa_activity_change, q->run->events + 1);
	for (size_t i = 0; i < q->run->events; i++)
		q->activity[i] = (struct cpa_activity_change){ .part = 1 };
	for (size_t i = 0; i < q->run->threads; i++) {
		const struct cpa_run_thread *thread = &q->run->thread[i];
		const struct cpa_strand *s = cpa_journal_strand(&file, thread->thread.id);

		if (s)
			any |= balance_thread(q, &finder, (size_t)(s - file.strand), mean, thread,
					      &q->activity[base]);
		base += thread->events;
	}
	cpa_stint_finder_fini(&finder);
	free(mean);
	cpa_stints_free(stints);
	cpa_journal_close(&file);
	if (any)
		return 0;
	*error = xstrdup(
		"--what-if: balance: the region is not a parallel region of OpenMP (cpa-report "
		"--level region lists them)");
	return -1;
}
