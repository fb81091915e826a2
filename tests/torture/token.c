/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/token.c - queues of tokens, and tokens freed by other threads than allocated them
 */
#include "shadow/edge/fifo.h"
#include "shadow/edge/object.h"
#include "shadow/edge/stream.h"

#include "tests/torture/torture.h"

#define PRODUCERS 4
#define CONSUMERS (WORKERS - PRODUCERS)
#define AHEAD	  500 /* approximate number of tokens in the queue */

static struct cpa_object *object;
static unsigned per_producer;
static uint64_t put, taken; /* atomic */
static uint8_t *seen[PRODUCERS];

static void produce(struct worker *w)
{
	struct cpa_path *path = &w->self.row->path;

	for (unsigned i = 1; i <= per_producer; i++) {
		uint32_t token;

		/* More slots than deltas: the token shares a version with the path. */
		cpa_path_add(&w->self, path, 2 + i % 40, 1);
		path->len = (uint64_t)w->index << 32 | i;
		token = cpa_token_new(&w->self, path);
		EXPECT(token && cpa_fifo_put(&w->self, object, token));
		__atomic_fetch_add(&put, 1, __ATOMIC_RELAXED);
		while (__atomic_load_n(&put, __ATOMIC_RELAXED) >
		       __atomic_load_n(&taken, __ATOMIC_RELAXED) + AHEAD)
			sched_yield();
	}
}

/* Each consumer meets one producer's tokens in order, and no token twice. */
static void consume(struct worker *w)
{
	uint32_t last[PRODUCERS] = { 0 };

	while (__atomic_load_n(&taken, __ATOMIC_RELAXED) < (uint64_t)PRODUCERS * per_producer) {
		uint32_t token = cpa_fifo_take(&w->self, object), i;
		unsigned from;
		uint64_t len;

		if (!token) {
			sched_yield();
			continue;
		}
		len = cpa_token(token)->path.len;
		from = (unsigned)(len >> 32);
		i = (uint32_t)len;
		EXPECT(from < PRODUCERS && i > last[from] && i <= per_producer);
		EXPECT(!__atomic_exchange_n(&seen[from][i], 1, __ATOMIC_RELAXED));
		last[from] = i;
		cpa_path_join(&w->self, &w->self.row->path, &cpa_token(token)->path, false);
		cpa_token_free(&w->self, token);
		__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
	}
}

static void produce_or_consume(struct worker *w)
{
	if (w->index < PRODUCERS)
		produce(w);
	else
		consume(w);
}

static void run_fifo(void)
{
	object = torture_object();
	per_producer = torture_work(100000);
	put = taken = 0;
	for (unsigned i = 0; i < PRODUCERS; i++)
		seen[i] = calloc(per_producer + 1, 1);
	torture_threads(WORKERS, produce_or_consume);
	EXPECT(cpa_fifo_take(&main_self, object) == 0);
	for (unsigned k = 0; k < PRODUCERS; k++) {
		for (unsigned i = 1; i <= per_producer; i++)
			EXPECT(seen[k][i]);
		free(seen[k]);
	}
	/* A token and a node per entry, plus those that each thread may keep. */
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= 2 * (AHEAD + PRODUCERS) + WORKERS * 40);
	cpa_object_clear(&main_self, object);
	torture_given_back();
}

/* All threads put and take, on new objects: their queues are created in the race. */
#define OBJECTS 2000u

static struct cpa_object *fresh[OBJECTS];

static void race_for_fresh(struct worker *w)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		uint32_t token = cpa_token_new(&w->self, &w->self.row->path);

		EXPECT(cpa_fifo_put(&w->self, fresh[i], token));
		token = cpa_fifo_take(&w->self, fresh[i]);
		/* The thread has put a token and no thread takes two, so one is there. */
		EXPECT(token != 0);
		if (token)
			cpa_token_free(&w->self, token);
	}
}

static void run_fresh(void)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		fresh[i] = torture_object();
	torture_threads(WORKERS, race_for_fresh);
	for (unsigned i = 0; i < OBJECTS; i++) {
		EXPECT(cpa_fifo_take(&main_self, fresh[i]) == 0);
		cpa_object_clear(&main_self, fresh[i]);
	}
	torture_given_back();
}

/*
 * All threads put into and take from one queue that is nearly empty: its nodes are reused at once,
 * so a late exchange meets a link that looks unchanged.
 */
static void put_and_take(struct worker *w)
{
	unsigned n = torture_work(200000);

	for (unsigned i = 1; i <= n; i++) {
		uint32_t token = cpa_token_new(&w->self, NULL);

		EXPECT(token && cpa_fifo_put(&w->self, object, token));
		token = cpa_fifo_take(&w->self, object);
		EXPECT(token != 0);
		if (!token)
			return;
		EXPECT(!__atomic_exchange_n(&cpa_token(token)->left, 1, __ATOMIC_RELAXED));
		__atomic_store_n(&cpa_token(token)->left, 0, __ATOMIC_RELAXED);
		cpa_token_free(&w->self, token);
	}
}

