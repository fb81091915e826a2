/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_stream.c - shadow/edge/stream.h: which writes a read depends on
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/holder.h"
#include "shadow/edge/stream.h"

#include "tests/unit/shadow_threads.h"

static struct cpa_stream *s;

static int setup(void **state)
{
	int ret = threads_setup(state);

	s = ret ? NULL : cpa_stream(cpa_stream_intern(7, CPA_STREAM_PIPE, 0));
	return ret;
}

static int teardown(void **state)
{
	cpa_stream_clear(&t[0], s);
	return threads_teardown(state);
}

static uint32_t messages(void)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < CPA_HISTOGRAM; i++)
		sum += s->histogram[i];
	return sum;
}

/* Thread @i, at clock @now with a path of @len, begins a write. */
static struct cpa_stream_record begin(int i, uint64_t now, uint64_t len)
{
	struct cpa_stream_record record;

	cpa_stream_write_begin(at(i, now, len), s, SIZE_MAX, &record);
	return record;
}

static void end(int i, struct cpa_stream_record *record, uint64_t bytes)
{
	cpa_stream_write_end(&t[i], record, bytes);
}

static void put(int i, uint64_t now, uint64_t len, uint64_t bytes)
{
	struct cpa_stream_record record = begin(i, now, len);

	end(i, &record, bytes);
}

/* Thread @i reads @bytes at clock @now. Return the length of its path then; 0: nothing is known. */
static uint64_t take(int i, uint64_t now, uint64_t bytes)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = now, .now = now };

	at(i, now, 1);
	if (!cpa_stream_read(&t[i], s, bytes, &found))
		return 0;
	cpa_stream_join(&t[i], &found, true, false, &w);
	assert_true(w.matched);
	return t[i].row->path.len;
}

static void test_one_write_one_read(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	assert_int_equal(take(2, 20, 4), 50);
	assert_int_equal(messages(), 1);
	assert_int_equal(s->stayed, 10);
	assert_int_equal(s->written, 4);
	assert_int_equal(s->taken, 4);
}

/* A writer that tries until there is room pushes nothing out. */
static void test_failed_writes(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	for (unsigned i = 0; i < 2 * CPA_STREAM_RECORDS; i++)
		put(1, 20, 60, 0);
	put(1, 30, 70, 4);
	assert_int_equal(take(2, 40, 4), 50);
	assert_int_equal(take(2, 41, 4), 70);
}

/* A read depends on the writes of its bytes, and on no later one of the same thread. */
static void test_by_bytes(void **state)
{
	(void)state;
	put(1, 10, 100, 10);
	put(1, 20, 200, 10);
	put(1, 30, 300, 10);
	assert_int_equal(take(2, 40, 9), 100);
	assert_int_equal(take(3, 41, 2),
			 200); /* the last byte of the first, the first of the second */
	assert_int_equal(take(4, 42, 9), 200);
	assert_int_equal(messages(), 2);
	assert_int_equal(take(5, 43, 10), 300);
	assert_int_equal(messages(), 3);
}

static void test_two_writers_of_one_read(void **state)
{
	(void)state;
	put(1, 10, 500, 5);
	put(2, 20, 100, 5);
	assert_int_equal(take(3, 30, 10), 500);
	assert_int_equal(s->uncertain, 0);
}

/* The wait ends with the latest write, which the observed path goes on from. */
static void test_wait(void **state)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = 5, .now = 30 };

	(void)state;
	put(1, 10, 500, 5);
	t[2].row->path.observed[CPA_TIME_PROCESS] = 77;
	put(2, 20, 100, 5);
	at(3, 5, 1);
	assert_true(cpa_stream_read(&t[3], s, 10, &found));
	assert_int_equal(found.released, 20);
	cpa_stream_join(&t[3], &found, true, true, &w);
	assert_int_equal(t[3].row->path.len, 500);
	assert_int_equal(t[3].row->path.observed[CPA_TIME_PROCESS], 77);
	assert_int_equal(t[3].row->path.observed[CPA_TIME_HANDOFF], 10);
	assert_int_equal(s->waits, 1);
	assert_int_equal(s->waiting, 25);
}

/* A reader may be back before the writer is. */
static void test_write_under_way(void **state)
{
	struct cpa_stream_record first, second;

	(void)state;
	first = begin(1, 10, 50);
	assert_int_equal(take(2, 20, 4), 50);
	end(1, &first, 4);
	second = begin(1, 30, 70);
	assert_int_equal(take(3, 40, 2), 70);
	end(1, &second, 4);
	assert_int_equal(take(4, 50, 2), 70);
	assert_int_equal(messages(), 2);
	assert_false(s->broken);
}

