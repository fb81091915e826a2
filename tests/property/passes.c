/* SPDX-License-Identifier: MIT */
/*
 * tests/property/passes.c - random splice() and tee() through a row of streams against the bytes themselves
 *
 * Threads write to the first of some streams, one thread behind each moves or copies bytes to the next, and
 * readers take from any. Each call begins, goes through and comes back at steps of its own, in random order: so
 * a reader may be back before the call that put the bytes there is, and before the one that it got them from.
 * Calls may be short, or fail. The reference keeps for each byte in each stream the length of the path that
 * it brings: as long as the call was under way, that before the call or of who wrote the bytes moved so far;
 * then that behind the call. CPA_SEED=n repeats a run, CPA_LONG=1 runs more.
 */
#include <string.h>

#include "shadow/edge/stream.h"
#include "tests/property/claims.h"

#define STREAMS (CPA_STREAM_PASSED + 1)
#define WRITERS 5u
#define READERS 5u
#define THREADS (STREAMS + WRITERS + READERS)
#include "tests/property/stream_threads.h"

#define STEPS  600u
#define BYTES  20000u
#define MOST   50u /* bytes of a call */
#define UNREAD 60u /* calls whose bytes may wait to be read: all have a record */
#define RUNS   300u

enum claim { LENGTH, MATCHED, CERTAIN, BESIDE, ALL_FREED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[LENGTH] = "a read is as long as the longest path that its bytes bring, or as it was",
	[MATCHED] = "each read finds its writes, and the time of the latest",
	[CERTAIN] = "no read is uncertain",
	[BESIDE] = "a read beside a call that moves its bytes finds who wrote them",
	[ALL_FREED] = "no record is left of what was read",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

struct brings {
	uint64_t len, released;
};

/* A call that puts bytes into a stream. */
struct call {
	bool begun, gone; /* it has begun; its bytes are there */
	bool tee;
	unsigned thread, n;
	unsigned from; /* number of the first byte in the source */
	struct cpa_stream_record record;
	struct brings path; /* of the thread before it */
};

static struct pipe {
	struct cpa_stream *s;
	struct brings byte[BYTES];
	unsigned put, taken, calls; /* calls: since all was taken */
	struct call in;		    /* the one that puts bytes in now */
} pipes[STREAMS];

static struct brings later(struct brings a, struct brings b)
{
	return (struct brings){ a.len > b.len ? a.len : b.len,
				a.released > b.released ? a.released : b.released };
}

static struct brings path_of(unsigned i)
{
	return (struct brings){ thread[i].row->path.len, thread[i].row->path.released };
}

/* The first byte of the call under way, if it has gone through; else the next. */
static unsigned open_from(const struct pipe *p)
{
	return p->in.gone ? p->put - p->in.n : p->put;
}

/* What @n bytes from @from on of stream @k bring. Those of a call under way: what it has, and its bytes. */
static struct brings bring(unsigned k, unsigned from, unsigned n)
{
	const struct pipe *p = &pipes[k];
	unsigned last = open_from(p);
	struct brings sum = { 0, 0 };

	for (unsigned i = from; i < from + n && i < last; i++)
		sum = later(sum, p->byte[i]);
	if (from + n > last) {
		sum = later(sum, p->in.path);
		if (k)
			sum = later(sum, bring(k - 1, p->in.from, from + n - last));
	}
	return sum;
}

static bool is_source(unsigned k)
{
	return k + 1 < STREAMS && pipes[k + 1].in.begun;
}

/* The thread of a call begins it, and its bytes are not there yet. Thread k moves to stream k. */
static void begin(struct rnd *r, unsigned k, unsigned i)
{
	struct call *c = &pipes[k].in;
	unsigned n = rnd_percent(r, 50) ? MOST : 1 + (unsigned)rnd_below(r, MOST);
	struct cpa_self *self = at_next_event(r, i);

	*c = (struct call){ .begun = true, .thread = i, .n = n, .path = path_of(i) };
	cpa_stream_write_begin(self, pipes[k].s, n, &c->record);
	if (k) {
		c->tee = rnd_percent(r, 30);
		cpa_stream_pass(&c->record, (uint32_t)k); /* rows are from 1 */
	}
}

/* The kernel moves the bytes. */
static void go(struct rnd *r, unsigned k)
{
	struct pipe *p = &pipes[k], *source = k ? &pipes[k - 1] : NULL;
	struct call *c = &p->in;

	c->gone = true;
	c->from = source ? source->taken : 0;
	c->n = rnd_percent(r, 10) ? 0 : 1 + (unsigned)rnd_below(r, c->n);
	if (source && c->n > source->put - source->taken)
		c->n = source->put - source->taken;
	p->put += c->n;
	p->calls += c->n > 0;
	if (source && !c->tee)
		source->taken += c->n;
}

/* Thread @i got @n bytes from @from on of stream @k: check what it found, and join that. */
static void got(unsigned k, unsigned i, unsigned from, unsigned n, bool took,
		struct cpa_stream_found *found)
{
	struct cpa_wait w = { .arrived = clock_now, .now = clock_now };
	struct cpa_stream *s = pipes[k].s;
	struct brings sum = bring(k, from, n);
	uint64_t own = thread[i].row->path.len, len = own > sum.len ? own : sum.len;
	bool matched = cpa_stream_read_from(&thread[i], s, from, n, found);

