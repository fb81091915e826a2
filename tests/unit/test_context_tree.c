/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_context_tree.c - calls in one function are one context, and sums stay as they are
 *
 * Random stacks, kept as rows as a session keeps them; beside it their sums by the functions on them, and by
 * the places of their calls as well. The code is outside all modules, so that names are addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/profile/uses.h"
#include "tests/property/random.h"
#include "tests/unit/made_profile.h"

#define FUNCTIONS 4u
#define CALLS	  3u /* of each */
#define PLACES	  2u /* of each at which stacks end */
#define DEPTH	  5u
#define STACKS	  400u
#define ROUNDS	  20u
#define TEXT	  256u
#define PARTS	  512u /* more rows than those of functions divided by their callers */

/* What the stacks with a text have. */
struct sum {
	char text[TEXT];
	uint64_t path, cpu, stacks, waits;
	bool is_seen;
};

struct sums {
	size_t count;
	struct sum sum[2 * STACKS * DEPTH];
};

static struct sums functions, lines;
static struct cpa_context rows[STACKS * DEPTH + 1 + PARTS]; /* by row */
static uint32_t contexts;
static uint64_t each = 1; /* by what the ticks of stacks are multiplied */

static struct sum *sum_of(struct sums *sums, const char *text)
{
	for (size_t i = 0; i < sums->count; i++)
		if (strcmp(sums->sum[i].text, text) == 0)
			return &sums->sum[i];
	sums->sum[sums->count] = (struct sum){ 0 };
	strcpy(sums->sum[sums->count].text, text);
	return &sums->sum[sums->count++];
}

static uint64_t function_address(uint64_t function)
{
	return 0x100000 + 0x1000 * function;
}

static uint64_t call_address(uint64_t function, uint64_t call)
{
	return function_address(function) + 0x10 + call;
}

/* Rows of the sites, behind those of the example: functions, calls, places. */
static uint32_t before_sites;

static uint32_t function_site(uint64_t function)
{
	return before_sites + (uint32_t)function + 1;
}

static uint32_t call_site(uint64_t function, uint64_t call)
{
	return before_sites + (uint32_t)(FUNCTIONS + function * CALLS + call) + 1;
}

static uint32_t place_site(uint64_t function, uint64_t place)
{
	return before_sites + (uint32_t)(FUNCTIONS * (1 + CALLS) + function * PLACES + place) + 1;
}

static void add_sites(void)
{
	struct cpa_site site = { 0 };

	before_sites = maker.rows[CPA_TABLE_SITES];
	for (uint64_t f = 0; f < FUNCTIONS; f++) {
		site.key = CPA_SITE_FUNCTION | function_address(f);
		dump_maker_row(&maker, CPA_TABLE_SITES, &site);
	}
	for (uint64_t f = 0; f < FUNCTIONS; f++)
		for (uint64_t k = 0; k < CALLS; k++) {
			site.key = CPA_SITE_CALL | call_address(f, k);
			site.function = function_site(f);
			dump_maker_row(&maker, CPA_TABLE_SITES, &site);
		}
	site.function = 0;
	for (uint64_t f = 0; f < FUNCTIONS; f++)
		for (uint64_t k = 0; k < PLACES; k++) {
			site.key = call_address(f, CALLS + k);
			dump_maker_row(&maker, CPA_TABLE_SITES, &site);
		}
}

static uint32_t context_of(uint32_t caller, uint32_t site)
{
	uint64_t key = (uint64_t)caller << 32 | site;

	for (uint32_t i = 1; i <= contexts; i++)
		if (rows[i].key == key)
			return i;
	rows[++contexts] = (struct cpa_context){ .key = key };
	return contexts;
}

static void append(char *text, const char *format, uint64_t number)
{
	size_t used = strlen(text);

	snprintf(text + used, TEXT - used, format, number);
}

