/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/log.h - write a line to stderr, without stdio and without the program's malloc
 *
 * Async-signal-safe; errno is kept. Silent with CPA_QUIET=1. The format may contain %s, and %d and
 * %u for values of the size of int.
 */
#ifndef CPA_PRELOAD_LIBC_LOG_H
#define CPA_PRELOAD_LIBC_LOG_H

#include "shadow/store/session.h"

CPA_HIDDEN void cpa_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write nothing from now on. */
CPA_HIDDEN void cpa_log_quiet(void);

#endif
