/* SPDX-License-Identifier: MIT */
/* analysis/input/mapping.c - a mapped file that may be truncated while it is read */
#include "analysis/input/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

/* The latest mapping. */
static struct {
	const unsigned char *base;
	uint64_t size;
	int access;
	volatile sig_atomic_t cut;
} mapped;

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	uint64_t from = (uint64_t)((const unsigned char *)info->si_addr - mapped.base);
	int err = errno;

	(void)signal;
	(void)context;
	from -= from % PAGE;
	if (from >= mapped.size ||
	    mmap((void *)(uintptr_t)(mapped.base + from), mapped.size - from, mapped.access,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	mapped.cut = 1;
	errno = err;
}

void *cpa_mapping_open(int fd, uint64_t size, bool writable)
{
	const struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	int access = PROT_READ | (writable ? PROT_WRITE : 0);
	void *base = mmap(NULL, size, access, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return NULL;
	mapped.base = base;
	mapped.size = size;
	mapped.access = access;
	mapped.cut = 0;
	sigaction(SIGBUS, &action, NULL);
	return base;
}

bool cpa_mapping_whole(const void *base)
{
	return base != mapped.base || !mapped.cut;
}
