/* SPDX-License-Identifier: MIT */
/* shadow/store/by.h - parse how functions are divided */
#ifndef CPA_SHADOW_STORE_BY_H
#define CPA_SHADOW_STORE_BY_H

#include <string.h>

#define CPA_BY_MOST 16u /* callers */

/* Return N of "caller:N"; 0: @text has another form, or N is not in [1, CPA_BY_MOST]. */
static inline unsigned cpa_by_read(const char *text)
{
	const char *p = text;
	unsigned n = 0;

	if (strncmp(p, "caller:", 7) != 0)
		return 0;
	for (p += 7; *p >= '0' && *p <= '9' && n <= CPA_BY_MOST; p++)
		n = n * 10 + (unsigned)(*p - '0');
	return !*p && n <= CPA_BY_MOST ? n : 0;
}

#endif
