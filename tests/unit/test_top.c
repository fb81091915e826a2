/* SPDX-License-Identifier: MIT */
/* tests/unit/test_top.c - screen and keys of cpa top, whatever it shows */
#include "tests/unit/top_moments.h"

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
		[CPA_TOP_KILLED] = ": gone (killed, ",
		[CPA_TOP_COPIED] = ": copied while it ran, ",
		[CPA_TOP_UNKNOWN] = ": did not finish, ",
		[CPA_TOP_LOST] = ": its file is gone or damaged, ",
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
	/* The lock saves 2.25 s now. */
	expect("2.25 s  +250 ms");
}

static void test_filter(void **state)
{
	(void)state;
	advance(0);
	press("/EXAMPLE_W");
	expect("/EXAMPLE_W_");
	expect("function  example_work");
	expect_not("thread    main");
	/* While typing text, keys are text. */
	press("q");
	expect("[1 components] 2 locks  3 queues  4 threads  5 marks  6 streams   0 by saves");
	cpa_top_press(&top, CPA_KEY_BACKSPACE);
	cpa_top_press(&top, CPA_KEY_BACKSPACE);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect(", /EXAMPLE_");
	expect("function  example_work");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	expect("thread    main");
	/* A multi-byte character is deleted as a whole. */
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
	assert_int_equal(cpa_top_press(&top, 'o'), CPA_TOP_OPEN);
	top.message = strdup("report in x");
	expect("report in x\n");
	press("s");
	expect_not("report in x");
	assert_int_equal(cpa_top_press(&top, 'q'), CPA_TOP_QUIT);
	/* Codes that are no keys do no harm. */
	for (int key = 0; key < 300; key++)
		if (key != 'q' && key != 'w' && key != 'o') {
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
		TOP_TEST(test_fits_any_size), TOP_TEST(test_heading), TOP_TEST(test_last_interval),
		TOP_TEST(test_filter),	      TOP_TEST(test_cursor),  TOP_TEST(test_keys),
		TOP_TEST(test_nothing_in_it),
	};

	return top_run(tests);
}
