/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_unread.c - shadow/edge/unread.h: when records that nobody reads go
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/holder.h"
#include "shadow/edge/unread.h"

#include "tests/unit/shadow_threads.h"

#define STREAM 7u     /* key of the stream that is watched */
#define OTHERS 10000u /* keys of others, from here on */

static struct cpa_stream *s;
static uint32_t row;

static int setup(void **state)
{
	int ret = threads_setup(state);

	row = ret ? 0 : cpa_stream_intern(STREAM, CPA_STREAM_PIPE, 0);
	s = ret ? NULL : cpa_stream(row);
	t[2].row->component = 1; /* its class, as that of who reads */
	return ret;
}

static int teardown(void **state)
{
	uint32_t streams = cpa_table(CPA_TABLE_STREAMS)->used;

	for (uint32_t i = 1; i <= streams; i++)
		cpa_stream_clear(&t[0], cpa_stream(i));
	return threads_teardown(state);
}

static void put(struct cpa_stream *to, uint64_t bytes)
{
	struct cpa_stream_record record;

	cpa_stream_write_begin(at(1, 10, 5), to, SIZE_MAX, &record);
	cpa_stream_write_end(&t[1], &record, bytes);
}

static void close_writer(uint32_t of)
{
	cpa_stream_close(at(1, 10, 5), cpa_stream(of));
	cpa_stream_closed(cpa_stream(of), CPA_STREAM_NO_WRITER);
	cpa_unread_closed(&t[1], of);
}

/* @n other streams are written and closed. */
static void close_others(unsigned n)
{
	static uint64_t key = OTHERS;

	for (unsigned i = 0; i < n; i++) {
		uint32_t other = cpa_stream_intern(key++, CPA_STREAM_PIPE, 0);

		put(cpa_stream(other), 1);
		close_writer(other);
	}
}

static unsigned records(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		n += s->record[i] != 0;
	return n;
}

/* The next @bytes are known to be somebody's. */
static bool take(uint64_t bytes)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = 20, .now = 20 };
	bool is_known = cpa_stream_read(at(2, 20, 1), s, bytes, &found);

	if (is_known)
		cpa_stream_join(&t[2], &found, true, false, &w);
	return is_known;
}

static void test_go(void **state)
{
	(void)state;
	put(s, 3);
	put(s, 3);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED - 1);
	assert_int_equal(records(), 2);
	assert_int_not_equal(s->ended, 0);
	close_others(1);
	assert_int_equal(records(), 0);
	assert_int_equal(s->ended, 0);
	/* A late reader depends on nobody, and that is counted. */
	assert_false(take(3));
	assert_int_equal(s->unmatched, 1);
}

/* A write with a record never ends, as its thread was cancelled: bytes that nobody wrote are found all the same. */
static void test_cancelled(void **state)
{
	struct cpa_stream_record cancelled;

	(void)state;
	cpa_stream_write_begin(at(1, 10, 5), s, SIZE_MAX, &cancelled);
	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		put(s, 3);
	assert_false(take(CPA_STREAM_RECORDS * 3 + 1) && !s->broken);
	assert_true(s->broken);
	cpa_stream_write_end(&t[1], &cancelled, 0);
}

/* One without a record is under way, as profiling was off: its bytes are nobody's, and later ones somebody's. */
static void test_bare(void **state)
{
	(void)state;
	cpa_stream_write_bare(s);
	assert_false(take(3));
	cpa_stream_wrote_bare(s, 3);
	put(s, 3);
	assert_true(take(3));
	assert_false(s->broken);
}

static void test_stay_for_a_while(void **state)
{
	(void)state;
	put(s, 3);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED - 1);
	assert_true(take(3));
	assert_int_equal(s->unmatched, 0);
}

/* Somebody else has it open for writing, and will close it. */
static void test_used_since(void **state)
{
	(void)state;
	put(s, 3);
	close_writer(row);
	put(s, 3);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 2);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 0);
}

/* A reader of the session may go on long after another process closed its descriptor for reading. */
static void test_read(void **state)
{
	(void)state;
	cpa_stream_will_be_read(s);
	put(s, 3);
	put(s, 3);
	assert_true(take(3));
	cpa_stream_room(at(2, 20, 1), s, CPA_ROOM_READ, 0);
	close_writer(row);
	cpa_stream_closed(s, CPA_STREAM_NO_READER);
	cpa_unread_closed(&t[3], row);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 1);
	assert_int_not_equal(s->ended, 0);
	assert_int_equal(s->room[0], 0);
	assert_true(take(3));
	assert_int_equal(s->unmatched, 0);
}