static void run_short(void)
{
	object = torture_object();
	torture_threads(WORKERS, put_and_take);
	EXPECT(cpa_fifo_take(&main_self, object) == 0);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= WORKERS * 40);
	cpa_object_clear(&main_self, object);
	torture_given_back();
}

/*
 * As run_short(), with two queues, and a write and a read between: what was a node of one queue is a record
 * of a stream, and then a node of the other queue.
 */
static struct cpa_object *queue[2];
static struct cpa_stream *streams[WORKERS];

static void write_and_read(struct worker *w)
{
	struct cpa_wait wait = { .arrived = 1, .now = 1 };
	struct cpa_stream_record record;
	struct cpa_stream_found found;

	for (unsigned i = 0; i < 3; i++) {
		cpa_stream_write_begin(&w->self, streams[w->index], SIZE_MAX, &record);
		cpa_stream_write_end(&w->self, &record, 1);
	}
	EXPECT(cpa_stream_read(&w->self, streams[w->index], 3, &found));
	cpa_stream_join(&w->self, &found, true, false, &wait);
}

static void put_write_and_take(struct worker *w)
{
	unsigned n = torture_work(100000), own = w->index % 2;

	for (unsigned i = 1; i <= n; i++) {
		uint32_t token = cpa_token_new(&w->self, NULL);

		cpa_token(token)->key = own;
		EXPECT(token && cpa_fifo_put(&w->self, queue[own], token));
		token = cpa_fifo_take(&w->self, queue[own]);
		EXPECT(token != 0);
		if (!token)
			return;
		EXPECT(cpa_token(token)->key == own);
		cpa_token_free(&w->self, token);
		write_and_read(w);
	}
}

static void run_streams(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		streams[i] = cpa_stream(cpa_stream_intern(i + 1, CPA_STREAM_PIPE, 0));
	for (unsigned i = 0; i < 2; i++)
		queue[i] = torture_object();
	torture_threads(WORKERS, put_write_and_take);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(cpa_fifo_take(&main_self, queue[i]) == 0);
		cpa_object_clear(&main_self, queue[i]);
	}
	torture_given_back();
}

/* Tokens pass between threads through shared places; each has one owner at a time. */
#define PLACES 64u

static uint64_t place[PLACES]; /* atomic: token row */

static void swap_tokens(struct worker *w)
{
	unsigned n = torture_work(400000);

	for (unsigned i = 0; i < n; i++) {
		uint64_t *at = &place[rnd_below(&w->r, PLACES)];
		uint32_t mine = cpa_token_new(&w->self, &w->self.row->path), other;

		/* Relaxed: the token belongs to this thread alone, unless there is a bug. */
		EXPECT(mine && !__atomic_exchange_n(&cpa_token(mine)->left, 1, __ATOMIC_RELAXED));
		other = (uint32_t)__atomic_exchange_n(at, mine, __ATOMIC_ACQ_REL);
		if (!other)
			continue;
		EXPECT(__atomic_exchange_n(&cpa_token(other)->left, 0, __ATOMIC_RELAXED) == 1);
		cpa_token_free(&w->self, other);
		cpa_path_add(&w->self, &w->self.row->path, 2 + i % 50, 1);
		w->self.row->path.len++;
	}
}

static void run_free_list(void)
{
	memset(place, 0, sizeof(place));
	torture_threads(WORKERS, swap_tokens);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= PLACES + WORKERS * 40);
	for (unsigned i = 0; i < PLACES; i++) {
		cpa_token((uint32_t)place[i])->left = 0;
		cpa_token_free(&main_self, (uint32_t)place[i]);
	}
	torture_given_back();
}

/* More tokens at a time than a thread keeps: they go to and come from the shared stack. */
static void exceed(struct worker *w)
{
	unsigned n = torture_work(40000);
	uint32_t token[48];

	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 48; k++) {
			token[k] = cpa_token_new(&w->self, NULL);
			EXPECT(!__atomic_exchange_n(&cpa_token(token[k])->left, 1,
						    __ATOMIC_RELAXED));
		}
		for (unsigned k = 48; k > 0; k--) {
			unsigned at = (unsigned)rnd_below(&w->r, k);

			__atomic_store_n(&cpa_token(token[at])->left, 0, __ATOMIC_RELAXED);
			cpa_token_free(&w->self, token[at]);
			token[at] = token[k - 1];
		}
	}
}

static void run_surplus(void)
{
	torture_threads(WORKERS, exceed);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= WORKERS * 48 + WORKERS * 40);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("every token is taken once, in order", seed, run_fifo);
	torture("a queue that is nearly empty", seed, run_short);
	torture("queues whose nodes were records of streams", seed, run_streams);
	torture("a queue begins while others use it", seed, run_fresh);
	torture("a token has one owner", seed, run_free_list);
	torture("a free token is popped once", seed, run_surplus);
	return torture_end();
}
