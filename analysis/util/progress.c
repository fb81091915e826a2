/* SPDX-License-Identifier: MIT */
/* analysis/util/progress.c - one line on the terminal for work that takes more than a second */
#include "analysis/util/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "shadow/store/timespec.h"

#define AFTER_NS CPA_SECOND_NS
#define EVERY_NS UINT64_C(100000000)

static struct {
	const char *program; /* NULL: progress is not shown */
	uint64_t next_ns;    /* clock of the next update; 0: no work in progress */
	bool shown;
} progress;

void cpa_progress_allow(const char *program)
{
	progress.program = isatty(STDERR_FILENO) ? program : NULL;
}

void cpa_progress_show(const char *format, ...)
{
	uint64_t now = progress.program ? cpa_timespec_now_ns(CLOCK_MONOTONIC) : 0;
	va_list args;

	if (!progress.program)
		return;
	if (progress.next_ns == 0)
		progress.next_ns = now + AFTER_NS;
	if (now < progress.next_ns)
		return;
	progress.next_ns = now + EVERY_NS;
	progress.shown = true;
	fprintf(stderr, "\r\033[K%s: ", progress.program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
}

void cpa_progress_end(void)
{
	progress.next_ns = 0;
	if (!progress.shown)
		return;
	progress.shown = false;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
