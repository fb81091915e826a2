/* SPDX-License-Identifier: MIT */
/* analysis/ctl/budget.h - keep a budget of CPU time while a program runs */
#ifndef CPA_ANALYSIS_CTL_BUDGET_H
#define CPA_ANALYSIS_CTL_BUDGET_H

#include "analysis/ctl/control.h"

/*
 * Profile process @pid, which writes the session of @control, in windows (analysis/ctl/windows.h)
 * that cost @share of its CPU time at most, until it ends or a signal ends us; profiling is then
 * off. Return 0; or -1 with *@error the message, which the caller frees.
 */
int cpa_budget_keep(struct cpa_control *control, uint32_t pid, double share, char **error);

#endif
