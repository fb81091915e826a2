/* SPDX-License-Identifier: MIT */
/* tests/unit/test_top_page.c - the page of cpa top for a component, lock, thread, queue or mark */
#include "tests/unit/top_moments.h"

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
	/* Also by the lock's own row. */
	press("l");
	draw_on(COLUMNS, LINES);
	cpa_top_press(&top, CPA_KEY_ENTER);
	expect("+ mutex example_pool.queue[1].lock\n");
	expect("threads waited 1.75 s; held 3.00 s; of the queue tasks\n");
	expect("acquisitions 160, 31.2% contended; hand-offs 25; 3 objects\n");
	expect("saves 2.00 s; ");
	top.now.edges = false;
	expect("the activity graph comes with the next reading\n");
	/* Keys of the table have no effect meanwhile. */
	press("sr/");
	assert_false(top.typing);
	assert_int_equal(top.order[CPA_TOP_LOCKS].column, 0);
	top.detail.id = 13 << 8;
	expect("It no longer exists.");
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
	expect("events 30; the last: -; since then it holds example_pool.queue[1].lock\n");
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

/* For a function and an external: the threads that were in it. */
static void test_spenders(void **state)
{
	(void)state;
	advance(0);
	press("/example_work");
	cpa_top_press(&top, CPA_KEY_ENTER);
	enter("");
	expect("function example_work\n");
	expect("  time  of its life  thread  name         start routine\n");
	expect_order("  4711  example", "edges of the activity graph touch it");
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	cpa_top_press(&top, CPA_KEY_ESCAPE);
	press("/sleep");
	cpa_top_press(&top, CPA_KEY_ENTER);
	enter("");
	expect("external sleep\n");
	expect(" blocked, of all threads\n");
	expect("  4712  worker");
	expect_not("  4711  example");
	expect_not("edges of the activity graph");
	expect_not("place not known");
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
	/* Nothing is known of another one yet. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOP_TEST(test_history),	 TOP_TEST(test_detail),	    TOP_TEST(test_thread_page),
		TOP_TEST(test_spenders), TOP_TEST(test_queue_page), TOP_TEST(test_mark_page),
	};

	return top_run(tests);
}
