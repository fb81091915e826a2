/* SPDX-License-Identifier: MIT */
/*
 * tests/property/terminals.c - random writes to a terminal against the rule of shadow/edge/terminal.h, by a list
 *
 * Threads write, in random order; some writes fail, some are under way while a wait ends. The reference is
 * a list of all writes: the wait depends on all that were begun in it. It is uncertain if they are of several
 * threads, and depends on none if it may have been ended by an echo.
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

enum claim { FOUND, LATEST, LENGTH, ONCE, UNCERTAIN, WRITTEN, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FOUND] = "a wait depends on writes exactly if the rule names any",
	[LATEST] = "it goes on from the latest of them",
	[LENGTH] = "it is as long as the longest path of who wrote them, or as it was",
	[ONCE] = "a wait that began behind the writes is on the observed path once",
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

/* What the rule says of a wait. */
struct rule {
	const struct written *latest; /* NULL: none */
	uint64_t len;		      /* of the longest path that it depends on */
	bool several;		      /* threads */
};

/* The rule for the writes in (@since, @until]. */
static struct rule rule_of(uint64_t since, uint64_t until)
{
	struct rule rule = { 0 };

	for (unsigned k = 0; k < listed; k++) {
		const struct written *m = &list[k];

		if (m->failed || m->released <= since || m->released > until)
			continue;
		rule.several |= rule.latest && rule.latest->thread != m->thread;
		rule.latest = m;
		rule.len = m->len > rule.len ? m->len : rule.len;
	}
	return rule;
}

static uint64_t observed(const struct cpa_self *self)
{
	uint64_t sum = 0;

	for (unsigned kind = 0; kind < CPA_TIME_KINDS; kind++)
		sum += self->row->path.observed[kind];
	return sum;
}

static void do_wait(struct rnd *r, struct cpa_stream *s, unsigned i)
{
	struct cpa_self *self = at_next_event(r, i);
	uint64_t waited = rnd_below(r, clock_now < 200 ? clock_now : 200);
	struct cpa_wait w = { .arrived = clock_now - waited, .now = clock_now };
	uint64_t len = self->row->path.len, uncertain = s->uncertain, before = observed(self);
	uint64_t since = clock_now - rnd_below(r, clock_now < 400 ? clock_now : 400);
	uint64_t until = clock_now - rnd_below(r, clock_now - since + 1);
	struct rule rule = rule_of(since, until);
	bool echoes = rnd_percent(r, 10), matched;
	struct cpa_stream_found found;

	matched = cpa_terminal_find(self, s, since, until, echoes, &found);
	claims.any |= claims_fail(&claims, FOUND, matched == (rule.latest && !echoes));
	claims.any |=
		claims_fail(&claims, UNCERTAIN,
			    s->uncertain - uncertain == (rule.latest && (rule.several || echoes)));
	if (!matched || !rule.latest)
		return;
	claims.any |= claims_fail(&claims, LATEST, found.released == rule.latest->released);
	cpa_stream_join(self, &found, false, false, &w);
	/* Its own writes are no longer than its path is. */
	len = rule.len > len ? rule.len : len;
	claims.any |= claims_fail(&claims, LENGTH, self->row->path.len == len);
	if (rule.latest->released <= clock_now - waited)
		claims.any |= claims_fail(&claims, ONCE, observed(self) - before == waited);
}

/* A hint: it may be a write that has failed since. */
static void do_look(const struct cpa_stream *s)
{
	const struct written *m = rule_of(0, UINT64_MAX).latest;
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

/* One thread writes more than there are places, and is known; whether others wrote before is not. */
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
	claims.any |= claims_fail(&claims, UNCERTAIN, matched && s->uncertain == uncertain + 1);
	if (matched)
		cpa_stream_drop(&thread[1], &found);
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
	return claims_run(&claims, RUNS, run_once);
}
