/* SPDX-License-Identifier: MIT */
/* tests/unit/test_top.c - what cpa top shows of two moments made by hand */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/printable.h"
#include "analysis/top.h"
#include "tests/unit/dump_queues.h"

#define COLUMNS 120
#define LINES	24

static char file[] = "/tmp/test_top.XXXXXX";
static struct dump_maker maker;
static struct cpa_top top;
static double clock_s;
static char *screen; /* the lines drawn last, each with its newline */

static int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	dump_maker_header(&maker)->state = CPA_RUNNING;
	cpa_top_init(&top, MAKER_SLOTS, false);
	clock_s = 100;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cpa_top_fini(&top);
	dump_maker_free(&maker);
	free(screen);
	screen = NULL;
	return 0;
}

static struct cpa_top_moment make_moment(void)
{
	struct cpa_top_moment moment = { .at_s = clock_s, .run_s = 10, .pid = 4711, .edges = true };
	struct cpa_dump dump;
	char *error;

	dump_maker_save(&maker, file, SIZE_MAX);
	assert_int_equal(cpa_dump_open(&dump, file, &error), 0);
	moment.profile = cpa_profile_build(&dump);
	cpa_dump_close(&dump);
	return moment;
}

/* Take a moment @after seconds after the one before. */
static void advance(double after)
{
	clock_s += after;
	cpa_top_advance(&top, make_moment());
}

/* Draw on @columns and @lines: every line fits, and none is missing. */
static void draw_on(size_t columns, size_t lines)
{
	struct cpa_top_screen drawn = cpa_top_draw(&top, columns, lines);
	size_t size;
	FILE *out;

	free(screen);
	screen = NULL;
	out = open_memstream(&screen, &size);
	assert_non_null(out);
	assert_int_equal(drawn.used, lines);
	for (size_t i = 0; i < drawn.used; i++) {
		assert_true(cpa_printable_columns(drawn.line[i].text) <= columns);
		fprintf(out, "%s%s\n", drawn.line[i].style == CPA_TOP_SELECTED ? ">" : "",
			drawn.line[i].text);
	}
	fclose(out);
	cpa_top_screen_free(&drawn);
}

static void expect(const char *words)
{
	draw_on(COLUMNS, LINES);
	if (!strstr(screen, words))
		fail_msg("\"%s\" is not in\n%s", words, screen);
}

static void expect_not(const char *words)
{
	draw_on(COLUMNS, LINES);
	if (strstr(screen, words))
		fail_msg("\"%s\" is in\n%s", words, screen);
}

static void expect_order(const char *first, const char *second)
{
	expect(first);
	expect(second);
	if (strstr(screen, first) > strstr(screen, second))
		fail_msg("\"%s\" is not above \"%s\" in\n%s", first, second, screen);
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(cpa_top_press(&top, (unsigned char)*keys), CPA_TOP_STAY);
}

static struct cpa_thread *thread_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_THREADS, row);
}

static struct cpa_queue *queue_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_QUEUES, row);
}

static void test_fits_any_size(void **state)
{
	static const size_t sizes[][2] = { { 80, 24 }, { 200, 60 }, { 40, 12 }, { 80, 8 },
					   { 20, 7 },  { 10, 3 },   { 1, 1 },	{ 80, 0 } };

	(void)state;
	advance(0);
	advance(1);
	for (unsigned view = 0; view < CPA_TOP_VIEWS; view++) {
		press((const char[]){ (char)('1' + view), '\0' });
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			draw_on(sizes[i][0], sizes[i][1]);
			press("\r");
			draw_on(sizes[i][0], sizes[i][1]);
			press("?");
			draw_on(sizes[i][0], sizes[i][1]);
			press("?\033");
		}
	}
}

