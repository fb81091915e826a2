/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/process.h - what the kernel reports about a profiled process
 *
 * Reads files in /proc only: it never stops, signals or attaches to the process.
 */
#ifndef CPA_ANALYSIS_INPUT_PROCESS_H
#define CPA_ANALYSIS_INPUT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The session file that process @pid maps, which the caller frees; or NULL with *@error the
 * message, which the caller frees.
 */
char *cpa_process_session(uint32_t pid, char **error);

/* The kernel's data on a thread. */
struct cpa_process_task {
	uint32_t tid;
	char state; /* R, S, D, T ...: see proc(5) */
	double cpu_s;
};

/* A process; its descriptor never refers to a later process with the same pid. -1: none. */
struct cpa_process {
	int folder; /* descriptor of its folder in /proc */
};

/* Open process @pid if it exists and maps @file. Close it in any case. */
struct cpa_process cpa_process_open(uint32_t pid, const char *file);
void cpa_process_close(const struct cpa_process *process);

/* Whether a thread of the process still runs. */
bool cpa_process_alive(const struct cpa_process *process);

/* Whether process @pid has not ended and maps @file. */
bool cpa_process_writes(uint32_t pid, const char *file);

/*
 * State and CPU time of each task, sorted by tid, which the caller frees; their number in *@count.
 */
struct cpa_process_task *cpa_process_tasks(const struct cpa_process *process, size_t *count);

#endif
