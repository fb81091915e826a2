/* SPDX-License-Identifier: MIT */
/* tests/unit/test_verdict.c - which verdict follows from which figures */
#include "tests/unit/verdict_run.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"

static void test_work(void **state)
{
	(void)state;
	expect("work",
	       "The work itself limits this program: no lock, queue or uneven division costs much "
	       "of the critical path of 8.00 s.",
	       "No function stands out either; more threads may help while there are processors "
	       "for them.");
	assert_null(verdict.beside);
	add(CPA_FUNCTION, "parse", 4, 3);
	expect("work",
	       "The work itself limits this program: no lock, queue or uneven division costs much "
	       "of the critical path of 8.00 s.",
	       "Make the function parse cheaper (it has 4.00 s of the path), or use more threads "
	       "while there are processors for them.");
}

/* No profile at all is no reason to say that nothing is in the way. */
static void test_empty(void **state)
{
	(void)state;
	profile.program = (struct cpa_program_figures){ .complete = true, .cores = 4, .wall_s = 1 };
	expect("unseen", "What limits this program is not known: the profile has no thread.",
	       "If its file was cut or damaged, run the program again.");
	profile.threads = 1;
	expect("unseen", "What limits this program is not known: no thread has recorded any work.",
	       "If it has just begun, look again later.");
}

static void test_lost_rows(void **state)
{
	(void)state;
	profile.diagnostics.lost_rows = 3;
	expect_kind("work");
	assert_string_equal(verdict.doubt,
			    "This may be off: the profile is cut off or damaged, and 3 "
			    "rows of its tables are missing.");
}

/* Without the lock the path is 1 s, but 16 s of work on 4 processors take 4 s. */
static void test_lock(void **state)
{
	(void)state;
	add(CPA_LOCK, "table_lock", 7.5, 7);
	objects[0] = (struct cpa_object_figures){
		.kind = "mutex", .slot = 10, .has_slot = true, .contended = 5
	};
	profile.objects = 1;
	expect("lock",
	       "A lock limits this program: the lock table_lock is held for 7.50 s of the 8.00 s "
	       "of the critical path.",
	       "Do less under it, or split it into several locks: at most 2.00 times as fast on 4 "
	       "processors, more on more of them.");
	assert_string_equal(verdict.options, "--level object");
	assert_int_equal(verdict.slot, 10);
	profile.program.journal = true;
	expect_kind("lock");
	assert_string_equal(verdict.options, "--what-if 'lock:table_lock=split:8'");
	components[0].name = "it's";
	expect_kind("lock");
	assert_string_equal(verdict.options, "--level object");
	/* A function gains twice as much as a lock with little of the path. */
	components[0].saved_s = 1;
	expect_kind("lock");
	add(CPA_FUNCTION, "parse", 3, 2);
	expect("work",
	       "The work itself limits this program: no lock, queue or uneven division costs much of "
	       "the critical path of 8.00 s.",
	       "Make the function parse cheaper (it has 3.00 s of the path), or use more threads "
	       "while there are processors for them.");
	components[1].saved_s = 1.9;
	expect_kind("lock");
	components[0].saved_s = 2;
	components[1].saved_s = 7;
	expect_kind("lock");
	profile.components = 1;
	components[0].saved_s = 7;
	/* Nobody waited for it: it orders nothing. */
	objects[0].contended = 0;
	expect_kind("work");
}

static void test_processors(void **state)
{
	struct cpa_component_figures *function = add(CPA_FUNCTION, "render", 6, 6);

	(void)state;
	function->total_s = 30;
	profile.program.work_s = profile.program.cpu_s = 40;
	expect("processors",
	       "Too few processors limit this program: 40.0 s of work take 10.0 s on 4 "
	       "processors, but the critical path is 8.00 s.",
	       "More processors: at most 1.25 times as fast. On 4 processors, only less work: the "
	       "function render has 75.0% of the CPU time.");
	profile.program.critical_path_s = 9.9;
	expect("processors",
	       "Too few processors limit this program: 40.0 s of work take 10.0 s on 4 "
	       "processors, and the critical path is as long, 9.90 s.",
	       "More processors alone gain little. On 4 processors, only less work: the function "
	       "render has 75.0% of the CPU time.");
	/* Nearly as long is enough: a shorter path alone would gain nothing. */
	profile.program.critical_path_s = 10.4;
	expect_kind("processors");
	profile.program.critical_path_s = 9.9;
	function->shared = true;
	expect_kind("processors");
	assert_non_null(strstr(verdict.action, "of which no function has much"));
}

