/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/torture.h - many threads on one structure, bounded by work, checked by invariants
 *
 * Each claim runs in a session of its own. CPA_SEED repeats the random choices, but not the
 * interleaving; CPA_LONG=1 does twenty times the work. Signals stop the threads at random places
 * for a while; otherwise two processors would hardly ever meet a window of a few instructions.
 */
#ifndef CPA_TESTS_TORTURE_H
#define CPA_TESTS_TORTURE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/random.h"
#include "tests/unit/shadow_session.h"

#ifndef WORKERS
#define WORKERS 8
#endif

#ifdef __SANITIZE_THREAD__
/* liburcu's stack orders its links in assembly, which the race detector does not see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:_cds_lfs_p\n";
}
#endif

struct worker {
	unsigned index;
	pthread_t thread;
	struct rnd r;
	struct cpa_self self; /* has a thread row */
	uint64_t count;
};

static struct worker worker[WORKERS];
static struct cpa_self main_self; /* has no thread row */
static struct rnd main_rnd;
static unsigned torture_failed, torture_claims;
static bool torture_bad;       /* atomic */
static unsigned torture_ended; /* atomic: number of threads that have ended */
static pthread_barrier_t torture_start;

/* One message per claim; the run continues. */
#define EXPECT(condition)                                                                       \
	do {                                                                                    \
		if (!(condition) && !__atomic_exchange_n(&torture_bad, true, __ATOMIC_RELAXED)) \
			printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #condition);      \
	} while (0)

/* Scale the amount of work @n, which is that of make check. */
static inline unsigned torture_work(unsigned n)
{
	const char *more = getenv("CPA_LONG");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	n /= 5;
#endif
	return more && *more && *more != '0' ? n * 20 : n;
}

static void *torture_body(void *argument)
{
	struct worker *w = ((void **)argument)[0];
	void (*body)(struct worker *) = (void (*)(struct worker *))((void **)argument)[1];
	struct cpa_wait start = { .now = 1 };

	EXPECT(!cpa_thread_begin(&w->self, 0, w->index, NULL, &start));
	pthread_barrier_wait(&torture_start);
	body(w);
	cpa_thread_end(&w->self, 2);
	__atomic_fetch_add(&torture_ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void torture_pause(int signal)
{
	struct timespec a_while = { 0, 20000 };
	int err = errno;

	(void)signal;
	nanosleep(&a_while, NULL);
	errno = err;
}

/* Run @body in @n threads. */
static inline void torture_threads(unsigned n, void (*body)(struct worker *))
{
	struct sigaction action = { .sa_handler = torture_pause, .sa_flags = SA_RESTART };
	struct timespec a_while = { 0, 30000 };
	void *argument[WORKERS][2];

	sigaction(SIGUSR1, &action, NULL);
	torture_ended = 0;
	pthread_barrier_init(&torture_start, NULL, n);
	for (unsigned i = 0; i < n; i++) {
		argument[i][0] = &worker[i];
		argument[i][1] = (void *)body;
		if (pthread_create(&worker[i].thread, NULL, torture_body, argument[i]))
			abort();
	}
	while (__atomic_load_n(&torture_ended, __ATOMIC_RELAXED) < n) {
		pthread_kill(worker[rnd_next(&main_rnd) % n].thread, SIGUSR1);
		nanosleep(&a_while, NULL);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(worker[i].thread, NULL);
	pthread_barrier_destroy(&torture_start);
}

static inline struct cpa_object *torture_object(void)
{
	return cpa_row(CPA_TABLE_OBJECTS, cpa_table_append(CPA_TABLE_OBJECTS));
}

/* After all threads have ended: every token and every byte was given back. */
static inline void torture_given_back(void)
{
	uint32_t tokens = cpa_table(CPA_TABLE_TOKENS)->used;

	for (uint32_t i = 0; i < tokens; i++)
		cpa_token_new(&main_self, NULL);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used == tokens);
	test_rows_clear(&main_self);
	EXPECT(cpa_heap_live() == 0);
	EXPECT(cpa_header()->diag[CPA_DIAG_VERSIONS_REFUSED] == 0);
	EXPECT(cpa_header()->diag[CPA_DIAG_TOKENS_REFUSED] == 0);
}

/* One claim: @run starts threads and checks. */
static inline void torture(const char *claim, uint64_t seed, void (*run)(void))
{
	torture_bad = false;
	memset(worker, 0, sizeof(worker));
	memset(&main_self, 0, sizeof(main_self));
	for (unsigned i = 0; i < WORKERS; i++) {
		worker[i].index = i;
		worker[i].r = rnd_sequence(seed, torture_claims * WORKERS + i);
	}
	if (test_session(UINT64_C(512) << 20, 256))
		abort();
	run();
	cpa_session_destroy();
	torture_claims++;
	torture_failed += torture_bad;
	printf("%sok %u - %s (seed %llu)\n", torture_bad ? "not " : "", torture_claims, claim,
	       (unsigned long long)seed);
	fflush(stdout);
}

static inline int torture_end(void)
{
	printf("1..%u\n", torture_claims);
	return torture_failed ? 1 : 0;
}

#endif