static void test_heading(void **state)
{
	static const char *const words[] = {
		[CPA_TOP_RUNNING] = "example, pid 4711: running, 10.0 s, 4 threads, 2 cores\n",
		[CPA_TOP_FINISHED] = ": finished, ",
		[CPA_TOP_EXECED] = ": replaced by exec, ",
		[CPA_TOP_KILLED] = ": killed, ",
		[CPA_TOP_UNKNOWN] = ": did not finish, ",
		[CPA_TOP_LOST] = ": its file was lost, ",
	};

	(void)state;
	advance(0);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		top.now.state = i;
		expect(words[i]);
	}
	expect("critical path    8.00 s\n");
	expect("observed path    10.0 s\n");
	expect("so far       process 70%, external 10%, run queue 5%, hand-off 10%, probe 5%\n");
	expect_not("lately");
	top.now.state = CPA_TOP_RUNNING;
	top.now.run_s = 14;
	expect("; last event 4.00 s ago");
}

static void test_last_interval(void **state)
{
	struct cpa_thread *main;

	(void)state;
	advance(0);
	main = thread_row(1);
	main->path.len += MAKER_TICKS(0.5);
	main->path.released += MAKER_TICKS(1);
	main->path.observed[CPA_TIME_PROCESS] += MAKER_TICKS(0.75);
	main->path.observed[CPA_TIME_EXTERNAL] += MAKER_TICKS(0.25);
	main->path.delta[0].s += (int32_t)MAKER_TICKS(0.25);
	advance(2);
	expect("critical path    8.50 s  +500 ms in the last 2.00 s\n");
	expect("observed path    11.0 s  +1.00 s in the last 2.00 s\n");
	expect("lately       process 75%, external 25%, run queue 0%, hand-off 0%, probe 0%\n");
	/* The lock saves 2 s and a quarter now. */
	expect("2.25 s  +250 ms");
}

/*
 * The longest path of all was main's when a thread took it on, exited and was joined: one that
 * reads main's row early and the thread's late finds it in neither. What was shown stays.
 */
static void test_paths_never_get_shorter(void **state)
{
	struct cpa_thread *main;

	(void)state;
	advance(0);
	main = thread_row(1);
	main->path.len = MAKER_TICKS(3);
	main->path.observed[CPA_TIME_PROCESS] = MAKER_TICKS(1);
	advance(1);
	assert_true(top.now.profile->program.critical_path_s >= 8);
	expect("critical path    8.00 s  +0 s in the last 1.00 s\n");
	expect("observed path    10.0 s  +0 s in the last 1.00 s\n");
	expect("so far       process 70%");
	thread_row(1)->path.len = MAKER_TICKS(9);
	advance(1);
	expect("critical path    9.00 s  +1.00 s in the last 1.00 s\n");
}

static void test_components(void **state)
{
	(void)state;
	advance(0);
	expect("[1 components]");
	/* By what they save. */
	expect_order("function  example_work", "thread    main");
	expect_order("thread    main", "lock      example_pool.queue[1].lock");
	expect_order("lock      example_pool.queue[1].lock", "region    sort ?[2J");
	press("r");
	expect_order("region    sort ?[2J", "thread    main");
	/* saves, change, path, wall, CPU */
	press("rssss");
	expect("by CPU");
	expect_order("thread    example_worker", "region    sort ?[2J");
	/* By name: from a to z, then the reverse. */
	press("ss");
	expect("by component");
	expect_order("function  example_work", "thread    main");
	press("r");
	expect_order("thread    main", "function  example_work");
}

static void test_filter(void **state)
{
	(void)state;
	advance(0);
	press("/EXAMPLE_W");
	expect("/EXAMPLE_W_");
	expect("function  example_work");
	expect_not("thread    main");
	/* Keys are text while one types. */
	press("q");
	expect("[1 components] 2 locks  3 queues  4 threads  5 marks   0 by saves");
	cpa_top_press(&top, CPA_KEY_BACKSPACE);
	cpa_top_press(&top, CPA_KEY_BACKSPACE);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect(", /EXAMPLE_");
	expect("function  example_work");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	expect("thread    main");
	/* A character goes as a whole. */
	press("/\xc3\xa4");
	cpa_top_press(&top, CPA_KEY_BACKSPACE);
	assert_string_equal(top.filter, "");
	for (int i = 0; i < 200; i++)
		press("x");
	assert_int_equal(strlen(top.filter), sizeof(top.filter) - 1);
	draw_on(COLUMNS, LINES);
}

