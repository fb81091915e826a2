/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_queues.c - queues, regions, marks and calls of a session made by hand */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/render/csv.h"
#include "analysis/render/json.h"
#include "analysis/render/text.h"
#include "analysis/util/printable.h"
#include "tests/unit/dump_queues.h"
#include "tests/unit/made_profile.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/queues.h"

static int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	return 0;
}

static struct cpa_queue *queue_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_QUEUES, row);
}

static void assert_near(double got, double expected)
{
	if (!(fabs(got - expected) < 1e-9))
		fail_msg("%.9f, expected %.9f", got, expected);
}

static bool has_note(const char *words)
{
	for (size_t i = 0; i < profile->diagnostics.notes; i++)
		if (strstr(profile->diagnostics.note[i], words))
			return true;
	return false;
}

static const struct cpa_queue_figures *find_queue(const char *name)
{
	for (size_t i = 0; i < profile->queues; i++)
		if (strcmp(profile->queue[i].name, name) == 0)
			return &profile->queue[i];
	fail_msg("no queue %s", name);
	return NULL;
}

static void test_counts(void **state)
{
	const struct cpa_queue_figures *queue;

	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->queues, 3);
	queue = &profile->queue[0];
	assert_string_equal(queue->name, "tasks");
	assert_int_equal(queue->queues, 2);
	assert_int_equal(queue->enqueued, 110);
	assert_int_equal(queue->dequeued, 100);
	assert_int_equal(queue->never_dequeued, 10);
	assert_int_equal(queue->twice, 1);
	assert_int_equal(queue->unmatched, 2);
	assert_int_equal(queue->services, 100);
	assert_int_equal(queue->max_depth, 42);
	assert_int_equal(queue->producers, 1);
	assert_int_equal(queue->consumers, 3);
}

/* 19 s and 1 s in the queues, in a run of 10 s. */
static void test_times(void **state)
{
	const struct cpa_queue_figures *queue;

	(void)state;
	build(CPA_GRAPH_ALL);
	queue = find_queue("tasks");
	assert_near(queue->mean_depth, 2);
	assert_near(queue->wait_s, 0.1);
	assert_near(queue->service_s, 0.05);
	assert_near(queue->services_s, 5);
	/* The 50th of 75 in a bucket from 2^24 ticks; the 24th of 25 in one from 2^25. */
	assert_near(queue->wait_p50_s, (1 << 24) * (1 + 0.25 * 50 / 75) / MAKER_TICKS(1));
	assert_near(queue->wait_p99_s, (1 << 25) * (1 + 0.25 * 24 / 25) / MAKER_TICKS(1));
	/* 3 s of 13 s. */
	assert_near(queue->idle, 3.0 / 13);
	assert_near(queue->starved, 0);
	assert_near(queue->engaged, 0.5);
	/* Two items were waiting for three consumers. */
	assert_int_equal(queue->limit, CPA_LIMIT_PRODUCERS);
}

static void test_paths(void **state)
{
	const struct cpa_queue_figures *queue;

	(void)state;
	build(CPA_GRAPH_ALL);
	queue = find_queue("tasks");
	assert_int_equal(queue->slot, EXAMPLE_QUEUE);
	assert_near(queue->critical_path_s, 1);
	assert_near(queue->observed_path_s, 1);
	assert_near(queue->saved_s, 1);
	assert_near(queue->producers_path_s, 6);
	assert_near(queue->consumers_path_s, 0);
}

/* C_m = 7 s with 3 workers and C_s = 5 s: L(3) = 7 + 5/3, L(2) = 14/3 + 5/2. */
static void test_master(void **state)
{
	const struct cpa_master_figures *master;

	(void)state;
	build(CPA_GRAPH_ALL);
	master = &find_queue("tasks")->master;
	assert_null(master->trouble);
	assert_int_equal(master->workers, 3);
	assert_int_equal(master->best_workers, 2);
	assert_near(master->optimum, sqrt(5.0 / (7.0 / 3)));
	assert_near(master->path_s, 7 + 5.0 / 3);
	assert_near(master->best_path_s, 14.0 / 3 + 2.5);
}

static void test_queues_without_a_name(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(find_queue("queue first used in example_worker")->queues, 1);
	assert_int_equal(find_queue("queue first used in example_worker")->slot, 0);
	assert_int_equal(find_queue("(class lost)")->never_dequeued, 5);
}

