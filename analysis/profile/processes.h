/* SPDX-License-Identifier: MIT */
/* analysis/profile/processes.h - figures of processes */
#ifndef CPA_ANALYSIS_PROFILE_PROCESSES_H
#define CPA_ANALYSIS_PROFILE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/* How a process ended. */
enum cpa_ending {
	CPA_ENDING_NONE, /* it ran to the end of what was read */
	CPA_ENDING_SEEN,
	CPA_ENDING_KILLED, /* by a signal, without a word */
	CPA_ENDING_UNSEEN, /* otherwise without a word */
	CPA_ENDING_EXECED, /* it became a program that did not join, or is about to */
	CPA_ENDINGS
};

struct cpa_process_figures {
	uint64_t id, parent; /* numbers in the session; parent 0: not known */
	uint32_t pid;	     /* 0: these are sums of several processes */
	uint64_t count;	     /* processes in these figures; above 1: all of one command */
	uint32_t threads;    /* profiled threads */
	uint32_t images;     /* programs that it ran, one after the other (exec) */
	char *name;	     /* the command */
	char *argument;	     /* the word behind the command, "clone" of "git clone"; or NULL */
	enum cpa_ending ending;
	bool waited; /* its parent waited for its end, and learnt its status */
	int status;  /* wait status */
	double start_s, end_s;
	double cpu_s, process_s, wait_s, external_s, runqueue_s, probe_s;
	double cpu_margin_s, wait_margin_s; /* see margins.h; NAN: not known */
	double kernel_cpu_s;		    /* CPU time by the kernel; 0: not known */
	bool has_rows; /* no other process used the thread rows that these sums are of */
};

/* "git", or "git clone" if other processes are called git. The caller frees it. */
char *cpa_process_title(const struct cpa_process_figures *process);

/* "running" ... */
const char *cpa_ending_word(enum cpa_ending ending);

#endif
