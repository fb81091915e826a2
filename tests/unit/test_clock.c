/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_clock.c - preload/clock/clock.c on a machine whose every tick is known
 *
 * Random scripts of events, each seed printed, are compared with the machine's own sums of the
 * thread's time.
 */
#include "tests/unit/clock_thread.h"

#define SCRIPTS 300
#define EVENTS	3000

/*
 * However slow the first operations and however close the later ones: a stamp leads the counter by
 * at most one usual operation.
 */
static void test_tight_events(void **state)
{
	(void)state;
	machine_begin(1, 0);
	clocks_begin();
	for (unsigned slow = 0; slow < 5; slow++) {
		thread_begin();
		for (unsigned i = 0; i < slow; i++) {
			event(false);
			done(us(15));
		}
		for (unsigned i = 0; i < 900; i++) {
			event(false);
			done(60);
		}
		check_tiles();
		print_message("%u slow operations: ahead by %u ticks at most\n", slow,
			      (unsigned)run.lead);
		assert_true(run.lead <= us(1));
		/* In the end, by a fraction of the usual operation. */
		event(false);
		assert_true(run.clock.lead <= 120);
	}
}

/* The reported time of operations is right on average, whatever their lengths. */
static void test_operations(void **state)
{
	uint64_t ours = 0;

	(void)state;
	machine_begin(2, 0);
	clocks_begin();
	thread_begin();
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t ticks = 100 + rnd_below(&fake.random, 400);

		fake_run(rnd_below(&fake.random, 2000));
		event(false);
		done(ticks);
		ours += ticks;
	}
	check_tiles();
	print_message("operations of %.0f ticks are told to take %.0f\n", (double)ours / 200000,
		      (double)run.ours.process / 200000);
	/* Reading the counter at the begin of an operation is part of the operation. */
	assert_true(run.ours.process > ours * 9 / 10 &&
		    run.ours.process < (ours + 200000 * FAKE_READ) * 11 / 10);
}

/* One activity with random incidents. Return whether it blocked in a wait for synchronization. */
static bool act(void)
{
	switch (rnd_below(&fake.random, 100)) {
	case 0:
		fake_run(rnd_below(&fake.random, us(3000)));
		fake_preempt(1 + rnd_below(&fake.random, us(5000)));
		break;
	case 1:
		fake_run(rnd_below(&fake.random, us(300)));
		fake_steal(1 + rnd_below(&fake.random, us(1000)));
		break;
	case 2:
		fake_block(us(60) + rnd_below(&fake.random, us(2000)),
			   rnd_below(&fake.random, us(1000)));
		return false;
	case 3:
		fake_block(us(60) + rnd_below(&fake.random, us(2000)),
			   rnd_below(&fake.random, us(1000)));
		return true;
	case 4:
		fake_run(rnd_below(&fake.random, us(10000)));
		break;
	default:
		break;
	}
	fake_run(rnd_below(&fake.random, us(5)));
	return false;
}

static void random_script(uint64_t seed, uint64_t script)
{
	struct cpa_elapsed all;
	uint64_t ran, ready, blocked, either, lead;

	machine_begin(seed, script);
	fake.ghz = 0.8 + (double)rnd_below(&fake.random, 3200) / 1000;
	fake.call = 200 + rnd_below(&fake.random, 6000);
	fake.wake_ns = 1000 + (double)rnd_below(&fake.random, 60000);
	clocks_begin();
	fake.disturbs = rnd_percent(&fake.random, 50) ? 0 : 5;
	lead = fake.call > us(1) ? fake.call : us(1);
	/* A preemption during a reading may be taken for a block, or the other way round. */
	either = us(fake.disturbs ? 9000 : 1000);
	fake.detects = !rnd_percent(&fake.random, 20);
	thread_begin();
	ran = fake.ran;
	ready = fake.ready + fake.stolen;
	blocked = fake.blocked;
	for (unsigned i = 0; i < EVENTS; i++) {
		event(act());
		done(60 + rnd_below(&fake.random, 300));
		check_tiles();
	}
	/* All unseen stolen time is repaid: see cpa_clock_repaid(). */
	fake.disturbs = 0;
	do {
		fake_run(us(4100)); /* the clock is looked at */
		event(true);
	} while (run.clock.ahead);
	event(false); /* the calls that the last look was followed by */
	check_tiles();
	all = run.sum;
	add(&all, &run.ours);
	ran = fake.ran - ran;
	ready = fake.ready + fake.stolen - ready;
	blocked = fake.blocked - blocked;
	if (apart(all.process, ran) > (double)us(5) + (double)ran / 10000 ||
	    apart(all.external, blocked) > (double)either + (double)blocked / 50 ||
	    apart(all.runqueue, ready) > (double)either + (double)ready / 50 || run.lead > lead)
		fail_msg("seed %llu, script %llu: ran %.1f us of %.1f, ready %.1f of %.1f, blocked "
			 "%.1f of %.1f, ahead by %.1f, detector %d, disturbed %u",
			 (unsigned long long)seed, (unsigned long long)script,
			 (double)all.process / (double)us(1), (double)ran / (double)us(1),
			 (double)all.runqueue / (double)us(1), (double)ready / (double)us(1),
			 (double)all.external / (double)us(1), (double)blocked / (double)us(1),
			 (double)run.lead / (double)us(1), fake.detects, fake.disturbs);
}

