/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/passes.c - racing calls that move bytes through a row of streams, and readers
 *
 * In each lane one thread writes, some move the bytes on, each from one stream to the next, and one reads. A
 * lock stands for the kernel, which says at once which bytes were moved. The k-th path of the writer is k
 * ticks long, and others have none of their own: so the length of the reader's path tells which write it was
 * joined with, whether it read before or behind the return of the calls that moved the bytes.
 */
#define WORKERS 8

#include "shadow/edge/stream.h"

#include "tests/torture/torture.h"

#define LANES  2u
#define STAGES (WORKERS / LANES)
#define PIPES  (STAGES - 1)
#define MOST   7u  /* bytes of a write */
#define FULL   64u /* writes that wait to be read, at most: all have a record */

/* What stands for the kernel: pieces of which each was moved by one call, and never joined. */
struct pipe {
	pthread_mutex_t lock;
	uint64_t put, taken; /* pieces */
	struct {
		uint64_t bytes, name; /* name: how many the writer has made */
	} piece[FULL];
};

static struct pipe pipes[LANES][PIPES];
static struct cpa_stream *streams[LANES][PIPES];
static uint64_t unmatched, reads;	     /* atomic */
static unsigned stages_ended[LANES][STAGES]; /* atomic */

/* Move the first piece of @from, or @bytes called *@name, to @to (NULL: take it). Return its bytes; 0: none. */
static uint64_t kernel_move(struct pipe *from, struct pipe *to, uint64_t bytes, uint64_t *name)
{
	uint64_t moved = 0;

	if (from)
		pthread_mutex_lock(&from->lock);
	if (to)
		pthread_mutex_lock(&to->lock);
	if ((!from || from->taken < from->put) && (!to || to->put - to->taken < FULL)) {
		moved = from ? from->piece[from->taken % FULL].bytes : bytes;
		*name = from ? from->piece[from->taken++ % FULL].name : *name;
		if (to) {
			to->piece[to->put % FULL].bytes = moved;
			to->piece[to->put++ % FULL].name = *name;
		}
	}
	if (to)
		pthread_mutex_unlock(&to->lock);
	if (from)
		pthread_mutex_unlock(&from->lock);
	return moved;
}

/* The thread has a path of @len ticks, and no other. */
static void set_path(struct worker *w, uint64_t len)
{
	struct cpa_path *path = &w->self.row->path;

	cpa_path_clear(&w->self, path);
	if (len)
		cpa_path_add(&w->self, path, 2 + w->index, 1);
	path->len = path->released = len;
	path->owner = w->self.id;
}

static bool write_one(struct worker *w, unsigned lane, uint64_t k)
{
	struct cpa_stream_record record;
	uint64_t bytes = 1 + rnd_below(&w->r, MOST), n;

	set_path(w, k);
	cpa_stream_write_begin(&w->self, streams[lane][0], bytes, &record);
	n = kernel_move(NULL, &pipes[lane][0], bytes, &k);
	cpa_stream_write_end(&w->self, &record, n);
	return n;
}

/* Read @n bytes from @from on, which are those of the write @name. */
static bool join_write(struct worker *w, struct cpa_stream *s, uint64_t from, uint64_t n,
		       uint64_t name, struct cpa_stream_found *found, bool took)
{
	struct cpa_wait wait = { .arrived = 1, .now = 1 };

	if (!cpa_stream_read_from(&w->self, s, from, n, found)) {
		__atomic_fetch_add(&unmatched, 1, __ATOMIC_RELAXED);
		return false;
	}
	cpa_stream_join(&w->self, found, took, false, &wait);
	EXPECT(w->self.row->path.len == name);
	__atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
	return true;
}

static bool move_one(struct worker *w, unsigned lane, unsigned from)
{
	struct cpa_stream *in = streams[lane][from], *out = streams[lane][from + 1];
	struct cpa_stream_record record;
	struct cpa_stream_found found;
	uint64_t name, n, first;

	set_path(w, 0);
	cpa_stream_write_begin(&w->self, out, MOST, &record);
	cpa_stream_pass(&record, 1 + lane * PIPES + from); /* rows are from 1 */
	n = kernel_move(&pipes[lane][from], &pipes[lane][from + 1], 0, &name);
	if (!n) {
		cpa_stream_write_end(&w->self, &record, 0);
		return false;
	}
	first = cpa_stream_took(in, n);
	if (join_write(w, in, first, n, name, &found, false)) {
		cpa_stream_pass_end(&w->self, &record, first, n);
		cpa_stream_sweep(&w->self, &found, 1);
	} else {
		cpa_stream_write_end(&w->self, &record, n);
	}
	return true;
}

static bool read_one(struct worker *w, unsigned lane)
{
	struct cpa_stream *s = streams[lane][PIPES - 1];
	struct cpa_stream_found found;
	uint64_t name, n = kernel_move(&pipes[lane][PIPES - 1], NULL, 0, &name);

	if (!n)
		return false;
	set_path(w, 0);
	join_write(w, s, cpa_stream_took(s, n), n, name, &found, true);
	return true;
}

static void work(struct worker *w)
{
	unsigned lane = w->index % LANES, stage = w->index / LANES, n = torture_work(20000);

	if (!stage)
		for (uint64_t k = 1; k <= n; k++)
			while (!write_one(w, lane, k))
				sched_yield();
	while (stage) {
		const struct pipe *from = &pipes[lane][stage - 1];
		/* ACQUIRE: all that the stage before has put there is found then. */
		bool ended = __atomic_load_n(&stages_ended[lane][stage - 1], __ATOMIC_ACQUIRE);

		if (stage < PIPES ? move_one(w, lane, stage - 1) : read_one(w, lane))
			continue;
		if (ended && from->taken == from->put)
			break;
		sched_yield();
	}
	/* RELEASE: see above. */
	__atomic_store_n(&stages_ended[lane][stage], 1, __ATOMIC_RELEASE);
}

static void run(void)
{
	uint64_t uncertain = 0;

	memset(pipes, 0, sizeof(pipes));
	memset(stages_ended, 0, sizeof(stages_ended));
	unmatched = reads = 0;

	for (unsigned i = 0; i < LANES * PIPES; i++) {
		pthread_mutex_init(&pipes[i / PIPES][i % PIPES].lock, NULL);
		streams[i / PIPES][i % PIPES] =
			cpa_stream(cpa_stream_intern(i + 1, CPA_STREAM_PIPE, 0));
	}
	torture_threads(WORKERS, work);
	EXPECT(!unmatched);
	EXPECT(reads == (uint64_t)LANES * PIPES * torture_work(20000));
	for (unsigned i = 0; i < LANES * PIPES; i++) {
		struct cpa_stream *s = streams[i / PIPES][i % PIPES];

		EXPECT(!cpa_stream_is_written(s));
		EXPECT(s->written == s->taken);
		for (unsigned k = 0; k < CPA_STREAM_RECORDS; k++)
			EXPECT(s->record[k] >> 32 == 0);
		uncertain += s->uncertain;
		cpa_stream_clear(&main_self, s);
	}
	EXPECT(!uncertain);
	printf("# %llu reads\n", (unsigned long long)reads);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("bytes through three streams: each read finds the write", seed, run);
	return torture_end();
}
