/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_render.c - the example as text and as JSON */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/util/format.h"
#include "analysis/render/json.h"
#include "analysis/util/printable.h"
#include "analysis/render/text.h"
#include "tests/unit/dump_maker.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/threads.h"

static struct cpa_profile *profile;
static struct cpa_dump dump;

static int setup(void **state)
{
	struct dump_maker maker;
	char *error;

	(void)state;
	dump_maker_example(&maker);
	dump_maker_save(&maker, maker_file, SIZE_MAX);
	dump_maker_free(&maker);
	assert_int_equal(cpa_dump_open(&dump, maker_file, &error), 0);
	profile = cpa_profile_build(&dump, CPA_GRAPH_ALL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	return 0;
}

static char *render(size_t width, bool color, enum cpa_level level, size_t top)
{
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size),
				 .width = width,
				 .color = color };

	cpa_text_write(profile, &page, level, top);
	fclose(page.out);
	return text;
}

/* A row that several threads had says so: its times are not the last one's alone. */
static void test_earlier_threads(void **state)
{
	char *text = render(100, false, CPA_LEVEL_THREAD, 10);

	(void)state;
	assert_non_null(strstr(text, "\n4711  "));
	assert_null(strstr(text, "+N"));
	free(text);
	profile->thread[0].earlier = 98;
	text = render(100, false, CPA_LEVEL_THREAD, 10);
	assert_non_null(strstr(text, "\n4711 +98  "));
	assert_non_null(strstr(text, "+N: the row also has the times of N threads"));
	free(text);
}

static void test_first_screen(void **state)
{
	char *text = render(200, false, CPA_LEVEL_ALL, 10);

	(void)state;
	assert_non_null(strstr(text, "example: 10.0 s wall, 12.8 s CPU, 2 threads, 2 cores, ran to "
				     "its end\n"));
	assert_non_null(strstr(text, "critical path    8.00 s"));
	assert_non_null(strstr(text, "observed path    10.0 s"));
	assert_non_null(strstr(text, "process 70.0%, service 0.0%, wait not known for whom 10.0%, "
				     "run queue 5.0%, hand-off 10.0%, probe 5.0%"));
	assert_non_null(strstr(text, "The function example_work"));
	assert_non_null(strstr(text, "saves: what the run would gain."));
	assert_non_null(strstr(text, "Samples lost: 3."));
	free(text);
}

/* Lines keep to the width, which cuts names; no control character but the newline. */
static void test_width(void **state)
{
	static const size_t widths[] = { 72, 80, 100, 200 };

	(void)state;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *text = render(widths[i], false, CPA_LEVEL_ALL, 10), *line, *rest = text;

		while ((line = strsep(&rest, "\n"))) {
			if (cpa_printable_columns(line) > widths[i])
				fail_msg("%zu: %s", widths[i], line);
			for (; *line; line++)
				assert_true((unsigned char)*line >= ' ');
		}
		free(text);
	}
}

static void test_top(void **state)
{
	char *text = render(80, false, CPA_LEVEL_COMPONENT, 1);

	(void)state;
	assert_non_null(strstr(text, "example_work"));
	assert_null(strstr(text, "example_worker"));
	assert_non_null(strstr(text, "5 more (--top 6 shows all)"));
	free(text);
}

static void test_levels(void **state)
{
	(void)state;
	for (enum cpa_level level = CPA_LEVEL_PROGRAM; level < CPA_LEVELS; level++) {
		char *text = render(120, false, level, 10);

		assert_int_equal(!!strstr(text, "observed path "), level == CPA_LEVEL_PROGRAM);
		assert_int_equal(!!strstr(text, "saves: what the run would gain."),
				 level == CPA_LEVEL_COMPONENT);
		assert_int_equal(!!strstr(text, "start routine"), level == CPA_LEVEL_THREAD);
		assert_int_equal(!!strstr(text, "largest of its column"),
				 level == CPA_LEVEL_OBJECT);
		assert_int_equal(!!strstr(text, "unlock example_worker"), level == CPA_LEVEL_PAG);
		free(text);
	}
}