/* A thread that started late was without a processor before: no gap of its own has that time. */
static void test_late_start(void **state)
{
	(void)state;
	machine_begin(1, 1);
	clocks_begin();
	fake_run(us(100));
	fake_preempt(us(8000));
	thread_begin();
	assert_in_range(cpa_clock_delay(&run.clock), us(7999), us(8001));
	fake_block(us(20000), 0);
	event(true);
	assert_int_equal(run.sum.runqueue, 0);
	assert_in_range(run.sum.external, us(19990), us(20010));
}

/* ms for which the first thread of a run has no processor: before the run begins, and after each step. */
struct lost {
	unsigned before, begun, set_up, started, reading;
};

/* Begin a run. Return how long its thread was ready since then. *@truth: the machine's own sums at the begin. */
static uint64_t first_thread(const struct lost *lost, struct fake *truth)
{
	fake_preempt(us(1000.0 * lost->before));
	memset(cpa_header(), 0, sizeof(*cpa_header()));
	cpa_clock_begin();
	*truth = fake;
	fake_preempt(us(1000.0 * lost->begun));
	cpa_clock_init();
	fake_preempt(us(1000.0 * lost->set_up));
	thread_begin();
	fake_preempt(us(1000.0 * lost->started));
	cpa_clock_delay(&run.clock);
	fake.held_reading = us(1000.0 * lost->reading);
	return cpa_ready_since_begin(&run.clock);
}

static void check_first_thread(const struct lost *lost)
{
	struct fake truth;
	uint64_t ready = first_thread(lost, &truth);
	uint64_t off = us(1) + ready / 1000; /* the rate is known to a thousandth */
	uint64_t ours = run.clock.last - cpa_header()->start_ticks - ready;
	uint64_t did = fake.ran + fake.blocked - truth.ran - truth.blocked;

	print_message("ready for %.1f us of %.1f, ours %.1f of %.1f\n",
		      (double)ready / (double)us(1),
		      (double)(fake.ready - truth.ready) / (double)us(1),
		      (double)ours / (double)us(1), (double)did / (double)us(1));
	assert_true(apart(ready, fake.ready - truth.ready) < (double)off);
	assert_true(apart(ours, did) < (double)(off + 20 * fake.call));
	run.begun = run.clock.last;
	fake_block(us(20000), 0);
	event(true);
	check_tiles();
	assert_true(run.sum.runqueue < us(1));
}

/*
 * Where others have the processors as the run begins, the time until its first thread goes on is not all
 * ours. What was lost before the run is no part of it, and no later gap has any of it.
 */
static void test_first_thread(void **state)
{
	static const struct lost lost[] = { { 0, 0, 0, 0, 0 }, { 9, 0, 0, 0, 0 },
					    { 0, 4, 0, 0, 0 }, { 0, 0, 12, 0, 0 },
					    { 0, 0, 0, 7, 0 }, { 0, 0, 0, 0, 40 },
					    { 30, 4, 8, 2, 5 } };

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(lost) / sizeof(*lost); i++) {
		machine_begin(8, i);
		fake.detects = i % 2;
		check_first_thread(&lost[i / 2]);
	}
}

/* Where the kernel does not show delays, at the begin or later, nothing is taken from what is ours. */
static void test_first_thread_unknown(void **state)
{
	static const struct lost lost = { 9, 4, 12, 7, 0 };
	struct fake truth;

	(void)state;
	machine_begin(9, 0);
	fake.schedstat = false;
	assert_int_equal(first_thread(&lost, &truth), 0);
	fake.schedstat = true;
	errno = EDOM;
	assert_int_equal(cpa_ready_since_begin(&run.clock), 0);
	machine_begin(9, 1);
	assert_true(first_thread(&lost, &truth) > us(22000));
	fake.schedstat = false;
	assert_int_equal(cpa_ready_since_begin(&run.clock), 0);
	assert_int_equal(errno, EDOM);
}

