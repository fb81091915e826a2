/* SPDX-License-Identifier: MIT */
/*
 * preload/process/spawn.h - children by other means than fork()
 */
#ifndef CPA_PRELOAD_PROCESS_SPAWN_H
#define CPA_PRELOAD_PROCESS_SPAWN_H

#include "shadow/store/session.h"

/*
 * cpa_spawn_exec(): before exec in a child of vfork(), return the process row of the new program; 0:
 * the caller is no child of vfork(), or there is no row. cpa_spawn_not_exec(): exec failed; give
 * row @number back. Both are async-signal-safe.
 */
CPA_HIDDEN uint32_t cpa_spawn_exec(void);
CPA_HIDDEN void cpa_spawn_not_exec(uint32_t number);

#endif
