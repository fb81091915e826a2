/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/tail_call.h - a construct of OpenMP that is the last thing in its function
 *
 * Compilers call the runtime there by a jump. So libomp tells the return address of the function: where that was
 * called, which is not the construct's place.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_TAIL_CALL_H
#define CPA_ANALYSIS_SYMBOLS_TAIL_CALL_H

#include "analysis/symbols/names.h"

/*
 * The address of the jump out of the function that the call before @address, in the module in row @module, goes to:
 * where a construct is that seems to be at @address. 0: the call goes to no function with a name in its module, or
 * that does not end with a jump, or the code is not known.
 */
uint64_t cpa_tail_call(struct cpa_names *names, uint32_t module, uint64_t address);

#endif
