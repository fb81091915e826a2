/* SPDX-License-Identifier: MIT */
/*
 * shadow/arch/arch.h - all that depends on the processor
 *
 * A port is one more header beside shadow/arch/x86_64.h with the same names, and a line here.
 * preload/cpa.h, which programs include on its own, has one instruction of its own.
 */
#ifndef CPA_SHADOW_ARCH_ARCH_H
#define CPA_SHADOW_ARCH_ARCH_H

#if defined(__x86_64__) && !defined(__ILP32__)
#include "shadow/arch/x86_64.h"
#else
#error "cpa runs on x86-64 only: docs/porting.md says what another processor needs"
#endif

#endif
