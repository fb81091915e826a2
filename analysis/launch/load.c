/* SPDX-License-Identifier: MIT */
#include "analysis/launch/load.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The fields of a processor's line in /proc/stat; those behind count in `user` as well. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

static uint64_t nanoseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

static void add_line(struct cpa_load *load, const char *line, const cpu_set_t *ours, uint64_t tick)
{
	unsigned long long field[FIELDS], all = 0, idle;
	unsigned number;

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &number, &field[USER],
		   &field[NICE], &field[SYSTEM], &field[IDLE], &field[IOWAIT], &field[IRQ],
		   &field[SOFTIRQ], &field[STEAL]) != 1 + FIELDS ||
	    !CPU_ISSET(number, ours))
		return;
	for (unsigned i = 0; i < FIELDS; i++)
		all += field[i];
	idle = field[IDLE] + field[IOWAIT];
	load->all_ns += all * tick;
	load->busy_ns += (all - idle - field[STEAL]) * tick;
	load->stolen_ns += field[STEAL] * tick;
}

struct cpa_load cpa_load_now(void)
{
	struct cpa_load load = { 0 };
	long hz = sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");
	char line[512];
	cpu_set_t ours;

	if (!file)
		return load;
	if (hz > 0 && sched_getaffinity(0, sizeof(ours), &ours) == 0)
		while (fgets(line, sizeof(line), file))
			add_line(&load, line, &ours, 1000000000 / (uint64_t)hz);
	fclose(file);
	return load;
}

struct cpa_load cpa_load_since(const struct cpa_load *begun)
{
	struct cpa_load load = cpa_load_now();
	struct rusage usage;

	/* The counters of a processor that was taken away meanwhile may go back. */
	if (!begun->all_ns || load.all_ns < begun->all_ns || load.busy_ns < begun->busy_ns ||
	    load.stolen_ns < begun->stolen_ns || getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return (struct cpa_load){ 0 };
	load.all_ns -= begun->all_ns;
	load.busy_ns -= begun->busy_ns;
	load.stolen_ns -= begun->stolen_ns;
	load.own_ns = nanoseconds(&usage.ru_utime) + nanoseconds(&usage.ru_stime);
	return load;
}