/* What was not written never was; of a short write the rest. */
static void test_short_writes(void **state)
{
	(void)state;
	put(1, 10, 50, 0);
	put(1, 20, 60, 3);
	put(2, 30, 70, 0);
	put(1, 40, 80, 5);
	assert_int_equal(take(3, 50, 3), 60);
	assert_int_equal(take(4, 60, 5), 80);
	assert_int_equal(messages(), 2);
}

static void test_writes_at_once(void **state)
{
	struct cpa_stream_record a, b;

	(void)state;
	a = begin(1, 10, 50);
	b = begin(2, 20, 90);
	assert_int_equal(take(3, 30, 4), 90);
	assert_int_equal(s->uncertain, 1);
	end(2, &b, 4);
	end(1, &a, 4);
	assert_int_equal(take(4, 40, 4), 50);
	assert_int_equal(s->uncertain, 1);
}

/* Of more unread writes than there are records the latest are known. */
static void test_more_than_records(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CPA_STREAM_RECORDS + 10; i++)
		put(1, 10 + i, 100 + i, 1);
	assert_int_equal(take(2, 1000, 10), 0);
	assert_int_equal(s->unmatched, 1);
	assert_int_equal(take(2, 1000, 1), 110);
	assert_int_equal(take(2, 1000, CPA_STREAM_RECORDS - 1), 109 + CPA_STREAM_RECORDS);
	assert_false(s->broken);
}

/* A record that lost its place is closed all the same, and nobody else's is. */
static void test_place_lost_while_open(void **state)
{
	struct cpa_stream_record lost = begin(1, 5, 20);

	(void)state;
	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		put(2, 10 + i, 100 + i, 1);
	end(1, &lost, 1);
	assert_int_equal(s->written, CPA_STREAM_RECORDS + 1);
	assert_int_equal(take(3, 1000, CPA_STREAM_RECORDS), 99 + CPA_STREAM_RECORDS);
}

/* Thread 2 begins to move bytes from a stream, of which thread 1 with a path of 500 has written 4. */
static struct cpa_stream_record begin_move(struct cpa_stream **source)
{
	struct cpa_stream *to = s;
	uint32_t row = cpa_stream_intern(9, CPA_STREAM_PIPE, 0);
	struct cpa_stream_record record;

	s = *source = cpa_stream(row);
	put(1, 10, 500, 4);
	s = to;
	record = begin(2, 20, 30);
	cpa_stream_pass(&record, row);
	return record;
}

/* It comes back, with a path of 600, and has moved the bytes from number @from on. */
static void end_move(struct cpa_stream_record *record, struct cpa_stream *source, uint64_t from)
{
	at(2, 100, 600);
	cpa_stream_pass_end(&t[2], record, from, 4);
	cpa_stream_clear(&t[0], source);
}

/* Who reads moved bytes depends on who wrote them before the call is back, and on the caller behind it. */
static void test_moved(void **state)
{
	struct cpa_stream *source;
	struct cpa_stream_record record = begin_move(&source);

	(void)state;
	assert_int_equal(take(3, 30, 2), 500);
	end_move(&record, source, 0);
	assert_int_equal(take(4, 110, 2), 600);
	assert_int_equal(s->uncertain, 0);
	assert_int_equal(s->records, 1);
	assert_int_equal(s->written, 4);
}

/* Others wrote to the stream meanwhile: whose the bytes are is not certain, and nobody is guessed. */
static void test_moved_beside_a_writer(void **state)
{
	struct cpa_stream *source;
	struct cpa_stream_record record = begin_move(&source);

	(void)state;
	put(3, 30, 40, 4);
	assert_int_equal(take(4, 50, 6), 40);
	assert_int_equal(s->uncertain, 1);
	end_move(&record, source, 0);
	assert_int_equal(take(5, 110, 2), 600);
}

/* Others read from the source meanwhile: it was not certain whose the bytes are. */
static void test_moved_beside_a_reader(void **state)
{
	struct cpa_stream *source;
	struct cpa_stream_record record = begin_move(&source);

	(void)state;
	end_move(&record, source, 4);
	assert_int_equal(s->uncertain, 1);
}

