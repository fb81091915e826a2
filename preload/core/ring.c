/* SPDX-License-Identifier: MIT */
#include "preload/core/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include "preload/libc/private_fds.h"
#include "shadow/store/kernel.h"

/*
 * Atomic: threads that are opening a perf event. When the system has had none for a second, the
 * first takes 6 to 20 ms to open, and others opened meanwhile take as long. A thread that gets
 * timer signals keeps to those until then.
 */
static uint32_t opening;

struct event {
	pid_t tid;
	unsigned rate; /* wanted; then the rate that was set */
	struct cpa_ring *ring;
};

void cpa_ring_init(struct cpa_ring *r)
{
	r->map = NULL;
	r->head = &r->tail;
}

/* By system calls: a signal handler may run this, and mmap() may be a function of the program. */
static void map_event(void *argument)
{
	struct event *event = argument;
	struct cpa_ring *r = event->ring;
	struct perf_event_mmap_page *map;

	/* Relaxed, both: a hint. Counted here because no cancellation can come between the two. */
	__atomic_fetch_add(&opening, 1, __ATOMIC_RELAXED);
	cpa_perf_measure_interrupt();
	event->rate = cpa_perf_affordable(event->rate);
	map = cpa_perf_map_ring(cpa_perf_open(event->tid, event->rate, &r->blind));
	if (map) {
		r->map = map;
		r->head = (const uint64_t *)&map->data_head;
		r->tail = 0;
	}
	__atomic_fetch_sub(&opening, 1, __ATOMIC_RELAXED);
}

bool cpa_ring_open(struct cpa_ring *r, unsigned *rate)
{
	struct event event = { (pid_t)cpa_kernel(SYS_gettid), *rate, r };

	if (!cpa_private_fds_call(map_event, &event) || !r->map)
		return false;
	*rate = event.rate;
	return true;
}

void cpa_ring_close(struct cpa_ring *r)
{
	volatile void *map = r->map;

	cpa_ring_init(r);
	/* A cancellation or a jump may leave the call: nobody may read the ring from here on. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (map)
		cpa_kernel(SYS_munmap, map, CPA_PERF_PAGE + CPA_PERF_RING);
}

bool cpa_ring_is_opening(void)
{
	/* Relaxed: a hint. */
	return __atomic_load_n(&opening, __ATOMIC_RELAXED);
}

void cpa_ring_forked(void)
{
	opening = 0;
}

void cpa_ring_leave(struct cpa_ring *r)
{
	/* Map private memory there, unless something else has been mapped at the place. */
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	long there;

	if (!r->map)
		return;
	there = cpa_kernel(SYS_mmap, r->map, CPA_PERF_PAGE + CPA_PERF_RING, PROT_READ | PROT_WRITE,
			   how, -1, 0);
	if (there == (long)r->map)
		return;
	cpa_ring_init(r);
	if (there != -1) /* Linux before 4.17 takes the address for a hint */
		cpa_kernel(SYS_munmap, there, CPA_PERF_PAGE + CPA_PERF_RING);
}

uint64_t cpa_ring_written(const struct cpa_ring *r)
{
	/* ACQUIRE: pairs with the kernel's store of data_head after the records. */
	return __atomic_load_n(&r->map->data_head, __ATOMIC_ACQUIRE);
}

/* Copy @size bytes at @at of the ring, which may wrap. */
static void copy_out(const struct cpa_ring *r, uint64_t at, void *to, size_t size)
{
	const char *data = (const char *)r->map + CPA_PERF_PAGE;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) % CPA_PERF_RING];
}

bool cpa_ring_next(struct cpa_ring *r, uint64_t head, struct cpa_ring_record *record)
{
	struct perf_event_header header;
	struct cpa_ring_chain chain;
	uint64_t lost[2];

	while (r->tail < head) {
		uint64_t at = r->tail + sizeof(header);

		copy_out(r, r->tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - r->tail)
			return false; /* not a record that the kernel wrote: drop the rest */
		r->tail += header.size;
		if (header.type == PERF_RECORD_SAMPLE) {
			copy_out(r, at, &chain, sizeof(chain));
			*record = (struct cpa_ring_record){ .ns = chain.ns };
			if (chain.length == 2 && chain.context == PERF_CONTEXT_USER)
				record->pc = chain.pc;
			return true;
		}
		if (header.type == PERF_RECORD_LOST) {
			copy_out(r, at, lost, sizeof(lost));
			*record = (struct cpa_ring_record){ .lost = lost[1] };
			return true;
		}
	}
	return false;
}

void cpa_ring_free(struct cpa_ring *r, uint64_t head)
{
	r->tail = head;
	/* RELEASE: the records are read before the kernel may overwrite them. */
	__atomic_store_n(&r->map->data_tail, head, __ATOMIC_RELEASE);
}
