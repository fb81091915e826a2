/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/dump_maker.h - session files made by hand, row by row, for tests of the report
 *
 * The maker uses nothing of shadow/ except the layout, so that the same fault in writer and reader
 * does not cancel out. It is a header because every test is one object file.
 */
#ifndef CPA_TESTS_DUMP_MAKER_H
#define CPA_TESTS_DUMP_MAKER_H

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shadow/graph/mix.h"

#define MAKER_START    UINT64_C(1000000) /* header.start_ticks */
#define MAKER_TICKS(s) ((uint64_t)((s)*2e8))

/* Buckets of a histogram, a quarter wide: from 2^24 ticks, 84 ms, and from twice as many. */
#define MAKER_BUCKET	   92
#define MAKER_BUCKET_TWICE 96

#define MAKER_SLOTS	 16
#define MAKER_FIRST_ROWS 2u /* few, so that tables of some rows have several chunks */

struct dump_maker {
	unsigned char *bytes;
	size_t size;
	uint32_t rows[CPA_TABLES];
};

/* A delta of @seconds, as an activity makes it. At most ten seconds. */
static inline struct cpa_delta maker_delta(uint32_t slot, double seconds)
{
	int32_t ticks = (int32_t)MAKER_TICKS(seconds);

	return (struct cpa_delta){ slot, ticks, ticks, ticks };
}

static inline void maker_fail(const char *what)
{
	perror(what);
	exit(99);
}

/* Valid until the next row or block. */
static inline struct cpa_header *dump_maker_header(struct dump_maker *maker)
{
	return (struct cpa_header *)maker->bytes;
}

/* Append @size bytes, zeros if @data is NULL. Return their offset. */
static inline uint64_t dump_maker_block(struct dump_maker *maker, const void *data, size_t size)
{
	size_t offset = (maker->size + CPA_CACHE_LINE - 1) / CPA_CACHE_LINE * CPA_CACHE_LINE;
	unsigned char *bytes = realloc(maker->bytes, offset + size);

	if (!bytes)
		maker_fail("dump_maker");
	memset(bytes + maker->size, 0, offset - maker->size);
	if (data)
		memcpy(bytes + offset, data, size);
	else
		memset(bytes + offset, 0, size);
	maker->bytes = bytes;
	maker->size = offset + size;
	return offset;
}

/* File in which a test saves its sessions: set-up and teardown of a cmocka group. */
static char maker_file[] = "/tmp/cpa_test.XXXXXX";

