/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/terminal.c - racing writes to a terminal, and waits for them
 *
 * A counter is the clock. A writer's path is as long as the clock was at its write, so the length of a reader's
 * path tells the latest write that it was joined with. That was made in the wait; and a write that was made in
 * the wait, and had returned when that ended, is no later.
 */
#include "shadow/edge/message.h"
#include "shadow/edge/terminal.h"

#include "tests/torture/torture.h"

#define WRITERS (WORKERS / 2)

static struct cpa_stream *terminal;
/* Atomic. written: clock of each writer's latest write that did not fail, when it has returned. */
static uint64_t now, written[WRITERS], matched, none;
static unsigned readers_ended; /* atomic */

static uint64_t tick(void)
{
	return __atomic_add_fetch(&now, 1, __ATOMIC_SEQ_CST);
}

static void write_one(struct worker *w)
{
	struct cpa_path *path = &w->self.row->path;
	bool fails = rnd_percent(&w->r, 20);
	struct cpa_stream_record record;

	cpa_path_add(&w->self, path, 2 + w->index, 1);
	path->len = path->released = tick();
	cpa_stream_write_begin(&w->self, terminal, SIZE_MAX, &record);
	cpa_message_write_end(&w->self, &record, !fails, !fails);
	if (!fails)
		__atomic_store_n(&written[w->index], path->released, __ATOMIC_SEQ_CST);
}

/* Return whether it depends on a write. */
static bool wait_one(struct worker *w)
{
	struct cpa_wait wait = { .arrived = 1, .now = 1 };
	struct cpa_path *path = &w->self.row->path;
	uint64_t since = __atomic_load_n(&now, __ATOMIC_SEQ_CST), until, least = 0;
	struct cpa_stream_found found;
	bool is_found;

	since -= rnd_below(&w->r, since < 40 ? since + 1 : 40);
	for (unsigned i = 0; i < WRITERS; i++) {
		uint64_t at = __atomic_load_n(&written[i], __ATOMIC_SEQ_CST);

		least = at > since && at > least ? at : least;
	}
	until = __atomic_load_n(&now, __ATOMIC_SEQ_CST);
	cpa_path_clear(&w->self, path);
	is_found = cpa_terminal_find(&w->self, terminal, since, until, false, &found);
	/* Its place may have been needed meanwhile. */
	if (__atomic_load_n(&now, __ATOMIC_SEQ_CST) - least >= CPA_STREAM_RECORDS)
		least = 0;
	EXPECT(is_found || !least);
	if (!is_found) {
		__atomic_fetch_add(&none, 1, __ATOMIC_RELAXED);
		return false;
	}
	EXPECT(found.released > since && found.released <= until && found.released >= least);
	EXPECT(found.count <= WRITERS);
	cpa_stream_join(&w->self, &found, false, true, &wait);
	EXPECT(path->len >= least && path->len > since && path->len <= until);
	__atomic_fetch_add(&matched, 1, __ATOMIC_RELAXED);
	return true;
}

/* Writers write until all readers have waited for writes. */
static void write_or_wait(struct worker *w)
{
	unsigned n = torture_work(5000);

	if (w->index < WRITERS) {
		/* Relaxed: one write more does no harm. */
		while (__atomic_load_n(&readers_ended, __ATOMIC_RELAXED) < WORKERS - WRITERS)
			write_one(w);
		return;
	}
	while (n > 0)
		n -= wait_one(w);
	__atomic_fetch_add(&readers_ended, 1, __ATOMIC_RELAXED);
}

static void run(void)
{
	terminal = cpa_stream(cpa_stream_intern(1, CPA_STREAM_TERMINAL, 0));
	torture_threads(WORKERS, write_or_wait);
	EXPECT(!cpa_stream_is_written(terminal));
	EXPECT(terminal->reads == matched && terminal->waits == matched);
	for (unsigned k = 0; k < CPA_STREAM_RECORDS; k++)
		EXPECT(terminal->record[k] >> 32 == 0);
	cpa_stream_clear(&main_self, terminal);
	torture_given_back();
	printf("# %llu waits for writes, %llu for none\n", (unsigned long long)matched,
	       (unsigned long long)none);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("each wait depends on writes that were made in it, every record is freed", seed,
		run);
	return torture_end();
}
