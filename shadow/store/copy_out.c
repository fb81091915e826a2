/* SPDX-License-Identifier: MIT */
#include "shadow/store/copy_out.h"

#include <string.h>

#include "shadow/store/table.h"

/* By no system call: the process may have a filter that ends it at one. */
void cpa_session_copy_out(char *to, uint64_t size)
{
	uint64_t at = 0, gap, end;

	while (at < size) {
		gap = cpa_tables_gap(at, &end);
		if (gap >= size)
			gap = end = size;
		memcpy(to + at, cpa_base + at, gap - at);
		at = end;
	}
}