/* A stack, on the path if @before, then after that; return its row, or @before. A wait if @wait. */
static uint32_t add_stack(struct rnd *r, uint32_t before, bool on_path, bool wait)
{
	uint64_t depth = 1 + rnd_below(r, DEPTH), f = 0, ticks = each * (1000 + rnd_below(r, 1000)),
		 k;
	char of_functions[TEXT] = "", of_lines[TEXT] = "";
	struct cpa_stack stack = { .before = before, .ticks = ticks };
	uint32_t context = 0;

	if (rnd_percent(r, 20)) { /* callers not found */
		context = context_of(1, 0);
		append(of_functions, ";%#lx", 0);
		append(of_lines, ";%#lx", 0);
	}
	for (uint64_t i = 0; i < depth; i++) {
		/* A function that calls itself is one frame. */
		f = i ? (f + 1 + rnd_below(r, FUNCTIONS - 1)) % FUNCTIONS : rnd_below(r, FUNCTIONS);
		append(of_functions, ";%#lx", function_address(f));
		append(of_lines, ";%#lx", function_address(f));
		k = rnd_below(r, i + 1 < depth || wait ? CALLS : PLACES);
		if (i + 1 < depth || wait) {
			context = context_of(context, call_site(f, k));
			append(of_lines, "@%#lx", call_address(f, k));
		} else {
			context = context_of(context, function_site(f));
			append(of_lines, "@%#lx", call_address(f, CALLS + k));
			stack.at = place_site(f, k);
		}
	}
	if (wait) {
		struct cpa_use use = { .ticks = ticks, .stacks = 1 };

		use.key = (uint64_t)CPA_USE_WAIT << 62 | UINT64_C(1) << 32 | context;
		dump_maker_row(&maker, CPA_TABLE_USES, &use);
		sum_of(&functions, of_functions)->waits += ticks;
		sum_of(&lines, of_lines)->waits += ticks;
		return before;
	}
	rows[context].ticks += ticks;
	stack.key = (uint64_t)context + 1;
	for (unsigned i = 0; i < 2; i++) {
		struct sum *sum = i ? sum_of(&lines, of_lines) : sum_of(&functions, of_functions);

		sum->cpu += ticks;
		sum->path += on_path * ticks;
		sum->stacks += on_path;
	}
	context = dump_maker_row(&maker, CPA_TABLE_STACKS, &stack);
	return on_path ? context : before;
}

/* The functions of a context, from the thread's start; in @lines with their places. */
static void put_chain(uint32_t number, char *text)
{
	const struct cpa_context_figures *c = &profile->contexts->context[number - 1];

	assert_true(c->caller < number);
	if (c->caller)
		put_chain(c->caller, text);
	append(text, ";%#lx", c->offset);
	if (c->at)
		append(text, "@%#lx", c->at);
}

static void assert_ticks(double got_s, uint64_t ticks)
{
	assert_int_equal((uint64_t)(got_s * 2e8 + 0.5), ticks);
}

/* The contexts have the sums; each text is of one context. */
static void check(struct sums *sums)
{
	uint64_t path = 0, cpu = 0, stacks = 0, waits = 0;

	for (uint32_t i = 1; i <= profile->contexts->count; i++) {
		const struct cpa_context_figures *c = &profile->contexts->context[i - 1];
		char text[TEXT] = "";
		struct sum *sum;

		put_chain(i, text);
		sum = sum_of(sums, text);
		assert_false(sum->is_seen);
		sum->is_seen = true;
		assert_ticks(c->path_s, sum->path);
		assert_ticks(c->cpu_s, sum->cpu);
		assert_int_equal(c->stacks, sum->stacks);
		sum->path = sum->cpu = sum->stacks = 0;
	}
	for (size_t i = 0; i < profile->contexts->uses; i++) {
		const struct cpa_use_figures *use = &profile->contexts->use[i];
		char text[TEXT] = "";
		struct sum *sum;

		put_chain(use->context, text);
		sum = sum_of(sums, text);
		assert_ticks(use->time_s, sum->waits);
		sum->waits = 0;
	}
	for (size_t i = 0; i < sums->count; i++) {
		path += sums->sum[i].path;
		cpu += sums->sum[i].cpu;
		stacks += sums->sum[i].stacks;
		waits += sums->sum[i].waits;
	}
	assert_true(!path && !cpu && !stacks && !waits);
}

/* The function of the call or function of site row @site. */
static uint32_t function_of(uint32_t site)
{
	uint32_t k = site - before_sites - 1;

	return k < FUNCTIONS ? k : (uint32_t)(k - FUNCTIONS) / CALLS;
}

/*
 * The row of the component of what ends at row @row of the contexts: its function, as its @most innermost
 * callers call it. It is made if it is new.
 */
