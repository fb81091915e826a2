/* SPDX-License-Identifier: MIT */
/* tests/unit/test_brief.c - preload/clock/brief.c on a machine whose every tick is known */
#include "tests/unit/clock_thread.h"

/* An activity, and a read that blocks briefly: of the clock's time both are told as they are on average. */
static void brief_read(struct cpa_elapsed *sum)
{
	struct cpa_elapsed e;
	uint64_t begun, length;

	fake_run(rnd_below(&fake.random, us(3)));
	begun = cpa_clock_now();
	fake_run(us(0.5) + rnd_below(&fake.random, us(0.5)));
	length = 1 + rnd_below(&fake.random, us(20));
	fake_block(length, 0);
	fake_run(us(0.2));
	cpa_clock_stamp_call(&run.clock, &e, begun, CPA_BRIEF_READ);
	assert_int_equal(e.runqueue, 0);
	assert_true(apart(e.external, length) < (double)us(5));
	add(&run.sum, &e);
	add(sum, &e);
}

/* The kernel is asked about few brief waits, and their CPU time is right in the sum. */
static void test_brief_waits(void **state)
{
	struct cpa_elapsed waits = { 0 };
	uint64_t ran, blocked;

	(void)state;
	machine_begin(8, 0);
	clocks_begin();
	thread_begin();
	ran = fake.ran;
	blocked = fake.blocked;
	fake.asked = 0;
	for (unsigned i = 0; i < 31000; i++) {
		brief_read(&waits);
		done(100);
		check_tiles();
	}
	print_message("31000 waits: asked %llu times; %.1f us of CPU time told of %.1f\n",
		      (unsigned long long)fake.asked,
		      (double)(waits.process + run.ours.process) / (double)us(1),
		      (double)(fake.ran - ran) / (double)us(1));
	assert_true(fake.asked < 31000 / 6);
	assert_true(apart(waits.process + run.ours.process, fake.ran - ran) < (double)us(40));
	assert_true(apart(waits.external, fake.blocked - blocked) < (double)us(40));
}

/*
 * An activity has the CPU time that it had, whatever was guessed of the brief waits before it, if the thread
 * kept its processor; and the waits have theirs in the sum.
 */
static void test_after_brief_waits(void **state)
{
	uint64_t told = 0, ran = 0;

	(void)state;
	machine_begin(10, 0);
	clocks_begin();
	thread_begin();
	for (unsigned i = 0; i < 3100; i++) {
		uint64_t work = us(600) + rnd_below(&fake.random, us(1200));
		uint64_t call = us(2) + rnd_below(&fake.random, us(20));
		struct cpa_elapsed e;

		fake_run(work);
		cpa_clock_stamp(&run.clock, &e);
		add(&run.sum, &e);
		assert_true(apart(e.process, work) < (double)(4 * fake.call));
		fake_run(call);
		fake_block(1 + rnd_below(&fake.random, us(20)), 0);
		cpa_clock_stamp_waited(&run.clock, &e);
		add(&run.sum, &e);
		told += cpa_clock_wait_cpu(&run.clock, &e);
		ran += call;
		check_tiles();
	}
	print_message("3100 waits: %.1f us of CPU time told of %.1f\n",
		      (double)told / (double)us(1), (double)ran / (double)us(1));
	assert_true(apart(told, ran) < 0.05 * (double)ran);
}

/* Also where several waits, of any lengths, come before an activity: it is no shorter on average. */
static void test_after_many(void **state)
{
	uint64_t told = 0, ran = 0, worked = 0;
	struct cpa_elapsed activities = { 0 };

	(void)state;
	machine_begin(11, 0);
	clocks_begin();
	thread_begin();
	for (unsigned i = 0; i < 20000; i++) {
		bool works = rnd_below(&fake.random, 11) == 0;
		uint64_t call = works ? us(600) + rnd_below(&fake.random, us(1200)) :
					us(2) + rnd_below(&fake.random, us(20));
		struct cpa_elapsed e;

		fake_run(call);
		if (works) {
			cpa_clock_stamp(&run.clock, &e);
			add(&activities, &e);
			worked += call;
		} else {
			fake_block(1 + rnd_below(&fake.random, us(20)), 0);
			cpa_clock_stamp_waited(&run.clock, &e);
			told += cpa_clock_wait_cpu(&run.clock, &e);
			ran += call;
		}
		add(&run.sum, &e);
		check_tiles();
	}
	print_message(
		"20000 waits and activities: %.1f us of CPU time told of %.1f; activities %.1f of %.1f\n",
		(double)told / (double)us(1), (double)ran / (double)us(1),
		(double)activities.process / (double)us(1), (double)worked / (double)us(1));
	assert_true(apart(told, ran) < 0.01 * (double)ran);
	assert_true(apart(activities.process, worked) < 0.001 * (double)worked);
}

