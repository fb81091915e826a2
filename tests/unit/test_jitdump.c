/* SPDX-License-Identifier: MIT */
/* tests/unit/test_jitdump.c - names from jitdumps: sound ones, damaged ones, and noise */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/symbols/jitdump.h"
#include "tests/property/random.h"

#define PID	42u
#define ROOM	4096u
#define DAMAGED 20000u

struct dump {
	unsigned char bytes[ROOM];
	size_t used;
};

struct found {
	size_t count;
	char text[ROOM];	   /* "START SIZE NAME;" of each */
	const unsigned char *copy; /* where names must be; NULL: not looked at */
	size_t size;
};

static void put(struct dump *dump, const void *bytes, size_t size)
{
	assert_true(dump->used + size <= ROOM);
	memcpy(dump->bytes + dump->used, bytes, size);
	dump->used += size;
}

static void put32(struct dump *dump, uint32_t value)
{
	put(dump, &value, sizeof(value));
}

static void put64(struct dump *dump, uint64_t value)
{
	put(dump, &value, sizeof(value));
}

static void begin(struct dump *dump)
{
	dump->used = 0;
	put32(dump, 0x4a695444);
	put32(dump, 1);
	put32(dump, 40);
	put32(dump, 62);
	put32(dump, 0);
	put32(dump, PID);
	put64(dump, 1000);
	put64(dump, 0);
}

static void put_prefix(struct dump *dump, uint32_t kind, size_t size)
{
	put32(dump, kind);
	put32(dump, (uint32_t)(16 + size));
	put64(dump, 2000);
}

static void put_load(struct dump *dump, uint64_t address, uint64_t number, const char *name)
{
	static const unsigned char code[16];

	put_prefix(dump, 0, 40 + strlen(name) + 1 + sizeof(code));
	put32(dump, PID);
	put32(dump, PID);
	put64(dump, address);
	put64(dump, address);
	put64(dump, sizeof(code));
	put64(dump, number);
	put(dump, name, strlen(name) + 1);
	put(dump, code, sizeof(code));
}

static void put_move(struct dump *dump, uint64_t before, uint64_t address, uint64_t number)
{
	put_prefix(dump, 1, 48);
	put32(dump, PID);
	put32(dump, PID);
	put64(dump, address);
	put64(dump, before);
	put64(dump, address);
	put64(dump, 16);
	put64(dump, number);
}

static void put_other(struct dump *dump)
{
	put_prefix(dump, 2, 16);
	put64(dump, 0x1000);
	put64(dump, 0);
}

static void take(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct found *found = context;
	size_t used = strlen(found->text);

	assert_true(size > 0 && size - 1 <= UINT64_MAX - start);
	if (found->copy) {
		size_t at = (size_t)((const unsigned char *)name - found->copy);

		assert_true(at < found->size && memchr(name, '\0', found->size - at));
	}
	found->count++;
	snprintf(found->text + used, sizeof(found->text) - used, "%llx %llu %s;",
		 (unsigned long long)start, (unsigned long long)size, name);
}

/* The result must be @expected functions, and @trouble; NULL: none. */
static void check(const struct dump *dump, const char *expected, const char *trouble)
{
	struct found found = { 0 };
	char *why = cpa_jitdump_read(dump->bytes, dump->used, PID, take, &found);

	assert_string_equal(found.text, expected);
	if (trouble)
		assert_string_equal(why, trouble);
	else
		assert_null(why);
	free(why);
}

static void fill(struct dump *dump)
{
	begin(dump);
	put_load(dump, 0x1000, 0, "f");
	put_other(dump);
	put_load(dump, 0x2000, 1, "JS:*g file.js:1");
	put_move(dump, 0x1000, 0x3000, 0);
}

static void test_sound(void **state)
{
	struct dump dump;

	(void)state;
	fill(&dump);
	check(&dump, "1000 16 f;2000 16 JS:*g file.js:1;3000 16 f;", NULL);
	put_move(&dump, 0x9000, 0x8000, 7); /* of code that nobody loaded */
	put_load(&dump, 0x4000, UINT64_MAX, "h");
	put_load(&dump, UINT64_MAX - 14, 3, "beyond the end");
	put_load(&dump, 0x5000, 4, "");
	check(&dump, "1000 16 f;2000 16 JS:*g file.js:1;3000 16 f;4000 16 h;", NULL);
	begin(&dump);
	check(&dump, "", NULL);
}

static void test_header(void **state)
{
	struct dump dump;

	(void)state;
	fill(&dump);
	dump.bytes[0] ^= 1;
	check(&dump, "", "is no jitdump");
	fill(&dump);
	memcpy(dump.bytes, "JiTD", 4);
	check(&dump, "", "is of another processor");
	fill(&dump);
	dump.bytes[4] = 2;
	check(&dump, "", "has version 2 of the format, not 1");
	fill(&dump);
	dump.bytes[20]++;
	check(&dump, "", "is of process 43");
	fill(&dump);
	dump.used = 39;
	check(&dump, "", "is no jitdump");
}

/* Whatever is cut off, what is before it is known, and the rest is a line. */
static void test_cut(void **state)
{
	struct dump dump;
	size_t whole;

	(void)state;
	fill(&dump);
	whole = dump.used;
	for (dump.used = 41; dump.used < whole; dump.used++) {
		struct found found = { 0 };
		char *why = cpa_jitdump_read(dump.bytes, dump.used, PID, take, &found);

		assert_true(!why == (dump.used == 40 + 74 || dump.used == 40 + 74 + 32 ||
				     dump.used == 40 + 74 + 32 + 88));
		assert_true(found.count ==
			    (dump.used >= 40 + 74) + (size_t)(dump.used >= 40 + 74 + 32 + 88));
		free(why);
	}
}

/* Bytes that lie: names lie in the dump, sizes do not wrap, and it ends. The memory is exactly as large. */
static void test_damaged(void **state)
{
	uint64_t seed = rnd_seed();
	size_t troubles = 0;

	(void)state;
	print_message("CPA_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < DAMAGED; i++) {
		static const uint64_t odd[] = {
			0, 1, 15, 16, 0x7f, 0xff, UINT16_MAX, INT32_MAX, UINT32_MAX, UINT64_MAX
		};
		struct rnd r = rnd_sequence(seed, i);
		struct found found = { 0 };
		struct dump dump;
		unsigned char *copy;
		char *why;

		fill(&dump);
		for (uint64_t k = rnd_below(&r, 6) + 1; k; k--) {
			size_t width = (size_t)1 << rnd_below(&r, 4),
			       at = rnd_below(&r, dump.used - 8);
			uint64_t value = odd[rnd_below(&r, sizeof(odd) / sizeof(odd[0]))];

			memcpy(dump.bytes + at, &value, width);
		}
		found.size = dump.used - (rnd_percent(&r, 20) ? rnd_below(&r, dump.used) : 0);
		copy = malloc(found.size);
		assert_non_null(copy);
		memcpy(copy, dump.bytes, found.size);
		found.copy = copy;
		why = cpa_jitdump_read(copy, found.size, PID, take, &found);
		troubles += why != NULL;
		free(why);
		free(copy);
	}
	assert_true(troubles > DAMAGED / 10 && troubles < DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
