/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/mutex.h - whether threads look on before they block for a mutex
 */
#ifndef CPA_PRELOAD_SYNC_MUTEX_H
#define CPA_PRELOAD_SYNC_MUTEX_H

#include <stdbool.h>

#include "shadow/store/session.h"

/* Before there are threads, with a session. @look_on: if there is more than one processor. */
CPA_HIDDEN void cpa_mutex_init(bool look_on);

#endif