static inline int dump_maker_file(void **state)
{
	int fd = mkstemp(maker_file);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static inline int dump_maker_unlink(void **state)
{
	(void)state;
	return unlink(maker_file);
}

/* An empty session: 10 s long, complete, 0.2 ticks per nanosecond, 16 slots. */
static inline void dump_maker_start(struct dump_maker *maker)
{
	static const uint32_t sizes[CPA_TABLES] = {
		[CPA_TABLE_THREADS] = sizeof(struct cpa_thread),
		[CPA_TABLE_OBJECTS] = sizeof(struct cpa_object),
		[CPA_TABLE_COMPONENTS] = sizeof(struct cpa_component),
		[CPA_TABLE_SITES] = sizeof(struct cpa_site),
		[CPA_TABLE_MODULES] = sizeof(struct cpa_module),
		[CPA_TABLE_NODES] = sizeof(struct cpa_node),
		[CPA_TABLE_EDGES] = sizeof(struct cpa_edge),
		[CPA_TABLE_TOKENS] = sizeof(struct cpa_token),
		[CPA_TABLE_NAMES] = sizeof(struct cpa_name),
		[CPA_TABLE_QUEUES] = sizeof(struct cpa_queue),
		[CPA_TABLE_MARKS] = sizeof(struct cpa_mark),
		[CPA_TABLE_SERIES] = sizeof(struct cpa_slot_series),
		[CPA_TABLE_BASES] = sizeof(struct cpa_base),
		[CPA_TABLE_POINTS] = sizeof(struct cpa_thread_series),
		[CPA_TABLE_PROCESSES] = sizeof(struct cpa_process_row),
		[CPA_TABLE_PATHS] = sizeof(struct cpa_path),
		[CPA_TABLE_STREAMS] = sizeof(struct cpa_stream),
		[CPA_TABLE_CONTEXTS] = sizeof(struct cpa_context),
		[CPA_TABLE_STACKS] = sizeof(struct cpa_stack),
		[CPA_TABLE_USES] = sizeof(struct cpa_use),
	};
	struct cpa_header *header;

	*maker = (struct dump_maker){ 0 };
	dump_maker_block(maker, NULL, CPA_HEADER_SIZE);
	header = dump_maker_header(maker);
	memcpy(header->magic, CPA_MAGIC, sizeof(header->magic));
	header->byte_order = CPA_BYTE_ORDER;
	header->format = CPA_FORMAT;
	header->header_size = CPA_HEADER_SIZE;
	header->tables = CPA_TABLES;
	header->state = CPA_COMPLETE;
	header->pid = 4711;
	header->cores = 2;
	header->clock = CPA_CLOCK_RSEQ;
	header->sampler = CPA_SAMPLER_PERF;
	header->sample_hz = 250;
	header->slots = MAKER_SLOTS;
	header->start_ticks = MAKER_START;
	header->start_ns = 5000;
	header->last_ticks = MAKER_START + MAKER_TICKS(9);
	header->last_ns = 5000 + UINT64_C(9000000000);
	header->end_ticks = MAKER_START + MAKER_TICKS(10);
	strcpy(header->exe, "/usr/bin/example");
	for (unsigned i = 0; i < CPA_TABLES; i++) {
		header->table[i].row_size = sizes[i];
		header->table[i].first_rows = MAKER_FIRST_ROWS;
	}
}

static inline void dump_maker_free(struct dump_maker *maker)
{
	free(maker->bytes);
}

/* Return the chunk of @row, and in *@left its index in the chunk, from 0. */
static inline uint32_t maker_find_chunk(uint32_t row, uint32_t *left)
{
	uint32_t chunk = 0, rows = MAKER_FIRST_ROWS;

	for (*left = row - 1; *left >= rows; rows *= 2, chunk++)
		*left -= rows;
	return chunk;
}

/* Return the row's place; valid until the next row or block. */
static inline void *dump_maker_at(struct dump_maker *maker, enum cpa_table_id id, uint32_t row)
{
	const struct cpa_table *table = &dump_maker_header(maker)->table[id];
	uint32_t left, chunk = maker_find_chunk(row, &left);

	return maker->bytes + table->chunk[chunk] + (size_t)left * table->row_size;
}

/* Append a row; its size is that of the table's struct. Return its number. */
static inline uint32_t dump_maker_row(struct dump_maker *maker, enum cpa_table_id id,
				      const void *row)
{
	struct cpa_table *table = &dump_maker_header(maker)->table[id];
	uint32_t left, number = ++maker->rows[id], chunk = maker_find_chunk(number, &left);

	if (!table->chunk[chunk]) {
		uint64_t offset = dump_maker_block(
			maker, NULL, (MAKER_FIRST_ROWS << chunk) * (size_t)table->row_size);

		table = &dump_maker_header(maker)->table[id];
		table->chunk[chunk] = offset;
	}
	table->used = number;
	memcpy(dump_maker_at(maker, id, number), row, table->row_size);
	return number;
}

/* Write the first @size bytes, or all with SIZE_MAX, to @file. */
static inline void dump_maker_save(const struct dump_maker *maker, const char *file, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (size > maker->size)
		size = maker->size;
	if (fd < 0 || write(fd, maker->bytes, size) != (ssize_t)size || close(fd) < 0)
		maker_fail(file);
}

/*
 * The example: main works 7 of 10 s, a worker 5 s, on the code and locks below; these exist in the
 * program that calls this, so that their names can be found.
 */
enum example_slot {
	EXAMPLE_WORK = CPA_SLOT_FIRST, /* function */
	EXAMPLE_POOL,		       /* lock by variable */
	EXAMPLE_MAIN,		       /* threads */
	EXAMPLE_WORKER,
	EXAMPLE_SLEEP,	/* external */
	EXAMPLE_SHARED, /* locks by init site and by first site */
	EXAMPLE_ACTIVITY,
	EXAMPLE_KERNEL, /* function without a module */
	EXAMPLE_QUEUE,	/* these three by dump_maker_queues() */
	EXAMPLE_REGION,
	EXAMPLE_WHOLE, /* a function including its callees */
	EXAMPLE_SLOTS = MAKER_SLOTS
};

struct example_pool {
	long size;
	struct {
		long count;
		union {
			long __word[5]; /* stands for pthread_mutex_t; not read by the report */
		} lock;
	} queue[3];
};

struct example_pool example_pool;
int example_work(int n);
int example_worker(int n);

__attribute__((noinline)) int example_work(int n)
{
	for (volatile int i = 0; i < n; i++)
		example_pool.size += i;
	return n;
}

__attribute__((noinline)) int example_worker(int n)
{
	return example_work(n) + 1;
}

static inline int maker_find_own_module(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct cpa_module *module = argument;

	(void)size;
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
		const unsigned char *note = (const unsigned char *)(uintptr_t)start;

		if (part->p_type == PT_LOAD) {
			module->start = start < module->start ? start : module->start;
			module->end = end > module->end ? end : module->end;
		}
		while (part->p_type == PT_NOTE && (uint64_t)(uintptr_t)note < end) {
			ElfW(Nhdr) head;
			size_t name;

			memcpy(&head, note, sizeof(head));
			name = (head.n_namesz + 3u) & ~3u;
			if (head.n_type == NT_GNU_BUILD_ID && head.n_descsz <= 32) {
				memcpy(module->build_id, note + sizeof(head) + name, head.n_descsz);
				module->build_id_size = head.n_descsz;
			}
			note += sizeof(head) + name + ((head.n_descsz + 3u) & ~3u);
		}
	}
	return 1; /* the first is the program */
}

