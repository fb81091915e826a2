/* SPDX-License-Identifier: MIT */
/*
 * preload/process/process.h - this process as a member of the session
 *
 * The first process makes the session. Children of fork() inherit the mapping and join before fork()
 * returns. A program started by exec, vfork() or posix_spawn() finds the session by the environment
 * variable CPA_SESSION=SECRET:INODE:PATH, which the first process adds to its own environment. No
 * descriptor is inherited, as programs close descriptors that they do not know. A process writes the
 * file only if it belongs to the process's user, has mode 0600, one name, that inode and the secret,
 * and is no symbolic link. Anybody who can write an environment can have any library loaded anyway.
 */
#ifndef CPA_PRELOAD_PROCESS_PROCESS_H
#define CPA_PRELOAD_PROCESS_PROCESS_H

#include "preload/core/identity.h"
#include "preload/core/guard.h"

/* This process is the first of the new session in @path. */
CPA_HIDDEN void cpa_process_first(const char *path);

/* Add CPA_SESSION, for the session in @path, to the environment. Before there are threads. */
CPA_HIDDEN void cpa_process_announce(const char *path);

/*
 * Return whether the environment names a session. *@joined: it was mapped. A process that should
 * join and cannot runs unprofiled; it makes no session of its own.
 */
CPA_HIDDEN bool cpa_process_join(bool *joined);

/* Note the start time of the process or of its new program. Before anything else. */
CPA_HIDDEN void cpa_process_born(void);

/* The new program has the @arguments, as main() has them. Before the process has a row. */
CPA_HIDDEN void cpa_process_called(char *const *arguments);

/*
 * The first thread of a process that joined by its environment begins. Inside instrumentation code.
 * Return whether the process was in the session, and in a part, when it became this program.
 */
CPA_HIDDEN bool cpa_process_begin(void);

/*
 * cpa_process_seen(): the caller, parent of process row @number, knows that child as @pid.
 * cpa_process_told(): the caller is process row @number, and its own pid is @pid.
 */
CPA_HIDDEN void cpa_process_seen(uint32_t number, uint32_t pid);
CPA_HIDDEN void cpa_process_told(uint32_t number, uint32_t pid);

/* Before fork(): claim a process row for the child, cpa_tls.child; 0: there is none left. */
CPA_HIDDEN void cpa_process_forking(void);

/* In the child of fork(). False: it is not in the session. */
CPA_HIDDEN bool cpa_process_forked(void);

/* Thread row @thread ends the process at tick @now. False: another thread ended it before. */
CPA_HIDDEN bool cpa_process_end(uint32_t thread, uint64_t now);

/*
 * The calling thread is about to call exec: with @cpu ticks of CPU time, or while profiling is off, so that the
 * program begins in the next part; exec failed.
 */
CPA_HIDDEN void cpa_process_exec(struct cpa_worker *w, uint64_t cpu);
CPA_HIDDEN void cpa_process_exec_off(void);
CPA_HIDDEN void cpa_process_not_exec(void);

#endif
