/* SPDX-License-Identifier: MIT */
#include "preload/core/identity.h"

#include <unistd.h>

#include "preload/libc/pid.h"
#include "shadow/edge/process.h"

uint32_t cpa_process_number, cpa_process_pid;
bool cpa_process_has_children;

bool cpa_process_is_this(void)
{
	uint32_t space;

	if ((uint32_t)getpid() != cpa_process_pid)
		return false;
	if (cpa_process_pid != 1 || !cpa_process_number)
		return true;
	space = cpa_process(cpa_process_number)->space;
	return !space || cpa_pid_space() == space;
}