static void test_components(void **state)
{
	unsigned found = 0;

	(void)state;
	build(CPA_GRAPH_ALL);
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		found += component->kind == CPA_REGION &&
			 strcmp(component->name, "sort ?[2J") == 0 && component->saved_s == 0.5;
		found += component->kind == CPA_QUEUE && strcmp(component->name, "tasks") == 0 &&
			 component->saved_s == 1;
		/*
		 * Without the function and its callees, the worker's path, 2 s shorter, is the
		 * longest.
		 */
		found += component->calls == 42 && component->inclusive_s == 4.5 &&
			 component->has_whole && component->whole_critical_path_s == 4.25 &&
			 component->whole_saved_s == 2 && component->saved_s == 3 &&
			 strcmp(component->name, "example_work") == 0;
	}
	assert_int_equal(found, 3);
	assert_int_equal(profile->components, 10); /* of the example 8 */
}

static void test_marks(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->marks, 2);
	assert_string_equal(profile->mark[0].name, "first");
	assert_int_equal(profile->mark[0].tid, 0); /* its thread left no figures */
	assert_near(profile->mark[0].at_s, 1);
	assert_string_equal(profile->mark[1].name, "second");
	assert_int_equal(profile->mark[1].tid, 4711);
	assert_near(profile->mark[1].at_s, 3);
	assert_near(profile->mark[1].critical_path_s, 2.5);
}

static void test_graph_and_objects(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_string_equal(profile->node[3].kind, "enqueue");
	assert_string_equal(profile->node[4].kind, "dequeue");
	assert_string_equal(profile->node[4].class, "tasks");
	assert_true(profile->edge[2].dependency);
	assert_int_equal(profile->edge[2].count, 100);
	assert_int_equal(profile->edge[2].followed, 65);
	assert_near(profile->edge[2].weight_s, 10);
	assert_near(profile->edge[2].on_path_s, 6.5);
	assert_string_equal(profile->object[0].queue, "tasks");
}

static void test_notes(void **state)
{
	static const struct {
		enum cpa_diagnostic id;
		const char *words;
	} notes[] = {
		{ CPA_DIAG_ITEMS_REFUSED,
		  "Enqueued items that could not be recorded for lack of space: 7." },
		{ CPA_DIAG_ITEMS_UNMATCHED, "Items dequeued that cpa had not seen enqueued: 7." },
		{ CPA_DIAG_ITEMS_TWICE, "Items enqueued while already in the queue: 7." },
		{ CPA_DIAG_ITEMS_UNBALANCED, "Items marked done that were not being processed" },
		{ CPA_DIAG_REGIONS_UNBALANCED,
		  "Regions that ended without a begin or began without an end: 7." },
		{ CPA_DIAG_MARKS_REFUSED,
		  "Marks that could not be recorded for lack of space: 7." },
		{ CPA_DIAG_CALLS_UNBALANCED,
		  "Instrumented functions left in a way that cpa did not see: 7." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		dump_maker_header(&maker)->diag[notes[i].id] = 7;
	build(CPA_GRAPH_ALL);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (!has_note(notes[i].words))
			fail_msg("no note \"%s\"", notes[i].words);
}

/* Traces of a killed or hostile writer: rows are refused, figures stay possible. */
static void test_broken_rows(void **state)
{
	struct cpa_component *tasks;

	(void)state;
	queue_row(2)->component = 1; /* a function */
	queue_row(3)->component = 999;
	tasks = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, queue_row(1)->component);
	tasks->address = 999; /* no such name */
	((struct cpa_mark *)dump_maker_at(&maker, CPA_TABLE_MARKS, 1))->name = 5;
	((struct cpa_mark *)dump_maker_at(&maker, CPA_TABLE_MARKS, 2))->ticks = 1;
	build(CPA_GRAPH_ALL);
	assert_int_equal(dump.broken[CPA_TABLE_QUEUES], 3);
	assert_int_equal(dump.broken[CPA_TABLE_COMPONENTS], 1);
	assert_int_equal(dump.broken[CPA_TABLE_MARKS], 2);
	assert_true(has_note("Damaged or cut off queue rows in the dump: 3"));
	assert_int_equal(profile->queues, 1);
	assert_int_equal(profile->marks, 0);
	assert_null(profile->object[0].queue);
}

static void test_absurd_counters(void **state)
{
	struct cpa_queue *row = queue_row(1);
	const struct cpa_queue_figures *queue;

	(void)state;
	/* -1: an item was taken before the count of its enqueue was written */
	row->depth = UINT64_MAX;
	row->left = 0;
	row->entered = MAKER_TICKS(1);
	row->max_depth = UINT64_MAX;
	row->waited = UINT64_MAX;
	row->service = UINT64_MAX;
	memset(row->producers, 0xff, sizeof(row->producers));
	memset(row->histogram, 0xff, sizeof(row->histogram));
	build(CPA_GRAPH_ALL);
	queue = find_queue("tasks");
	assert_int_equal(queue->never_dequeued, 0);
	assert_int_equal(queue->max_depth, 102);
	assert_near(queue->mean_depth, 0.1); /* of the second queue */
	assert_near(queue->wait_s, 10);
	assert_near(queue->wait_p99_s, 10);
	assert_near(queue->service_s, 10);
	assert_int_equal(queue->producers, 4); /* threads that exist */
}

/* Items enqueued after the last event of a running program. */
static void test_running(void **state)
{
	(void)state;
	dump_maker_header(&maker)->state = CPA_RUNNING;
	dump_maker_header(&maker)->end_ticks = 0;
	queue_row(1)->entered = MAKER_TICKS(90 * 5 + 10 * 12);
	queue_row(1)->left = MAKER_TICKS(90 * 5);
	build(CPA_GRAPH_ALL);
	assert_near(find_queue("tasks")->mean_depth, 0.1);
}

/* A name that fills its row has no NUL. */
static void test_name_without_an_end(void **state)
{
	struct cpa_name *name = dump_maker_at(&maker, CPA_TABLE_NAMES, 1);

	(void)state;
	memset(name->text, 'x', sizeof(name->text));
	build(CPA_GRAPH_ALL);
	assert_int_equal(strlen(profile->queue[0].name), CPA_NAME_SIZE);
}

static void test_no_thread_rows(void **state)
{
	(void)state;
	dump_maker_header(&maker)->table[CPA_TABLE_THREADS].used = 0;
	build(CPA_GRAPH_ALL);
	assert_int_equal(find_queue("tasks")->consumers, 0);
	assert_int_equal(find_queue("tasks")->limit, CPA_LIMIT_UNKNOWN);
}

static char *render(size_t width, enum cpa_level level)
{
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = width };

	cpa_text_write(profile, &page, level, 10);
	fclose(page.out);
	return text;
}

