/* SPDX-License-Identifier: MIT */
/*
 * tests/property/terminals.c - random writes to a terminal against the rule of shadow/edge/terminal.h, by a list
 *
 * Threads write, in random order; some writes fail, some are under way while a wait ends. The reference is
 * a list of all writes: of those that were begun in the wait, all must be of one thread. The wait then
 * depends on the latest.
 * CPA_SEED=n repeats a run, CPA_LONG=1 runs more.
 */
#include <string.h>

#include "shadow/edge/message.h"
#include "shadow/edge/terminal.h"
#include "tests/property/claims.h"

#define THREADS 4u
#include "tests/property/stream_threads.h"

#define STEPS	600u
#define RUNS	300u
#define PENDING 3u
#define LIST	(STEPS + PENDING)

enum claim { FOUND, LENGTH, UNCERTAIN, WRITTEN, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FOUND] = "a wait depends on a write exactly if the rule names one",
	[LENGTH] = "it is as long as the path of who wrote that, or as it was",
	[UNCERTAIN] =
		"it is uncertain exactly if writes of several threads, or an echo, may have ended it",
	[WRITTEN] = "the latest write is the latest of the list",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

static struct written {
	uint64_t len, released;
	bool open, failed;
	unsigned thread;
	struct cpa_stream_record record;
} list[LIST];
static unsigned listed, opens;

static bool is_writing(unsigned i)
{
	for (unsigned k = 0; k < listed; k++)
		if (list[k].open && list[k].thread == i)
			return true;
	return false;
}

static void do_begin(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);
	struct written *m = &list[listed++];

	*m = (struct written){
		.len = self->row->path.len, .released = clock_now, .open = true, .thread = i
	};
	cpa_stream_write_begin(self, s, SIZE_MAX, &m->record);
	opens++;
}

static void do_finish(struct rnd *r)
{
	unsigned k = 0, left = (unsigned)rnd_below(r, opens);

	while (!list[k].open || left-- > 0)
		k++;
	list[k].open = false;
	opens--;
	list[k].failed = rnd_percent(r, 20);
	cpa_message_write_end(&thread[list[k].thread], &list[k].record, !list[k].failed, 1);
}

/* The rule for the writes in (@since, @until]. NULL: none; @several: of several threads. */
static const struct written *choose(uint64_t since, uint64_t until, bool *several)
{
	const struct written *found = NULL;

	*several = false;
	for (unsigned k = 0; k < listed; k++) {
		const struct written *m = &list[k];

		if (m->failed || m->released <= since || m->released > until)
			continue;
		*several |= found && found->thread != m->thread;
		found = m;
	}
	return found;
}

static void do_wait(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);
	struct cpa_wait w = { .arrived = clock_now, .now = clock_now };
	uint64_t len = self->row->path.len, uncertain = s->uncertain;
	uint64_t since = clock_now - rnd_below(r, clock_now < 400 ? clock_now : 400);
	uint64_t until = clock_now - rnd_below(r, clock_now - since + 1);
	bool echoes = rnd_percent(r, 10), several, matched;
	const struct written *m = choose(since, until, &several);
	struct cpa_stream_found found;

	several |= echoes;
	matched = cpa_terminal_find(self, s, since, until, echoes, &found);
	claims.any |= claims_fail(&claims, FOUND, matched == (m && !several));
	claims.any |= claims_fail(&claims, UNCERTAIN, s->uncertain - uncertain == (m && several));
	if (!matched || !m)
		return;
	cpa_stream_join(self, &found, false, false, &w);
	len = m->len > len && m->thread != i ? m->len : len;
	claims.any |= claims_fail(&claims, LENGTH, self->row->path.len == len);
}

/* A hint: it may be a write that has failed since. */
static void do_look(const struct cpa_stream *s)
{
	bool several;
	const struct written *m = choose(0, UINT64_MAX, &several);
	uint64_t latest = cpa_terminal_written(s, 0);

	claims.any |= claims_fail(&claims, WRITTEN, !m || latest == m->released);
}

static void run_steps(struct rnd *r, struct cpa_stream *s)
{
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)rnd_below(r, THREADS);

		if (opens && rnd_percent(r, 40))
			do_finish(r);
		else if (is_writing(i))
			continue;
		else if (rnd_percent(r, 10))
			do_look(s);
		else if (opens < PENDING && rnd_percent(r, 50))
			do_begin(r, s, is_writing(0) || rnd_percent(r, 30) ? i : 0);
		else
			do_wait(r, s, i);
	}
	while (opens)
		do_finish(r);
}

/* One thread writes more than there are places: it is no longer known whether others wrote before. */
static void overflow(struct rnd *r, struct cpa_stream *s)
{
	uint64_t since = clock_now, uncertain = s->uncertain;
	struct cpa_stream_found found;
	bool matched;

	for (unsigned i = 0; i <= CPA_STREAM_RECORDS; i++) {
		struct cpa_stream_record record;

		cpa_stream_write_begin(at_next_event(r, 0), s, SIZE_MAX, &record);
		cpa_message_write_end(&thread[0], &record, 1, 1);
	}
	matched = cpa_terminal_find(&thread[1], s, since, clock_now, false, &found);
	claims.any |= claims_fail(&claims, UNCERTAIN, !matched && s->uncertain == uncertain + 1);
}

static void run_once(uint64_t number)
{
	struct rnd r = rnd_sequence(claims.seed, number);
	struct cpa_stream *s;

	listed = opens = 0;
	s = threads_begin(number + 1, CPA_STREAM_TERMINAL);
	run_steps(&r, s);
	overflow(&r, s);
	threads_end(s);
}

int main(void)
{
	uint64_t runs = claims_long() ? 20 * RUNS : RUNS;

	claims_begin(&claims);
	for (; claims.number < runs && !claims.any; claims.number++)
		run_once(claims.number);
	return claims_end(&claims);
}