/* Of a few rows, those with the largest figures are shown. */
static void test_records_are_shown(void **state)
{
	static struct cpa_object_figures objects[] = {
		{ .kind = "mutex", .class = "waited_for", .wait_s = 3, .has_slot = true },
		{ .kind = "mutex", .class = "second", .wait_s = 2, .has_slot = true },
		{ .kind = "mutex", .class = "held", .wait_s = 1, .hold_s = 9, .has_slot = true },
		{ .kind = "mutex", .class = "saving", .saved_s = 5, .has_slot = true },
	};
	struct cpa_object_figures *before = profile->object;
	size_t count = profile->objects;
	char *text;

	(void)state;
	profile->object = objects;
	profile->objects = 4;
	text = render(100, false, CPA_LEVEL_OBJECT, 3);
	assert_non_null(strstr(text, "waited_for"));
	assert_non_null(strstr(text, "held"));
	assert_non_null(strstr(text, "saving"));
	assert_null(strstr(text, "second"));
	assert_non_null(strstr(text, "1 more (--top 4 shows all)"));
	free(text);
	text = render(100, false, CPA_LEVEL_OBJECT, 1);
	assert_non_null(strstr(text, "waited_for"));
	assert_null(strstr(text, "saving"));
	free(text);
	profile->object = before;
	profile->objects = count;
}

static void test_handoffs_that_are_not_counted(void **state)
{
	struct cpa_object_figures object = { .kind = "mutex", .handoffs = 7 };

	(void)state;
	assert_string_equal(cpa_text_handoffs(&object).text, "7");
	object.kind = "semaphore";
	assert_string_equal(cpa_text_handoffs(&object).text, "-");
	object.kind = "once";
	assert_string_equal(cpa_text_handoffs(&object).text, "-");
}

/*
 * The parts that distinguish addresses and lines survive the cut; the remark is cut before the
 * name.
 */
static void test_cut_names_keep_their_ends(void **state)
{
	static const char *const rows[][2] = {
		{ "mutex from memcached+0x1a486", "a_long_file_name.c:1234" },
		{ "a_function_of_a_long_name_without_any", "another_long_name" },
		{ "short", "short.c:1" },
	};
	struct cpa_table_text table = { 0 };
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = 38 };

	(void)state;
	cpa_table_column(&table, "name", true);
	cpa_table_remark(&table, "where");
	for (size_t i = 0; i < 3; i++)
		cpa_table_row(&table, rows[i]);
	cpa_table_end(&table, &page);
	fclose(page.out);
	assert_string_equal(text, "name                   where\n"
				  "mutex from..d+0x1a486  a_long_..c:1234\n"
				  "a_function..thout_any  another..g_name\n"
				  "short                  short.c:1\n");
	free(text);
}

/*
 * A chain that is too long goes on in a line of its own. There each name keeps its ends, and short ones leave
 * their room to long ones.
 */
static void test_cut_chains(void **state)
{
	static const struct {
		const char *chain, *shown;
	} rows[] = {
		{ "f <- g", "\nf <- g                 x.c:1\n" },
		{ "memcmp <- compare_it", "\nmemcmp <- compare_it   x.c:1\n" },
		{ "memcmp <- compare_all_keys",
		  "\nmemcmp                 x.c:1\n<- compare_all_keys\n" },
		{ "pthread_mutex_trylock <- f", "\npthread_mutex_trylock  x.c:1\n<- f\n" },
		{ "f <- std::vector<int>::reserve_and_more", "\n<- std::vecto..erve_and_more\n" },
		{ "f <- compare_all_keys <- sort+0x14550", "\n<- co.._keys <- sort+0x14550\n" },
	};
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = 28 };
	struct cpa_table_text table = { 0 };

	(void)state;
	cpa_table_column(&table, "name", true);
	cpa_table_chains(&table);
	cpa_table_remark(&table, "where");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cpa_table_row(&table, (const char *const[]){ rows[i].chain, "x.c:1" });
	cpa_table_end(&table, &page);
	fclose(page.out);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strstr(text, rows[i].shown))
			fail_msg("%s: %s", rows[i].chain, text);
	free(text);
}

