/* SPDX-License-Identifier: MIT */
/*
 * tests/property/margin_rows.c - margins of all rows of a report, against all batches
 *
 * A session made by hand has windows with random sums. Each row of its report must have the margin that the
 * slow computation finds from the sums of its own slots; with few windows none has one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"
#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"
#include "tests/property/claims.h"
#include "tests/property/margins_slow.h"
#include "tests/unit/dump_queues.h"
#include "tests/unit/dump_windows.h"

#define SHARE(slot) WINDOW_PLACE(CPA_WINDOW_SHARE, slot)
#define SLACK(slot) WINDOW_PLACE(CPA_WINDOW_SLACK, slot)
#define TOTAL(slot) WINDOW_PLACE(CPA_WINDOW_TOTAL, slot)

#define WAITED(slot) WINDOW_PLACE(CPA_WINDOW_WAITED, slot)
#define USED(slot)   WINDOW_PLACE(CPA_WINDOW_USED, slot)

enum claim {
	PROGRAM,
	COMPONENTS,
	OBJECTS,
	ARRAYS,
	QUEUES,
	STREAMS,
	THREADS,
	PROCESSES,
	NONE,
	CLAIMS
};

static const char *const claim_name[CLAIMS] = {
	[PROGRAM] = "times and parallelism of the program have the margins of the slow computation",
	[COMPONENTS] = "so have components",
	[OBJECTS] = "so have objects",
	[ARRAYS] = "so have arrays of locks",
	[QUEUES] = "so have queues",
	[STREAMS] = "so have streams",
	[THREADS] = "so have threads",
	[PROCESSES] = "so have processes",
	[NONE] = "what windows do not tell has no margin",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "sessions" };

/* Two slots of the other locks of example_pool; where those of queue[2] count. */
#define EXAMPLE_FIRST (EXAMPLE_WHOLE + 1)
#define EXAMPLE_THIRD (EXAMPLE_WHOLE + 2)

static const uint32_t thirds[] = { EXAMPLE_THIRD, EXAMPLE_FIRST, EXAMPLE_SHARED, 0 };

static struct dump_maker maker;
static size_t batches;
static uint32_t third; /* of `thirds` */
static bool many;      /* threads: not all have a row in the samples */
static bool shrinks;   /* the wait for a lock, in between */
static uint64_t since; /* length of the path when the search separated a function, EXAMPLE_KERNEL */
static uint64_t drawn[CPA_BATCHES_MOST][WINDOW_LENGTH]; /* ticks of each batch */

static void draw(struct rnd *r)
{
	uint64_t most[WINDOW_LENGTH];

	batches = 5 + rnd_below(r, CPA_BATCHES_MOST - 4);
	for (size_t i = 0; i < WINDOW_LENGTH; i++)
		most[i] = rnd_percent(r, 10) ? 1 : 1 + rnd_below(r, 10000000);
	for (size_t k = 0; k < batches; k++)
		for (size_t i = 0; i < WINDOW_LENGTH; i++)
			drawn[k][i] = rnd_below(r, most[i]);
	/* The third thread may have lived in one batch only. */
	for (size_t k = rnd_percent(r, 30) ? 1 : batches; k < batches; k++)
		drawn[k][WINDOW_ROW(CPA_WINDOW_THREAD_CPU, 3)] =
			drawn[k][WINDOW_ROW(CPA_WINDOW_THREAD_WAIT, 3)] = 0;
	third = thirds[rnd_below(r, sizeof(thirds) / sizeof(thirds[0]))];
	many = rnd_percent(r, 25);
	shrinks = rnd_percent(r, 20);
	if (shrinks) {
		drawn[0][WAITED(EXAMPLE_POOL)] += 1;
		drawn[1][WAITED(EXAMPLE_POOL)] = -UINT64_C(1);
	}
	since = 0;
	for (size_t k = rnd_below(r, batches); k > 0; k--)
		since += drawn[k - 1][CPA_WINDOW_LEN];
	since += rnd_percent(r, 50);
	drawn[0][CPA_WINDOW_LEN] += 1;
	drawn[0][CPA_WINDOW_ON] += 1;
}

