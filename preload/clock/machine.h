/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/machine.h - all that preload/clock/clock.c asks of the processor and the kernel
 *
 * A test that gives these functions itself has a machine of its own: tests/unit/test_clock.c. None
 * of them locks or allocates; but for the counter each may change errno.
 */
#ifndef CPA_PRELOAD_CLOCK_MACHINE_H
#define CPA_PRELOAD_CLOCK_MACHINE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shadow/store/kernel.h"
#include "shadow/arch/arch.h"
#include "shadow/store/timespec.h"

/* The time stamp counter. */
static inline uint64_t cpa_machine_counter(void)
{
	return cpa_arch_counter();
}

/* Read a small file of /proc or /sys as text, ended by 0 and cut to @size. False: it cannot be read. */
static inline bool cpa_machine_text(const char *path, char *text, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = syscall(SYS_read, fd, text, size - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * Whether the kernel has not found that the counter is unstable: then its own time is of a device
 * that is slower to read. Some 10 us.
 */
static inline bool cpa_machine_trusts_counter(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	static const char *const devices[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies" };
	char name[32];

	if (!cpa_machine_text(path, name, sizeof(name))) /* no /sys: nothing is known against it */
		return true;
	name[strcspn(name, "\n")] = '\0';
	for (unsigned i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (!strcmp(name, devices[i]))
			return false;
	return true;
}

/*
 * Nanoseconds of @clock; 0 if the kernel does not tell, or may not be asked any more: this and what
 * follows may be called between cpa_kernel_begin() and cpa_kernel_end(), and a signal handler may
 * have closed since.
 */
static inline uint64_t cpa_machine_ns(clockid_t clock)
{
	return unlikely(cpa_kernel_is_closed()) ? 0 : cpa_timespec_now_ns(clock);
}

/*
 * Counts of the calling thread since its birth. Blocks written and major page faults would tell nothing:
 * the first touch of a page of a file counts as both, without any device, and the session is a file.
 */
struct cpa_machine_counts {
	long given, taken; /* times it gave its processor up, and had it taken; -1: unknown */
	long device;	   /* blocks read from a device */
};

static inline struct cpa_machine_counts cpa_machine_counts(void)
{
	struct rusage usage = { .ru_nvcsw = -1, .ru_nivcsw = -1 };

	cpa_kernel(SYS_getrusage, (long)RUSAGE_THREAD, &usage);
	return (struct cpa_machine_counts){ .given = usage.ru_nvcsw,
					    .taken = usage.ru_nivcsw,
					    .device = usage.ru_inblock };
}

/* Read the open file @fd from its start. Return the bytes read, or -1 and errno. */
static inline ssize_t cpa_machine_read(int fd, char *text, size_t size)
{
	return cpa_kernel(SYS_pread64, (long)fd, text, size, 0L);
}

/* The calling thread's word that the kernel clears when it resumes the thread; NULL: none. */
static inline volatile uint64_t *cpa_machine_detector(void)
{
	if (!__rseq_size)
		return NULL;
	return (volatile uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset +
				     offsetof(struct rseq, rseq_cs));
}

/*
 * Sleep for @ns, less than a second, plus the timer slack of the thread and what the wake takes. A
 * thread without slack may be through with a short sleep before it was switched out.
 */
static inline void cpa_machine_sleep(uint64_t ns)
{
	struct timespec t = { 0, (long)ns };

	syscall(SYS_nanosleep, &t, NULL);
}

/* Timer slack of the main thread, ns: the kernel may end a sleep that much late. 0: not known. */
static inline uint64_t cpa_machine_slack(void)
{
	char text[32];

	/* Not prctl(), which a filter of system calls may forbid: the files of /proc are needed anyway. */
	if (!cpa_machine_text("/proc/self/timerslack_ns", text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10);
}

#endif
