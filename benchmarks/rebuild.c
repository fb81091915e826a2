/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/rebuild.c - the critical path of a journal, timed step by step, as a line of JSON
 *
 *	rebuild DUMP
 *
 * search_s: CPU time to find the longest path to each event of the graph, which cpa-report does
 * once for whatever it says of a journal, and once more for each context (--zero, --paths,
 * --verify). walk_s: that of walking it back, for what it consists of. kept: events whose values
 * were wanted at once, at most.
 */
#include <stdio.h>
#include <time.h>

#include "analysis/exact/exact.h"
#include "analysis/input/load.h"
#include "analysis/exact/walk.h"

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void count(void *argument, const struct cpa_step *step)
{
	*(uint64_t *)argument += step->weight > 0;
}

static int rebuild(struct cpa_dump *dump)
{
	struct cpa_journal_file file;
	struct cpa_exact *exact;
	double begun = cpu(), searched;
	uint64_t steps = 0, length;
	char *error;

	if (!cpa_journal_open(&file, dump, &error))
		return 1;
	exact = cpa_exact_new(&file);
	cpa_exact_run(exact);
	searched = cpu();
	length = cpa_walk(exact, exact->longest, exact->strand[exact->longest].last, count, &steps);
	printf("{\"events\": %llu, \"bytes\": %llu, \"kept\": %llu, \"steps\": %llu, "
	       "\"search_s\": %.3f, \"walk_s\": %.3f}\n",
	       (unsigned long long)exact->events, (unsigned long long)file.size,
	       (unsigned long long)exact->most_values, (unsigned long long)steps, searched - begun,
	       cpu() - searched);
	/* The two lengths are found in different ways. */
	if (exact->missing || exact->broken || length != exact->result[0])
		return 1;
	cpa_exact_free(exact);
	cpa_journal_close(&file);
	return 0;
}

int main(int argc, char **argv)
{
	struct cpa_dump dump;
	char *error;

	if (argc != 2 || cpa_dump_open(&dump, argv[1], &error))
		return 1;
	return rebuild(&dump);
}