static void test_cursor(void **state)
{
	(void)state;
	advance(0);
	expect(">3.00 s ");
	cpa_top_press(&top, CPA_KEY_END);
	draw_on(COLUMNS, 12);
	assert_non_null(strchr(screen, '>'));
	cpa_top_press(&top, CPA_KEY_UP);
	draw_on(COLUMNS, 12);
	assert_non_null(strchr(screen, '>'));
	cpa_top_press(&top, CPA_KEY_PAGE_UP);
	cpa_top_press(&top, CPA_KEY_PAGE_UP);
	draw_on(COLUMNS, 12);
	assert_int_equal(top.selected, 0);
	assert_int_equal(top.first, 0);
	/* Fewer rows than before. */
	cpa_top_press(&top, CPA_KEY_END);
	draw_on(COLUMNS, LINES);
	press("/main");
	draw_on(COLUMNS, LINES);
	assert_non_null(strchr(screen, '>'));
}

static void test_locks(void **state)
{
	(void)state;
	advance(0);
	press("l");
	expect("waited  lately");
	/* The two objects and what destroyed ones had counted. */
	expect("1.75 s       -  3.00 s  2.00 s      31.2%         25  + mutex "
	       "example_pool.queue[1].lock (dump_maker.h:");
	((struct cpa_object *)dump_maker_at(&maker, CPA_TABLE_OBJECTS, 2))->wait +=
		MAKER_TICKS(0.5);
	advance(1);
	expect("2.25 s  +500 ms");
}

static void test_queues(void **state)
{
	(void)state;
	advance(0);
	press("u");
	expect("depth  in/s  out/s  in queue");
	expect("   10     -      -    100 ms");
	queue_row(1)->enqueued += 30;
	queue_row(2)->enqueued += 10;
	queue_row(1)->dequeued += 5;
	queue_row(1)->depth += 25;
	advance(2);
	expect("   35  20.0   2.50 ");
	/* Read in another order: never less than nothing. */
	queue_row(1)->enqueued -= 1;
	queue_row(1)->dequeued -= 1;
	advance(2);
	expect("  0.00   0.00 ");
}

static void test_thread_states(void **state)
{
	const struct cpa_node sleep = { .key = 9, .kind = CPA_EV_SLEEP, .class = 2 };
	struct cpa_top_moment moment;

	(void)state;
	thread_row(2)->state = CPA_THREAD_RUNNING;
	thread_row(2)->node = dump_maker_row(&maker, CPA_TABLE_NODES, &sleep);
	thread_row(1)->node = 3;
	moment = make_moment();
	moment.tasks = 2;
	moment.task = calloc(2, sizeof(*moment.task));
	moment.task[0] = (struct cpa_top_task){ .tid = 4711, .state = 'R', .cpu_s = 8 };
	moment.task[1] = (struct cpa_top_task){ .tid = 4712, .state = 'S', .cpu_s = 5 };
	cpa_top_advance(&top, moment);
	press("t");
	expect("4711  running  example      unlock example_pool.queue[1].lock");
	expect("4712  waiting  worker ?");
	expect("sleep example_pool.queue[1].lock");
	expect("4713  exited   worker");
	top.now.task[0].state = 'S';
	expect("4711  blocked  example");
	top.now.task[0].state = 'T';
	expect("4711  stopped  example");
	top.now.state = CPA_TOP_KILLED;
	expect("4711  ended ");
	expect_not("blocked");
}

