/* SPDX-License-Identifier: MIT */
/*
 * preload/mutex.h - whether threads look on before they block for a mutex
 */
#ifndef CPA_PRELOAD_MUTEX_H
#define CPA_PRELOAD_MUTEX_H

#include <stdbool.h>

#include "shadow/session.h"

/* Before there are threads, with a session. @look_on: if there is more than one processor. */
CPA_HIDDEN void cpa_mutex_init(bool look_on);

#endif