static uint32_t part_of(uint32_t row, uint32_t most)
{
	struct cpa_component part = { .kind = CPA_FUNCTION, .by = CPA_BY_CALLERS };
	uint32_t chain[DEPTH + 1], n = 0;

	for (; row && n <= most && rows[row].key != CPA_CONTEXT_CUT;
	     row = (uint32_t)(rows[row].key >> 32))
		chain[n++] = function_of((uint32_t)rows[row].key);
	part.address = function_address(chain[0]);
	/* CPA_CONTEXT_PARTS_CUT, CPA_CONTEXT_PARTS */
	part.context = context_of(n > most || row ? 3 : 2, 0);
	while (n)
		part.context = context_of(part.context, function_site(chain[--n]));
	part.key = (uint64_t)part.kind << 60 | (uint64_t)part.by << 56 | part.context;
	for (uint32_t i = 1; i <= maker.rows[CPA_TABLE_COMPONENTS]; i++) {
		const struct cpa_component *c = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, i);

		if (c->key == part.key)
			return i;
	}
	part.slot = part.first = EXAMPLE_SLOTS + maker.rows[CPA_TABLE_COMPONENTS];
	return dump_maker_row(&maker, CPA_TABLE_COMPONENTS, &part);
}

/* Divide functions by @most callers. @part: component of each of the @count rows where stacks end. */
static void divide(uint32_t most, uint32_t *part, uint32_t count)
{
	struct cpa_header *header;

	for (uint32_t i = 1; i <= count; i++)
		part[i] = rows[i].ticks ? part_of(i, most) : 0;
	header = dump_maker_header(&maker);
	header->by_callers = most;
	header->slots = MAKER_SLOTS + maker.rows[CPA_TABLE_COMPONENTS] + 1;
}

/* Random stacks. If @most, functions are divided by so many callers, and @part is as above. Return its count. */
static uint32_t make(uint64_t seed, uint32_t most, uint32_t *part)
{
	struct rnd r = rnd_sequence(seed, 0);
	uint32_t on_path = 0, count;
	struct cpa_thread *thread;

	functions.count = lines.count = contexts = 0;
	dump_maker_example(&maker);
	add_sites();
	for (unsigned i = 0; i < STACKS; i++)
		on_path = add_stack(&r, on_path, rnd_percent(&r, 50), rnd_percent(&r, 20));
	count = contexts;
	if (most)
		divide(most, part, count);
	for (uint32_t i = 1; i <= contexts; i++)
		dump_maker_row(&maker, CPA_TABLE_CONTEXTS, &rows[i]);
	for (uint32_t i = 1; i <= maker.rows[CPA_TABLE_THREADS]; i++) {
		thread = dump_maker_at(&maker, CPA_TABLE_THREADS, i);
		thread->path.stack = on_path;
	}
	return count;
}

static void test_sums(void **state)
{
	uint64_t seed = rnd_seed();

	(void)state;
	print_message("seed %lu\n", seed);
	for (uint64_t i = 0; i < ROUNDS; i++)
		for (unsigned k = 0; k < 3; k++) {
			make(seed + i, 0, NULL);
			build(k == 0 ? CPA_GRAPH_EDGES :
			      k == 1 ? CPA_GRAPH_STACKS :
				       CPA_GRAPH_LINES);
			check(k < 2 ? &functions : &lines);
			teardown(NULL);
		}
}

/* Function 0 gets a component of its own, with 2 s of the path and 3 s of CPU time. Of the path, 1 s is a sleep. */
static void give_own_time(void)
{
	const struct cpa_component own = { .key = (uint64_t)CPA_FUNCTION << 60 | 1000,
					   .kind = CPA_FUNCTION,
					   .address = function_address(0),
					   .slot = EXAMPLE_QUEUE };
	struct cpa_thread *thread;
	uint64_t *total;

	dump_maker_row(&maker, CPA_TABLE_COMPONENTS, &own);
	thread = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);
	thread->path.delta[3] = maker_delta(EXAMPLE_QUEUE, 2);
	thread->path.delta[4] = maker_delta(EXAMPLE_SLEEP, 1);
	total = (uint64_t *)(maker.bytes + thread->totals);
	total[EXAMPLE_QUEUE] = MAKER_TICKS(3);
}

static void assert_near(double got, double expected)
{
	assert_true(got >= expected * (1 - 1e-6) && got <= expected * (1 + 1e-6));
}

/*
 * Stacks stand for more than there is. Those of a function with a component have its time; all others have the
 * rest of the path's 8 s and of 12 s of work, in their proportions.
 */
