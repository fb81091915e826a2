/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/flip.c - switch profiling on and off at random moments
 *
 *	flip PREFIX SEED      all running sessions whose files begin with PREFIX, until killed
 *
 * The pauses are of 1 us to 8 ms, each power of two equally often. Prints how often it switched.
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "analysis/ctl/control.h"

#define MOST 64

static struct {
	char *file;
	struct cpa_control control;
} sessions[MOST];
static unsigned count;
static unsigned long switches;
static volatile sig_atomic_t ends;

static void end(int signal)
{
	(void)signal;
	ends = 1;
}

static bool is_known(const char *file)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(sessions[i].file, file))
			return true;
	return false;
}

static void look(const char *pattern)
{
	char *error = NULL;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && count < MOST; i++) {
		char *file = found.gl_pathv[i];

		if (is_known(file))
			continue;
		file = strdup(file);
		if (file && !cpa_control_open(&sessions[count].control, file, &error))
			sessions[count++].file = file;
		else
			free(file);
		free(error);
		error = NULL;
	}
	globfree(&found);
}

static void flip(struct cpa_control *control)
{
	/* Relaxed: if another process switches in between, the switch fails. */
	bool on = __atomic_load_n(&control->header->epoch, __ATOMIC_RELAXED) & 1;
	char *error = NULL;

	if (!cpa_control_switch(control, !on, &error))
		switches++;
	free(error);
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0 };
	char pattern[4096];

	if (argc != 3)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, end);
	srand48(atol(argv[2]));
	snprintf(pattern, sizeof(pattern), "%s*", argv[1]);
	for (unsigned n = 0; !ends; n++) {
		if (n % 16 == 0)
			look(pattern);
		for (unsigned i = 0; i < count; i++)
			flip(&sessions[i].control);
		pause.tv_nsec = count ? 1000l << (lrand48() % 14) : 200000;
		nanosleep(&pause, NULL);
	}
	printf("%lu\n", switches);
	return 0;
}
