/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/log.h - one line on stderr, without stdio and without the program's malloc
 *
 * Async-signal-safe; errno is kept. Silent with CPA_QUIET=1. The format knows %s, %d and %u (both
 * of int size).
 */
#ifndef CPA_PRELOAD_LIBC_LOG_H
#define CPA_PRELOAD_LIBC_LOG_H

#include "shadow/store/session.h"

CPA_HIDDEN void cpa_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Be silent from now on. */
CPA_HIDDEN void cpa_log_quiet(void);

#endif