static uint64_t has(unsigned i, size_t place)
{
	return drawn[i][place];
}

/* With the lock of the example an array of three. */
static void add_locks(void)
{
	struct cpa_component lock = { .kind = CPA_LOCK,
				      .by = CPA_BY_VARIABLE,
				      .module = 1,
				      .object_kind = CPA_MUTEX,
				      .retired_objects = 1 };

	lock.address = (uintptr_t)&example_pool.queue[0].lock;
	lock.slot = EXAMPLE_FIRST;
	maker_add_class(&maker, lock);
	lock.address = (uintptr_t)&example_pool.queue[2].lock;
	lock.slot = third;
	maker_add_class(&maker, lock);
}

static void add_process(uint32_t threads, uint64_t ended)
{
	const struct cpa_process_row row = { .key = maker.rows[CPA_TABLE_PROCESSES] + 1,
					     .state = CPA_PROCESS_ENDED,
					     .threads = threads,
					     .images = 1,
					     .sums = { .process = ended } };

	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
}

/* Let thread row @number be of @process, to which it has given @given. */
static void set_process(uint32_t number, uint32_t process, uint64_t given)
{
	struct cpa_thread *thread = dump_maker_at(&maker, CPA_TABLE_THREADS, number);

	thread->process_row = process;
	thread->process_key = process;
	thread->given.process = given;
}

/*
 * The first two threads are the first process; that of the second one has ended. The row of the third's was
 * another's, a row of the fourth's is another's now, and one of the fifth's may have no values.
 */
static void add_processes(void)
{
	struct cpa_thread thread = { .state = CPA_THREAD_EXITED, .events = 1, .process = 1 };

	while (many && maker.rows[CPA_TABLE_THREADS] <= CPA_WINDOW_ROWS) {
		thread.key = maker.rows[CPA_TABLE_THREADS] + 1;
		dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	}
	add_process(2, 0);
	add_process(1, MAKER_TICKS(2));
	add_process(1, 0);
	add_process(2, MAKER_TICKS(1));
	set_process(1, 1, 0);
	set_process(2, 1, 0);
	set_process(3, 2, MAKER_TICKS(2));
	set_process(4, 3, MAKER_TICKS(1));
	if (many) {
		add_process(2, 0);
		set_process(CPA_WINDOW_ROWS, 5, 0);
		set_process(CPA_WINDOW_ROWS + 1, 5, 0);
	}
}

/* A class has the sums of its slot alone only if no other one had that slot at first. */
static void set_first(void)
{
	for (uint32_t row = 1; row <= maker.rows[CPA_TABLE_COMPONENTS]; row++) {
		struct cpa_component *class = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, row);

		class->first = class->slot;
	}
}

/* A function has a slot of its own from @since on, and a region one that others had before. */
static void search(void)
{
	const struct cpa_base kernel = { .key = EXAMPLE_KERNEL, .share = 1 },
			      region = { .key = EXAMPLE_REGION, .share = MAKER_TICKS(0.25) };
	struct cpa_component *row = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 9);

	row->since = MAKER_START + 1;
	row->since_len = since;
	dump_maker_row(&maker, CPA_TABLE_BASES, &kernel);
	dump_maker_row(&maker, CPA_TABLE_BASES, &region);
}

/*
 * The example, with a lock of a class that shares its slot, two pipes from main to its workers, sockets of
 * which not all have values, and the windows.
 */
