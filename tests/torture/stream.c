/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/stream.c - racing writes and reads of streams and of messages
 *
 * A lock and a counter stand for the kernel, which orders writes and reads. The k-th path of a writer is
 * k ticks long, so the length of a reader's path tells which write it was joined with.
 */
#define WORKERS 8

#include "shadow/edge/message.h"
#include "shadow/edge/stream.h"

#include "tests/torture/torture.h"

#define PAIRS (WORKERS / 2)
#define MOST  7u  /* bytes of a write */
#define FULL  64u /* writes that wait to be read, at most: all have a record */

/* What stands for the kernel: the writes that were made, in order, and how many bytes were read. */
struct pipe {
	pthread_mutex_t lock;
	uint64_t writes, written, taken;
	struct {
		uint64_t end, name; /* of its bytes; the writer's number and how many it has made */
	} write[FULL];
	uint64_t read; /* writes that were read to their ends */
};

static struct pipe pipes[PAIRS];
static struct cpa_stream *streams[PAIRS];
/* Atomic. others: reads of messages that were joined with another one. */
static uint64_t matched, unmatched, others, begun[WORKERS];
static unsigned writers_ended; /* atomic */

static void open_streams(enum cpa_stream_kind kind)
{
	memset(pipes, 0, sizeof(pipes));
	memset(begun, 0, sizeof(begun));
	matched = unmatched = others = writers_ended = 0;
	for (unsigned i = 0; i < PAIRS; i++) {
		pthread_mutex_init(&pipes[i].lock, NULL);
		streams[i] = cpa_stream(cpa_stream_intern(i + 1, kind, 0));
	}
}

/* False: it is full. */
static bool kernel_write(struct pipe *p, uint64_t bytes, uint64_t name)
{
	bool fits;

	pthread_mutex_lock(&p->lock);
	fits = p->writes - p->read < FULL;
	if (fits) {
		p->written += bytes;
		p->write[p->writes % FULL].end = p->written;
		p->write[p->writes++ % FULL].name = name;
	}
	pthread_mutex_unlock(&p->lock);
	return fits;
}

/* Read at most @most bytes of one write. Return their number; 0: it is empty. */
static uint64_t kernel_read(struct pipe *p, uint64_t most, uint64_t *name)
{
	uint64_t n = 0, left;

	pthread_mutex_lock(&p->lock);
	if (p->read < p->writes) {
		left = p->write[p->read % FULL].end - p->taken;
		n = left < most ? left : most;
		*name = p->write[p->read % FULL].name;
		p->taken += n;
		p->read += n == left;
	}
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* Return whether there was room. */
static bool write_one(struct worker *w, unsigned to, uint64_t k, bool by_name)
{
	struct cpa_path *path = &w->self.row->path;
	uint64_t bytes = by_name ? 1 : 1 + rnd_below(&w->r, MOST), name = k * WORKERS + w->index;
	struct cpa_stream_record record;
	bool fits;

	cpa_path_add(&w->self, path, 2 + w->index, 1);
	path->len = path->released = k;
	/* Relaxed: a bound for later readers. */
	__atomic_store_n(&begun[w->index], k, __ATOMIC_RELAXED);
	cpa_stream_write_begin(&w->self, streams[to], by_name ? SIZE_MAX : bytes, &record);
	fits = kernel_write(&pipes[to], bytes, name);
	if (by_name)
		cpa_message_write_end(&w->self, &record, fits ? name : 0, fits);
	else
		cpa_stream_write_end(&w->self, &record, fits ? bytes : 0);
	return fits;
}

/* Return whether something was read. @by: writers of the stream; 1: it is known which write it was. */
static bool read_one(struct worker *w, unsigned from, unsigned by, bool by_name)
{
	struct cpa_wait wait = { .arrived = 1, .now = 1 };
	struct cpa_path *path = &w->self.row->path;
	struct cpa_stream_found found;
	uint64_t name, most = 0, n = kernel_read(&pipes[from], by_name ? 1 : MOST - 2, &name);

	if (!n)
		return false;
	cpa_path_clear(&w->self, path);
	if (!(by_name ? cpa_message_read(&w->self, streams[from], name, n, &found) :
			cpa_stream_read(&w->self, streams[from], n, &found))) {
		__atomic_fetch_add(&unmatched, 1, __ATOMIC_RELAXED);
		return true;
	}
	cpa_stream_join(&w->self, &found, true, false, &wait);
	__atomic_fetch_add(&matched, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WORKERS; i++) {
		uint64_t k = __atomic_load_n(&begun[i], __ATOMIC_RELAXED);

		most = k > most ? k : most;
	}
	EXPECT(path->len >= 1 && path->len <= most);
	if (by == 1)
		EXPECT(path->len == name / WORKERS);
	else if (by_name && path->len != name / WORKERS)
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
	return true;
}

/* Nobody is in a write, no record is pinned, and every byte is counted. */
static void check_rest(void)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		EXPECT(!cpa_stream_is_written(streams[i]));
		EXPECT((streams[i]->written & CPA_STREAM_BYTES) == pipes[i].written);
		EXPECT(streams[i]->taken == pipes[i].taken);
		for (unsigned k = 0; k < CPA_STREAM_RECORDS; k++)
			EXPECT(streams[i]->record[k] >> 32 == 0);
		cpa_stream_clear(&main_self, streams[i]);
	}
	torture_given_back();
	printf("# %llu reads, %llu of no known write, %u tokens\n", (unsigned long long)matched,
	       (unsigned long long)unmatched, cpa_table(CPA_TABLE_TOKENS)->used);
}

