/* SPDX-License-Identifier: MIT */
/* tests/unit/test_lines.c - lines of functions, of random trees of contexts, against a slow, obvious reference */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analysis/derived/lines.h"
#include "tests/property/random.h"

#define FUNCTIONS 3u
#define LINES	  3u
#define CONTEXTS  40u

static char *const names[FUNCTIONS] = { "f", "g", "h" };
static char *const lines_of_file[LINES] = { "/src/a.c:1", "/src/a.c:2", "/src/b.c:2" };

/* What a line of a function has. */
struct sums {
	double path_s, calls_s;
	uint64_t stacks;
};

/* A place: a function and a line. */
static unsigned place_of(const struct cpa_context_figures *c)
{
	unsigned line = 0;

	while (line + 1 < LINES && c->line != lines_of_file[line])
		line++;
	return (unsigned)c->offset * LINES + line;
}

static void make_contexts(struct rnd *r, struct cpa_contexts *contexts)
{
	contexts->count = 1 + rnd_below(r, CONTEXTS);
	for (uint32_t i = 0; i < contexts->count; i++) {
		unsigned function = (unsigned)rnd_below(r, FUNCTIONS);

		contexts->context[i] = (struct cpa_context_figures){
			.caller = (uint32_t)rnd_below(r, i + 1),
			.module = 1,
			.offset = function,
			.name = names[function],
			.line = lines_of_file[rnd_below(r, LINES)],
		};
		contexts->context[i].stacks = rnd_below(r, 3);
		contexts->context[i].path_s = (double)contexts->context[i].stacks / 4;
	}
}

/* Each stack counts for the line where it ends, and once for each other place on it. */
static void add_slowly(const struct cpa_contexts *contexts, const struct cpa_context_figures *leaf,
		       struct sums *sums)
{
	bool seen[FUNCTIONS * LINES] = { false };

	sums[place_of(leaf)].path_s += leaf->path_s;
	sums[place_of(leaf)].stacks += leaf->stacks;
	for (uint32_t at = leaf->caller; at; at = contexts->context[at - 1].caller) {
		unsigned place = place_of(&contexts->context[at - 1]);

		if (!seen[place])
			sums[place].calls_s += leaf->path_s;
		seen[place] = true;
	}
}

static const struct cpa_line_figures *find(const struct cpa_lines *lines, unsigned place)
{
	static const struct {
		const char *file;
		uint32_t line;
	} known[LINES] = { { "/src/a.c", 1 }, { "/src/a.c", 2 }, { "/src/b.c", 2 } };

	for (size_t i = 0; i < lines->count; i++) {
		const struct cpa_line_figures *l = &lines->line[i];

		if (l->function->offset == place / LINES &&
		    strcmp(l->file, known[place % LINES].file) == 0 &&
		    l->line == known[place % LINES].line)
			return l;
	}
	return NULL;
}

static void test_lines_of_random_trees(void **state)
{
	uint64_t seed = rnd_seed();
	struct cpa_context_figures context[CONTEXTS];
	struct cpa_contexts contexts = { .context = context };

	(void)state;
	printf("# CPA_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t n = 0; n < 3000; n++) {
		struct sums sums[FUNCTIONS * LINES] = { 0 };
		struct rnd r = rnd_sequence(seed, n);
		struct cpa_lines *lines;
		size_t expected = 0;

		make_contexts(&r, &contexts);
		for (size_t i = 0; i < contexts.count; i++)
			add_slowly(&contexts, &context[i], sums);
		lines = cpa_lines_of(&contexts);
		for (unsigned place = 0; place < FUNCTIONS * LINES; place++) {
			const struct cpa_line_figures *l = find(lines, place);

			if (!sums[place].stacks && sums[place].calls_s <= 0) {
				assert_null(l);
				continue;
			}
			expected++;
			assert_non_null(l);
			assert_int_equal(l->stacks, sums[place].stacks);
			assert_true(fabs(l->path_s - sums[place].path_s) < 1e-9);
			assert_true(fabs(l->calls_s - sums[place].calls_s) < 1e-9);
		}
		assert_int_equal(lines->count, expected);
		cpa_lines_free(lines);
	}
}

/* What is inlined in a function is called by the line where its code is, and is part of the function. */
static void test_inlined(void **state)
{
	struct cpa_context_figures context[] = {
		{ .offset = 1, .module = 1, .name = "f", .line = "/src/a.c:1" },
		{ .caller = 1,
		  .offset = 1,
		  .module = 1,
		  .name = "g (inlined)",
		  .inlined = "g",
		  .line = "/src/a.c:9",
		  .stacks = 2,
		  .path_s = 0.5,
		  .cpu_s = 1 },
	};
	const struct cpa_contexts contexts = { .count = 2, .context = context };
	struct cpa_lines *lines = cpa_lines_of(&contexts);

	(void)state;
	assert_int_equal(lines->count, 2);
	assert_true(cpa_lines_are_of_one(&lines->line[0], &lines->line[1]));
	assert_null(lines->line[0].inlined);
	assert_true(lines->line[0].calls_s == 0.5 && lines->line[0].path_s == 0);
	assert_string_equal(lines->line[1].inlined, "g");
	assert_true(lines->line[1].calls_s == 0 && lines->line[1].cpu_s == 1);
	assert_ptr_equal(lines->line[1].function, &context[0]);
	cpa_lines_free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_random_trees),
		cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