/* Each process that closes one takes no place, while somebody else has the stream open for writing. */
static void test_places(void **state)
{
	uint32_t other = cpa_stream_intern(OTHERS - 1, CPA_STREAM_PIPE, 0);

	(void)state;
	put(s, 3);
	close_writer(row);
	cpa_holder_first(cpa_stream(other));
	put(cpa_stream(other), 3);
	for (unsigned i = 0; i < CPA_STREAMS_CLOSED; i++)
		close_writer(other);
	assert_int_equal(records(), 1);
}

static void test_writer_left(void **state)
{
	(void)state;
	cpa_holder_first(s);
	cpa_holder_more(s);
	put(s, 3);
	cpa_holder_less(s);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 1);
	cpa_holder_less(s);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 0);
}

static void test_under_way(void **state)
{
	struct cpa_stream_record record;

	(void)state;
	cpa_stream_write_begin(at(3, 10, 5), s, SIZE_MAX, &record);
	close_writer(row);
	close_others(CPA_STREAMS_CLOSED);
	assert_int_equal(records(), 1);
	cpa_stream_write_end(&t[3], &record, 3);
	assert_true(take(3));
}

/* Put writes of @bytes into it until it is time to ask the kernel. */
static void put_much(uint64_t bytes)
{
	unsigned n = 0;

	for (; !cpa_unread_is_much(s); n++)
		put(s, bytes);
	assert_int_equal(n, CPA_STREAM_RECORDS);
}

static void test_outward(void **state)
{
	(void)state;
	put_much(3);
	cpa_unread_decide(&t[1], s, 3 * CPA_STREAM_RECORDS - 1);
	assert_true(cpa_unread_is_outward(s));
	assert_false(cpa_unread_is_much(s));
	assert_int_equal(records(), 0);
	cpa_unread_write(s);
	assert_int_equal(s->records, CPA_STREAM_RECORDS + 1);
	/* There is a reader after all. */
	cpa_stream_will_be_read(s);
	assert_false(take(3 * CPA_STREAM_RECORDS));
	assert_false(cpa_unread_is_outward(s));
	put(s, 3);
	assert_true(take(3));
}

/* All that was written waits for a reader, as in a buffer that a program has made large. */
static void test_waiting(void **state)
{
	(void)state;
	put_much(3);
	cpa_unread_decide(&t[1], s, 3 * CPA_STREAM_RECORDS);
	assert_false(cpa_unread_is_outward(s));
	put(s, 3);
	assert_false(cpa_unread_is_much(s)); /* one call of the kernel for many writes */
	assert_true(take(3 * CPA_STREAM_RECORDS));
}

/* The kernel of the writer does not know what waits for the reader. */
static void test_outward_tcp(void **state)
{
	(void)state;
	s->kind = CPA_STREAM_TCP;
	put(s, CPA_OUTWARD_TCP);
	cpa_unread_decide(&t[1], s, 0);
	assert_false(cpa_unread_is_outward(s));
	put(s, 1);
	cpa_unread_decide(&t[1], s, 1);
	assert_false(cpa_unread_is_outward(s));
	cpa_unread_decide(&t[1], s, 0);
	assert_true(cpa_unread_is_outward(s));
}

/* A reader of the session that waits in one call for all bytes has taken most before it returns. */
static void test_reads_begun(void **state)
{
	(void)state;
	put_much(3);
	cpa_stream_will_be_read(s);
	assert_false(cpa_unread_is_much(s));
	cpa_unread_decide(&t[1], s, 0);
	assert_false(cpa_unread_is_outward(s));
	assert_true(take(3 * CPA_STREAM_RECORDS));
}

/* A stream that has no records takes nobody's place. */
static void test_nothing_to_free(void **state)
{
	(void)state;
	put(s, 3);
	close_writer(row);
	for (unsigned i = 0; i < CPA_STREAMS_CLOSED; i++)
		cpa_unread_closed(&t[1], cpa_stream_intern(OTHERS - 1 - i, CPA_STREAM_PIPE, 0));
	assert_int_equal(records(), 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_go),		TEST(test_cancelled),
		TEST(test_bare),	TEST(test_stay_for_a_while),
		TEST(test_used_since),	TEST(test_read),
		TEST(test_places),	TEST(test_writer_left),
		TEST(test_under_way),	TEST(test_outward),
		TEST(test_waiting),	TEST(test_outward_tcp),
		TEST(test_reads_begun), TEST(test_nothing_to_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
