/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/protobuf.h - write messages in the wire format of Protocol Buffers
 *
 * A message is bytes that grow; a message inside another is written first and then added. That is
 * all that pprof and Perfetto need: numbers, texts and messages. An element of a packed field is a
 * cpa_bytes_varint() in a part.
 */
#ifndef CPA_ANALYSIS_EXPORT_PROTOBUF_H
#define CPA_ANALYSIS_EXPORT_PROTOBUF_H

#include <stdint.h>

#include "analysis/util/bytes.h"

/* Field @field with the number @value. Negative numbers are as int64. */
void cpa_message_number(struct cpa_bytes *message, unsigned field, uint64_t value);

/* Field @field with 8 bytes of fixed size, as fixed64 has them. */
void cpa_message_fixed(struct cpa_bytes *message, unsigned field, uint64_t value);

/* Field @field with the text @text. */
void cpa_message_text(struct cpa_bytes *message, unsigned field, const char *text);

/* Field @field with the message @part, which becomes empty and keeps its room. */
void cpa_message_part(struct cpa_bytes *message, unsigned field, struct cpa_bytes *part);

#endif
