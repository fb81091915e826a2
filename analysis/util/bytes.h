/* SPDX-License-Identifier: MIT */
/* analysis/util/bytes.h - bytes that grow, with varints; written as base64 */
#ifndef CPA_ANALYSIS_UTIL_BYTES_H
#define CPA_ANALYSIS_UTIL_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All zeros at first; the owner frees `at`. */
struct cpa_bytes {
	unsigned char *at;
	size_t used, room;
};

void cpa_bytes_put(struct cpa_bytes *bytes, unsigned value);
/* Append the @size bytes at @from. */
void cpa_bytes_append(struct cpa_bytes *bytes, const void *from, size_t size);

/* Append @value, 7 bits a byte, lowest first; all bytes but the last have bit 7 set. */
void cpa_bytes_varint(struct cpa_bytes *bytes, uint64_t value);

/* Write @bytes as base64 (RFC 4648). Return 0, or -1 if it could not be written. */
int cpa_bytes_base64(const struct cpa_bytes *bytes, FILE *out);

#endif