/* Of the ends of a stream both are seen, however long one is. */
static void test_cut_ends(void **state)
{
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = 30 };
	struct cpa_table_text table = { 0 };

	(void)state;
	cpa_table_column(&table, "writer -> reader", true);
	cpa_table_row(&table, (const char *const[]){ "python3.11, python3.11+0x6543a0 -> sort" });
	cpa_table_row(&table, (const char *const[]){ "a_long_name_of_one -> a_long_name_of_two" });
	cpa_table_end(&table, &page);
	fclose(page.out);
	assert_non_null(strstr(text, " -> sort\n"));
	if (!strstr(text, "f_one -> a_lo"))
		fail_msg("%s", text);
	free(text);
}

static void test_color(void **state)
{
	char *text = render(80, true, CPA_LEVEL_PROGRAM, 10);

	(void)state;
	assert_non_null(strstr(text, "\033[1m"));
	free(text);
}

static void test_unfinished(void **state)
{
	char *text;

	(void)state;
	profile->program.complete = false;
	profile->program.state = CPA_RUNNING;
	text = render(100, false, CPA_LEVEL_PROGRAM, 10);
	assert_non_null(strstr(text, ", END NOT SEEN\n"));
	assert_non_null(strstr(text, "It is not known how the program ended"));
	free(text);
	profile->program.waited = true;
	profile->program.status = 3 << 8;
	profile->program.end_s = profile->program.wall_s + 2;
	profile->program.run_s = profile->program.wall_s;
	text = render(100, false, CPA_LEVEL_PROGRAM, 10);
	assert_non_null(strstr(text, ", ended by exit_group, status 3\n"));
	assert_non_null(strstr(text, "its last recorded event, 2.00 s before its end."));
	assert_null(strstr(text, "killed"));
	free(text);
	profile->program.status = 9;
	text = render(100, false, CPA_LEVEL_PROGRAM, 10);
	assert_non_null(strstr(text, "DID NOT FINISH: signal 9 (Killed)\n"));
	assert_non_null(strstr(text, "The program was killed."));
	free(text);
	profile->program.waited = false;
	profile->program.running = true;
	text = render(100, false, CPA_LEVEL_PROGRAM, 10);
	assert_non_null(strstr(text, ", running\n"));
	assert_null(strstr(text, "finish"));
	free(text);
	profile->program.running = false;
	profile->program.copied = true;
	text = render(100, false, CPA_LEVEL_PROGRAM, 10);
	assert_non_null(strstr(text, ", copied while it ran\n"));
	assert_null(strstr(text, "finish"));
	free(text);
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		fail_msg("no number %s", key);
	return json_number_value(value);
}

static void expect_keys(const json_t *object, const char *keys)
{
	char *list = strdup(keys), *rest = list, *key;

	assert_non_null(object);
	while ((key = strsep(&rest, " ")))
		if (!json_object_get(object, key))
			fail_msg("no key %s", key);
	free(list);
}

static json_t *render_json(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_error_t error;
	json_t *root;

	assert_int_equal(cpa_json_write(profile, out), 0);
	fclose(out);
	root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("%d: %s", error.line, error.text);
	free(text);
	return root;
}

static void test_json_keys(void **state)
{
	json_t *root = render_json(), *pag = json_object_get(root, "pag");

	(void)state;
	expect_keys(json_object_get(root, "program"),
		    "exe wall_s cpu_s critical_path_s observed_path_s parallelism max_parallelism "
		    "utilization cores complete observed_segments");
	expect_keys(json_object_get(json_object_get(root, "program"), "observed_segments"),
		    "process_s external_s runqueue_s handoff_s probe_s");
	expect_keys(json_array_get(json_object_get(root, "threads"), 0),
		    "id name start_routine cpu_s wait_s external_s runqueue_s critical_path_s");
	expect_keys(json_array_get(json_object_get(root, "components"), 0),
		    "kind name location cpu_s critical_path_s observed_path_s saved_s shared");
	expect_keys(json_array_get(json_object_get(root, "objects"), 0),
		    "kind class acquisitions contended wait_s hold_s handoffs objects saved_s");
	assert_int_equal(json_array_size(json_object_get(root, "queues")), 0);
	expect_keys(json_array_get(json_object_get(pag, "nodes"), 1), "id kind site class");
	expect_keys(json_array_get(json_object_get(pag, "edges"), 0),
		    "from to type count weight_s on_path_s observed_s followed");
	expect_keys(json_object_get(root, "diagnostics"),
		    "probe_s clock samples samples_lost samples_s machine objects_untracked notes");
	json_decref(root);
}

