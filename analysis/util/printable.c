/* SPDX-License-Identifier: MIT */
/* analysis/util/printable.c - text from a dump or an ELF file made safe for terminals and JSON */
#include "analysis/util/printable.h"

#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Decode the UTF-8 character at @text, at most @max bytes, into @character. Return its length in
 * bytes; 0 if it is invalid, overlong or a surrogate.
 */
static size_t decode(const unsigned char *text, size_t max, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;
	uint32_t value;

	if (text[0] < 0x80) {
		*character = text[0];
		return 1;
	}
	if (text[0] < 0xc0 || text[0] >= 0xf8)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (length > max)
		return 0;
	value = text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*character = value;
	return length;
}

static bool harmless(uint32_t character)
{
	if (character < 0x20 || (character >= 0x7f && character < 0xa0))
		return false;
	/* Directional marks, embeddings and isolates; line and paragraph separators. */
	if (character == 0x61c || character == 0x200e || character == 0x200f)
		return false;
	if (character >= 0x2028 && character <= 0x202e)
		return false;
	return !(character >= 0x2066 && character <= 0x2069) && character != 0xfeff;
}

char *cpa_printable(const char *text, size_t max)
{
	size_t length = strnlen(text, max), out = 0;
	char *copy = xmalloc(length + 1);

	for (size_t in = 0; in < length;) {
		const unsigned char *at = (const unsigned char *)text + in;
		uint32_t character;
		size_t bytes = decode(at, length - in, &character);

		if (bytes && harmless(character)) {
			memcpy(copy + out, at, bytes);
			out += bytes;
		} else {
			copy[out++] = '?';
		}
		in += bytes ? bytes : 1;
	}
	copy[out] = '\0';
	return copy;
}

size_t cpa_printable_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

size_t cpa_printable_bytes(const char *text, size_t columns)
{
	size_t bytes = 0;

	for (; text[bytes]; bytes++)
		if (((unsigned char)text[bytes] & 0xc0) != 0x80 && columns-- == 0)
			break;
	return bytes;
}

const char *cpa_printable_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *cpa_printable_where(const char *name, const char *location)
{
	const char *base = location ? cpa_printable_base(location) : "", *said = strstr(name, base);

	return *base && said && strncmp(said + strlen(base), "+0x", 3) == 0 ? "" : base;
}