/* Others needed the place of the record meanwhile. */
static void test_moved_place_lost(void **state)
{
	struct cpa_stream *source;
	struct cpa_stream_record record = begin_move(&source);

	(void)state;
	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		put(3, 21 + i, 40, 1);
	end_move(&record, source, 0);
	assert_int_equal(take(4, 1000, CPA_STREAM_RECORDS), 40);
	assert_int_equal(take(5, 1001, 4), 600);
}

/* Bytes that nobody in the session wrote: from then on nothing is known. */
static void test_stranger(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	assert_int_equal(take(2, 20, 4), 50);
	assert_int_equal(take(2, 30, 6), 0);
	assert_true(s->broken);
	put(1, 40, 60, 4);
	assert_int_equal(take(2, 50, 4), 0);
	assert_int_equal(s->unmatched, 2);
}

/* Bytes that were there before have no writer; the others do. */
static void test_waiting_bytes(void **state)
{
	struct cpa_stream *of = s;

	(void)state;
	s = cpa_stream(cpa_stream_intern(8, CPA_STREAM_PIPE, 3));
	put(1, 10, 50, 4);
	assert_int_equal(take(2, 20, 3), 0);
	assert_int_equal(take(2, 20, 4), 50);
	assert_false(s->broken);
	cpa_stream_clear(&t[0], s);
	s = of;
}

/* The end depends on all who had the stream open for writing; whoever reads it later, too. */
static void test_end(void **state)
{
	struct cpa_stream_found found;

	(void)state;
	assert_false(cpa_stream_end(&t[3], s, &found));
	cpa_stream_close(at(1, 10, 80), s);
	cpa_stream_close(at(2, 20, 30), s);
	for (int i = 3; i < 5; i++) {
		struct cpa_wait w = { .arrived = 5, .now = 30 };

		at(i, 5, 1);
		assert_true(cpa_stream_end(&t[i], s, &found));
		assert_int_equal(found.released, 20);
		cpa_stream_join(&t[i], &found, false, true, &w);
		assert_int_equal(t[i].row->path.len, 80);
	}
}

/* All who say that they end the stream have done so when the last of them has returned, in any order. */
static void test_closing(void **state)
{
	struct cpa_stream *of = s;

	(void)state;
	s = cpa_stream(cpa_stream_intern(9, CPA_STREAM_PIPE, 0));
	cpa_holder_closing(s);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_UNKNOWN, 10), 0);
	cpa_holder_closing(s);
	cpa_holder_closed(s, 25);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_UNKNOWN, 10), 0);
	cpa_holder_closed(s, 20);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_UNKNOWN, 10), 25);
	/* A process has ended later. */
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_UNKNOWN, 30), 30);
	/* One was cancelled; one returns in two processes. */
	cpa_holder_closing(s);
	cpa_holder_closed(s, 0);
	cpa_holder_closed(s, 0);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_UNKNOWN, 10), 25);
	/* Of counted ones the last takes the tick away; a process that ended may be late. */
	cpa_holder_first(s);
	cpa_holder_closing(s);
	cpa_holder_less(s);
	cpa_holder_closed(s, 40);
	assert_int_equal(cpa_holders(s), CPA_HOLDERS_NONE);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_NONE, 30), 40);
	cpa_stream_closed(s, CPA_STREAM_KEPT);
	assert_int_equal(cpa_holders_closed(s, CPA_HOLDERS_NONE, 30), 0);
	cpa_stream_clear(&t[0], s);
	s = of;
}

/* What the next read will depend on is known before it. */
static void test_next(void **state)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = 5, .now = 30 };

	(void)state;
	assert_false(cpa_stream_next(&t[2], s, &found));
	put(1, 10, 50, 4);
	put(1, 20, 60, 4);
	at(2, 5, 1);
	assert_true(cpa_stream_next(&t[2], s, &found));
	assert_int_equal(found.released, 10);
	cpa_stream_join(&t[2], &found, false, true, &w);
	assert_int_equal(t[2].row->path.len, 50);
	assert_int_equal(take(3, 40, 8), 60);
}

/* The latest read that made room before the writer woke; else the earliest after it. */
static void test_room(void **state)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = 15, .now = 60 };

	(void)state;
	for (uint64_t i = 1; i <= CPA_STREAM_ROOMS + 2; i++)
		cpa_stream_room(at(2, 10 * i, 100 * i), s, CPA_ROOM_READ, 0);
	assert_false(cpa_stream_room_made(&t[1], s, 500, 600, &found));
	assert_true(cpa_stream_room_made(&t[1], s, 55, 58, &found));
	assert_int_equal(found.released, 60);
	cpa_stream_drop(&t[1], &found);
	assert_true(cpa_stream_room_made(&t[1], s, 15, 50, &found));
	assert_int_equal(found.released, 50);
	at(1, 15, 1);
	cpa_stream_room_join(&t[1], &found, &w);
	assert_int_equal(t[1].row->path.len, 500);
	assert_int_equal(s->blocked, 1);
	assert_int_equal(s->blocking, 45);
}