static void make(void)
{
	const struct cpa_stream pipe = { .key = 1,
					 .kind = CPA_STREAM_PIPE,
					 .records = 1,
					 .reads = 1,
					 .waiting = 1,
					 .writer = { 3 },
					 .reader = { 4, 3 } };
	const struct cpa_object shared = { .key = 9, .kind = CPA_SPIN, .class = 6, .wait = 1 };
	struct cpa_stream other = {
		.kind = CPA_STREAM_UNIX, .records = 1, .writer = { 3 }, .reader = { 4 }
	};

	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	dump_maker_row(&maker, CPA_TABLE_OBJECTS, &shared);
	dump_maker_row(&maker, CPA_TABLE_STREAMS, &pipe);
	dump_maker_row(&maker, CPA_TABLE_STREAMS, &pipe);
	for (uint32_t row = 3; row <= CPA_WINDOW_ROWS + 1; row++) {
		other.key = row;
		dump_maker_row(&maker, CPA_TABLE_STREAMS, &other);
	}
	add_locks();
	add_processes();
	set_first();
	search();
	dump_maker_windows(&maker, (unsigned)batches, has);
}

/*
 * Of the sum of @places of each batch, in relation to @whole, of the batches from @first on. NAN: they are
 * few, or none has any of either.
 */
static double slow_from(const size_t *places, size_t count, size_t whole, size_t first)
{
	double a[CPA_BATCHES_MOST] = { 0 }, b[CPA_BATCHES_MOST], all_a = 0, all_b = 0, ratio;

	for (size_t k = first; k < batches; k++) {
		for (size_t i = 0; i < count; i++)
			a[k] += (double)(int64_t)drawn[k][places[i]];
		b[k] = (double)drawn[k][whole];
		all_a += a[k];
		all_b += b[k];
	}
	if (batches - first < CPA_BATCHES_LEAST || all_a == 0 || all_b == 0)
		return NAN;
	return slow_interval(a + first, b + first, batches - first, &ratio);
}

static double slow(const size_t *places, size_t count, size_t whole)
{
	return slow_from(places, count, whole, 0);
}

static void expect(enum claim claim, const char *what, double found, double expected)
{
	bool good = isnan(expected) ? isnan(found) :
				      fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-12;

	if (!claims_fail(&claims, claim, good))
		return;
	claims.any = true;
	printf("# session %llu, %zu batches, %s: margin %.9g, expected %.9g\n",
	       (unsigned long long)claims.number, batches, what, found, expected);
}

/* @sampled: of the path and of the savings, what samples alone add. */
static void expect_widened(enum claim claim, const char *what, const struct cpa_profile *profile,
			   uint32_t slot, const double sampled[2], double path_margin_s,
			   double saved_margin_s)
{
	const size_t share = SHARE(slot), slack = SLACK(slot);
	double path_s = profile->program.critical_path_s;
	uint64_t len = 0;
	size_t first = 0;

	if (slot == EXAMPLE_KERNEL) {
		path_s -= (double)since * profile->tick_s;
		while (first < batches && len < since)
			len += drawn[first++][CPA_WINDOW_LEN];
	}
	expect(claim, what, path_margin_s,
	       hypot(path_s * slow_from(&share, 1, CPA_WINDOW_LEN, first), sampled[0]));
	expect(claim, what, saved_margin_s,
	       hypot(path_s * slow_from(&slack, 1, CPA_WINDOW_LEN, first), sampled[1]));
}

static void expect_slot(enum claim claim, const char *what, const struct cpa_profile *profile,
			uint32_t slot, double path_margin_s, double saved_margin_s)
{
	expect_widened(claim, what, profile, slot, (const double[2]){ 0, 0 }, path_margin_s,
		       saved_margin_s);
}

/* Of ticks at @place, in relation to the time for which profiling was on. */
static void expect_time(enum claim claim, const char *what, const struct cpa_profile *profile,
			double found, size_t place)
{
	expect(claim, what, found, profile->program.wall_s * slow(&place, 1, CPA_WINDOW_ON));
}

static void expect_none(const char *what, double found)
{
	if (!claims_fail(&claims, NONE, isnan(found)))
		return;
	claims.any = true;
	printf("# session %llu, %s: margin %.9g\n", (unsigned long long)claims.number, what, found);
}

