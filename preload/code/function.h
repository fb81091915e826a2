/* SPDX-License-Identifier: MIT */
/*
 * preload/code/function.h - from an address to function and site
 *
 * Uses the unwind tables that every module carries (PT_GNU_EH_FRAME, its binary search table), so
 * stripped code works, and _dl_find_object(), which takes no lock. Async-signal-safe.
 */
#ifndef CPA_PRELOAD_CODE_FUNCTION_H
#define CPA_PRELOAD_CODE_FUNCTION_H

#include "shadow/graph/component.h"

/* The start of the function that holds @pc; the start of @pc's page if no table covers @pc. */
CPA_HIDDEN uint64_t cpa_function_start(uint64_t pc);

/* Whether @pc lies in this library. */
CPA_HIDDEN bool cpa_function_is_ours(uint64_t pc);

/* The id of the function that holds @pc: see shadow/graph/component.h. */
CPA_HIDDEN uint32_t cpa_function_at(uint64_t pc);

/*
 * The same, where @context called it: see struct cpa_component; 0: wherever. No module may be unloaded
 * meanwhile.
 */
CPA_HIDDEN uint32_t cpa_function_called(uint64_t pc, uint32_t context);

/* The row of the site @address; 0 if there is no space. */
CPA_HIDDEN uint32_t cpa_site(uint64_t address);

/* The row of the site of the function that begins at @address, for stacks; 0: no space. */
CPA_HIDDEN uint32_t cpa_function_site(uint64_t address);

/* The row of the site of the call at @address, which the function of site row @function makes; 0: no space. */
CPA_HIDDEN uint32_t cpa_call_site(uint64_t address, uint32_t function);

#endif