	claims.any |= claims_fail(&claims, MATCHED, matched && found->released == sum.released);
	if (matched)
		cpa_stream_join(&thread[i], found, took, false, &w);
	claims.any |= claims_fail(&claims, LENGTH, thread[i].row->path.len == len);
	claims.any |= claims_fail(&claims, CERTAIN, !s->uncertain);
	if (k && from + n > open_from(&pipes[k]))
		claims.any |= claims_fail(&claims, BESIDE, thread[i].row->path.len == len);
}

/* The call comes back. */
static void come_back(struct rnd *r, unsigned k)
{
	struct pipe *p = &pipes[k];
	struct call *c = &p->in;
	struct cpa_self *self = at_next_event(r, c->thread);
	struct cpa_stream_found found;

	if (k && c->n) {
		if (!c->tee)
			cpa_stream_took(pipes[k - 1].s, c->n);
		got(k - 1, c->thread, c->from, c->n, false, &found);
		c->path = path_of(c->thread);
		cpa_stream_pass_end(self, &c->record, c->from, c->n);
		if (!c->tee)
			cpa_stream_sweep(self, &found, clock_now);
	} else {
		cpa_stream_write_end(self, &c->record, c->n);
	}
	for (unsigned i = 1; i <= c->n; i++)
		p->byte[p->put - i] = c->path;
	c->begun = c->gone = false;
}

static void take(struct rnd *r, unsigned k, unsigned n)
{
	struct pipe *p = &pipes[k];
	unsigned i = STREAMS + WRITERS + (unsigned)rnd_below(r, READERS);
	struct cpa_stream_found found;

	at_next_event(r, i);
	got(k, i, (unsigned)cpa_stream_took(p->s, n), n, true, &found);
	p->taken += n;
	if (p->taken == p->put)
		p->calls = 0;
}

static void step(struct rnd *r)
{
	unsigned k = (unsigned)rnd_below(r, STREAMS), left;
	struct pipe *p = &pipes[k];

	if (rnd_percent(r, 60) && p->calls < UNREAD && p->put + MOST < BYTES) {
		if (!p->in.begun)
			begin(r, k, k ? k : STREAMS + (unsigned)rnd_below(r, WRITERS));
		else if (!p->in.gone)
			go(r, k);
		else
			come_back(r, k);
		return;
	}
	/* Who moves the bytes of a stream on is the only one who reads it. */
	left = p->put - p->taken;
	if (left && !is_source(k))
		take(r, k, p->calls < UNREAD ? 1 + (unsigned)rnd_below(r, left) : left);
}

/* All come back, and all that is left is read. */
static void finish(struct rnd *r)
{
	for (unsigned k = STREAMS; k-- > 0;) {
		if (!pipes[k].in.begun)
			continue;
		if (!pipes[k].in.gone)
			go(r, k);
		come_back(r, k);
	}
	for (unsigned k = 0; k < STREAMS; k++) {
		struct cpa_stream_record record;
		unsigned records = 0;

		/* A record that comes back behind the read of its bytes goes with the next. */
		cpa_stream_write_begin(at_next_event(r, k), pipes[k].s, 1, &record);
		pipes[k].byte[pipes[k].put++] = path_of(k);
		cpa_stream_write_end(&thread[k], &record, 1);
		take(r, k, pipes[k].put - pipes[k].taken);
		for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++) {
			uint32_t row = (uint32_t)pipes[k].s->record[i];

			records += row && cpa_token(row)->key < cpa_token(row)->payload;
		}
		claims.any |= claims_fail(&claims, ALL_FREED, !records);
		if (k)
			cpa_stream_clear(&thread[0], pipes[k].s);
	}
}

static void run_once(uint64_t number)
{
	struct rnd r = rnd_sequence(claims.seed, number);

	memset(pipes, 0, sizeof(pipes));
	pipes[0].s = threads_begin(1, CPA_STREAM_PIPE);
	for (unsigned k = 1; k < STREAMS; k++)
		pipes[k].s = cpa_stream(cpa_stream_intern(k + 1, CPA_STREAM_PIPE, 0));
	for (unsigned i = 0; i < STEPS && !claims.any; i++)
		step(&r);
	if (!claims.any)
		finish(&r);
	threads_end(pipes[0].s);
}

int main(void)
{
	return claims_run(&claims, RUNS, run_once);
}
