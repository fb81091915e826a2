/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/verdict_run.h - a run whose figures a test sets, and what the verdict should be
 *
 * For one file of tests each: what is here is static. setup() and teardown() are those of cmocka.
 */
#ifndef CPA_TESTS_UNIT_VERDICT_RUN_H
#define CPA_TESTS_UNIT_VERDICT_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/verdict.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define MOST 8

static struct cpa_component_figures components[MOST];
static struct cpa_object_figures objects[2];
static struct cpa_queue_figures queues[1];
static struct cpa_thread_figures threads[MOST];
static struct cpa_stream_figures streams[2];
static struct cpa_profile profile;
static struct cpa_verdict verdict;

/* A run of 10 s on 4 processors with a path of 8 s and 16 s of work, of which nothing is known. */
static inline int setup(void **state)
{
	(void)state;
	memset(components, 0, sizeof(components));
	memset(objects, 0, sizeof(objects));
	memset(queues, 0, sizeof(queues));
	memset(threads, 0, sizeof(threads));
	memset(streams, 0, sizeof(streams));
	verdict = (struct cpa_verdict){ 0 };
	profile = (struct cpa_profile){
		.program = { .complete = true,
			     .cores = 4,
			     .wall_s = 10,
			     .cpu_s = 16,
			     .work_s = 16,
			     .critical_path_s = 8,
			     .observed_path_s = 10,
			     .segment_s = { [CPA_TIME_PROCESS] = 10 } },
		.component = components,
		.object = objects,
		.queue = queues,
		.thread = threads,
		.stream = streams,
	};
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	cpa_verdict_fini(&verdict);
	return 0;
}

/* Slots are 10, 11 ... in the order of the calls. */
static inline struct cpa_component_figures *add(enum cpa_component_kind kind, char *name,
						double path_s, double saved_s)
{
	struct cpa_component_figures *each = &components[profile.components];

	*each = (struct cpa_component_figures){
		.kind = kind,
		.by = kind == CPA_LOCK ? CPA_BY_VARIABLE : CPA_BY_ADDRESS,
		.name = name,
		.slot = 10 + (uint32_t)profile.components++,
		.critical_path_s = path_s,
		.saved_s = saved_s,
	};
	return each;
}

/* Time blocked that is no service, of all threads and on the observed path. */
static inline struct cpa_component_figures *add_external(char *name, enum cpa_external_class class,
							 double total_s, double observed_s)
{
	struct cpa_component_figures *each = add(CPA_EXTERNAL, name, 0, 0);

	each->class = class;
	each->total_s = total_s;
	each->observed_path_s = observed_s;
	return each;
}

static inline void add_thread(uint32_t slot, double work_s)
{
	threads[profile.threads++] =
		(struct cpa_thread_figures){ .slot = slot, .process_s = work_s };
}

/* The last thread spent @seconds in @slot. */
static inline void spend(enum cpa_component_kind kind, uint32_t slot, double seconds)
{
	struct cpa_thread_figures *thread = &threads[profile.threads - 1];

	thread->spend[thread->spends++] = (struct cpa_spend_figures){ slot, kind, seconds };
}

static inline void expect(const char *kind, const char *sentence, const char *action)
{
	cpa_verdict_fini(&verdict);
	cpa_verdict_init(&verdict, &profile);
	assert_string_equal(verdict.kind, kind);
	assert_string_equal(verdict.sentence, sentence);
	assert_string_equal(verdict.action, action);
	assert_non_null(verdict.options);
}

static inline void expect_kind(const char *kind)
{
	cpa_verdict_fini(&verdict);
	cpa_verdict_init(&verdict, &profile);
	assert_string_equal(verdict.kind, kind);
}

#endif