/* Workers 0 to PAIRS - 1 write to, and the others read from, the stream @number. */
static void write_or_read(struct worker *w, unsigned number, unsigned by, bool by_name)
{
	unsigned n = torture_work(20000);

	if (w->index < PAIRS) {
		for (uint64_t k = 1; k <= n; k++)
			while (!write_one(w, number, k, by_name))
				sched_yield();
		/* Relaxed: readers look again. */
		__atomic_fetch_add(&writers_ended, 1, __ATOMIC_RELAXED);
		return;
	}
	while (read_one(w, number, by, by_name) ||
	       __atomic_load_n(&writers_ended, __ATOMIC_RELAXED) < PAIRS)
		sched_yield();
}

/* Each pair by a stream of its own. */
static void in_pairs(struct worker *w)
{
	write_or_read(w, w->index % PAIRS, 1, false);
}

static void read_rest(unsigned stream, unsigned by, bool by_name)
{
	struct cpa_wait start = { .now = 1 };
	struct worker last = { .index = WORKERS };

	EXPECT(!cpa_thread_begin(&last.self, 0, 99, NULL, &start));
	while (read_one(&last, stream, by, by_name))
		;
	cpa_thread_end(&last.self, 2);
}

static void run_pairs(void)
{
	open_streams(CPA_STREAM_PIPE);
	torture_threads(WORKERS, in_pairs);
	for (unsigned i = 0; i < PAIRS; i++)
		read_rest(i, 1, false);
	EXPECT(!unmatched);
	check_rest();
}

static void bytes_on_one(struct worker *w)
{
	write_or_read(w, 0, PAIRS, false);
}

static void messages_on_one(struct worker *w)
{
	write_or_read(w, 0, PAIRS, true);
}

static void run_bytes(void)
{
	open_streams(CPA_STREAM_PIPE);
	torture_threads(WORKERS, bytes_on_one);
	read_rest(0, PAIRS, false);
	check_rest();
}

/* As bytes_on_one(), with one reader, whose reads have their order. */
static void bytes_to_one(struct worker *w)
{
	if (w->index <= PAIRS)
		write_or_read(w, 0, PAIRS, false);
}

/* As in_pairs(), while the workers of another stream clear this one now and then, as if nobody read it. */
static void in_cleared_pairs(struct worker *w)
{
	unsigned number = w->index % PAIRS, n = torture_work(20000);

	for (uint64_t k = 1; k <= n; k++) {
		if (w->index < PAIRS)
			write_one(w, number, k, false);
		else
			read_one(w, number, PAIRS, false);
		sched_yield();
		if (!rnd_below(&w->r, 50))
			cpa_stream_clear(&w->self, streams[rnd_below(&w->r, PAIRS)]);
	}
}

static void run_cleared(void)
{
	open_streams(CPA_STREAM_PIPE);
	torture_threads(WORKERS, in_cleared_pairs);
	for (unsigned i = 0; i < PAIRS; i++)
		read_rest(i, PAIRS, false);
	EXPECT(matched && unmatched);
	check_rest();
}

static void run_full(void)
{
	open_streams(CPA_STREAM_PIPE);
	torture_threads(WORKERS, bytes_to_one);
	read_rest(0, PAIRS, false);
	check_rest();
}

static void run_messages(void)
{
	open_streams(CPA_STREAM_UDP);
	torture_threads(WORKERS, messages_on_one);
	read_rest(0, PAIRS, true);
	EXPECT(matched + unmatched == pipes[0].taken);
	printf("# %llu reads of messages were joined with another one, %llu not sure\n",
	       (unsigned long long)others, (unsigned long long)streams[0]->uncertain);
	check_rest();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("one writer and one reader: each read finds its write", seed, run_pairs);
	torture("several of each: every byte is counted, every record freed", seed, run_bytes);
	torture("streams are cleared at any time: every byte is counted, every record freed", seed,
		run_cleared);
	torture("several spin on a full pipe, and one reads", seed, run_full);
	torture("messages: each read takes one, and every record is freed", seed, run_messages);
	return torture_end();
}