/* Processors that were busy while the path was ready, and not with this program's work. */
static void test_other_programs(void **state)
{
	(void)state;
	profile.program.segment_s[CPA_TIME_PROCESS] = 4;
	profile.program.segment_s[CPA_TIME_RUNQUEUE] = 6;
	expect_kind("work");
	assert_true(verdict.others_s == 6 * 4 - 12);
	assert_string_equal(
		verdict.beside,
		"The run took 10.0 s, more than it needs: other programs, or a limit on its CPU "
		"time, took 30.0% of the 4 processors' time from it. Times on the critical path "
		"hold all the same.");
	/* A thread that waits in a loop of its own does so for longer. */
	profile.spin.stacks = 100;
	profile.spin.path_s = 2;
	expect_kind("work");
	assert_null(strstr(verdict.beside, "hold"));
	assert_non_null(strstr(verdict.doubt, "about 2.00 s of the critical path is in loops"));
	profile.spin.path_s = profile.program.critical_path_s;
	expect_kind("unseen");
	profile.spin.stacks = 0;
	/* They may have been busy with the program's own threads. */
	profile.program.segment_s[CPA_TIME_PROCESS] = 7;
	profile.program.segment_s[CPA_TIME_RUNQUEUE] = 2;
	expect_kind("work");
	assert_true(verdict.others_s == 0);
	assert_string_equal(verdict.beside, "For 2.00 s of the 10.0 s that the run took, its next "
					    "step was ready and had no processor.");
	profile.parts = 3;
	expect_kind("work");
	assert_string_equal(verdict.beside,
			    "For 2.00 s of the 10.0 s that the profiled parts took, their next "
			    "step was ready and had no processor.");
}

static void test_imbalance(void **state)
{
	(void)state;
	add(CPA_THREAD, "solver", 8, 8);
	add_thread(10, 7);
	for (int i = 0; i < 3; i++)
		add_thread(10, 3);
	expect("imbalance",
	       "Uneven work limits this program: its 4 threads of solver have 4.00 s of work each "
	       "on average, but the busiest has 7.00 s, and the longest chain of them is 8.00 s.",
	       "Divide the work evenly among these threads: at most 2.00 times as fast.");
	add(CPA_REGION, "edge", 4.5, 4);
	add(CPA_REGION, "interior", 3.5, 3);
	expect_kind("imbalance");
	assert_non_null(strstr(verdict.sentence, "of them is 8.00 s, most of it in region edge."));
	profile.components = 1;
	/* A lock explains the same time, and is more special. */
	add(CPA_LOCK, "lock", 7.5, 6);
	objects[0] = (struct cpa_object_figures){
		.kind = "mutex", .slot = 11, .has_slot = true, .handoffs = 5
	};
	profile.objects = 1;
	expect_kind("lock");
}

/* Even work in a chain: the threads wait for each other in turn; at barriers it is uneven rounds. */
static void test_turns(void **state)
{
	(void)state;
	add(CPA_THREAD, "interpret", 8, 8);
	for (int i = 0; i < 4; i++)
		add_thread(10, 2);
	profile.program.work_s = 8;
	expect("turns",
	       "Threads that work in turn limit this program: its 4 of interpret have 2.00 s of "
	       "work each on average, but one has to wait for another, in a chain of 8.00 s.",
	       "Let them work at the same time; the table of locks shows what they wait for: at "
	       "most 4.00 times as fast.");
	objects[0] = (struct cpa_object_figures){ .kind = "barrier", .contended = 3 };
	profile.objects = 1;
	expect_kind("imbalance");
}