/* A machine, with ticks of a system call and ns of a wake. */
static void machine_of(uint64_t call, double wake_ns)
{
	machine_begin(6, call);
	fake.call = call;
	fake.wake_ns = wake_ns;
	clocks_begin();
	thread_begin();
	event(false);
	done(100);
	run.sum = (struct cpa_elapsed){ 0 };
}

static const struct {
	uint64_t call;
	double wake_ns;
} machines[] = { { 250, 1500 }, { 900, 5000 }, { 3400, 30000 }, { 12000, 90000 } };

#define EACH_MACHINE                                                                    \
	for (unsigned m = 0; m < sizeof(machines) / sizeof(*machines) &&                \
			     (machine_of(machines[m].call, machines[m].wake_ns), true); \
	     m++)

/* The costs that the session shows are those of the machine. */
static void test_costs(void **state)
{
	(void)state;
	EACH_MACHINE
	{
		const struct cpa_machine *found = &cpa_header()->machine;

		print_message("a look takes %u ns of %.0f, a wake %u ns of %.0f\n", found->look_ns,
			      (double)fake.call / fake.ghz, found->wake_ns, fake.wake_ns);
		assert_in_range(found->look_ns, (uint64_t)((double)fake.call / fake.ghz),
				(uint64_t)((double)(fake.call + 2 * FAKE_READ) / fake.ghz) + 1);
		assert_in_range(found->wake_ns, (uint64_t)fake.wake_ns - 10,
				(uint64_t)(fake.wake_ns + (double)fake.call / fake.ghz / 10));
	}
}

/* Where brief sleeps do not switch a thread out, as of a real-time thread, longer ones do. */
static void test_brief_sleeps(void **state)
{
	(void)state;
	for (uint64_t brief = 1000; brief < 1000000; brief *= 3) {
		machine_begin(7, brief);
		fake.brief = brief;
		clocks_begin();
		assert_int_equal(cpa_header()->clock, CPA_CLOCK_RSEQ);
		assert_in_range(cpa_header()->machine.wake_ns, (uint64_t)fake.wake_ns - 10,
				(uint64_t)(fake.wake_ns + (double)fake.call / fake.ghz / 10));
	}
}

/*
 * A preemption right after a short wait, of which the kernel does not count what the switch took:
 * all of it is run-queue time, however slow switches are.
 */
static void test_slow_switch(void **state)
{
	(void)state;
	EACH_MACHINE
	{
		uint64_t gap = us(fake.wake_ns / 1000 * 1.2);

		fake_block(us(20), 0);
		event(true);
		run.sum = (struct cpa_elapsed){ 0 };
		fake.cold = us(fake.wake_ns / 1000 * 0.9);
		gap = gap > us(60) ? gap : us(60);
		fake_preempt(gap);
		event(false);
		print_message("preempted for %.1f us, a switch takes %.1f: external %.1f us\n",
			      (double)gap / (double)us(1), fake.wake_ns / 1000,
			      (double)run.sum.external / (double)us(1));
		assert_int_equal(run.sum.external, 0);
		assert_in_range(run.sum.runqueue, gap - us(1), gap + us(1));
	}
}

/* Other threads had the processors when the profile began: a sleep is no preemption for that. */
static void test_busy_start(void **state)
{
	(void)state;
	machine_of(machines[0].call, 8e6);
	fake.wake_ns = machines[0].wake_ns;
	fake_block(us(5000), us(60));
	event(false);
	assert_in_range(run.sum.external, us(4999), us(5001));
	assert_in_range(run.sum.runqueue, us(59), us(61));
}

/* A block of 15 us and then 60 us without a processor: the block is no switch where those are fast. */
static void test_fast_switch(void **state)
{
	(void)state;
	machine_of(machines[0].call, machines[0].wake_ns);
	fake_block(us(15), us(60));
	event(false);
	assert_in_range(run.sum.external, us(14), us(16));
	assert_in_range(run.sum.runqueue, us(59), us(61));
}

/*
 * What a hypervisor takes of an activity is found at its end, if the activity is as long as 400 looks
 * at the kernel's clock; and the kernel is not asked if it is as long as 200.
 */