static void test_thread_cpu(void **state)
{
	struct cpa_top_moment moment;

	(void)state;
	advance(0);
	assert_true(isnan(cpa_top_cpu(&top, 0)));
	/* Of no task the kernel tells, so as far as the last event. */
	thread_row(1)->process += MAKER_TICKS(0.25);
	advance(1);
	assert_true(fabs(cpa_top_cpu(&top, 0) - 0.25) < 1e-6);
	assert_true(cpa_top_cpu(&top, 1) == 0);
	press("t");
	expect("  25.0%");
	expect("lately 0.25 busy");
	/* The kernel knows more. */
	top.now.tasks = 1;
	free(top.now.task);
	top.now.task = calloc(1, sizeof(*top.now.task));
	top.now.task[0] = (struct cpa_top_task){ .tid = 4711, .state = 'R', .cpu_s = 8 };
	moment = make_moment();
	moment.at_s = clock_s + 2;
	moment.tasks = 1;
	moment.task = calloc(1, sizeof(*moment.task));
	moment.task[0] = (struct cpa_top_task){ .tid = 4711, .state = 'R', .cpu_s = 9.5 };
	cpa_top_advance(&top, moment);
	assert_true(fabs(cpa_top_cpu(&top, 0) - 1.5) < 1e-6);
	expect("  75.0%");
}

/* A row that another thread uses now: the sums of the former are not its own. */
static void test_row_used_again(void **state)
{
	(void)state;
	advance(0);
	thread_row(2)->key = 99;
	thread_row(2)->earlier = 1;
	thread_row(2)->process += MAKER_TICKS(1);
	advance(1);
	assert_true(isnan(cpa_top_cpu(&top, 1)));
}

static void test_marks(void **state)
{
	(void)state;
	advance(0);
	press("m");
	expect_order("3.00 s  2.50 s    4711  second", "1.00 s  1.00 s       -  first");
}

static void test_history(void **state)
{
	(void)state;
	for (int i = 0; i < CPA_TOP_HISTORY + 10; i++) {
		thread_row(1)->path.delta[0].s = (int32_t)MAKER_TICKS(0.01 * (i + 1));
		advance(1);
	}
	assert_true(fabs(cpa_top_saved(&top, EXAMPLE_POOL, 0) - 0.7) < 1e-6);
	assert_true(fabs(cpa_top_saved(&top, EXAMPLE_POOL, 59) - 0.11) < 1e-6);
	assert_true(isnan(cpa_top_saved(&top, EXAMPLE_POOL, 60)));
	top.detail = (struct cpa_top_key){ CPA_TOP_COMPONENTS,
					   CPA_TOP_COMPONENT_ID(EXAMPLE_POOL, CPA_LOCK) };
	expect("saves, in the last 60 readings; the highest is 700 ms\n▂");
	expect("█\n");
	top.ascii = true;
	expect("#\n");
}

static void test_detail(void **state)
{
	(void)state;
	advance(0);
	/* The row at the cursor. */
	press("/pool");
	cpa_top_press(&top, CPA_KEY_ENTER);
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect("lock example_pool.queue[1].lock\n");
	expect("saves 2.00 s; ");
	expect("2 edges of the activity graph touch it\n");
	expect("dependency  unlock");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	expect("[1 components]");
	/* By the lock's own row, too. */
	press("l");
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect("+ mutex example_pool.queue[1].lock\n");
	expect("threads waited 1.75 s; held 3.00 s; of the queue tasks\n");
	expect("acquired 160 times, 31.2% contended, 25 hand-offs; 3 objects\n");
	expect("saves 2.00 s; ");
	top.now.edges = false;
	expect("the activity graph comes with the next reading\n");
	/* Keys of the table do nothing to it meanwhile. */
	press("sr/");
	assert_false(top.typing);
	assert_int_equal(top.order[CPA_TOP_LOCKS].column, 0);
	top.detail.id = 13 << 8;
	expect("It is no more.");
}

static void enter(const char *keys)
{
	press(keys);
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
}

