/* SPDX-License-Identifier: MIT */
/* tests/unit/test_verdict_regions.c - which verdict follows from the figures of parallel regions */
#include "analysis/derived/teams.h"
#include "tests/unit/verdict_run.h"
#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/profile/modules.h"
#include "analysis/profile/pag.h"

/* A region of 3 instances, of which each thread has @parts parts in all. */
static void add_region(struct cpa_component_figures *region, uint64_t parts)
{
	static struct cpa_node_figures nodes[4];
	static struct cpa_edge_figures edges[2];

	nodes[0] = (struct cpa_node_figures){ .id = 1, .kind = "parallel", .class = region->name };
	nodes[1] = (struct cpa_node_figures){ .id = 2, .kind = "part", .class = region->name };
	nodes[2] = (struct cpa_node_figures){ .id = 3, .kind = "part-end" };
	edges[0] = (struct cpa_edge_figures){ .from = 1, .to = 2, .count = 3 };
	edges[1] = (struct cpa_edge_figures){ .from = 2, .to = 3, .count = parts };
	profile.node = nodes;
	profile.nodes = 3;
	profile.edge = edges;
	profile.edges = 2;
}

/* 7 s of the path are in a region of 4 threads with 8 s of work: the rest is 1 s. */
static void test_region(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 7, 1);
	struct cpa_team_thread team[4] = {
		{ .tid = 11, .work_s = 7 }, { .work_s = 0.4 }, { .work_s = 0.3 }, { .work_s = 0.3 }
	};
	struct cpa_team_figures row = { .name = region->name,
					.slot = region->slot,
					.work_s = 8,
					.most_s = 7,
					.even_s = 2,
					.balanced_saved_s = 5,
					.threads = 4,
					.thread = team };
	struct cpa_teams teams = { .rows = 1, .row = &row };

	(void)state;
	region->total_s = 8;
	expect_kind("work"); /* a region of the program's own */
	add_region(region, 12);
	expect("region",
	       "A parallel region limits this program: the 4 threads of f() parallel at f.c:3 have "
	       "2.00 s of work each on average, but the longest chain of it is 7.00 s.",
	       "Divide its work evenly, or let its threads wait less for each other (cpa run "
	       "--journal shows the work of each): at most 2.00 times as fast on 4 processors, more "
	       "on more of them.");
	profile.teams = &teams;
	expect("region",
	       "Uneven work limits this program: in f() parallel at f.c:3 thread 11 works 7.00 s, the "
	       "others 333 ms on average; balanced it takes 2.00 s.",
	       "Divide its work evenly among its threads, or try schedule(dynamic): at most 2.00 "
	       "times as fast on 4 processors, more on more of them.");
	team[0].work_s = team[1].work_s = 3.5;
	team[2].work_s = team[3].work_s = 0.5;
	expect("region",
	       "Uneven work limits this program: in f() parallel at f.c:3 another thread is the "
	       "slowest each time, and the others wait: the slowest work 7.00 s, the average 2.00 s; "
	       "balanced it takes that.",
	       "Divide its work evenly among its threads, or try schedule(dynamic): at most 2.00 "
	       "times as fast on 4 processors, more on more of them.");
	row.balanced_saved_s = 0.5; /* they wait for each other */
	expect_kind("work");
	profile.teams = NULL;
	region->total_s = 27;
	expect_kind("work");
}

/* 16 s of work in regions of 50 us each; if the next step waits little until it runs, that is no matter. */
static void test_short_regions(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 7, 1);

	(void)state;
	region->total_s = 28;
	add_region(region, 12);
	profile.edge[1].dependency = true;
	profile.edge[1].count = 320000;
	expect_kind("work");
	profile.program.segment_s[CPA_TIME_PROCESS] = 7;
	profile.program.segment_s[CPA_TIME_HANDOFF] = 3;
	expect("short-regions",
	       "Short parallel regions limit this program: 320000 times a thread waits for others of "
	       "its team, with 50.0 us of work in between.",
	       "Join neighbouring regions and loops, leave out barriers (nowait), or run the small ones "
	       "with one thread (if).");
	profile.edge[1].count = 3200; /* 5 ms of work are worth a wake */
	expect_kind("work");
}

