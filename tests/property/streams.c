/* SPDX-License-Identifier: MIT */
/*
 * tests/property/streams.c - random writes and reads of a stream against the bytes themselves
 *
 * A few threads write, read and close, in random order and sizes; a write may be short, or fail, several
 * may be under way and go through in another order than they began, one that failed is tried again and
 * again, as on a full pipe that does not block, and a read may come back before the write of its bytes
 * does. The reference keeps for each byte the length of the path of who wrote it. A read is as long as its own path and the longest of its
 * bytes' writers; the end of the stream as the longest of all who closed it. CPA_SEED=n repeats a run,
 * CPA_LONG=1 runs more.
 */
#include <string.h>

#include "shadow/edge/stream.h"
#include "tests/property/claims.h"

#define THREADS 20u
#include "tests/property/stream_threads.h"

#define STEPS	400u
#define BYTES	20000u
#define MOST	50u /* bytes of a write */
#define RUNS	300u
#define PENDING 4u /* writes that are under way, at most */
#define RETRIES 200u

enum claim { LENGTH, MATCHED, END, ALL_FREED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[LENGTH] = "a read is as long as the longest of the writes of its bytes, or as it was",
	[MATCHED] = "each read finds its writes, and the time of the latest",
	[END] = "the end is as long as the longest path of who closed",
	[ALL_FREED] = "no record is left of what was read",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

static struct {
	uint64_t len, released;
} byte[BYTES];
static uint64_t closed;
static unsigned written, taken;

/* Writes that have begun and did not go through yet. The threads are in no other call. */
static struct {
	unsigned thread;
	struct cpa_stream_record record;
	uint64_t len, released; /* of its path */
} pending[PENDING];
static unsigned pendings;

static void own(unsigned from, unsigned n, uint64_t len, uint64_t released)
{
	for (unsigned i = from; i < from + n; i++) {
		byte[i].len = len;
		byte[i].released = released;
	}
}

static void do_read(struct rnd *r, struct cpa_stream *s, unsigned i, unsigned n)
{
	struct cpa_self *self = at_next_event(r, i);
	struct cpa_wait w = { .arrived = clock_now, .now = clock_now };
	struct cpa_stream_found found;
	uint64_t len = self->row->path.len, latest = 0;
	bool matched;

	for (unsigned k = taken; k < taken + n; k++) {
		len = byte[k].len > len ? byte[k].len : len;
		latest = byte[k].released > latest ? byte[k].released : latest;
	}
	matched = cpa_stream_read(self, s, n, &found);
	claims.any |= claims_fail(&claims, MATCHED, matched && found.released == latest);
	if (matched)
		cpa_stream_join(self, &found, true, false, &w);
	claims.any |= claims_fail(&claims, LENGTH, self->row->path.len == len);
	taken += n;
}

/* A write of @n bytes, of which a reader may take some before it has returned. */
static void do_write(struct rnd *r, struct cpa_stream *s, unsigned i, unsigned n)
{
	struct cpa_self *self = at_next_event(r, i);
	struct cpa_stream_record record;
	unsigned other = (i + 1 + (unsigned)rnd_below(r, THREADS - 1)) % THREADS;

	cpa_stream_write_begin(self, s, rnd_percent(r, 50) ? n : SIZE_MAX, &record);
	own(written, n, self->row->path.len, self->row->path.released);
	/* Of several writes under way it would not be known whose bytes these are. */
	if (n && taken == written && !pendings && rnd_percent(r, 40))
		do_read(r, s, other, 1 + (unsigned)rnd_below(r, n));
	cpa_stream_write_end(self, &record, n);
	written += n;
}

static bool is_in_write(unsigned i)
{
	for (unsigned k = 0; k < pendings; k++)
		if (pending[k].thread == i)
			return true;
	return false;
}

/* Thread @i begins a write, which the pipe has no room for now. */
static void do_begin(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);

	pending[pendings].thread = i;
	pending[pendings].len = self->row->path.len;
	pending[pendings].released = self->row->path.released;
	cpa_stream_write_begin(self, s, SIZE_MAX, &pending[pendings++].record);
}

