/* SPDX-License-Identifier: MIT */
#include "shadow/store/copy_out.h"

#include <string.h>

#include "shadow/store/table.h"

/* Without system calls: a seccomp filter of the process may kill it for one. */
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
