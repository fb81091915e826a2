/* SPDX-License-Identifier: MIT */
/*
 * preload/process/spawn.h - children by other means than fork()
 */
#ifndef CPA_PRELOAD_PROCESS_SPAWN_H
#define CPA_PRELOAD_PROCESS_SPAWN_H

#include "shadow/store/session.h"

/*
 * Before exec in a child of vfork(): its new row, 0 if it is none or has none. Async-signal-safe.
 * The other: it did not come to that.
 */
CPA_HIDDEN uint32_t cpa_spawn_exec(void);
CPA_HIDDEN void cpa_spawn_not_exec(uint32_t number);

#endif
