/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/budget.c - cpa ctl PID budget SHARE
 *
 * Signals that end us are taken one by one by sigtimedwait(), which is also what we sleep in. A
 * process that has ended is noticed LOOK_NS later at most.
 */
#include "analysis/ctl/budget.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/ctl/windows.h"
#include "analysis/input/process.h"
#include "shadow/store/epoch.h"
#include "shadow/store/timespec.h"

#define LOOK_NS UINT64_C(200000000)

/* Profiling is off until the first window. */
static int begin(struct cpa_control *control, char **error)
{
	if (!cpa_epoch_is_on(cpa_epoch(control->header)))
		return 0;
	return cpa_control_switch(control, false, error);
}

/* Make changes until one of the signals @ends comes (0), or there is no more to do (-1). */
static int follow(struct cpa_windows *windows, const struct cpa_process *process,
		  const sigset_t *ends)
{
	uint64_t started = cpa_timespec_now_ns(CLOCK_MONOTONIC), now = 0, next;
	struct timespec left;

	while (cpa_process_alive(process)) {
		next = cpa_windows_next(windows);
		if (next == UINT64_MAX)
			break;
		if (next <= now) {
			cpa_windows_act(windows, now);
			continue;
		}
		left = cpa_timespec_of(next - now < LOOK_NS ? next - now : LOOK_NS);
		if (sigtimedwait(ends, NULL, &left) >= 0)
			return 0;
		now = cpa_timespec_now_ns(CLOCK_MONOTONIC) - started;
	}
	return -1;
}

/* The session does. */
static bool goes_on(const struct cpa_control *control, const struct cpa_process *process)
{
	/* Relaxed: a hint only. */
	return cpa_process_alive(process) &&
	       __atomic_load_n(&control->header->state, __ATOMIC_RELAXED) == CPA_RUNNING;
}

int cpa_budget_keep(struct cpa_control *control, uint32_t pid, double share, char **error)
{
	struct cpa_windows windows = { .budget = share, .session = control->file };
	struct cpa_process process = cpa_process_open(pid, control->file);
	sigset_t ends;
	int ret;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	ret = cpa_windows_open(&windows, error);
	if (ret == 0)
		ret = begin(control, error);
	if (ret == 0 && follow(&windows, &process, &ends) < 0 && goes_on(control, &process) &&
	    asprintf(error, "%s: switched by somebody else: the budget ends", control->file) >= 0)
		ret = -1;
	if (windows.is_open)
		cpa_windows_close(&windows);
	cpa_process_close(&process);
	return ret;
}
