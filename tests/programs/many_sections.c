/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/many_sections.c - ten thousand lock classes, or regions; see many.h
 *
 * An argument "regions": these, r0000 to r9999. Else locks, a class each, as they are variables.
 */
#include <string.h>

#include "preload/cpa.h"
#include "tests/programs/many.h"

pthread_mutex_t many_lock[MANY];
static char name[MANY][8];
static int regions;

static void many_use(unsigned component, long us)
{
	if (regions) {
		CPA_REGION_BEGIN(name[component]);
		many_burn(component, us);
		CPA_REGION_END();
		return;
	}
	pthread_mutex_lock(&many_lock[component]);
	many_burn(component, us);
	pthread_mutex_unlock(&many_lock[component]);
}

int main(int argc, char **argv)
{
	regions = argc > 1 && !strcmp(argv[1], "regions");
	for (unsigned i = 0; i < MANY; i++)
		snprintf(name[i], sizeof(name[i]), "r%04u", i);
	many_run();
	return 0;
}
