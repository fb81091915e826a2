/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/protobuf.h - write messages in the wire format of Protocol Buffers
 *
 * A message is bytes that grow; a message inside another is written first and then added. That is
 * all that pprof and Perfetto need: numbers, texts and messages.
 */
#ifndef CPA_ANALYSIS_EXPORT_PROTOBUF_H
#define CPA_ANALYSIS_EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct cpa_message {
	unsigned char *bytes; /* NULL while empty */
	size_t size, room;
};

void cpa_message_fini(struct cpa_message *message);

/* Field @field with the number @value. Negative numbers are as int64. */
void cpa_message_number(struct cpa_message *message, unsigned field, uint64_t value);

/* Field @field with 8 bytes of fixed size, as fixed64 has them. */
void cpa_message_fixed(struct cpa_message *message, unsigned field, uint64_t value);

/* Field @field with the text @text. */
void cpa_message_text(struct cpa_message *message, unsigned field, const char *text);

/* Field @field with the message @part, which becomes empty and keeps its room. */
void cpa_message_part(struct cpa_message *message, unsigned field, struct cpa_message *part);

/* A number without a field: an element of a packed field, which is a part. */
void cpa_message_element(struct cpa_message *message, uint64_t value);

#endif