/* A write that waited several times: the last read that began in front of what had to be read. */
static void test_last_room(void **state)
{
	static const struct {
		uint64_t since, to, expected;
	} cases[] = {
		{ 15, 450, 50 },   /* what began at 400 */
		{ 15, 400, 40 },   /* not what began there */
		{ 15, 250, 30 },   /* the time says more */
		{ 15, 5000, 100 }, /* all have */
		{ 35, 350, 50 },   /* again */
		{ 75, 850, 90 },   /* what began at 800 */
	};
	struct cpa_stream_found found;

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		cpa_stream_room(at(2, 10 * i, 100 * i), s, CPA_ROOM_READ, 100 * (i - 1));
	cpa_stream_room(at(3, 200, 100), s, CPA_ROOM_CLOSE, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t since = cases[i].since;

		assert_true(cpa_stream_room_made(&t[1], s, since, since + 20, &found));
		cpa_stream_room_last(&t[1], s, since, cases[i].to, &found);
		assert_int_equal(found.released, cases[i].expected);
		cpa_stream_drop(&t[1], &found);
	}
}

/* The earliest read makes room; the close of an end makes none. */
static void test_first_room(void **state)
{
	struct cpa_stream_found found;

	(void)state;
	cpa_stream_room(at(2, 10, 100), s, CPA_ROOM_READ, 0);
	cpa_stream_room(at(3, 20, 200), s, CPA_ROOM_CLOSE, 0);
	assert_false(cpa_stream_room_first(&t[1], s, 10, &found));
	cpa_stream_room(at(2, 30, 300), s, CPA_ROOM_READ, 0);
	cpa_stream_room(at(2, 40, 400), s, CPA_ROOM_READ, 0);
	assert_true(cpa_stream_room_first(&t[1], s, 10, &found));
	assert_int_equal(found.released, 30);
	cpa_stream_drop(&t[1], &found);
}

/* Beyond the limit a stream is not followed, and counted. */
static void test_too_many(void **state)
{
	uint64_t before = cpa_header()->diag[CPA_DIAG_STREAMS_REFUSED];
	struct cpa_table *streams = cpa_table(CPA_TABLE_STREAMS);

	(void)state;
	assert_int_not_equal(cpa_stream_intern(100, CPA_STREAM_PIPE, 0), 0);
	streams->used += CPA_STREAMS_MOST - 2;
	assert_int_equal(cpa_stream_intern(99, CPA_STREAM_PIPE, 0), 0);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_STREAMS_REFUSED], before + 1);
	assert_int_not_equal(cpa_stream_intern(100, CPA_STREAM_PIPE, 0), 0);
	streams->used -= CPA_STREAMS_MOST - 2;
}

/* A record takes the row of a queue's node, whose tag goes on when it is a node again: shadow/edge/fifo.c. */
static void test_tag_of_a_node(void **state)
{
	uint32_t row = cpa_token_new(&t[0], NULL);
	const uint64_t link = UINT64_C(5) << 32;

	(void)state;
	cpa_token(row)->next = link;
	cpa_token_free(&t[0], row);
	put(0, 10, 5, 3);
	assert_int_equal((uint32_t)s->record[0], row);
	assert_int_equal(cpa_token(row)->next, link);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tag_of_a_node),
		TEST(test_one_write_one_read),
		TEST(test_failed_writes),
		TEST(test_by_bytes),
		TEST(test_two_writers_of_one_read),
		TEST(test_wait),
		TEST(test_write_under_way),
		TEST(test_short_writes),
		TEST(test_writes_at_once),
		TEST(test_more_than_records),
		TEST(test_place_lost_while_open),
		TEST(test_moved),
		TEST(test_moved_beside_a_writer),
		TEST(test_moved_beside_a_reader),
		TEST(test_moved_place_lost),
		TEST(test_stranger),
		TEST(test_waiting_bytes),
		TEST(test_end),
		TEST(test_closing),
		TEST(test_next),
		TEST(test_room),
		TEST(test_last_room),
		TEST(test_first_room),
		TEST(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