static void test_no_more_than_there_is(void **state)
{
	double path_s[2] = { 0 }, cpu_s[2] = { 0 }, path[2] = { 0 }, cpu[2] = { 0 };

	(void)state;
	each = 100000;
	make(rnd_seed(), 0, NULL);
	give_own_time();
	build(CPA_GRAPH_EDGES);
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i <= profile->contexts->count; i++) {
			const struct cpa_context_figures *c = &profile->contexts->context[i - 1];
			bool own = c->component != NULL;
			char text[TEXT] = "";
			const struct sum *sum;

			put_chain(i, text);
			sum = sum_of(&functions, text);
			assert_int_equal(own, c->offset == function_address(0));
			if (pass) {
				assert_near(c->path_s * path[own], (double)sum->path * path_s[own]);
				assert_near(c->cpu_s * cpu[own], (double)sum->cpu * cpu_s[own]);
				continue;
			}
			path_s[own] += c->path_s;
			cpu_s[own] += c->cpu_s;
			path[own] += (double)sum->path;
			cpu[own] += (double)sum->cpu;
		}
	assert_near(path_s[true], 2);
	assert_near(cpu_s[true], 3);
	assert_near(path_s[false], 8 - 1 - 2);
	assert_near(cpu_s[false], 12 - 3);
	teardown(NULL);
	each = 1;
}

/* More than the path is time that the program was blocked for, as if rounded, and no stack is on it. */
static void test_nothing_left(void **state)
{
	const struct cpa_component read = { .key = (uint64_t)CPA_EXTERNAL << 60 | 1000,
					    .kind = CPA_EXTERNAL,
					    .address = CPA_EXT_READ,
					    .slot = EXAMPLE_QUEUE };
	struct cpa_thread *thread;

	(void)state;
	make(rnd_seed(), 0, NULL);
	dump_maker_row(&maker, CPA_TABLE_COMPONENTS, &read);
	for (uint32_t i = 1; i <= maker.rows[CPA_TABLE_THREADS]; i++) {
		thread = dump_maker_at(&maker, CPA_TABLE_THREADS, i);
		thread->path.stack = 0;
	}
	thread = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);
	thread->path.delta[3] = maker_delta(EXAMPLE_QUEUE, 4);
	thread->path.delta[4] = maker_delta(EXAMPLE_SLEEP, 5);
	build(CPA_GRAPH_EDGES);
	for (uint32_t i = 0; i < profile->contexts->count; i++)
		assert_true(profile->contexts->context[i].path_s == 0); /* a number */
	teardown(NULL);
}

static void expect_label(const struct cpa_context_figures *context, const char *text)
{
	char *label = cpa_context_label(context);

	assert_string_equal(label, text);
	free(label);
}

/* Where in it a call is: a line, or its address, which also tells a function without a name. */
static void test_labels(void **state)
{
	static char line[] = "/src/sort.c:88", name[] = "main", nameless[] = "sort+0x9a00";
	static char other[] = "f+0x9a00", page[] = "node+0x9a00 (page)";
	struct cpa_context_figures c = { .name = name, .offset = 0x9a00 };

	(void)state;
	expect_label(&c, "main");
	c.at = 0x9ac5;
	expect_label(&c, "main at 0x9ac5");
	c.line = line;
	expect_label(&c, "main at sort.c:88");
	c.line = NULL;
	c.name = nameless;
	expect_label(&c, "sort+0x9ac5");
	c.at = 0;
	expect_label(&c, "sort+0x9a00");
	c.at = 0x19ac5;
	c.offset = 0x19a00;
	c.name = other;
	expect_label(&c, "f+0x9a00 at 0x19ac5");
	c.name = page;
	expect_label(&c, "node+0x9a00 (page) at 0x19ac5");
}

/* Stacks are of the part of their function that their innermost callers call. */
static void test_parts(void **state)
{
	static uint32_t part[STACKS * DEPTH + 1];
	uint64_t seed = rnd_seed();

	(void)state;
	print_message("seed %lu\n", seed);
	for (uint32_t most = 1; most <= 3; most++) {
		uint32_t count = make(seed, most, part);

		build(CPA_GRAPH_EDGES);
		for (uint32_t i = 1; i <= contexts; i++) {
			uint32_t number = profile->contexts->of_row[i];
			const struct cpa_context_figures *c =
				number ? &profile->contexts->context[number - 1] : NULL;

			assert_true(i <= count ? c != NULL : c == NULL);
			if (i > count || !part[i])
				continue;
			assert_non_null(c->component);
			assert_non_null(c->component->part);
			assert_int_equal(c->component->part->row, part[i]);
		}
		teardown(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	     cmocka_unit_test(test_no_more_than_there_is),
		cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_labels),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