/* 0.7 s of the path of 8 s would not matter, those of all regions do. */
static void test_several_regions(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 6, 1);
	struct cpa_team_thread team[4] = {
		{ .tid = 11, .work_s = 6 }, { .work_s = 5.4 }, { .work_s = 5 }, { .work_s = 4.8 }
	};
	struct cpa_team_figures row = { .name = region->name,
					.slot = region->slot,
					.work_s = 21.2,
					.most_s = 6,
					.even_s = 5.3,
					.balanced_saved_s = 0.7,
					.threads = 4,
					.thread = team };
	struct cpa_teams teams = { .rows = 1, .row = &row, .balanced_saved_s = 2 };

	(void)state;
	region->total_s = 21.2;
	add_region(region, 12);
	expect_kind("work");
	profile.teams = &teams;
	profile.program.work_s = 22;
	expect("region",
	       "Uneven work in several parallel regions limits this program: with all of them "
	       "balanced the critical path of 8.00 s is 2.00 s shorter, 700 ms of it by f() parallel "
	       "at f.c:3.",
	       "Divide the work of each evenly among its threads, or try schedule(dynamic): at most "
	       "1.33 times as fast.");
	assert_int_equal(verdict.slot, region->slot);
	teams.balanced_saved_s = 0.7;
	expect_kind("work");
}

/* Threads of the pool do what regions give them: their sums say nothing. */
static void test_pool(void **state)
{
	struct cpa_component_figures *pool = add(CPA_THREAD, "OpenMP pool", 7, 7), *region;
	struct cpa_module_figures module = { .path = (char *)"/usr/lib/libgomp.so.1.0.0" };

	(void)state;
	add_thread(pool->slot, 7);
	add_thread(pool->slot, 1);
	profile.program.work_s = 9;
	expect_kind("imbalance");
	profile.module = &module;
	profile.modules = 1;
	pool->module = 1;
	expect_kind("imbalance"); /* no team is known */
	region = add(CPA_REGION, "f() parallel at f.c:3", 7, 7);
	region->total_s = 14;
	add_region(region, 6);
	expect_kind("work");
}

/* 5 s of the path are in a region of one thread, which is that of main. */
static void test_region_alone(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 5, 5);

	(void)state;
	region->total_s = 5;
	add(CPA_THREAD, "main", 8, 8);
	add_thread(11, 8);
	profile.program.work_s = 8;
	add_region(region, 3);
	expect("region",
	       "Parallel regions with one thread limit this program: they have 5.00 s of the 8.00 s "
	       "of the critical path, most of it in region f() parallel at f.c:3.",
	       "Give them more threads, by OMP_NUM_THREADS or where the program sets how many: at "
	       "most 1.88 times as fast.");
	assert_int_equal(verdict.slot, region->slot);
}

/* What the master does in a region that is even is no serial part. */
static void test_serial_beside_region(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 5, 5);

	(void)state;
	region->total_s = 20;
	add(CPA_THREAD, "main", 8, 8);
	add(CPA_FUNCTION, "kernel", 4, 4);
	add_thread(11, 8);
	spend(CPA_FUNCTION, 12, 4);
	profile.program.work_s = 23;
	add_region(region, 12);
	expect("serial",
	       "A serial part limits this program: outside its parallel regions are 3.00 s of the "
	       "8.00 s of the critical path.",
	       "Make that cheaper, or divide it among threads: at most 1.39 times as fast.");
	/* Nor are tasks, in the region or not. */
	add(CPA_QUEUE, "f() task at f.c:5", 6, 6);
	profile.node[profile.nodes++] = (struct cpa_node_figures){
		.id = 4, .kind = "task", .class = components[profile.components - 1].name
	};
	expect_kind("serial");
	assert_non_null(strstr(verdict.sentence, "regions are at most 2.00 s of"));
}

