/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/spin_loop.h - loops that only wait until another thread changes a variable
 *
 * Such a loop loads and compares, may have fences and pauses, and nothing in it depends on the round before: it ends
 * by what somebody else writes, or never. Of x86-64.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_SPIN_LOOP_H
#define CPA_ANALYSIS_SYMBOLS_SPIN_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_SPIN_LOOP_MOST 96u /* bytes of such a loop, at most */

/*
 * Whether the instruction at @at of the @size bytes of @code is in such a loop. False also if the loop is longer, has
 * an instruction that is not known here, or branches within itself.
 */
bool cpa_is_spin_loop(const uint8_t *code, size_t size, size_t at);

#endif
