/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/history.h - the copies of a session that cpa run --every keeps, by time
 *
 * Those of DUMP are in the folder DUMP.d: 20261125T140500Z.dump and so on, in UTC.
 */
#ifndef CPA_ANALYSIS_INPUT_HISTORY_H
#define CPA_ANALYSIS_INPUT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define CPA_HISTORY_SUFFIX ".d"
#define CPA_HISTORY_FORMAT "%Y%m%dT%H%M%SZ.dump"

/*
 * The time that the copy @name, without its folder, was made. Return false if that is no such name.
 */
bool cpa_history_time(const char *name, time_t *when);

#define CPA_HISTORY_TIMES "a time as 14:05, '2026-11-25 14:05', or 10m for so long ago"

/*
 * The moment that @text means: "14:05", "14:05:30" (the latest such before @now), "2026-11-25
 * 14:05", each in local time, or "10m" (so long before @now; s, m, h, d). Return false if @text is
 * none.
 */
bool cpa_history_parse(const char *text, time_t now, time_t *when);

/*
 * The copies of the session in @file around @when: *@before the newest that is not later, *@after
 * the oldest that is; NULL if there is none. The caller frees them.
 */
void cpa_history_find(const char *file, time_t when, char **before, char **after);

#endif
