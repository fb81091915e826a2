/* SPDX-License-Identifier: MIT */
/* tests/unit/test_top_views.c - the tables of cpa top for two moments */
#include "tests/unit/dump_windows.h"
#include "tests/unit/top_moments.h"

/*
 * The longest path was main's until a thread continued it, exited and was joined: a reader of
 * main's row early and of the thread's late finds it in neither. The path shown stays.
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
	/* Sorted by savings. */
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

/* Windows of 20 and 40 ms of path, of which every slot has 10 ms. */
static uint64_t of_window(unsigned i, size_t place)
{
	if (place == CPA_WINDOW_ON)
		return MAKER_TICKS(0.05);
	if (place < CPA_WINDOW_FIELDS)
		return MAKER_TICKS(i % 2 ? 0.04 : 0.02);
	return MAKER_TICKS(0.01);
}

/*
 * Of 20 batches a share of 1/3 has the margin 2.093 sqrt(20 / 19 / 20) (10 - 20 / 3) / 30 = 0.0533, of a path
 * of 8 s 427 ms. Columns that sort are those without margins.
 */
static void test_windows(void **state)
{
	struct cpa_component *class;

	(void)state;
	advance(0);
	expect_not("+-");
	expect_not("windows");
	for (uint32_t row = 1; row <= maker.rows[CPA_TABLE_COMPONENTS]; row++) {
		class = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, row);
		class->first = class->slot;
	}
	dump_maker_windows(&maker, 8, of_window);
	advance(1);
	expect("windows               9  too few for margins\n");
	expect_not("+-");
	dump_maker_windows(&maker, 20, of_window);
	advance(1);
	expect("windows              21  a sample of the run\n");
	expect("parallelism        1.60 +- 0.10  2.12 +- 0.05 with unlimited processors");
	expect("saves      +-  change");
	expect("path    +-");
	expect("3.00 s  427 ms");
	expect("37.5%  5.3%  30.0%");
	press("ss");
	expect("by path");
	press("\r");
	expect("saves 2.00 s +- 427 ms; ");
	expect("75.0% +- 5.3% of the critical path");
	press("\033l");
	expect("waited   +-  lately");
	expect("1.75 s  0 s     0 s  3.00 s  2.00 s  427 ms");
	expect("saves      +-  contended");
	press("u");
	expect("100 ms  0 s  208 ms");
	expect("saves      +-  limited by");
	press("t");
	expect("CPU   +-    wait   +-");
}

static void test_locks(void **state)
{
	(void)state;
	advance(0);
	press("l");
	expect("waited  lately");
	/* The two objects and the counters of destroyed ones. */
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
	/* Read in another order: never below zero. */
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
	moment.task[0] = (struct cpa_process_task){ .tid = 4711, .state = 'R', .cpu_s = 8 };
	moment.task[1] = (struct cpa_process_task){ .tid = 4712, .state = 'S', .cpu_s = 5 };
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
	/* The kernel lists no task for it, so up to the last event. */
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
	top.now.task[0] = (struct cpa_process_task){ .tid = 4711, .state = 'R', .cpu_s = 8 };
	moment = make_moment();
	moment.at_s = clock_s + 2;
	moment.tasks = 1;
	moment.task = calloc(1, sizeof(*moment.task));
	moment.task[0] = (struct cpa_process_task){ .tid = 4711, .state = 'R', .cpu_s = 9.5 };
	cpa_top_advance(&top, moment);
	assert_true(fabs(cpa_top_cpu(&top, 0) - 1.5) < 1e-6);
	expect("  75.0%");
}

/* A row reused by another thread: sums of the earlier thread are not its own. */
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

static void test_streams(void **state)
{
	struct cpa_stream stream = { .key = 5,
				     .kind = CPA_STREAM_UNIX,
				     .written = 1000,
				     .records = 10,
				     .reads = 9,
				     .waits = 4,
				     .waiting = MAKER_TICKS(1.5),
				     .blocked = 1,
				     .blocking = MAKER_TICKS(0.5) };
	struct cpa_stream *row;
	uint32_t number = dump_maker_row(&maker, CPA_TABLE_STREAMS, &stream);

	(void)state;
	advance(0);
	press("p");
	expect("[6 streams]");
	expect("1.50 s       -   500 ms        -  writer  unix  (outside) -> (outside)");
	row = dump_maker_at(&maker, CPA_TABLE_STREAMS, number);
	row->waiting += MAKER_TICKS(0.25);
	row->written += 400;
	advance(2);
	expect("1.75 s  +250 ms   500 ms      200  writer  unix  (outside) -> (outside)");
	press("\r");
	expect("unix socket, 1 of them: 1400 bytes in 10 writes, taken by 9 reads");
	expect("readers waited for data for 1.75 s, 4 times; writers for room for 500 ms, 1");
	expect("the side that limits: writer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOP_TEST(test_paths_never_get_shorter),
		TOP_TEST(test_components),
		TOP_TEST(test_windows),
		TOP_TEST(test_locks),
		TOP_TEST(test_queues),
		TOP_TEST(test_thread_states),
		TOP_TEST(test_thread_cpu),
		TOP_TEST(test_row_used_again),
		TOP_TEST(test_marks),
		TOP_TEST(test_streams),
	};

	return top_run(tests);
}
