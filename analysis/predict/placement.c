/* SPDX-License-Identifier: MIT */
/* analysis/predict/placement.c - cores of threads, from the command line */
#include "analysis/predict/placement.h"

#include <fnmatch.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

#define UNPLACED UINT32_MAX

/*
 * kernel/sched/fair.c: the slice is this times 1 + log2 of the number of cores, of which at most 8
 * count. The timer interval is that of HZ=250, as in kernels of Debian and others.
 */
#define SLICE_S	    0.7e-3
#define FACTOR_MAX  4
#define INTERRUPT_S 4e-3

/* Parse the core number at *@text, and move *@text past it. */
static bool parse_core(const char **text, uint32_t cores, uint32_t *core)
{
	char *end;
	unsigned long number;

	if (**text < '0' || **text > '9')
		return false;
	number = strtoul(*text, &end, 10);
	*text = end;
	*core = (uint32_t)number;
	return number < cores;
}

/* Parse "0", "0-3" up to a colon; mark the cores in @taken. */
static bool parse_cores(const char **text, uint32_t cores, bool *taken, uint32_t *count)
{
	uint32_t first, last;

	if (!parse_core(text, cores, &first))
		return false;
	last = first;
	if (**text == '-') {
		++*text;
		if (!parse_core(text, cores, &last) || last < first)
			return false;
	}
	if (*(*text)++ != ':')
		return false;
	*count = last - first + 1;
	for (uint32_t i = first; i <= last; i++) {
		if (taken[i])
			return false;
		taken[i] = true;
	}
	return true;
}

/* Put the threads whose names match @pattern into @group. Return their number. */
static uint32_t place(struct cpa_placement *placement, uint32_t group, const char *pattern,
		      const char *const *names)
{
	uint32_t named = 0;

	for (uint32_t i = 0; i < placement->threads; i++) {
		if (!names[i] || fnmatch(pattern, names[i], 0) != 0)
			continue;
		named++;
		if (placement->group[i] == UNPLACED)
			placement->group[i] = group;
	}
	return named;
}

static int parse_group(struct cpa_placement *placement, const char *text, uint32_t cores,
		       bool *taken, const char *const *names, char **error)
{
	const char *at = text;
	char *list, *rest, *name;
	uint32_t group = placement->groups, named = 1;

	if (!parse_cores(&at, cores, taken, &placement->cores[group]) || !*at) {
		*error = cpa_format_text(
			"--group '%s': CORES:NAME[,NAME...] expected, cores from 0 to %u, "
			"each in one group",
			text, cores - 1);
		return -1;
	}
	placement->groups++;
	rest = list = xstrdup(at);
	while (named && (name = strsep(&rest, ",")) != NULL) {
		named = place(placement, group, name, names);
		if (!named)
			*error = cpa_format_text("--group '%s': no thread has the name '%s'", text,
						 name);
	}
	free(list);
	return named ? 0 : -1;
}

static int parse_groups(struct cpa_placement *placement, const char *groups, uint32_t cores,
			bool *taken, const char *const *names, char **error)
{
	char *copy = xstrdup(groups), *rest = copy, *word;
	int ret = 0;

	while (ret == 0 && (word = strsep(&rest, " ")) != NULL)
		if (*word)
			ret = parse_group(placement, word, cores, taken, names, error);
	free(copy);
	return ret;
}

/* Give the remaining cores to the threads without a group. */
static int place_others(struct cpa_placement *placement, uint32_t cores, const bool *taken,
			char **error)
{
	uint32_t left = 0;
	bool any = false;

	for (uint32_t i = 0; i < cores; i++)
		left += !taken[i];
	for (uint32_t i = 0; i < placement->threads; i++) {
		if (placement->group[i] != UNPLACED)
			continue;
		any = true;
		placement->group[i] = placement->groups;
	}
	if (any && !left) {
		*error = xstrdup(
			"--group: the groups have all cores, and some threads are in no group "
			"(add '*' to one)");
		return -1;
	}
	/* Unused cores form a group too: the background load runs on them. */
	if (left)
		placement->cores[placement->groups++] = left;
	return 0;
}

int cpa_placement_init(struct cpa_placement *placement, uint32_t cores, uint32_t load,
		       const char *groups, const char *const *names, uint32_t threads, char **error)
{
	bool *taken = XCNEWVEC(bool, cores);
	int ret;

	*placement = (struct cpa_placement){ .cores = XNEWVEC(uint32_t, cores + 1),
					     .load = load,
					     .threads = threads,
					     .group = XNEWVEC(uint32_t, threads),
					     .slice = 1,
					     .interrupt = 1 };
	for (uint32_t i = 0; i < threads; i++)
		placement->group[i] = UNPLACED;
	ret = groups ? parse_groups(placement, groups, cores, taken, names, error) : 0;
	if (ret == 0)
		ret = place_others(placement, cores, taken, error);
	if (ret < 0)
		cpa_placement_fini(placement);
	free(taken);
	return ret;
}

/* At least 1, whatever @tick_s is. */
static uint64_t ticks(double seconds, double tick_s)
{
	double ticks = seconds / tick_s;

	if (!(ticks >= 1))
		return 1;
	return ticks < UINT32_MAX ? (uint64_t)ticks : UINT32_MAX;
}

void cpa_placement_turns(struct cpa_placement *placement, uint32_t cores, double tick_s)
{
	uint32_t all = 0, factor = 1;

	for (uint32_t i = 0; i < placement->groups; i++)
		all += placement->cores[i];
	for (all = all > cores ? all : cores; all > 1 && factor < FACTOR_MAX; all /= 2)
		factor++;
	placement->slice = ticks(factor * SLICE_S, tick_s);
	placement->interrupt = ticks(INTERRUPT_S, tick_s);
}

void cpa_placement_fini(struct cpa_placement *placement)
{
	free(placement->cores);
	free(placement->group);
}
