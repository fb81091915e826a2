/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/cursor.h - read numbers from bytes that may be damaged
 *
 * Behind the end everything reads as 0, and `bad` is set. A cursor owns nothing: its bytes must outlive
 * it. No function makes system calls or takes locks; async-signal-safe, as is all of this room.
 */
#ifndef CPA_PRELOAD_UNWIND_CURSOR_H
#define CPA_PRELOAD_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cpa_cursor {
	const uint8_t *at, *end; /* next byte; just behind the last one */
	bool bad;		 /* somebody read behind the end */
};

/* Whether @bytes are left; if not, the cursor is at its end and bad. */
static inline bool cpa_cursor_has(struct cpa_cursor *c, uint64_t bytes)
{
	if ((uint64_t)(c->end - c->at) >= bytes)
		return true;
	c->bad = true;
	c->at = c->end;
	return false;
}

/* A little-endian number of @bytes, at most 8. */
static inline uint64_t cpa_cursor_number(struct cpa_cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (!cpa_cursor_has(c, bytes))
		return 0;
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

/* The same as a number in two's complement; @bytes is 1 to 8. */
static inline int64_t cpa_cursor_signed(struct cpa_cursor *c, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(cpa_cursor_number(c, bytes) << shift) >> shift;
}

/* A number of 7 bits a byte, LEB128 (DWARF 5, 7.6). Bits above the lowest 64 are dropped. */
static inline uint64_t cpa_cursor_leb(struct cpa_cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = cpa_cursor_number(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static inline uint64_t cpa_cursor_uleb(struct cpa_cursor *c)
{
	return cpa_cursor_leb(c, false);
}

static inline int64_t cpa_cursor_sleb(struct cpa_cursor *c)
{
	return (int64_t)cpa_cursor_leb(c, true);
}

/* The next @bytes, as a cursor of their own. */
static inline struct cpa_cursor cpa_cursor_part(struct cpa_cursor *c, uint64_t bytes)
{
	struct cpa_cursor part = { c->at, c->at, false };

	if (!cpa_cursor_has(c, bytes)) {
		part.bad = true;
		return part;
	}
	c->at = part.end = part.at + bytes;
	return part;
}

#endif
