/* SPDX-License-Identifier: MIT */
/* tests/unit/dump_queues.h - queues, names and marks for the example of dump_maker.h */
#ifndef CPA_TESTS_DUMP_QUEUES_H
#define CPA_TESTS_DUMP_QUEUES_H

#include "tests/unit/dump_maker.h"

static inline uint32_t maker_add_name(struct dump_maker *maker, const char *text)
{
	struct cpa_name name = { .key = maker->rows[CPA_TABLE_NAMES] + 1 };

	strncpy(name.text, text, sizeof(name.text) - 1);
	return dump_maker_row(maker, CPA_TABLE_NAMES, &name);
}

static inline uint32_t maker_add_class(struct dump_maker *maker, struct cpa_component class)
{
	class.key = (uint64_t) class.kind << 60 | (uint64_t) class.by << 56 |
		    (maker->rows[CPA_TABLE_COMPONENTS] + 1);
	return dump_maker_row(maker, CPA_TABLE_COMPONENTS, &class);
}

/* Two more threads that take items: 2 s of work and 1 s of waiting each. Rows 3 and 4. */
static inline void maker_add_consumers(struct dump_maker *maker)
{
	for (uint32_t id = 3; id <= 4; id++) {
		struct cpa_thread thread = { .key = id,
					     .state = CPA_THREAD_EXITED,
					     .tid = 4710 + id,
					     .component = 4,
					     .process = MAKER_TICKS(2),
					     .wait = MAKER_TICKS(1),
					     .name = "worker",
					     .path = { .len = MAKER_TICKS(2) } };

		dump_maker_row(maker, CPA_TABLE_THREADS, &thread);
	}
}

/*
 * The first two are of class @tasks. In the first, 90 items entered at 5 s and waited 0.1 s; 10
 * entered at 9 s and stayed: 9 s + 10 s in the queue. In the second, 10 items waited 0.1 s.
 */
static inline void maker_add_queues(struct dump_maker *maker, uint32_t tasks, uint32_t unnamed)
{
	const struct cpa_queue rows[] = {
		{ .key = 0x1000,
		  .component = tasks,
		  .done_used = 1,
		  .depth = 10,
		  .max_depth = 40,
		  .twice = 1,
		  .unmatched = 2,
		  .enqueued = 100,
		  .entered = MAKER_TICKS(90 * 5 + 10 * 9),
		  .producers = { 1 << 1 },
		  .dequeued = 90,
		  .left = MAKER_TICKS(459),
		  .waited = MAKER_TICKS(9),
		  .services = 90,
		  .service = MAKER_TICKS(4.5),
		  .consumers = { 1 << 2 | 1 << 3 },
		  .histogram = { [MAKER_BUCKET] = 65, [MAKER_BUCKET_TWICE] = 25 } },
		{ .key = 0x2000,
		  .component = tasks,
		  .max_depth = 2,
		  .enqueued = 10,
		  .entered = MAKER_TICKS(10 * 4),
		  .producers = { 1 << 1 },
		  .dequeued = 10,
		  .left = MAKER_TICKS(41),
		  .waited = MAKER_TICKS(1),
		  .services = 10,
		  .service = MAKER_TICKS(0.5),
		  .consumers = { 1 << 3 | 1 << 4 },
		  .histogram = { [MAKER_BUCKET] = 10 } },
		{ .key = 0x3000, .component = unnamed },
		{ .key = 0x4000, .enqueued = 5, .depth = 5, .max_depth = 5 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		dump_maker_row(maker, CPA_TABLE_QUEUES, &rows[i]);
}

static inline void maker_add_items(struct dump_maker *maker, uint32_t tasks)
{
	const struct cpa_thread *main = dump_maker_at(maker, CPA_TABLE_THREADS, 1);
	struct cpa_node enqueue = { .key = 4, .kind = CPA_EV_ENQUEUE, .site = 1, .class = tasks };
	struct cpa_node dequeue = { .key = 5, .kind = CPA_EV_DEQUEUE, .site = 1, .class = tasks };
	struct cpa_edge edge = { .key = 3,
				 .dependency = 1,
				 .count = 90,
				 .followed = 60,
				 .weight = MAKER_TICKS(9),
				 .followed_weight = MAKER_TICKS(6) };
	const struct cpa_edge_cache cache = { .edge = 3,
					      .count = 10,
					      .weight = MAKER_TICKS(1),
					      .followed = 5,
					      .followed_weight = MAKER_TICKS(0.5) };

	memcpy(maker->bytes + main->edges + sizeof(cache), &cache, sizeof(cache));
	edge.from = dump_maker_row(maker, CPA_TABLE_NODES, &enqueue);
	edge.to = dump_maker_row(maker, CPA_TABLE_NODES, &dequeue);
	dump_maker_row(maker, CPA_TABLE_EDGES, &edge);
}

/* Add to the example: queues, a region, marks, and calls of an instrumented function. */
static inline void dump_maker_queues(struct dump_maker *maker)
{
	const struct cpa_component tasks = { .kind = CPA_QUEUE,
					     .by = CPA_BY_NAME,
					     .address = maker_add_name(maker, "tasks"),
					     .slot = EXAMPLE_QUEUE };
	const struct cpa_component unnamed = { .kind = CPA_QUEUE,
					       .by = CPA_BY_FIRST_SITE,
					       .address = (uintptr_t)example_worker + 4,
					       .module = 1 };
	const struct cpa_component region = { .kind = CPA_REGION,
					      .by = CPA_BY_NAME,
					      .address = maker_add_name(maker, "sort \033[2J"),
					      .slot = EXAMPLE_REGION };
	const struct cpa_mark marks[] = {
		{ .key = 1,
		  .ticks = MAKER_START + MAKER_TICKS(3),
		  .len = MAKER_TICKS(2.5),
		  .name = maker_add_name(maker, "second"),
		  .thread = 1 },
		{ .key = 2,
		  .ticks = MAKER_START + MAKER_TICKS(1),
		  .len = MAKER_TICKS(1),
		  .name = maker_add_name(maker, "first"),
		  .thread = 99 },
	};
	const struct cpa_component whole = { .kind = CPA_FUNCTION,
					     .by = CPA_BY_CALL,
					     .address = (uintptr_t)example_work,
					     .module = 1,
					     .slot = EXAMPLE_WHOLE };
	uint32_t class = maker_add_class(maker, tasks);
	struct cpa_component *work;
	struct cpa_thread *main;

	maker_add_class(maker, region);
	maker_add_class(maker, whole);
	maker_add_consumers(maker);
	maker_add_queues(maker, class, maker_add_class(maker, unnamed));
	maker_add_items(maker, class);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		dump_maker_row(maker, CPA_TABLE_MARKS, &marks[i]);
	main = dump_maker_at(maker, CPA_TABLE_THREADS, 1);
	main->path.delta[3] = maker_delta(EXAMPLE_QUEUE, 1);
	main->path.delta[5] = maker_delta(EXAMPLE_WHOLE, 4.25);
	main->path.delta[4] = maker_delta(EXAMPLE_REGION, 0.5);
	work = dump_maker_at(maker, CPA_TABLE_COMPONENTS, 1);
	work->calls = 42;
	work->inclusive = MAKER_TICKS(4.5);
	((struct cpa_object *)dump_maker_at(maker, CPA_TABLE_OBJECTS, 1))->queue = 1;
}

#endif
