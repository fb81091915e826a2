/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/process.h - what the kernel tells of a process that is being profiled
 *
 * Files of /proc only: nothing here stops the process, signals it or attaches to it.
 */
#ifndef CPA_ANALYSIS_INPUT_PROCESS_H
#define CPA_ANALYSIS_INPUT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The session file that process @pid maps, for the caller to free; or NULL with *@error the
 * message, which the caller frees.
 */
char *cpa_process_session(uint32_t pid, char **error);

/* What the kernel says of a thread. */
struct cpa_process_task {
	uint32_t tid;
	char state; /* R, S, D, T ...: see proc(5) */
	double cpu_s;
};

/* A process, and no other one that gets its number later; -1: there is none. */
struct cpa_process {
	int folder; /* in /proc */
};

/* Process @pid if it exists and maps @file. Close it in any case. */
struct cpa_process cpa_process_open(uint32_t pid, const char *file);
void cpa_process_close(const struct cpa_process *process);

/* Whether it has a thread that still runs. */
bool cpa_process_alive(const struct cpa_process *process);

/* Whether process @pid has not ended, and maps @file. */
bool cpa_process_writes(uint32_t pid, const char *file);

/*
 * State and CPU time of each of its tasks, by tid, for the caller to free; their number in *@count.
 */
struct cpa_process_task *cpa_process_tasks(const struct cpa_process *process, size_t *count);

#endif
