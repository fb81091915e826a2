/* SPDX-License-Identifier: MIT */
#include "analysis/export/protobuf.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

enum wire { WIRE_NUMBER = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

static void put(struct cpa_message *message, const void *bytes, size_t size)
{
	if (!size)
		return;
	if (message->room - message->size < size) {
		message->room = 2 * message->room + size;
		message->bytes = xrealloc(message->bytes, message->room);
	}
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

void cpa_message_element(struct cpa_message *message, uint64_t value)
{
	unsigned char bytes[10];
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (unsigned char)(value | 0x80);
	bytes[size++] = (unsigned char)value;
	put(message, bytes, size);
}

static void put_tag(struct cpa_message *message, unsigned field, enum wire wire)
{
	cpa_message_element(message, (uint64_t)field << 3 | wire);
}

static void put_bytes(struct cpa_message *message, unsigned field, const void *bytes, size_t size)
{
	put_tag(message, field, WIRE_BYTES);
	cpa_message_element(message, size);
	put(message, bytes, size);
}

void cpa_message_number(struct cpa_message *message, unsigned field, uint64_t value)
{
	put_tag(message, field, WIRE_NUMBER);
	cpa_message_element(message, value);
}

void cpa_message_fixed(struct cpa_message *message, unsigned field, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	put_tag(message, field, WIRE_FIXED);
	put(message, bytes, sizeof(bytes));
}

void cpa_message_text(struct cpa_message *message, unsigned field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

void cpa_message_part(struct cpa_message *message, unsigned field, struct cpa_message *part)
{
	put_bytes(message, field, part->bytes, part->size);
	part->size = 0;
}

void cpa_message_fini(struct cpa_message *message)
{
	free(message->bytes);
	*message = (struct cpa_message){ 0 };
}