/* Half of the interval of values of @count thread rows from @row on, seconds. */
static double slow_rows(const struct cpa_profile *profile, enum cpa_window_row value, uint32_t row,
			uint32_t count)
{
	size_t places[CPA_WINDOW_ROWS];

	for (uint32_t i = 0; i < count; i++)
		places[i] = WINDOW_ROW(value, row + i);
	return profile->program.wall_s * slow(places, count, CPA_WINDOW_ON);
}

/* Half of the interval of a value of the @count rows of the threads of a process, seconds. */
static double slow_life(const struct cpa_profile *profile, enum cpa_window_row value, uint32_t row,
			uint32_t count)
{
	size_t lived = 0;

	for (size_t i = 0; i < batches; i++) {
		bool any = false;

		for (uint32_t j = 0; j < count; j++)
			any |= drawn[i][WINDOW_ROW(value, row + j)] != 0;
		lived += any;
	}
	return lived > 1 ? slow_rows(profile, value, row, count) : NAN;
}

static void check_program(const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	const size_t work[] = { CPA_WINDOW_PROCESS, TOTAL(EXAMPLE_SLEEP) };
	double cpu_s =
		many ? NAN :
		       slow_rows(profile, CPA_WINDOW_THREAD_CPU, 1, maker.rows[CPA_TABLE_THREADS]);

	expect(PROGRAM, "CPU time", program->cpu_margin_s, cpu_s);
	expect(PROGRAM, "utilization", program->utilization_margin,
	       cpu_s / program->wall_s / program->cores);
	expect_time(PROGRAM, "path", profile, program->critical_path_margin_s, CPA_WINDOW_LEN);
	expect_time(PROGRAM, "service", profile, program->blocked_margin_s[CPA_EXT_SERVICE],
		    TOTAL(EXAMPLE_SLEEP));
	expect_none("idle time", program->blocked_margin_s[CPA_EXT_IDLE]);
	expect_none("waits for nobody known", program->blocked_margin_s[CPA_EXT_WAIT]);
	expect(PROGRAM, "wait", program->wait_margin_s,
	       program->wall_s * slow(&(size_t){ CPA_WINDOW_WAIT }, 1, CPA_WINDOW_ON));
	expect(PROGRAM, "parallelism", program->parallelism_margin, slow(work, 1, CPA_WINDOW_ON));
	expect(PROGRAM, "most parallelism", program->max_parallelism_margin,
	       slow(work, 2, CPA_WINDOW_LEN));
}

/* How many classes count at @slot. */
static unsigned classes_at(uint32_t slot)
{
	unsigned count = 0;

	for (uint32_t row = 1; row <= maker.rows[CPA_TABLE_COMPONENTS]; row++) {
		const struct cpa_component *class =
			dump_maker_at(&maker, CPA_TABLE_COMPONENTS, row);

		count += (class->kind == CPA_LOCK || class->kind == CPA_QUEUE) &&
			 class->first == slot;
	}
	return count;
}

static void check_objects(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *o = &profile->object[i];

		if (o->has_slot) {
			expect_slot(OBJECTS, o->class, profile, o->slot, o->critical_path_margin_s,
				    o->saved_margin_s);
		} else {
			expect_none(o->class, o->critical_path_margin_s);
			expect_none(o->class, o->saved_margin_s);
		}
		if (!o->has_slot || classes_at(o->slot) != 1) {
			expect_none(o->class, o->wait_margin_s);
			expect_none(o->class, o->hold_margin_s);
			continue;
		}
		if (shrinks && o->slot == EXAMPLE_POOL)
			expect_none(o->class, o->wait_margin_s);
		else
			expect_time(OBJECTS, o->class, profile, o->wait_margin_s, WAITED(o->slot));
		expect_time(OBJECTS, o->class, profile, o->hold_margin_s, USED(o->slot));
	}
}

