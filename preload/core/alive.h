/* SPDX-License-Identifier: MIT */
/*
 * preload/core/alive.h - whether the process is profiled, and what a child that is not has instead
 *
 * Most children of fork() have a part in the session (preload/process/process.h). One that has none must
 * not touch what is its parent's. But a signal handler may have made it that interrupted our own
 * code or a wait of ours, and return there in both processes: so it has memory in the session's
 * place, with what was there. It copies that when it begins, while its parent and other threads go
 * on: what was begun twice, or is half written, may be found there, and is in no profile.
 */
#ifndef CPA_PRELOAD_CORE_ALIVE_H
#define CPA_PRELOAD_CORE_ALIVE_H

#include "shadow/store/session.h"

/*
 * 1 while the process is profiled. It lies in a page that the kernel clears in a child of fork,
 * so a child passes through from its first instruction, whoever forked it and how.
 */
extern CPA_HIDDEN const uint32_t *cpa_alive;

/* Once, at start. False: no memory, which was said. */
CPA_HIDDEN bool cpa_alive_init(void);

/* The session is ready: profiling begins, in this process or in a child that has a part in it. */
CPA_HIDDEN void cpa_alive_begin(void);

/* The run has ended. */
CPA_HIDDEN void cpa_alive_end(void);

/* A child is about to be made that may leave. Async-signal-safe. */
CPA_HIDDEN void cpa_alive_forking(void);

/*
 * The process goes on without the session, for good. @has_threads: others than the calling one may
 * be in our code. Async-signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_alive_leave(bool has_threads);

/*
 * Behind a wait, where the process is not alive: if it is a child of which no fork() told us, made
 * by a signal handler in that wait, it leaves. If its run has ended, no system call is made.
 * Async-signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_alive_look(void);

#endif