static void test_json_values(void **state)
{
	json_t *root = render_json(), *program = json_object_get(root, "program");
	const json_t *edges = json_object_get(json_object_get(root, "pag"), "edges"), *component;
	size_t i;

	(void)state;
	assert_true(number(program, "wall_s") == 10);
	assert_true(number(program, "critical_path_s") == 8);
	assert_true(json_is_true(json_object_get(program, "complete")));
	assert_true(json_is_null(json_object_get(json_array_get(edges, 1), "observed_s")));
	assert_true(number(json_array_get(edges, 1), "on_path_s") == 0.75);
	assert_true(number(json_array_get(edges, 0), "on_path_s") == 2.25);
	json_array_foreach(json_object_get(root, "components"), i, component) {
		const char *kind = json_string_value(json_object_get(component, "kind"));

		/* Being blocked takes no CPU time. */
		if (strcmp(kind, "external") == 0)
			assert_true(number(component, "cpu_s") == 0);
	}
	json_decref(root);
}

static void test_figures(void **state)
{
	(void)state;
	assert_string_equal(cpa_format_seconds(0).text, "0 s");
	assert_string_equal(cpa_format_seconds(8.414).text, "8.41 s");
	assert_string_equal(cpa_format_seconds(9.996).text, "10.0 s");
	assert_string_equal(cpa_format_seconds(123.4).text, "123 s");
	assert_string_equal(cpa_format_seconds(0.9996).text, "1.00 s");
	assert_string_equal(cpa_format_seconds(0.0841).text, "84.1 ms");
	assert_string_equal(cpa_format_seconds(1.2e-6).text, "1.20 us");
	assert_string_equal(cpa_format_seconds(1e300).text, "1.00e+300 s");
	assert_string_equal(cpa_format_percent(1, 3).text, "33.3%");
	assert_string_equal(cpa_format_percent(1, 0).text, "-");
	assert_string_equal(cpa_format_count(98304).text, "98304");
	assert_string_equal(cpa_format_count(1234567).text, "1.23 M");
}

/* A scarce column stays while names can be told apart, and goes before they get shorter. */
static void check_scarce(size_t width, const char *expected)
{
	char *text;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = width };
	struct cpa_table_text table = { 0 };

	assert_non_null(page.out);
	cpa_table_column(&table, "held", false);
	cpa_table_column(&table, "contended", false);
	cpa_table_scarce(&table);
	cpa_table_column(&table, "class", true);
	cpa_table_row(&table, (const char *const[]){ "1 s", "5%", "mutex the_first_lock (x.c:1)" });
	cpa_table_end(&table, &page);
	fclose(page.out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_scarce(void **state)
{
	(void)state;
	check_scarce(45, "held  contended  class\n"
			 " 1 s         5%  mutex the_first_lock (x.c:1)\n");
	check_scarce(37, "held  contended  class\n"
			 " 1 s         5%  mutex the..k (x.c:1)\n");
	check_scarce(36, "held  class\n"
			 " 1 s  mutex the_first_lock (x.c:1)\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_earlier_threads),
		TEST(test_first_screen),
		TEST(test_width),
		TEST(test_top),
		TEST(test_levels),
		TEST(test_color),
		TEST(test_handoffs_that_are_not_counted),
		TEST(test_records_are_shown),
		TEST(test_cut_names_keep_their_ends),
		TEST(test_cut_chains),
		TEST(test_cut_ends),
		TEST(test_unfinished),
		TEST(test_json_keys),
		TEST(test_json_values),
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_figures),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
