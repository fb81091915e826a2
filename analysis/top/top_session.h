/* SPDX-License-Identifier: MIT */
/* analysis/top/top_session.h - the session that cpa top watches: found, and read as a moment */
#ifndef CPA_ANALYSIS_TOP_TOP_SESSION_H
#define CPA_ANALYSIS_TOP_TOP_SESSION_H

#include "analysis/input/load.h"
#include "analysis/symbols/names.h"
#include "analysis/top/top.h"
#include "analysis/input/process.h"

struct cpa_top_session {
	struct cpa_dump dump;
	struct cpa_names names; /* what was looked up serves all readings */
	struct cpa_process process;
	bool elsewhere; /* it was not written on this machine */
};

/*
 * Find and open what @argument means: a process, a file, or NULL for the newest dump here. Return
 * 0; or -1 with *@error the message, which the caller frees. Close in the first case only.
 */
int cpa_top_open(struct cpa_top_session *session, const char *argument, char **error);
void cpa_top_close(struct cpa_top_session *session);

/*
 * Let what the session holds now be the moment of @top. Return 0; or -1, and its message why not.
 */
int cpa_top_read(struct cpa_top_session *session, struct cpa_top *top);

/* Seconds of CLOCK_MONOTONIC, by which moments are dated. */
double cpa_top_clock(void);

/*
 * The file that @argument, NULL for none, means, and in *@pid which process was named; for the
 * caller to free. NULL with the message, the caller's to free, in *@error.
 */
char *cpa_top_find(const char *argument, uint32_t *pid, char **error);

#endif