static void test_long_activity(void **state)
{
	(void)state;
	EACH_MACHINE
	{
		uint64_t part = 100 * fake.call, stolen = fake.stolen;

		fake_run(part);
		fake_steal(part);
		event(false);
		assert_int_equal(run.sum.runqueue, 0);
		run.sum = (struct cpa_elapsed){ 0 };
		fake_run(2 * part);
		fake_steal(2 * part);
		event(false);
		if (4 * part > us(4000))
			continue;
		assert_in_range(run.sum.runqueue + run.clock.ahead, fake.stolen - stolen - us(2),
				fake.stolen - stolen + us(2));
	}
}

/*
 * A preemption that only the look at the clock meets is no part of the sleep that follows, and one
 * between that look and the one at the delay, or in the latter, is no part of the sleep before.
 */
static void test_switch_in_look(void **state)
{
	(void)state;
	EACH_MACHINE
	{
		fake_run(us(5000));
		fake.held_up = us(50000);
		event(false);
		assert_in_range(run.sum.runqueue, us(49990), us(50020));
		run.sum = (struct cpa_elapsed){ 0 };
		fake_block(us(15000), us(1000));
		event(false);
		assert_in_range(run.sum.external, us(14980), us(15020));
		assert_in_range(run.sum.runqueue, us(980), us(1020));
		run.sum = (struct cpa_elapsed){ 0 };
		fake_block(us(15000), us(1000));
		fake.held_later = us(50000);
		event(false);
		assert_in_range(run.sum.external, us(14980), us(15080));
		event(false);
		assert_in_range(run.sum.external, us(14980), us(15080));
		assert_in_range(run.sum.runqueue, us(50900), us(51080));
		run.sum = (struct cpa_elapsed){ 0 };
		fake_block(us(15000), us(1000));
		fake.held_reading = us(50000);
		event(false);
		assert_in_range(run.sum.external, us(14980), us(15080));
		event(false);
		assert_in_range(run.sum.external, us(14980), us(15080));
		assert_in_range(run.sum.runqueue, us(50900), us(51080));
	}
}

/*
 * What a thread does for us and sleeps in is no time of the activity around it, however long it was
 * blocked, or ready, in it or before.
 */
static void test_hidden(void **state)
{
	(void)state;
	EACH_MACHINE
	{
		uint64_t calls = 20 * fake.call + us(2); /* what we may make in one turn */

		for (unsigned i = 0; i < 100; i++) {
			uint64_t ran = rnd_below(&fake.random, us(3000));
			uint64_t ready = i % 2 ? us(100) + rnd_below(&fake.random, us(20000)) : 0;
			uint64_t slept = us(100) + rnd_below(&fake.random, us(20000)),
				 late = us(400);
			struct cpa_clock_gap gap;
			struct cpa_elapsed e;

			run.sum = (struct cpa_elapsed){ 0 };
			run.ours = (struct cpa_elapsed){ 0 };
			run.begun = run.clock.last;
			fake_run(ran);
			if (ready)
				fake_preempt(ready);
			gap = cpa_clock_hide(&run.clock);
			fake_run(us(30));
			fake_block(slept, late);
			cpa_clock_hidden(&run.clock, &gap, &e);
			add(&run.ours, &e);
			fake_run(ran);
			event(false);
			check_tiles();
			assert_true(apart(e.external, slept) < (double)calls);
			assert_true(apart(e.runqueue, late) < (double)calls);
			assert_true(apart(run.sum.process, 2 * ran) < (double)calls);
			assert_true(apart(run.sum.runqueue, ready) < (double)calls);
			assert_true(run.sum.external < calls);
			done(100);
		}
	}
}

static void test_random_scripts(void **state)
{
	uint64_t seed = rnd_seed();

	(void)state;
	print_message("# CPA_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t script = 0; script < SCRIPTS; script++)
		random_script(seed, script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tight_events),   cmocka_unit_test(test_operations),
		cmocka_unit_test(test_random_scripts), cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_costs),	       cmocka_unit_test(test_brief_sleeps),
		cmocka_unit_test(test_slow_switch),    cmocka_unit_test(test_busy_start),
		cmocka_unit_test(test_fast_switch),    cmocka_unit_test(test_long_activity),
		cmocka_unit_test(test_switch_in_look), cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_first_thread),   cmocka_unit_test(test_first_thread_unknown),
	};

	return cmocka_run_group_tests_name("clock", tests, begin, NULL);
}