static void test_serial(void **state)
{
	(void)state;
	profile.program.work_s = 14;
	add(CPA_THREAD, "main", 6, 6);
	add(CPA_THREAD, "worker", 2, 2);
	add(CPA_FUNCTION, "load", 5, 5);
	add(CPA_FUNCTION, "serve", 5.5, 5.5);
	add_thread(10, 6);
	spend(CPA_FUNCTION, 12, 5);
	for (int i = 0; i < 4; i++) {
		add_thread(11, 2);
		spend(CPA_FUNCTION, 13, 2);
	}
	expect("serial",
	       "A serial part limits this program: the one thread main has 6.00 s of the 8.00 s of "
	       "the critical path; the largest piece is the function load.",
	       "Make that cheaper, or divide it among threads: at most 2.29 times as fast.");
	/* One that sleeps from time to time is no serial part. */
	add_external("sleep", CPA_EXT_SERVICE, 5, 0);
	add(CPA_THREAD, "ticker", 5.1, 5.1);
	components[0].critical_path_s = components[0].saved_s = 0.1;
	add_thread(15, 0.1);
	spend(CPA_EXTERNAL, 14, 5);
	expect_kind("work");
}

/* Threads of several classes had one row: only of classes that have no part of it all threads are known. */
static void test_mixed(void **state)
{
	(void)state;
	profile.program.work_s = 14;
	add(CPA_THREAD, "main", 6, 6)->total_s = 6;
	add(CPA_THREAD, "worker", 7, 7)->total_s = 8;
	add_thread(10, 6);
	add_thread(11, 7);
	add_thread(0, 1);
	expect_kind("serial");
	assert_int_equal(verdict.slot, 11);
	threads[2].mixed = true;
	expect_kind("serial");
	assert_int_equal(verdict.slot, 10);
	components[0].critical_path_s = components[0].saved_s = 0.1;
	components[0].total_s = threads[0].process_s = 0.1;
	expect("work",
	       "The work itself limits this program, or how threads divide it: no lock or queue "
	       "costs much of the critical path of 8.00 s.",
	       "No function stands out either; more threads may help while there are processors for "
	       "them.");
}

/* Two programs of one name, one after the other, are no uneven division of work. */
static void test_in_turn(void **state)
{
	(void)state;
	add(CPA_THREAD, "compiler", 8, 8);
	for (int i = 0; i < 2; i++) {
		add_thread(10, i ? 7 : 1);
		threads[i].begun_s = i ? 2 : 0;
		threads[i].lived_s = i ? 7 : 1;
	}
	profile.program.work_s = 8;
	expect("serial",
	       "A serial part limits this program: the threads compiler, one after another, have "
	       "8.00 s of the 8.00 s of the critical path.",
	       "Make that cheaper, or divide it among threads: at most 4.00 times as fast.");
	threads[1].begun_s = 0.5;
	expect_kind("imbalance");
}

static struct cpa_queue_figures *add_queue(double path_s, double producers_path_s)
{
	static char name[] = "tasks";

	profile.queues = 1;
	queues[0] = (struct cpa_queue_figures){
		.by = CPA_BY_NAME,
		.name = name,
		.slot = 10,
		.dequeued = 100,
		.consumers = 2,
		.producers = 1,
		.service_s = 0.9e-3,
		.saved_s = path_s,
		.critical_path_s = path_s,
		.producers_path_s = producers_path_s,
	};
	return &queues[0];
}

static void test_queue(void **state)
{
	(void)state;
	add_queue(6, 1);
	expect("queue",
	       "The consumers of a queue limit this program: work on items of queue tasks is 6.00 "
	       "s of the 8.00 s of the critical path (2 consumers, 900 us an item).",
	       "Add consumers, or make an item cheaper; faster producers gain nothing: at most "
	       "2.00 times as fast on 4 processors, more on more of them.");
	add_queue(1, 6);
	add(CPA_THREAD, "producer", 6, 6);
	add_thread(10, 6);
	expect("queue",
	       "The producers of a queue limit this program: those of queue tasks are on the "
	       "critical path for 6.00 s of 8.00 s (1 producer).",
	       "Add producers, or make them faster; more consumers gain nothing: at most 2.00 "
	       "times as fast on 4 processors, more on more of them.");
}

/* grep (slot 10) writes to sort (slot 11), which waited for @waited_s, and made it wait. */
static void add_stream(double waited_s, double blocked_s)
{
	streams[profile.streams++] = (struct cpa_stream_figures){ .kind = CPA_STREAM_PIPE,
								  .from = "grep",
								  .to = "sort",
								  .writer.slot = 10,
								  .reader.slot = 11,
								  .waited_s = waited_s,
								  .blocked_s = blocked_s };
}

