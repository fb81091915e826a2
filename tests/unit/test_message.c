/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_message.c - shadow/edge/message.h: which connection or message a read depends on
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/message.h"

#include "tests/unit/shadow_threads.h"

static struct cpa_stream *s;

static int setup(void **state)
{
	int ret = threads_setup(state);

	s = ret ? NULL : cpa_stream(cpa_stream_intern(7, CPA_STREAM_UDP, 0));
	return ret;
}

static int teardown(void **state)
{
	cpa_stream_clear(&t[0], s);
	return threads_teardown(state);
}

/* Thread @i, at clock @now with a path of @len, begins a write. */
static struct cpa_stream_record begin(int i, uint64_t now, uint64_t len)
{
	struct cpa_stream_record record;

	cpa_stream_write_begin(at(i, now, len), s, SIZE_MAX, &record);
	return record;
}

static void put(int i, uint64_t now, uint64_t len, uint64_t name)
{
	struct cpa_stream_record record = begin(i, now, len);

	cpa_message_write_end(&t[i], &record, name, 1);
}

/* Thread @i reads what is called @name. Return the length of its path then; 0: nothing is known. */
static uint64_t take(int i, uint64_t now, uint64_t name, uint64_t since)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = now, .now = now };

	at(i, now, 1);
	if (!cpa_message_read(&t[i], s, name, 1, &found))
		return 0;
	if (since)
		cpa_message_renew(&t[i], &found, true, since);
	cpa_stream_join(&t[i], &found, true, false, &w);
	assert_true(w.matched);
	return t[i].row->path.len;
}

static uint64_t next(uint64_t since)
{
	struct cpa_stream_found found;
	uint64_t released;

	if (!cpa_message_next(&t[4], s, &found))
		return 0;
	if (since)
		cpa_message_renew(&t[4], &found, false, since);
	released = found.released;
	cpa_stream_drop(&t[4], &found);
	return released;
}

static unsigned records(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		n += s->record[i] != 0;
	return n;
}

static void test_in_order(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	put(1, 20, 60, 4);
	assert_int_equal(take(2, 30, 4, 0), 50);
	assert_int_equal(take(3, 31, 4, 0), 60);
	assert_int_equal(take(3, 32, 4, 0), 0);
	assert_int_equal(s->reads, 2);
	assert_int_equal(s->unmatched, 1);
	assert_int_equal(s->stayed, 20 + 11);
	assert_int_equal(records(), 0);
}

/* By name, whatever comes before; a stranger's is nobody's. */
static void test_by_name(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	put(2, 20, 60, 5);
	assert_int_equal(take(3, 30, 6, 0), 0);
	assert_int_equal(take(3, 31, 5, 0), 60);
	assert_int_equal(take(4, 32, 5, 0), 0);
	assert_int_equal(take(4, 33, 4, 0), 50);
	assert_int_equal(records(), 0);
}

/* A read that came back before the write did: its name is not known yet. */
static void test_open(void **state)
{
	struct cpa_stream_record a = begin(1, 10, 50), b;

	(void)state;
	assert_int_equal(take(3, 30, 4, 0), 50);
	assert_int_equal(s->uncertain, 0);
	cpa_message_write_end(&t[1], &a, 4, 1);
	assert_int_equal(records(), 0);

	a = begin(1, 40, 70);
	b = begin(2, 41, 80);
	assert_int_equal(take(3, 50, 4, 0), 80);
	assert_int_equal(s->uncertain, 1);
	cpa_message_write_end(&t[2], &b, 5, 1);
	cpa_message_write_end(&t[1], &a, 4, 1);
	assert_int_equal(take(4, 60, 4, 0), 70);
	assert_int_equal(records(), 0);
}

static void test_failed(void **state)
{
	(void)state;
	put(1, 10, 50, 0);
	assert_int_equal(records(), 0);
	assert_int_equal(take(2, 30, 4, 0), 0);
	assert_int_equal(s->written & ~CPA_STREAM_BYTES, 0);
}

/* Messages that were lost: who waited had nothing before. */
static void test_lost(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	put(1, 20, 60, 4);
	put(1, 40, 70, 4);
	put(1, 41, 80, 4);
	assert_int_equal(next(30), 40);
	assert_int_equal(take(2, 50, 4, 30), 70);
	assert_int_equal(take(2, 60, 4, 0), 80);
	assert_int_equal(records(), 0);
}

/* But the last may have been late: its writer was held up between the record and the call. */
static void test_late(void **state)
{
	(void)state;
	put(1, 10, 50, 4);
	put(1, 20, 60, 4);
	assert_int_equal(next(30), 20);
	assert_int_equal(take(2, 50, 4, 30), 60);
	assert_int_equal(records(), 0);
}

static void test_next_leaves_all(void **state)
{
	(void)state;
	assert_int_equal(next(0), 0);
	put(1, 10, 50, 4);
	put(1, 20, 60, 5);
	assert_int_equal(next(0), 10);
	assert_int_equal(records(), 2);
}

