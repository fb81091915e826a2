/* SPDX-License-Identifier: MIT */
#include "analysis/export/protobuf.h"

#include <string.h>

enum wire { WIRE_NUMBER = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

static void put_tag(struct cpa_bytes *message, unsigned field, enum wire wire)
{
	cpa_bytes_varint(message, (uint64_t)field << 3 | wire);
}

static void put_bytes(struct cpa_bytes *message, unsigned field, const void *bytes, size_t size)
{
	put_tag(message, field, WIRE_BYTES);
	cpa_bytes_varint(message, size);
	cpa_bytes_append(message, bytes, size);
}

void cpa_message_number(struct cpa_bytes *message, unsigned field, uint64_t value)
{
	put_tag(message, field, WIRE_NUMBER);
	cpa_bytes_varint(message, value);
}

void cpa_message_fixed(struct cpa_bytes *message, unsigned field, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	put_tag(message, field, WIRE_FIXED);
	cpa_bytes_append(message, bytes, sizeof(bytes));
}

void cpa_message_text(struct cpa_bytes *message, unsigned field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

void cpa_message_part(struct cpa_bytes *message, unsigned field, struct cpa_bytes *part)
{
	put_bytes(message, field, part->at, part->used);
	part->used = 0;
}