static void test_stage(void **state)
{
	struct cpa_process_figures process = {
		.id = 1, .pid = 4711, .name = "grep", .argument = "x"
	};

	(void)state;
	add(CPA_THREAD, "grep", 6.64, 6);
	add(CPA_THREAD, "sort", 1, 1);
	add_stream(5, 1);
	for (int i = 0; i < 2; i++) {
		add_thread(10, 7);
		add_thread(11, 7);
	}
	expect("stage",
	       "A stage limits this program: sort waits for grep, which has 6.64 s of the 8.00 s of "
	       "the critical path (83.0%).",
	       "Make grep cheaper, or divide its work among several; faster others gain nothing: "
	       "at most 2.00 times as fast on 4 processors, more on more of them.");
	add(CPA_FUNCTION, "match", 4, 4);
	expect("stage",
	       "A stage limits this program: sort waits for grep, which has 6.64 s of the 8.00 s of "
	       "the critical path (83.0%), most of it in the function match.",
	       "Make grep cheaper, or divide its work among several; faster others gain nothing: "
	       "at most 2.00 times as fast on 4 processors, more on more of them.");
	/* The sentence has the names of the table of streams. */
	components[0].name = "main";
	expect("stage",
	       "A stage limits this program: sort waits for grep, which has 6.64 s of the 8.00 s of "
	       "the critical path (83.0%), most of it in the function match.",
	       "Make grep cheaper, or divide its work among several; faster others gain nothing: "
	       "at most 2.00 times as fast on 4 processors, more on more of them.");
	components[0].name = "grep";
	streams[0].to = "sort and head";
	expect_kind("stage");
	assert_non_null(strstr(verdict.sentence, "program: sort and head wait for grep, which"));
	streams[0].to = "sort";
	/* Two processes of one name. */
	threads[0].process = 1;
	threads[0].tid = 4711;
	threads[2].process = 2;
	expect("stage",
	       "A stage limits this program: sort waits for grep, which has 6.64 s of the 8.00 s of "
	       "the critical path (83.0%), most of it in the function match.",
	       "Make grep cheaper, or divide its work among several (of its 2 processes 4711 has "
	       "50.0% of the work); faster others gain nothing: at most 2.00 times as fast on 4 "
	       "processors, more on more of them.");
	/* Told apart by their arguments. */
	profile.process = &process;
	profile.processes = 1;
	threads[0].start_routine = process.name;
	expect_kind("stage");
	assert_non_null(strstr(verdict.action, "(of its 2 processes 4711, grep x, has"));
	profile.processes = 0;
	/* A third of equal work: none of them stands out. */
	add_thread(threads[0].slot, threads[0].process_s);
	threads[profile.threads - 1].process = 3;
	expect_kind("stage");
	assert_non_null(
		strstr(verdict.action, "among several (its 3 processes have about equal work);"));
	profile.threads--;
	threads[2].process = 1;
	/* The one that has the path is the one that waits: it waits for who has it elsewhere. */
	streams[0].waited_s = 1;
	streams[0].blocked_s = 5;
	expect_kind("work");
	components[0].critical_path_s = 1;
	components[1].critical_path_s = 6.64;
	components[1].saved_s = 6;
	expect_kind("stage");
	/* Who is at both ends waits for itself. */
	streams[0].writer.slot = 11;
	expect_kind("work");
	streams[0].writer.slot = 10;
	/* One that does nothing but wait is no stage. */
	components[0].critical_path_s = 0;
	threads[0].process_s = threads[2].process_s = 0.05;
	expect_kind("work");
	threads[0].process_s = threads[2].process_s = 7;
	expect_kind("stage");
	components[1].critical_path_s = 3.9;
	expect_kind("work");
}

/* From three items nothing follows. */
static void test_few_items(void **state)
{
	(void)state;
	add_queue(6, 1)->dequeued = 3;
	expect_kind("work");
}