/* The function with most of the path outside regions is named, not one that has more of it inside. */
static void test_outside_regions(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 5, 5);
	struct cpa_component_figures *main = add(CPA_THREAD, "main", 8, 8);
	struct cpa_component_figures *kernel = add(CPA_FUNCTION, "kernel", 4.5, 0.5);
	struct cpa_component_figures *fill = add(CPA_FUNCTION, "fill", 2, 2);
	struct cpa_context_figures context[] = {
		{ .name = (char *)"main" },
		{ .name = (char *)"kernel", .caller = 1, .component = kernel, .path_s = 0.5 },
		{ .name = (char *)"GOMP_parallel", .caller = 1 },
		{ .name = (char *)"f() body", .caller = 3 },
		{ .name = (char *)"kernel", .caller = 4, .component = kernel, .path_s = 4 },
		{ .name = (char *)"fill", .caller = 1, .component = fill, .path_s = 2 },
	};
	struct cpa_contexts contexts = { .count = 6, .context = context };

	(void)state;
	region->total_s = 20;
	add_thread(main->slot, 8);
	spend(CPA_FUNCTION, kernel->slot, 4.5);
	profile.program.work_s = 23;
	add_region(region, 12);
	profile.contexts = &contexts;
	expect("serial",
	       "A serial part limits this program: outside its parallel regions are 3.00 s of the "
	       "8.00 s of the critical path, most of it in the function fill.",
	       "Make that cheaper, or divide it among threads: at most 1.39 times as fast.");
	assert_int_equal(verdict.slot, fill->slot);
	context[5].path_s = 1;
	expect_kind("serial");
	assert_non_null(strstr(verdict.sentence, "path; the largest piece is the function fill."));
	context[5].path_s = context[1].path_s = 0.1;
	expect_kind("serial");
	assert_non_null(strstr(verdict.sentence, "of the critical path."));
}

/* Where a master spins in the runtime until its team is there, nothing of the program is serial. */
static void test_spinning_beside_region(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 5, 5);
	struct cpa_component_figures *main = add(CPA_THREAD, "main", 8, 8);
	struct cpa_component_figures *spins = add(CPA_FUNCTION, "libgomp.so.1+0x100", 2.5, 2.5);
	struct cpa_module_figures module = { .path = (char *)"/usr/lib/libgomp.so.1" };

	(void)state;
	region->total_s = 20;
	add_thread(main->slot, 8);
	spend(CPA_FUNCTION, spins->slot, 2.5);
	profile.program.work_s = 23;
	add_region(region, 12);
	expect_kind("serial");
	profile.module = &module;
	profile.modules = 1;
	spins->module = 1;
	spins->total_s = 2.5;
	expect_kind("work");
	assert_null(strstr(verdict.action, "libgomp")); /* nor can the program make it cheaper */
}

/* Even regions with as many threads as processors: more of the latter need more of the former. */
static void test_threads_fill_processors(void **state)
{
	struct cpa_component_figures *region = add(CPA_REGION, "f() parallel at f.c:3", 7.9, 7.9);

	(void)state;
	region->total_s = 31.4;
	add(CPA_FUNCTION, "kernel", 7, 7)->total_s = 28;
	profile.program.work_s = 31.5;
	profile.program.journal = true;
	add_region(region, 12);
	expect("processors",
	       "Too few processors limit this program: 31.5 s of work take 7.88 s on 4 processors, "
	       "and the critical path is as long, 8.00 s.",
	       "More processors alone gain little: the threads of the parallel regions would have "
	       "to be more, too. On 4 processors, only less work: the function kernel has 88.9% of "
	       "the CPU time.");
	assert_string_equal(verdict.options, "--threads 4,8,16");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_region),
		TEST(test_short_regions),
		TEST(test_several_regions),
		TEST(test_pool),
		TEST(test_region_alone),
		TEST(test_serial_beside_region),
		TEST(test_outside_regions),
		TEST(test_threads_fill_processors),
		TEST(test_spinning_beside_region),
		TEST(test_spinning_beside_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