/* One of the writes under way goes through, with @n bytes; 0: it fails. */
static void do_finish(struct rnd *r, unsigned n)
{
	unsigned k = (unsigned)rnd_below(r, pendings);

	own(written, n, pending[k].len, pending[k].released);
	cpa_stream_write_end(&thread[pending[k].thread], &pending[k].record, n);
	written += n;
	pending[k] = pending[--pendings];
}

/* Threads that find the pipe full try again, in any order. */
static void do_retries(struct rnd *r, struct cpa_stream *s)
{
	for (unsigned n = 0; n < RETRIES; n++) {
		unsigned i = (unsigned)rnd_below(r, PENDING); /* the same few */

		if (pendings && rnd_percent(r, 50))
			do_finish(r, 0);
		else if (pendings < PENDING && !is_in_write(i))
			do_begin(r, s, i);
	}
}

static void do_end(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);
	struct cpa_wait w = { .arrived = clock_now, .now = clock_now };
	struct cpa_stream_found found;
	uint64_t len = self->row->path.len > closed ? self->row->path.len : closed;
	bool matched = cpa_stream_end(self, s, &found);

	if (matched)
		cpa_stream_join(self, &found, false, false, &w);
	claims.any |= claims_fail(&claims, END, matched && self->row->path.len == len);
}

static void run_steps(struct rnd *r, struct cpa_stream *s)
{
	unsigned unread = 0; /* writes since all was read */

	for (unsigned step = 0; step < STEPS && written + MOST < BYTES; step++) {
		unsigned i = (unsigned)rnd_below(r, THREADS);

		if (is_in_write(i))
			continue;
		if (pendings < PENDING && rnd_percent(r, 20)) {
			do_begin(r, s, i);
			unread++;
			continue;
		}
		if (pendings && rnd_percent(r, 20)) {
			do_finish(r, rnd_percent(r, 30) ? 0 : (unsigned)rnd_below(r, MOST));
			continue;
		}
		if (rnd_percent(r, 1) && unread + PENDING < CPA_STREAM_RECORDS) {
			do_retries(r, s);
			unread += PENDING;
			continue;
		}
		/* Beyond CPA_STREAM_RECORDS old ones are dropped: tests/unit/test_stream.c. */
		if (taken < written && (unread >= CPA_STREAM_RECORDS || rnd_percent(r, 45))) {
			unsigned n = 1 + (unsigned)rnd_below(r, written - taken);

			n = unread >= CPA_STREAM_RECORDS ? written - taken : n;
			do_read(r, s, i, n);
			unread = taken == written ? 0 : unread;
		} else {
			do_write(r, s, i, rnd_percent(r, 20) ? 0 : (unsigned)rnd_below(r, MOST));
			unread++;
		}
		if (rnd_percent(r, 2)) {
			cpa_stream_close(at_next_event(r, i), s);
			closed = thread[i].row->path.len > closed ? thread[i].row->path.len :
								    closed;
		}
	}
	while (pendings)
		do_finish(r, 0);
	do_begin(r, s, 1);
	do_finish(r, 1);
	do_read(r, s, 0, written - taken);
	if (closed)
		for (unsigned i = 0; i < THREADS; i++)
			do_end(r, s, i);
}

static void run_once(uint64_t number)
{
	struct rnd r = rnd_sequence(claims.seed, number);
	struct cpa_stream *s;
	unsigned left = 0;

	written = taken = pendings = 0;
	closed = 0;
	s = threads_begin(number + 1, CPA_STREAM_PIPE);
	run_steps(&r, s);
	/* A failed write behind the last bytes has a record still. */
	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++) {
		const struct cpa_token *t = s->record[i] ? cpa_token((uint32_t)s->record[i]) : NULL;

		left += t && t->key < t->payload && t->payload < written;
	}
	claims.any |= claims_fail(&claims, ALL_FREED, !left);
	threads_end(s);
}

int main(void)
{
	return claims_run(&claims, RUNS, run_once);
}
