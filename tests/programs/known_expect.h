/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_expect.h - from a recorded graph to what the report must say
 */
#ifndef CPA_TESTS_PROGRAMS_KNOWN_EXPECT_H
#define CPA_TESTS_PROGRAMS_KNOWN_EXPECT_H

#include <time.h>

#include "tests/programs/known_path.h"

struct kp_named {
	const char *kind, *name, *match;
};

struct kp_claim {
	enum kp_claimed what;
	const char *component;
	long us;
};

/* What known_path.c recorded; times in ns. */
struct kp_facts {
	struct kp_graph *graph;
	const struct kp_named *components;
	int count;
	const struct kp_claim *claims;
	unsigned claim_count;
	int64_t beyond_ns; /* by which work and pauses were longer than asked for */
	int64_t begin_ns, before_main_ns;
	kp_id last;	/* main's last event, */
	int64_t cpu_ns; /* main's CPU clock then */
	int component;	/* of main's thread */
};

void kp_die(const char *what, int error) __attribute__((noreturn));
int64_t kp_clock_ns(clockid_t clock);

/* Print what the report must contain, as JSON. Return 1 if a claim does not hold. */
int kp_expect(const struct kp_facts *facts);

#endif