/* Of the sums of @vector of the array's locks; NAN if those shrink, or are of other locks, too. */
static double slow_array(const struct cpa_profile *profile, enum cpa_window_vector vector)
{
	const size_t places[] = { WINDOW_PLACE(vector, EXAMPLE_POOL),
				  WINDOW_PLACE(vector, EXAMPLE_FIRST),
				  WINDOW_PLACE(vector, EXAMPLE_THIRD) };
	size_t count = third == EXAMPLE_THIRD ? 3 : 2;

	if (third != EXAMPLE_THIRD && third != EXAMPLE_FIRST)
		return NAN;
	for (size_t k = 0; k < batches; k++) {
		int64_t sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += (int64_t)drawn[k][places[i]];
		if (sum < 0)
			return NAN;
	}
	return profile->program.wall_s * slow(places, count, CPA_WINDOW_ON);
}

static void check_arrays(const struct cpa_profile *profile)
{
	const struct cpa_lock_array *array = profile->lock_arrays->array;

	expect(ARRAYS, "arrays", (double)profile->lock_arrays->arrays, 1);
	if (profile->lock_arrays->arrays != 1)
		return;
	expect(ARRAYS, "locks", (double)array->locks, 3);
	expect(ARRAYS, array->name, array->wait_margin_s, slow_array(profile, CPA_WINDOW_WAITED));
	expect(ARRAYS, array->name, array->hold_margin_s, slow_array(profile, CPA_WINDOW_USED));
}

static void check_queues(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->queues; i++) {
		const struct cpa_queue_figures *q = &profile->queue[i];

		if (!q->slot) {
			expect_none(q->name, q->saved_margin_s);
			expect_none(q->name, q->wait_margin_s);
			continue;
		}
		expect_slot(QUEUES, q->name, profile, q->slot, q->critical_path_margin_s,
			    q->saved_margin_s);
		expect(QUEUES, q->name, q->wait_margin_s,
		       profile->tick_s * slow(&(size_t){ WAITED(q->slot) }, 1, USED(q->slot)));
	}
}

static void check_streams(const struct cpa_profile *profile)
{
	const size_t writer[] = { SHARE(EXAMPLE_MAIN) },
		     reader[] = { SHARE(EXAMPLE_WORKER), SHARE(EXAMPLE_MAIN) },
		     waiting[] = { WINDOW_ROW(CPA_WINDOW_STREAM_WAITING, 1),
				   WINDOW_ROW(CPA_WINDOW_STREAM_WAITING, 2) },
		     blocking[] = { WINDOW_ROW(CPA_WINDOW_STREAM_BLOCKING, 1),
				    WINDOW_ROW(CPA_WINDOW_STREAM_BLOCKING, 2) };
	double path_s = profile->program.critical_path_s, wall_s = profile->program.wall_s;

	for (size_t i = 0; i < profile->streams; i++) {
		const struct cpa_stream_figures *s = &profile->stream[i];

		if (s->kind == CPA_STREAM_UNIX) {
			expect_none(s->name, s->waited_margin_s);
			expect_none(s->name, s->blocked_margin_s);
			continue;
		}
		expect(STREAMS, "writer", s->writer.critical_path_margin_s,
		       path_s * slow(writer, 1, CPA_WINDOW_LEN));
		expect(STREAMS, "reader", s->reader.critical_path_margin_s,
		       path_s * slow(reader, 2, CPA_WINDOW_LEN));
		expect(STREAMS, "starved", s->waited_margin_s,
		       wall_s * slow(waiting, 2, CPA_WINDOW_ON));
		expect(STREAMS, "blocked", s->blocked_margin_s,
		       wall_s * slow(blocking, 2, CPA_WINDOW_ON));
	}
}

static void check_processes(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *p = &profile->process[i];
		uint32_t row = p->id == 1 ? 1 : 3, count = p->id == 1 ? 2 : 1;

		if (p->id > 2) {
			expect_none("process", p->cpu_margin_s);
			expect_none("process", p->wait_margin_s);
			continue;
		}
		expect(PROCESSES, "CPU time", p->cpu_margin_s,
		       slow_life(profile, CPA_WINDOW_THREAD_CPU, row, count));
		expect(PROCESSES, "wait", p->wait_margin_s,
		       slow_life(profile, CPA_WINDOW_THREAD_WAIT, row, count));
	}
}

