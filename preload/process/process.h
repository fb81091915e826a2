/* SPDX-License-Identifier: MIT */
/*
 * preload/process/process.h - the process as one of those of the session
 *
 * The first process makes the session; children of fork have it mapped and join it before fork()
 * returns. What a process becomes by exec, and children of vfork() and posix_spawn(), find it by a
 * variable of the environment, CPA_SESSION=SECRET:INODE:PATH, that the first process adds to its
 * own. No descriptor is inherited: programs close those that they do not know. Whoever can write
 * somebody's environment can have any library loaded; but to be written the file must be the
 * caller's own, of mode 0600, with one name, no link, of that inode, and hold the secret.
 */
#ifndef CPA_PRELOAD_PROCESS_PROCESS_H
#define CPA_PRELOAD_PROCESS_PROCESS_H

#include "preload/core/identity.h"
#include "preload/core/worker.h"

/* The session in @path is new, and the process is its first. */
CPA_HIDDEN void cpa_process_first(const char *path);

/* Let later images and children find the session in @path. Before there are threads. */
CPA_HIDDEN void cpa_process_announce(const char *path);

/*
 * Whether the environment names a session, which is mapped if it can be: *@joined. A process that
 * was to join and cannot makes no session of its own.
 */
CPA_HIDDEN bool cpa_process_join(bool *joined);

/* A process begins, or a program in it: first of all. */
CPA_HIDDEN void cpa_process_born(void);

/* The first thread of a process that joined by its environment begins, inside our code. */
CPA_HIDDEN void cpa_process_begin(void);

/*
 * The caller is the parent of process row @number, and knows it as @pid; or that process, @pid to
 * itself.
 */
CPA_HIDDEN void cpa_process_seen(uint32_t number, uint32_t pid);
CPA_HIDDEN void cpa_process_told(uint32_t number, uint32_t pid);

/* About to fork: the child of the calling thread will have a row, cpa_tls.child, or none. */
CPA_HIDDEN void cpa_process_forking(void);

/* In the child. False: it has no part in the session. */
CPA_HIDDEN bool cpa_process_forked(void);

/* The process ends by thread row @thread at clock @now. False: it has ended before. */
CPA_HIDDEN bool cpa_process_end(uint32_t thread, uint64_t now);

/* The calling thread is about to become another program; it does not. */
CPA_HIDDEN void cpa_process_exec(struct cpa_worker *w, uint64_t cpu);
CPA_HIDDEN void cpa_process_not_exec(void);

#endif
