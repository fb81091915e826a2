/* SPDX-License-Identifier: MIT */
#include "analysis/util/bytes.h"

#include <libiberty/libiberty.h>
#include <string.h>

static void reserve(struct cpa_bytes *bytes, size_t size)
{
	if (bytes->room - bytes->used >= size)
		return;
	bytes->room = 2 * bytes->room + size + 64;
	bytes->at = XRESIZEVEC(unsigned char, bytes->at, bytes->room);
}

void cpa_bytes_put(struct cpa_bytes *bytes, unsigned value)
{
	reserve(bytes, 1);
	bytes->at[bytes->used++] = (unsigned char)value;
}

void cpa_bytes_append(struct cpa_bytes *bytes, const void *from, size_t size)
{
	if (!size)
		return;
	reserve(bytes, size);
	memcpy(bytes->at + bytes->used, from, size);
	bytes->used += size;
}

void cpa_bytes_varint(struct cpa_bytes *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		cpa_bytes_put(bytes, (unsigned)(value & 0x7f) | 0x80);
	cpa_bytes_put(bytes, (unsigned)value);
}

int cpa_bytes_base64(const struct cpa_bytes *bytes, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes->used; i += 3) {
		size_t left = bytes->used - i;
		const unsigned char *b = bytes->at + i;
		unsigned bits = (unsigned)b[0] << 16 | (left > 1 ? (unsigned)b[1] << 8 : 0) |
				(left > 2 ? b[2] : 0);
		char text[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
				 left > 1 ? digits[bits >> 6 & 63] : '=',
				 left > 2 ? digits[bits & 63] : '=' };

		if (fwrite(text, 1, sizeof(text), out) != sizeof(text))
			return -1;
	}
	return 0;
}