/* The margins of @c that are of its samples alone, seconds: of its path, of its savings, of its total. */
static void slow_samples(const struct cpa_profile *profile, const struct cpa_component_figures *c,
			 double margin[3])
{
	double all_s, path_s, samples = (double)profile->diagnostics.samples, rest = 1;

	memset(margin, 0, 3 * sizeof(*margin));
	if (!slow_is_sampled(c))
		return;
	slow_functions(profile, &all_s, &path_s);
	if (c->slot == EXAMPLE_KERNEL)
		rest -= (double)since * profile->tick_s / profile->program.critical_path_s;
	margin[0] = slow_sampled(c->critical_path_s, path_s * rest,
				 samples * rest * (path_s < all_s ? path_s / all_s : 1));
	if (c->critical_path_s > 0)
		margin[1] = margin[0] / c->critical_path_s * c->saved_s;
	margin[2] = slow_sampled(c->total_s, all_s, samples);
}

static void check_component(const struct cpa_profile *profile,
			    const struct cpa_component_figures *c)
{
	double sampled[3];

	slow_samples(profile, c, sampled);
	if (c->has_whole)
		expect_slot(COMPONENTS, c->name, profile, EXAMPLE_WHOLE,
			    c->whole_critical_path_margin_s, c->whole_saved_margin_s);
	else
		expect_none(c->name, c->whole_saved_margin_s);
	if (c->slot == EXAMPLE_REGION || c->slot == EXAMPLE_KERNEL)
		expect_none(c->name, c->total_margin_s);
	else
		expect(COMPONENTS, c->name, c->total_margin_s,
		       hypot(profile->program.wall_s *
				     slow(&(size_t){ TOTAL(c->slot) }, 1, CPA_WINDOW_ON),
			     sampled[2]));
	if (c->slot == EXAMPLE_REGION) {
		expect_none(c->name, c->critical_path_margin_s);
		expect_none(c->name, c->saved_margin_s);
		return;
	}
	expect_widened(COMPONENTS, c->name, profile, c->slot, sampled, c->critical_path_margin_s,
		       c->saved_margin_s);
}

static void check(const struct cpa_profile *profile)
{
	check_program(profile);
	for (size_t i = 0; i < profile->components; i++)
		check_component(profile, &profile->component[i]);
	check_objects(profile);
	check_arrays(profile);
	check_queues(profile);
	check_streams(profile);
	check_processes(profile);
	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *t = &profile->thread[i];

		if (t->row > CPA_WINDOW_ROWS) {
			expect_none(t->name, t->cpu_margin_s);
			expect_none(t->name, t->wait_margin_s);
			continue;
		}
		expect(THREADS, t->name, t->cpu_margin_s,
		       slow_life(profile, CPA_WINDOW_THREAD_CPU, t->row, 1));
		expect(THREADS, t->name, t->wait_margin_s,
		       slow_life(profile, CPA_WINDOW_THREAD_WAIT, t->row, 1));
	}
}

static void run(struct rnd *r)
{
	struct cpa_profile *profile;
	struct cpa_dump dump;
	char *error = NULL;

	draw(r);
	make();
	dump_maker_save(&maker, maker_file, SIZE_MAX);
	if (cpa_dump_open(&dump, maker_file, &error) < 0)
		maker_fail(error);
	profile = cpa_profile_build(&dump, CPA_GRAPH_NODES);
	check(profile);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	dump_maker_free(&maker);
}

int main(void)
{
	unsigned tests = claims_long() ? 2000 : 100;

	if (dump_maker_file(NULL) < 0)
		maker_fail(maker_file);
	claims_begin(&claims);
	for (; claims.number < tests && !claims.any; claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		run(&r);
	}
	dump_maker_unlink(NULL);
	return claims_end(&claims);
}
