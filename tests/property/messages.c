/* SPDX-License-Identifier: MIT */
/*
 * tests/property/messages.c - random messages against the rule of shadow/edge/message.h, by a list
 *
 * Threads send messages of a few lengths, in random order; some fail, some are lost, some are under way
 * while others are read, and readers wait, or look first what would come. The reference is a list of what
 * was sent: a read takes the earliest with its name that is left, or, if it waited, the earliest since then,
 * which shows that those before were lost. If there is none, it takes the latest that is under way.
 * CPA_SEED=n repeats a run, CPA_LONG=1 runs more.
 */
#include <string.h>

#include "shadow/edge/message.h"
#include "tests/property/claims.h"

#define THREADS 8u
#include "tests/property/stream_threads.h"

#define NAMES	3u
#define STEPS	600u
#define RUNS	300u
#define PENDING 3u
#define LIST	(STEPS + PENDING)

enum claim { FOUND, LENGTH, NEXT, ALL_FREED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FOUND] = "a read finds a message exactly if the list has one",
	[LENGTH] = "a read is as long as the path of who sent what the list says, or as it was",
	[NEXT] = "what the next read would take is the earliest that is left",
	[ALL_FREED] = "records are left of what was not read, and of nothing else",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

/* What was sent, in order. */
static struct sent {
	uint64_t name; /* 0: it failed, was taken, or is known to be lost */
	uint64_t said; /* what the write says at its end, if it succeeds */
	uint64_t len, released;
	bool open;
	unsigned thread;
	struct cpa_stream_record record;
} list[LIST];
static unsigned listed, opens;

static bool is_sending(unsigned i)
{
	for (unsigned k = 0; k < listed; k++)
		if (list[k].open && list[k].thread == i)
			return true;
	return false;
}

static void do_begin(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);
	struct sent *m = &list[listed++];

	*m = (struct sent){ .name = 1 + rnd_below(r, NAMES),
			    .len = self->row->path.len,
			    .released = clock_now,
			    .open = true,
			    .thread = i };
	m->said = m->name;
	cpa_stream_write_begin(self, s, SIZE_MAX, &m->record);
	opens++;
}

/* One of the calls under way returns. It may have failed, unless somebody has read the message. */
static void do_finish(struct rnd *r)
{
	unsigned k = 0, left = (unsigned)rnd_below(r, opens);

	while (!list[k].open || left-- > 0)
		k++;
	list[k].open = false;
	opens--;
	if (list[k].name && rnd_percent(r, 20))
		list[k].name = list[k].said = 0;
	cpa_message_write_end(&thread[list[k].thread], &list[k].record, list[k].said, 1);
}

/* The rule. NULL: none. */
static struct sent *choose(uint64_t name, uint64_t since)
{
	struct sent *latest = NULL, *found = NULL;

	for (unsigned k = 0; k < listed; k++) {
		struct sent *m = &list[k];

		if (m->open && m->name) {
			latest = m;
		} else if (m->name && (!name || m->name == name)) {
			found = m;
			if (m->released >= since)
				return m;
		}
	}
	return found ? found : latest;
}

/* Those before @taken that have its name are lost, if the read waited from @since. */
static void take(struct sent *taken, uint64_t since)
{
	for (struct sent *m = list; m < taken && !taken->open; m++)
		if (!m->open && m->name == taken->name && m->released < since)
			m->name = 0;
	taken->name = 0;
}

/* A read of a message called @name; @since: it waited from then; 0: it did not. */
static void do_read(struct rnd *r, struct cpa_stream *s, unsigned i, uint64_t name, uint64_t since)
{
	struct cpa_self *self = at_next_event(r, i);
	struct cpa_wait w = { .arrived = clock_now, .now = clock_now };
	struct cpa_stream_found found;
	uint64_t len = self->row->path.len;
	struct sent *m = choose(name, since);
	bool matched = cpa_message_read(self, s, name, 1, &found);

	claims.any |= claims_fail(&claims, FOUND, matched == (m != NULL));
	if (!matched || !m)
		return;
	if (since)
		cpa_message_renew(self, &found, true, since);
	cpa_stream_join(self, &found, true, false, &w);
	len = m->len > len ? m->len : len;
	claims.any |= claims_fail(&claims, LENGTH, self->row->path.len == len);
	take(m, since);
}

static void do_look(struct cpa_stream *s, unsigned i)
{
	struct cpa_stream_found found;
	struct sent *m = choose(0, 0);
	bool any = cpa_message_next(&thread[i], s, &found);

	claims.any |= claims_fail(&claims, NEXT,
				  any == (m != NULL) && (!any || found.released == m->released));
	if (any)
		cpa_stream_drop(&thread[i], &found);
}

static unsigned count_left(void)
{
	unsigned left = 0;

	for (unsigned k = 0; k < listed; k++)
		left += list[k].name != 0;
	return left;
}

static void run_steps(struct rnd *r, struct cpa_stream *s)
{
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)rnd_below(r, THREADS);

		if (opens && rnd_percent(r, 40)) {
			do_finish(r);
		} else if (is_sending(i)) {
			continue;
		} else if (rnd_percent(r, 10)) {
			do_look(s, i);
		} else if (opens < PENDING && count_left() < CPA_STREAM_RECORDS / 4 &&
			   rnd_percent(r, 60)) {
			do_begin(r, s, i);
		} else {
			uint64_t since =
				rnd_percent(r, 30) ?
					clock_now - rnd_below(r, 300 < clock_now ? 300 : 1) :
					0;

			do_read(r, s, i, 1 + rnd_below(r, NAMES), since);
		}
	}
	while (opens)
		do_finish(r);
}

static void run_once(uint64_t number)
{
	struct rnd r = rnd_sequence(claims.seed, number);
	struct cpa_stream *s;
	unsigned left = 0;

	listed = opens = 0;
	s = threads_begin(number + 1, CPA_STREAM_UDP);
	run_steps(&r, s);
	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		left += s->record[i] != 0;
	claims.any |= claims_fail(&claims, ALL_FREED, left == count_left());
	threads_end(s);
}

int main(void)
{
	return claims_run(&claims, RUNS, run_once);
}