static inline uint32_t maker_add_module(struct dump_maker *maker)
{
	struct cpa_module module = { .key = 1 };
	ssize_t length = readlink("/proc/self/exe", module.path, sizeof(module.path) - 1);

	if (length < 0)
		maker_fail("/proc/self/exe");
	dl_iterate_phdr(maker_find_own_module, &module);
	return dump_maker_row(maker, CPA_TABLE_MODULES, &module);
}

static inline void maker_add_components(struct dump_maker *maker)
{
	uint32_t module = maker_add_module(maker);
	struct cpa_component rows[] = {
		{ .kind = CPA_FUNCTION,
		  .address = (uintptr_t)example_work,
		  .module = module,
		  .slot = EXAMPLE_WORK },
		{ .kind = CPA_LOCK,
		  .by = CPA_BY_VARIABLE,
		  .address = (uintptr_t)&example_pool.queue[1].lock,
		  .module = module,
		  .slot = EXAMPLE_POOL,
		  .object_kind = CPA_MUTEX,
		  .retired_objects = 1,
		  .retired_acquisitions = 10,
		  .retired_contended = 1,
		  .retired_handoffs = 1,
		  .retired_wait = MAKER_TICKS(0.25),
		  .retired_hold = MAKER_TICKS(0.5) },
		{ .kind = CPA_THREAD, .slot = EXAMPLE_MAIN },
		{ .kind = CPA_THREAD,
		  .address = (uintptr_t)example_worker,
		  .module = module,
		  .slot = EXAMPLE_WORKER },
		{ .kind = CPA_EXTERNAL,
		  .by = CPA_BY_EXTERNAL,
		  .address = CPA_EXT_SLEEP,
		  .slot = EXAMPLE_SLEEP },
		{ .kind = CPA_LOCK,
		  .by = CPA_BY_INIT_SITE,
		  .address = (uintptr_t)example_work + 4,
		  .module = module,
		  .slot = EXAMPLE_SHARED,
		  .object_kind = CPA_SPIN },
		{ .kind = CPA_LOCK,
		  .by = CPA_BY_FIRST_SITE,
		  .address = (uintptr_t)example_worker + 4,
		  .module = module,
		  .slot = EXAMPLE_SHARED,
		  .shared = 1,
		  .object_kind = CPA_COND },
		{ .kind = CPA_ACTIVITY, .slot = EXAMPLE_ACTIVITY },
		{ .kind = CPA_FUNCTION, .address = ~UINT64_C(0), .slot = EXAMPLE_KERNEL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rows[i].key = (uint64_t)rows[i].kind << 60 | (uint64_t)rows[i].by << 56 | (i + 1);
		dump_maker_row(maker, CPA_TABLE_COMPONENTS, &rows[i]);
	}
}

static inline void maker_add_objects(struct dump_maker *maker)
{
	const struct cpa_object rows[] = {
		{ .key = 1,
		  .kind = CPA_MUTEX,
		  .class = 2,
		  .acquisitions = 100,
		  .contended = 40,
		  .handoffs = 20,
		  .wait = MAKER_TICKS(1),
		  .hold = MAKER_TICKS(2) },
		{ .key = 2,
		  .kind = CPA_MUTEX,
		  .class = 2,
		  .acquisitions = 50,
		  .contended = 9,
		  .handoffs = 4,
		  .wait = MAKER_TICKS(0.5),
		  .hold = MAKER_TICKS(0.5) },
		/* A destroyed object and a thread's handle: neither is an object of the program. */
		{ .key = 3, .class = 2, .acquisitions = 1000 },
		{ .key = 4, .kind = CPA_HANDLE, .class = 2, .acquisitions = 1000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		dump_maker_row(maker, CPA_TABLE_OBJECTS, &rows[i]);
}

static inline void maker_add_graph(struct dump_maker *maker)
{
	const struct cpa_site site = { .key = (uintptr_t)example_worker + 4, .module = 1 };
	struct cpa_node nodes[] = {
		{ .key = 1, .kind = CPA_EV_START },
		{ .key = 2, .kind = CPA_EV_LOCK, .class = 2 },
		{ .key = 3, .kind = CPA_EV_UNLOCK, .class = 2 },
	};
	const struct cpa_edge edges[] = {
		{ .key = 1,
		  .from = 2,
		  .to = 3,
		  .slot = EXAMPLE_ACTIVITY,
		  .count = 10,
		  .weight = MAKER_TICKS(2),
		  .noted = MAKER_TICKS(2),
		  .mix = { cpa_mix_word(EXAMPLE_WORK, 3, -5),
			   cpa_mix_word(EXAMPLE_KERNEL, 1, 9) } },
		{ .key = 2,
		  .from = 3,
		  .to = 2,
		  .dependency = 1,
		  .count = 7,
		  .followed = 6,
		  .weight = MAKER_TICKS(1),
		  .followed_weight = MAKER_TICKS(0.75) },
	};

	nodes[1].site = nodes[2].site = dump_maker_row(maker, CPA_TABLE_SITES, &site);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		dump_maker_row(maker, CPA_TABLE_NODES, &nodes[i]);
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		dump_maker_row(maker, CPA_TABLE_EDGES, &edges[i]);
}

/* L = 8 s: S, H and O of the work have 3 s in the version and the rest in the deltas. */
static inline void maker_add_main(struct dump_maker *maker)
{
	/* Each a struct cpa_version and its values. */
	uint64_t version[3 + 2 * EXAMPLE_SLOTS] = { (uint64_t)EXAMPLE_SLOTS << 32 | 1 };
	uint64_t observed[3 + EXAMPLE_SLOTS] = { (uint64_t)EXAMPLE_SLOTS << 32 | 1 };
	uint64_t totals[EXAMPLE_SLOTS] = {
		[EXAMPLE_WORK] = MAKER_TICKS(4),
		[EXAMPLE_POOL] = MAKER_TICKS(2),
		[EXAMPLE_MAIN] = MAKER_TICKS(7),
	};
	struct cpa_edge_cache edges[CPA_EDGE_CACHE] = {
		{ .edge = 1,
		  .count = 5,
		  .weight = MAKER_TICKS(1),
		  .mix = { cpa_mix_word(EXAMPLE_KERNEL, 1, 0) } }, /* also in the row */
	};
	struct cpa_thread thread = {
		.key = 1,
		.state = CPA_THREAD_RUNNING,
		.tid = 4711,
		.component = 3,
		.process = MAKER_TICKS(7),
		.runqueue = MAKER_TICKS(0.5),
		.wait = MAKER_TICKS(2),
		.wait_cpu = MAKER_TICKS(0.25),
		.probe = MAKER_TICKS(0.5),
		.events = 30,
		.name = "example",
		.totals_slots = EXAMPLE_SLOTS,
		.path = { .len = MAKER_TICKS(8),
			  .released = MAKER_START + MAKER_TICKS(10),
			  .owner = 1,
			  .observed = { MAKER_TICKS(7), MAKER_TICKS(1), MAKER_TICKS(0.5),
					MAKER_TICKS(1), MAKER_TICKS(0.5) },
			  .delta = { maker_delta(EXAMPLE_POOL, 2), maker_delta(EXAMPLE_MAIN, 6),
				     maker_delta(EXAMPLE_ACTIVITY, 1.5) } },
	};

	for (unsigned part = 0; part < 2; part++)
		version[3 + part * EXAMPLE_SLOTS + EXAMPLE_WORK] = MAKER_TICKS(3);
	observed[3 + EXAMPLE_WORK] = MAKER_TICKS(3);
	thread.totals = dump_maker_block(maker, totals, sizeof(totals));
	thread.edges = dump_maker_block(maker, edges, sizeof(edges));
	thread.path.version = dump_maker_block(maker, version, sizeof(version));
	thread.path.observed_version = dump_maker_block(maker, observed, sizeof(observed));
	dump_maker_row(maker, CPA_TABLE_THREADS, &thread);
	dump_maker_header(maker)->exit_thread = 1;
}

/* L = 6 s, 2 s less than main: time that only main has saves at most that. */
static inline void maker_add_worker(struct dump_maker *maker)
{
	uint64_t totals[EXAMPLE_SLOTS] = {
		[CPA_SLOT_UNSAMPLED] = MAKER_TICKS(0.5),
		[EXAMPLE_WORK] = MAKER_TICKS(1),
		[EXAMPLE_WORKER] = MAKER_TICKS(5),
		[EXAMPLE_SLEEP] = MAKER_TICKS(1),
	};
	struct cpa_thread thread = {
		.key = 2,
		.state = CPA_THREAD_EXITED,
		.tid = 4712,
		.component = 4,
		.process = MAKER_TICKS(5),
		.external = MAKER_TICKS(1),
		.wait = MAKER_TICKS(1),
		.events = 12,
		.name = "worker \033[2J",
		.totals = dump_maker_block(maker, totals, sizeof(totals)),
		.totals_slots = EXAMPLE_SLOTS,
		.path = { .len = MAKER_TICKS(6),
			  .released = MAKER_START + MAKER_TICKS(9),
			  .owner = 2,
			  .observed = { MAKER_TICKS(5), MAKER_TICKS(1) },
			  .delta = { maker_delta(EXAMPLE_WORK, 1), maker_delta(EXAMPLE_WORKER, 5),
				     maker_delta(EXAMPLE_SLEEP, 1) } },
	};

	dump_maker_row(maker, CPA_TABLE_THREADS, &thread);
}

static inline void dump_maker_example(struct dump_maker *maker)
{
	struct cpa_header *header;

	dump_maker_start(maker);
	maker_add_components(maker);
	maker_add_objects(maker);
	maker_add_graph(maker);
	maker_add_main(maker);
	maker_add_worker(maker);
	header = dump_maker_header(maker);
	header->cpu_end_ns = UINT64_C(12750000000);
	header->diag[CPA_DIAG_SAMPLES] = 3000;
	header->diag[CPA_DIAG_SAMPLES_LOST] = 3;
}

#endif