static void test_text(void **state)
{
	static const char *const parts[] = {
		"queue tasks, 2 of them: producers limit: few items were waiting (mean depth "
		"2.00), "
		"and consumers waited for 23.1% of their time. ",
		"110 items in, 100 out, 10 still in it, 2 out that never went in, 1 in "
		"twice; 1 producer, 3 consumers, 10 without CPA_ITEM_DONE. Master",
		"Master and workers (IPS, Appendix 3): work 7.00 s and 5.00 s (1.67 s for each of "
		"3), on the path 6.00 s and 0 s: the master dominates. If the master's work grows "
		"with the workers",
		"the path is shortest with 2 workers: 7.17 s, where it is 8.67 s now. If the "
		"master's work depends on the items only, more workers shorten it, to no less "
		"than 7.00 s.",
		"3.00 s       2.50 s    4711  second",
		"region    sort ?[2J",
		"+ mutex example_pool.queue[1].lock\n",
		"example_work",
	};
	char *text;

	(void)state;
	build(CPA_GRAPH_ALL);
	text = render(1000, CPA_LEVEL_ALL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(text, parts[i]))
			fail_msg("no \"%s\" in:\n%s", parts[i], text);
	assert_non_null(strstr(text, "Procedures of the instrumented build"));
	free(text);
	text = render(80, CPA_LEVEL_QUEUE);
	assert_non_null(strstr(text, "Queues, and the processing"));
	assert_null(strstr(text, "Marks"));
	free(text);
}

static void test_width(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	for (size_t width = 72; width <= 120; width += 8) {
		char *text = render(width, CPA_LEVEL_ALL), *line, *rest = text;

		while ((line = strsep(&rest, "\n"))) {
			if (cpa_printable_columns(line) > width)
				fail_msg("%zu: %s", width, line);
			for (; *line; line++)
				assert_true((unsigned char)*line >= ' ');
		}
		free(text);
	}
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

static void test_json(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *root, *queues;

	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(cpa_json_write(profile, out), 0);
	fclose(out);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	queues = json_object_get(root, "queues");
	assert_int_equal(json_array_size(queues), 3);
	expect_keys(json_array_get(queues, 0),
		    "name location queues services_without_done enqueued dequeued never_dequeued "
		    "max_depth mean_depth "
		    "item_wait_s item_wait_p50_s item_wait_p99_s service_s services producers "
		    "consumers critical_path_s observed_path_s saved_s limit enqueued_twice "
		    "unmatched master");
	expect_keys(json_object_get(json_array_get(queues, 0), "master"),
		    "applies workers best_workers optimum master_s workers_s path_s best_path_s");
	expect_keys(json_object_get(json_array_get(queues, 1), "master"), "applies trouble");
	expect_keys(json_array_get(json_object_get(root, "marks"), 0),
		    "name at_s thread critical_path_s");
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(root, "marks"), 0), "thread")));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(root, "objects"), 0), "queue")),
			    "tasks");
	json_decref(root);
	free(text);
}

