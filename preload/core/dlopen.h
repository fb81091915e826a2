/* SPDX-License-Identifier: MIT */
/*
 * preload/core/dlopen.h - libraries come and go
 *
 * Locks inside an unloaded library count as destroyed. A library that is loaded later at the same
 * addresses gets lock classes, functions and sites of its own, told apart by the layer of its module
 * (shadow/format/layout.h). Threads drop what they have cached by address.
 */
#ifndef CPA_PRELOAD_CORE_DLOPEN_H
#define CPA_PRELOAD_CORE_DLOPEN_H

#include "shadow/store/session.h"

/* In a child of fork(), which has no other threads. */
CPA_HIDDEN void cpa_dlopen_forked(void);

#endif
