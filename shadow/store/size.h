/* SPDX-License-Identifier: MIT */
/* shadow/store/size.h - parse the size of a journal */
#ifndef CPA_SHADOW_STORE_SIZE_H
#define CPA_SHADOW_STORE_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CPA_JOURNAL_LEAST (UINT64_C(64) << 10)
#define CPA_JOURNAL_MOST  (UINT64_C(64) << 30)

/*
 * Parse a number with an optional K, M or G into *@bytes. Return false if @text has another form or
 * the size is not in [CPA_JOURNAL_LEAST, CPA_JOURNAL_MOST]. Async-signal-safe.
 */
static inline bool cpa_size_read(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *p = text, *unit;
	uint64_t n = 0;

	for (; *p >= '0' && *p <= '9' && n <= CPA_JOURNAL_MOST; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	unit = p > text && *p ? strchr(units, *p) : NULL;
	if (unit) {
		n = n <= CPA_JOURNAL_MOST ? n << 10 * (unit - units + 1) : n;
		p++;
	}
	*bytes = n;
	return p > text && !*p && n >= CPA_JOURNAL_LEAST && n <= CPA_JOURNAL_MOST;
}

#endif
