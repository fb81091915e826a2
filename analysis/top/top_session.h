/* SPDX-License-Identifier: MIT */
/* analysis/top/top_session.h - find the session that cpa top watches, and read it as a moment */
#ifndef CPA_ANALYSIS_TOP_TOP_SESSION_H
#define CPA_ANALYSIS_TOP_TOP_SESSION_H

#include "analysis/input/load.h"
#include "analysis/symbols/names.h"
#include "analysis/top/top.h"
#include "analysis/input/process.h"

struct cpa_top_session {
	struct cpa_dump dump;
	struct cpa_names names; /* names are kept from one reading to the next */
	struct cpa_process process;
	bool elsewhere; /* it was written on another machine */
};

/*
 * Find and open the session of @argument: a pid, a file, or NULL for the newest dump in the current
 * folder. Return 0, and the caller closes it; or -1 with *@error the message, which the caller
 * frees.
 */
int cpa_top_open(struct cpa_top_session *session, const char *argument, char **error);
void cpa_top_close(struct cpa_top_session *session);

/*
 * Read the session as the present moment of @top. Return 0; or -1 with the reason as message of
 * @top.
 */
int cpa_top_read(struct cpa_top_session *session, struct cpa_top *top);

/* CLOCK_MONOTONIC in seconds, the clock of moments. */
double cpa_top_clock(void);

#endif