static void test_io(void **state)
{
	(void)state;
	add(CPA_EXTERNAL, "read", 5, 5);
	expect("io",
	       "Input and output limit this program: for 5.00 s of the 8.00 s of the critical path "
	       "it is blocked, most of it in read.",
	       "Ask for more at a time, or ahead of need, from files, devices or other hosts: at "
	       "most 2.00 times as fast on 4 processors, more on more of them.");
	components[0].name = "other";
	expect_kind("io");
	assert_non_null(strstr(verdict.sentence, "blocked for disks, in page faults or calls "));
	assert_non_null(strstr(verdict.action, "next run may find the files in memory. Ask"));
	components[0].name = "child";
	expect_kind("io");
	assert_non_null(strstr(verdict.sentence, "Other processes limit this program"));
	components[0].critical_path_s = 3;
	expect_kind("work");
}

static void test_idle(void **state)
{
	(void)state;
	add(CPA_EXTERNAL, "poll", 0, 0)->class = CPA_EXT_IDLE;
	components[0].observed_path_s = 8;
	profile.program.segment_blocked_s[CPA_EXT_IDLE] = 8;
	profile.program.critical_path_s = 2;
	profile.program.work_s = profile.program.cpu_s = 2;
	expect("idle",
	       "Nothing to gain in this run: for 8.00 s of 10.0 s the program waited for something "
	       "to do (poll).",
	       "Profile it under load; then what limits it are its CPU time and the waits for its "
	       "locks.");
	/* Other programs take time on the run queue, which is no time of this one. */
	profile.program.segment_blocked_s[CPA_EXT_IDLE] = 4;
	expect_kind("work");
	profile.program.critical_path_s = 1;
	profile.program.segment_s[CPA_TIME_RUNQUEUE] = 5;
	expect_kind("idle");
	profile.program.segment_s[CPA_TIME_RUNQUEUE] = 0;
	profile.program.segment_blocked_s[CPA_EXT_IDLE] = 8;
	/* Much work: others of its threads were busy, and may be what it waited for. */
	profile.program.work_s = 5;
	expect_kind("processors");
	profile.program.work_s = 2;
	/* A path that fills the run is the answer, even if the thread that ended it was idle. */
	profile.program.critical_path_s = 8;
	expect_kind("work");
	add(CPA_EXTERNAL, "sleep", 7, 7);
	expect("idle",
	       "Nothing to gain in this run: for 7.00 s of the critical path of 8.00 s the program "
	       "slept.",
	       "Sleep less, or profile a run in which it works.");
	components[1].critical_path_s = components[1].saved_s = 5;
	expect("sleep",
	       "Sleeps limit this program: for 5.00 s of the 8.00 s of the critical path it slept.",
	       "Sleep less, or wait for what the program sleeps for: at most 2.67 times as fast.");
	components[1].critical_path_s = 3;
	expect_kind("work");
}

/* By measured time; or by count, as on a busy machine the time passes on the run queue. */
static void test_hand_offs(void **state)
{
	(void)state;
	objects[0] = (struct cpa_object_figures){ .kind = "semaphore", .contended = 1000000 };
	objects[1] = (struct cpa_object_figures){ .kind = "condition", .handoffs = 1000000 };
	profile.objects = 2;
	expect("hand-offs",
	       "Hand-offs limit this program: 2.00 M times a thread waits until another wakes it, "
	       "with 8.00 us of work in between.",
	       "Hand over less often, in larger pieces, or let one thread do both parts; shorter "
	       "critical sections gain less.");
	objects[0].contended = 1000;
	expect_kind("work");
	profile.program.segment_s[CPA_TIME_HANDOFF] = 2.5;
	expect_kind("hand-offs");
	/* On a busy machine wakes take long; that is not for the program to mend. */
	objects[0].contended = objects[1].handoffs = 70000;
	expect_kind("work");
	/* Spinning wakes nobody, and a few long wake-ups are no pattern. */
	objects[0] = (struct cpa_object_figures){ .kind = "spin", .contended = 2000000 };
	objects[1].handoffs = 9;
	expect_kind("work");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_work),      TEST(test_empty),	     TEST(test_lost_rows),
		TEST(test_lock),      TEST(test_processors), TEST(test_other_programs),
		TEST(test_imbalance), TEST(test_turns),	     TEST(test_serial),
		TEST(test_queue),     TEST(test_mixed),	     TEST(test_in_turn),
		TEST(test_few_items), TEST(test_io),	     TEST(test_idle),
		TEST(test_hand_offs), TEST(test_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
