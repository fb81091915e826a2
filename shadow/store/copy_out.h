/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/copy_out.h - a copy of the session in memory
 */
#ifndef CPA_SHADOW_STORE_COPY_OUT_H
#define CPA_SHADOW_STORE_COPY_OUT_H

#include "shadow/store/session.h"

/*
 * Copy the first @size bytes of the session to @to, which must be zeroed. Ranges without file space
 * are skipped. Async-signal-safe.
 */
CPA_HIDDEN void cpa_session_copy_out(char *to, uint64_t size);

#endif