static void expect_csv(enum cpa_level level, const char *words)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cpa_csv_write(profile, level, out);
	fclose(out);
	if (!strstr(text, words))
		fail_msg("no \"%s\" in:\n%s", words, text);
	free(text);
}

/* Parts from 0 to 1 and from 8 to 10 s: the ten items that entered at 9 s were in the queue for 1 s each. */
static void test_parts(void **state)
{
	struct cpa_header *header = dump_maker_header(&maker);

	(void)state;
	header->first_epoch = 1;
	header->epoch = 3;
	header->border[1] = (struct cpa_border){ MAKER_START, 0 };
	header->border[2] = (struct cpa_border){ MAKER_START + MAKER_TICKS(1), MAKER_TICKS(1) };
	header->border[3] = (struct cpa_border){ MAKER_START + MAKER_TICKS(8), MAKER_TICKS(1) };
	build(CPA_GRAPH_NODES);
	assert_true(fabs(profile->program.wall_s - 3) < 1e-6);
	/* With 10 s of the items that left. */
	assert_true(fabs(profile->queue[0].mean_depth - 20.0 / 3) < 1e-6);
}

static void test_csv(void **state)
{
	struct cpa_name *name = dump_maker_at(&maker, CPA_TABLE_NAMES, 1);
	struct cpa_thread *threads = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	threads->earlier = 98;
	threads->process_key = 7;
	strcpy(name->text, "a \"b\", c");
	build(CPA_GRAPH_ALL);
	expect_csv(
		CPA_LEVEL_QUEUE,
		",saved_s,limit,critical_path_margin_s,saved_margin_s,item_wait_margin_s\r\n\"a \"\"b\"\", c\",,2,110,100,10,1,2,42,2.000000000,");
	expect_csv(CPA_LEVEL_QUEUE,
		   ",100,1,3,1.000000000,1.000000000,1.000000000,\"producers\",,,\r\n");
	expect_csv(CPA_LEVEL_QUEUE, ",0,0,0,,,,\"unknown\",,,\r\n"); /* a class without a slot */
	expect_csv(CPA_LEVEL_ALL, "\r\n\"region\",\"sort ?[2J\",,");
	expect_csv(CPA_LEVEL_COMPONENT, ",42,4.500000000,4.250000000,2.000000000,,,,,,,\r\n");
	expect_csv(CPA_LEVEL_PROGRAM, "\"/usr/bin/example\",10.000000000,");
	expect_csv(CPA_LEVEL_THREAD, "\r\n4714,\"worker\",\"example_worker\",2.000000000,");
	expect_csv(CPA_LEVEL_THREAD, ",earlier_threads,process\r\n");
	expect_csv(CPA_LEVEL_THREAD, ",98,7\r\n");
	expect_csv(CPA_LEVEL_OBJECT, ",\"a \"\"b\"\", c\",3,160,50,25,");
	expect_csv(CPA_LEVEL_PAG, "\r\n\"dependency\",\"enqueue\",\"example_worker\",");
	expect_csv(CPA_LEVEL_PAG, ",100,10.000000000,6.500000000,,65\r\n");
}

/* Ten thousand queues of as many classes take no noticeable time; each is one row. */
static void test_many_queues(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		struct cpa_component class = { .kind = CPA_QUEUE,
					       .by = CPA_BY_NAME,
					       .address = maker_add_name(&maker, "many") };
		struct cpa_queue row = { .key = 0x100000 + i,
					 .component = maker_add_class(&maker, class),
					 .enqueued = i };

		dump_maker_row(&maker, CPA_TABLE_QUEUES, &row);
	}
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->queues, 10003);
	assert_string_equal(profile->queue[0].name, "tasks");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_counts),
		TEST(test_times),
		TEST(test_paths),
		TEST(test_master),
		TEST(test_queues_without_a_name),
		TEST(test_components),
		TEST(test_marks),
		TEST(test_graph_and_objects),
		TEST(test_notes),
		TEST(test_broken_rows),
		TEST(test_absurd_counters),
		TEST(test_running),
		TEST(test_name_without_an_end),
		TEST(test_no_thread_rows),
		TEST(test_text),
		TEST(test_width),
		TEST(test_json),
		TEST(test_parts),
		TEST(test_csv),
		TEST(test_many_queues),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