static void test_thread_page(void **state)
{
	(void)state;
	thread_row(1)->held_count = 2;
	thread_row(1)->held_slot[0] = EXAMPLE_POOL;
	thread_row(1)->held_slot[1] = MAKER_SLOTS + 1;
	advance(0);
	enter("t");
	expect("thread 4711 example, of main\n");
	expect("after 30 events; the last: -; since then it holds example_pool.queue[1].lock\n");
	expect("all threads of main together\nsaves ");
	/* Functions and externals only, by time; of its life. */
	expect("  time  of its life  kind      it was in ");
	expect("4.00 s        40.0%  function  example_work");
	expect_not("lock      example_pool");
	/* The worker slept, too. */
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	cpa_top_press(&top, CPA_KEY_DOWN);
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect("thread 4712 worker ?");
	expect("external  sleep");
	expect_order("function  example_work", "external  sleep");
}

static void test_queue_page(void **state)
{
	(void)state;
	advance(0);
	enter("u");
	expect("queue ");
	expect("10 items in it, ");
	expect("depth: with the next readings\n");
	queue_row(1)->enqueued += 30;
	queue_row(1)->depth += 30;
	advance(2);
	expect("; lately 15.0 in and 0.00 out a second\n");
	expect("depth, in the last 1 readings; the highest is 40\n█\n");
	advance(1);
	queue_row(1)->depth -= 30;
	advance(1);
	expect("depth, in the last 3 readings; the highest is 40\n██▃\n");
	/* Of another one nothing is known yet. */
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	enter("t");
	expect("CPU: with the next readings\n");
}

static void test_mark_page(void **state)
{
	(void)state;
	advance(0);
	enter("m");
	expect("mark second\nat 3.00 s by thread 4711; the longest chain of work to it is 2.50 s\n"
	       "after the mark before it, first: 2.00 s, in which the path grew by 1.50 s\n"
	       "1 of this name, apart - on average\n");
	((struct cpa_mark *)dump_maker_at(&maker, CPA_TABLE_MARKS, 1))->name =
		((struct cpa_mark *)dump_maker_at(&maker, CPA_TABLE_MARKS, 2))->name;
	advance(1);
	expect("mark first\nat 3.00 s ");
	expect("2 of this name, apart 2.00 s on average\n");
	expect("3.00 s  2.00 s  2.50 s   1.50 s    4711\n");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	cpa_top_press(&top, CPA_KEY_DOWN);
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect("up to the next, first: 2.00 s, in which the path grew by 1.50 s\n");
	expect(">1.00 s       -  1.00 s        -       ?\n");
}

static void test_keys(void **state)
{
	(void)state;
	advance(0);
	press(" ");
	assert_true(top.frozen);
	expect("FROZEN example, pid");
	press(" ");
	assert_false(top.frozen);
	press("?");
	expect("PgUp PgDn");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	expect_not("PgUp PgDn");
	press("\t");
	expect("[2 locks]");
	press("1");
	cpa_top_press(&top, CPA_KEY_LEFT);
	expect("by where");
	cpa_top_press(&top, CPA_KEY_RIGHT);
	expect("by saves");
	assert_int_equal(cpa_top_press(&top, 'w'), CPA_TOP_WRITE);
	top.message = strdup("report in x");
	expect("report in x\n");
	press("s");
	expect_not("report in x");
	assert_int_equal(cpa_top_press(&top, 'q'), CPA_TOP_QUIT);
	/* Nothing that is not a key does harm. */
	for (int key = 0; key < 300; key++)
		if (key != 'q' && key != 'w') {
			cpa_top_press(&top, key);
			draw_on(COLUMNS, LINES);
		}
}

static void test_nothing_in_it(void **state)
{
	(void)state;
	dump_maker_free(&maker);
	dump_maker_start(&maker);
	advance(0);
	advance(1);
	for (unsigned view = 0; view < CPA_TOP_VIEWS; view++) {
		press((const char[]){ (char)('1' + view), '\r', '\0' });
		expect("0 by ");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fits_any_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heading, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_interval, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths_never_get_shorter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_components, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cursor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_row_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_history, setup, teardown),
		cmocka_unit_test_setup_teardown(test_detail, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_in_it, setup, teardown),
	};
	int fd = mkstemp(file), ret;

	if (fd < 0)
		maker_fail(file);
	close(fd);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return ret;
}
