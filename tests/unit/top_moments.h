/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/top_moments.h - cpa top on successive moments of a session made by hand
 *
 * A test changes rows of `maker`, lets time pass, presses keys, and looks for words on the screen.
 */
#ifndef CPA_TESTS_TOP_MOMENTS_H
#define CPA_TESTS_TOP_MOMENTS_H

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

#include "analysis/util/printable.h"
#include "analysis/top/top.h"
#include "tests/unit/dump_queues.h"

#define COLUMNS 120
#define LINES	24

static char file[] = "/tmp/test_top.XXXXXX"; /* of the session */
static struct dump_maker maker;
static struct cpa_top top;
static double clock_s;
static char *screen; /* the lines drawn last, each with its newline */

static inline int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	dump_maker_header(&maker)->state = CPA_RUNNING;
	cpa_top_init(&top, MAKER_SLOTS, false);
	clock_s = 100;
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	cpa_top_fini(&top);
	dump_maker_free(&maker);
	free(screen);
	screen = NULL;
	return 0;
}

static inline struct cpa_top_moment make_moment(void)
{
	struct cpa_top_moment moment = {
		.at_s = clock_s, .queues_at_s = clock_s, .run_s = 10, .pid = 4711, .edges = true
	};
	struct cpa_dump dump;
	char *error;

	dump_maker_save(&maker, file, SIZE_MAX);
	assert_int_equal(cpa_dump_open(&dump, file, &error), 0);
	moment.profile = cpa_profile_build(&dump, CPA_GRAPH_ALL);
	cpa_dump_close(&dump);
	return moment;
}

/* Take a moment @after seconds after the one before. */
static inline void advance(double after)
{
	clock_s += after;
	cpa_top_advance(&top, make_moment());
}

/* Draw on @columns and @lines: every line fits, and none is missing. */
static inline void draw_on(size_t columns, size_t lines)
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

static inline void expect(const char *words)
{
	draw_on(COLUMNS, LINES);
	if (!strstr(screen, words))
		fail_msg("\"%s\" is not in\n%s", words, screen);
}

static inline void expect_not(const char *words)
{
	draw_on(COLUMNS, LINES);
	if (strstr(screen, words))
		fail_msg("\"%s\" is in\n%s", words, screen);
}

static inline void expect_order(const char *first, const char *second)
{
	expect(first);
	expect(second);
	if (strstr(screen, first) > strstr(screen, second))
		fail_msg("\"%s\" is not above \"%s\" in\n%s", first, second, screen);
}

static inline void press(const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(cpa_top_press(&top, (unsigned char)*keys), CPA_TOP_STAY);
}

static inline struct cpa_thread *thread_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_THREADS, row);
}

static inline struct cpa_queue *queue_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_QUEUES, row);
}

#define TOP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* Run @tests, with a file for the session. */
#define top_run(tests)                                              \
	({                                                          \
		int fd_ = mkstemp(file), ret_;                      \
                                                                    \
		if (fd_ < 0)                                        \
			maker_fail(file);                           \
		close(fd_);                                         \
		ret_ = cmocka_run_group_tests((tests), NULL, NULL); \
		unlink(file);                                       \
		ret_;                                               \
	})

#endif