/* Of those that were not read the latest stay. */
static void test_many(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= CPA_STREAM_RECORDS + 3; i++)
		put(1, 10 * i, i, i);
	assert_int_equal(take(2, 9999, 3, 0), 0);
	assert_int_equal(take(2, 9999, 4, 0), 4);
	assert_int_equal(take(3, 9999, CPA_STREAM_RECORDS + 3, 0), CPA_STREAM_RECORDS + 3);
}

/* The process @name connects its socket @socket; its connect() has not returned. */
static struct cpa_stream_record connects(int i, uint64_t now, uint64_t name, uint64_t socket,
					 bool alone)
{
	struct cpa_stream_record record = begin(i, now, 10);

	cpa_message_connects(&record, name, socket, alone);
	return record;
}

/* Thread @i has accepted a connection of @name: the socket that is told. @client: the kernel's answer, if it is asked. */
static uint64_t accepts(int i, uint64_t name, uint64_t client)
{
	struct cpa_stream_found found;
	struct cpa_wait w = { .arrived = 900, .now = 900 };
	uint64_t socket;

	cpa_message_accepts(s, t[i].number);
	at(i, 900, 1);
	if (cpa_message_is_known(s, name))
		client = 0;
	else if (!client)
		cpa_message_mix(s, name);
	if (!cpa_message_accept(&t[i], s, name, client, &found))
		return UINT64_MAX;
	socket = cpa_message_socket(&found);
	cpa_stream_join(&t[i], &found, true, false, &w);
	return socket;
}

/* One thread accepts: connections that a process makes one after the other come in their order. */
static void test_connections(void **state)
{
	struct cpa_stream_record one, two, other;

	(void)state;
	one = connects(1, 10, 77, 501, true);
	other = connects(3, 20, 88, 601, true);
	two = connects(2, 30, 77, 502, true);
	assert_int_equal(accepts(4, 77, 0), 501);
	cpa_message_write_end(&t[2], &two, 77, 0);
	assert_int_equal(accepts(4, 88, 0), 601);
	assert_int_equal(accepts(4, 77, 0), 502);
	cpa_message_write_end(&t[1], &one, 77, 0);
	cpa_message_write_end(&t[3], &other, 88, 0);
	assert_int_equal(records(), 0);
}

/* Of those that were under way at the same time the kernel knows which it is; or nobody. */
static void test_connections_at_once(void **state)
{
	struct cpa_stream_record r[8];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		r[i] = connects(1 + (int)i, 10 + i, 77, 500 + i, i == 0);
	assert_int_equal(accepts(4, 77, 501), 501);
	assert_int_equal(accepts(4, 77, 0), 500); /* the only one left */
	for (unsigned i = 2; i < 4; i++)
		r[i] = connects(1 + (int)i % 2, 10 + i, 77, 500 + i, i == 2);
	assert_int_equal(accepts(4, 77, 0), 0);
	assert_int_equal(accepts(4, 77, 0), 0); /* it may be the first one */
	/* One that was mixed up is known if the kernel says it. */
	for (unsigned i = 4; i < 7; i++)
		r[i] = connects(1 + (int)i % 2, 10 + i, 77, 500 + i, i == 4);
	assert_int_equal(accepts(4, 77, 0), 0);
	assert_int_equal(accepts(4, 77, 506), 506);
	/* A connect that was not seen. */
	r[7] = connects(1, 99, 77, 507, false);
	assert_int_equal(accepts(4, 77, 999), UINT64_MAX);
	assert_int_equal(accepts(4, 77, 505), 505);
	assert_int_equal(accepts(4, 77, 0), 507);
	for (unsigned i = 0; i < 8; i++)
		cpa_message_write_end(&t[1 + i % 2], &r[i], 77, 0);
	assert_int_equal(records(), 0);
}

/* Several threads accept: of two connections that a process has there, the kernel knows which is whose; or nobody. */
static void test_many_accept(void **state)
{
	struct cpa_stream_record r[7];

	(void)state;
	cpa_message_accepts(s, t[3].number);
	for (unsigned i = 0; i < 2; i++)
		r[i] = connects(1, 10 + i, 70 + i, 500 + i, true);
	assert_int_equal(accepts(4, 70, 0), 500);
	assert_int_equal(accepts(3, 71, 0), 501);
	for (unsigned i = 2; i < 4; i++)
		r[i] = connects(1, 10 + i, 77, 500 + i, true);
	assert_int_equal(accepts(4, 77, 0), 0);
	assert_int_equal(accepts(3, 77, 0), 0);
	for (unsigned i = 4; i < 6; i++)
		r[i] = connects(1, 10 + i, 77, 500 + i, true);
	assert_int_equal(accepts(4, 77, 505), 505);
	assert_int_equal(accepts(3, 77, 0), 504);
	r[6] = connects(1, 99, 78, 599, true);
	assert_int_equal(accepts(3, 78, 0), 599);
	for (unsigned i = 0; i < 7; i++)
		cpa_message_write_end(&t[1], &r[i], 77, 0);
	assert_int_equal(records(), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_in_order),
		TEST(test_by_name),
		TEST(test_open),
		TEST(test_failed),
		TEST(test_lost),
		TEST(test_late),
		TEST(test_next_leaves_all),
		TEST(test_many),
		TEST(test_connections),
		TEST(test_connections_at_once),
		TEST(test_many_accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
