/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/registers.h - registers of one frame, by their numbers in unwind tables
 */
#ifndef CPA_PRELOAD_UNWIND_REGISTERS_H
#define CPA_PRELOAD_UNWIND_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/arch/arch.h"

/* Of one frame. The caller owns it. */
struct cpa_registers {
	uint64_t value[CPA_ARCH_REGISTERS];
	uint32_t known; /* bit i: value[i] is that of the frame */
};

static inline bool cpa_register_is_known(const struct cpa_registers *r, uint64_t number)
{
	return number < CPA_ARCH_REGISTERS && r->known >> number & 1;
}

#endif