/* What a hypervisor takes behind many brief waits is not given to the activity in place of the waits. */
static void test_stolen(void **state)
{
	struct cpa_elapsed e;

	(void)state;
	machine_begin(12, 0);
	clocks_begin();
	thread_begin();
	for (unsigned i = 0; i < 200 || run.clock.guesses != 9; i++) {
		fake_run(us(5));
		fake_block(us(5), 0);
		cpa_clock_stamp_waited(&run.clock, &e);
	}
	fake_run(us(900));
	fake_steal(us(100));
	cpa_clock_stamp(&run.clock, &e);
	assert_true(apart(e.process, us(900)) < (double)us(15));
}

/* Brief waits, of which 19 were guessed since one was measured. */
static void wait_briefly(void)
{
	struct cpa_elapsed e;

	for (unsigned i = 0; i < 200 || run.clock.guesses != 10; i++) {
		fake_run(us(15));
		fake_block(us(5), 0);
		cpa_clock_stamp_waited(&run.clock, &e);
	}
}

/*
 * A thread that loses its processor in the very look at the clock behind brief waits does not keep it: what it lost is
 * not taken from the waits, to be CPU time of the activity.
 */
static void test_lost_in_look(void **state)
{
	struct cpa_elapsed e;

	(void)state;
	for (unsigned lost = 0; lost < 200; lost += 10) {
		machine_begin(13, lost);
		clocks_begin();
		thread_begin();
		wait_briefly();
		fake_run(us(900));
		fake.held_up = us(lost);
		cpa_clock_stamp(&run.clock, &e);
		print_message("900 us, and %u without a processor: %.1f and %.1f\n", lost,
			      (double)e.process / (double)us(1),
			      (double)(e.runqueue + e.external) / (double)us(1));
		assert_true(apart(e.process, us(900)) < (double)us(15));
	}
}

/*
 * Short preemptions in calls that do not block are run-queue time, with few questions; a later wait does
 * not have their time once more.
 */
static void test_preempted(void **state)
{
	uint64_t ready;

	(void)state;
	machine_begin(9, 0);
	clocks_begin();
	thread_begin();
	ready = fake.ready;
	fake.asked = 0;
	for (unsigned i = 0; i < 3100; i++) {
		fake_run(us(1));
		fake_preempt(us(2) + rnd_below(&fake.random, us(4)));
		if (!cpa_clock_preempted(&run.clock, CPA_BRIEF_WRITE))
			event(false);
		fake_run(rnd_below(&fake.random, us(2)));
		event(false);
		done(100);
		check_tiles();
	}
	print_message("3100 preemptions: asked %llu times; %.1f us told of %.1f\n",
		      (unsigned long long)fake.asked, (double)run.sum.runqueue / (double)us(1),
		      (double)(fake.ready - ready) / (double)us(1));
	assert_true(fake.asked < 3100 / 5);
	assert_true(apart(run.sum.runqueue, fake.ready - ready) < (double)us(20));
	assert_true(run.sum.external < us(1));
	run.sum = (struct cpa_elapsed){ 0 };
	fake_block(us(20000), us(5000));
	event(true);
	assert_true(apart(run.sum.runqueue, us(5000)) < (double)us(50));
}

/*
 * Also if the activity goes on for so long that the kernel is asked at its end, and if the thread waited briefly
 * before, so that it is not known how often it gave its processor up.
 */
static void test_preempted_long(void **state)
{
	(void)state;
	for (unsigned waits = 0; waits < 2; waits++) {
		uint64_t ready;

		machine_begin(14, waits);
		clocks_begin();
		thread_begin();
		ready = fake.ready;
		for (unsigned i = 0; i < 3100; i++) {
			struct cpa_elapsed e;

			if (waits) {
				fake_run(us(3));
				fake_block(us(5), 0);
				cpa_clock_stamp_waited(&run.clock, &e);
			}
			fake_run(us(1));
			fake_preempt(us(20));
			if (!cpa_clock_preempted(&run.clock, CPA_BRIEF_WRITE))
				event(false);
			fake_run(us(600));
			event(false);
		}
		ready = fake.ready - ready;
		print_message("%s brief waits: %.1f us told of %.1f, external %.1f\n",
			      waits ? "behind" : "without",
			      (double)run.sum.runqueue / (double)us(1),
			      (double)ready / (double)us(1),
			      (double)run.sum.external / (double)us(1));
		assert_true(run.sum.external < ready / 20);
		assert_true(apart(run.sum.runqueue, ready) < 0.05 * (double)ready);
		/* The delay of a later wait has none of it, nor less. */
		run.sum = (struct cpa_elapsed){ 0 };
		fake_block(us(20000), us(5000));
		event(true);
		assert_true(apart(run.sum.runqueue, us(5000)) < (double)us(30));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_brief_waits),    cmocka_unit_test(test_after_brief_waits),
		cmocka_unit_test(test_after_many),     cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_lost_in_look),   cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_preempted_long),
	};

	return cmocka_run_group_tests_name("brief", tests, begin, NULL);
}
