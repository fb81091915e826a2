/* SPDX-License-Identifier: MIT */
#include "preload/core/perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/clock/clock.h"
#include "shadow/store/kernel.h"

#define SECOND	   1000000000u
#define BRIEF	   31000u   /* ns: lower bound of B, see preload/core/untimed.h */
#define SHARE	   20u	    /* interrupts for samples may take 1 / SHARE of a processor */
#define CLOSE	   50000u   /* Hz: rate at which the cost of an interrupt is measured, */
#define INTERRUPTS 5u	    /* number of samples for that, */
#define PATIENCE   1000000u /* ns: and how long to wait for them, */
#define MOMENT	   50000u /* ns: which is what counts of a gap that is longer, as others run in it */

int cpa_perf_open(pid_t tid, unsigned rate, bool *blind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SECOND / rate,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.sample_max_stack = 1,
		.exclude_callchain_kernel = 1,
		.exclude_kernel = 0,
		.exclude_hv = 1,
	};
	long fd = cpa_kernel(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	/*
	 * A sample in the kernel counts for the program's call into it. Without the right to sample
	 * the kernel those are missing, and the rest of the activity gets too large a share.
	 */
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = *blind = true;
		fd = cpa_kernel(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return (int)fd;
}

void *cpa_perf_map_ring(int fd)
{
	void *ring = MAP_FAILED;

	if (fd >= 0)
		ring = (void *)syscall(SYS_mmap, NULL, CPA_PERF_PAGE + CPA_PERF_RING,
				       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return ring != MAP_FAILED ? ring : NULL;
}

static uint64_t ring_head(const volatile struct perf_event_mmap_page *ring)
{
	/* Relaxed: only a change matters. */
	return __atomic_load_n(&ring->data_head, __ATOMIC_RELAXED);
}

/* The shortest gap that a sample makes in the time of the calling thread, which has the event of @ring; ticks. */
static uint64_t shortest_interrupt(const volatile struct perf_event_mmap_page *ring)
{
	uint64_t last = cpa_clock_now(), before = last, least = 0, spent = 0;
	uint64_t head = ring_head(ring), moment = cpa_clock_ticks(MOMENT);

	for (unsigned n = 0; n < INTERRUPTS && spent < cpa_clock_ticks(PATIENCE);) {
		uint64_t seen = ring_head(ring), now = cpa_clock_now();

		/* The interrupt lay between the last two readings of the clock, or the two before. */
		if (seen != head) {
			least = least && least < now - before ? least : now - before;
			head = seen;
			n++;
			now = last = cpa_clock_now();
		}
		spent += now - last < moment ? now - last : moment;
		before = last;
		last = now;
	}
	return least;
}

void cpa_perf_measure_interrupt(void)
{
	struct cpa_machine *m = &cpa_header()->machine;
	volatile struct perf_event_mmap_page *ring;
	uint32_t ns = 0, brief;
	bool blind;
	int fd;

	/* Relaxed, as all accesses here: two threads may measure at once; either result will do. */
	if (__atomic_load_n(&m->interrupt_ns, __ATOMIC_RELAXED))
		return;
	fd = cpa_perf_open(0, CLOSE, &blind);
	ring = cpa_perf_map_ring(fd);
	if (ring) {
		ns = cpa_clock_ns(shortest_interrupt(ring));
		syscall(SYS_munmap, ring, CPA_PERF_PAGE + CPA_PERF_RING);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	brief = 2 * ns > BRIEF ? 2 * ns : BRIEF;
	__atomic_store_n(&m->brief_ns, brief, __ATOMIC_RELAXED);
	__atomic_store_n(&m->interrupt_ns, ns, __ATOMIC_RELAXED);
}

unsigned cpa_perf_affordable(unsigned rate)
{
	struct cpa_machine *m = &cpa_header()->machine;
	/* Relaxed, both: measured once. */
	uint32_t interrupt = __atomic_load_n(&m->interrupt_ns, __ATOMIC_RELAXED);
	unsigned most;

	if (!interrupt || rate <= SECOND / SHARE / interrupt)
		return rate;
	most = SECOND / SHARE / interrupt;
	most = most ? most : 1;
	__atomic_store_n(&m->most_hz, most, __ATOMIC_RELAXED);
	return most;
}

void cpa_perf_init(void)
{
	if (!cpa_header()->machine.brief_ns)
		cpa_header()->machine.brief_ns = BRIEF;
}
