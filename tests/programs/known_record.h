/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_record.h - what known_path.c records with, for known_sync.c
 */
#ifndef CPA_TESTS_KNOWN_RECORD_H
#define CPA_TESTS_KNOWN_RECORD_H

#include "tests/programs/known_expect.h"

struct kp_thread {
	struct kp_row *row;
	void *arg;
	pthread_t handle;
	int component;	/* of its start routine */
	int64_t cpu_ns; /* at the last event */
	int schedstat;	/* open file, or -1 */
	uint32_t active;
	unsigned held[KP_COMPONENTS];
	int processed; /* component of the queue of the item in process, or 0 */
};

extern _Thread_local struct kp_thread *kp_self;
extern double kp_spins_per_ns;

/* Give up if @error, of @what, is not 0. */
void kp_check(int error, const char *what);

/* The component of that name, a new one if need be. @match: "exact", or the name "contains" it. */
int kp_component_of(const char *kind, const char *name, const char *match);

/* One more event of this thread: what it depends on may follow. */
struct kp_event *kp_add_event(int64_t weight_ns, uint32_t active);
void kp_add_edge(struct kp_row *row, kp_id from);

/* End the current activity here. */
kp_id kp_log_event(void);

#endif
