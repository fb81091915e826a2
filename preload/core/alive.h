/* SPDX-License-Identifier: MIT */
/*
 * preload/core/alive.h - whether the process is profiled, and memory for a child that is not
 *
 * Most children of fork() have a part in the session (preload/process/process.h). One that has none must
 * not write its parent's session. But a signal handler that interrupted instrumentation code, or a
 * wait of it, may have made the child, and returns there in both processes. So the child has private
 * memory at the session's addresses, with a copy of the session. It makes the copy when it begins,
 * while its parent's threads go on: the copy may be inconsistent, and is in no profile.
 */
#ifndef CPA_PRELOAD_CORE_ALIVE_H
#define CPA_PRELOAD_CORE_ALIVE_H

#include "shadow/store/session.h"

/*
 * 1 while the process is profiled, else 0. It lies in a page that the kernel clears in a child of a
 * fork by any means, so wrappers in the child only call the originals from its first instruction on.
 */
extern CPA_HIDDEN const uint32_t *cpa_alive;

/*
 * header.epoch of the session; before profiling begins, a word that is 0. It can always be read, also
 * in a child that has not joined. See cpa_is_off() in preload/core/guard.h.
 */
extern CPA_HIDDEN const uint64_t *cpa_epoch_word;

/* Once, at start. False: no memory; a warning was printed. */
CPA_HIDDEN bool cpa_alive_init(void);

/* Profiling begins, in the first process or in a child that has joined. The session is ready. */
CPA_HIDDEN void cpa_alive_begin(void);

/* Profiling ends in this process. */
CPA_HIDDEN void cpa_alive_end(void);

/* Before a fork whose child may call cpa_alive_leave(). Async-signal-safe. */
CPA_HIDDEN void cpa_alive_forking(void);

/*
 * The process leaves the session until it ends. @has_threads: other threads may be in instrumentation
 * code. Async-signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_alive_leave(bool has_threads);

/*
 * After a wait, in a process that is not profiled: if it is a child that a signal handler made in
 * that wait, without our wrapper of fork(), call cpa_alive_leave(). Makes no system call if profiling
 * has ended. Async-signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_alive_look(void);

#endif
