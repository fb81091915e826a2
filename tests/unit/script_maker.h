/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/script_maker.h - scripts for the replay, made step by step, one thread after another
 */
#ifndef CPA_TESTS_SCRIPT_MAKER_H
#define CPA_TESTS_SCRIPT_MAKER_H

#include <string.h>

#include "analysis/predict/replay.h"

#define MAKER_STEPS   4096
#define MAKER_OBJECTS 16
#define MAKER_ITEMS   256
#define MAKER_THREADS 16

static struct maker {
	struct cpa_script script;
	struct cpa_step step[MAKER_STEPS];
	struct cpa_script_object object[MAKER_OBJECTS];
	struct cpa_script_item item[MAKER_ITEMS];
	struct cpa_script_thread thread[MAKER_THREADS];
	uint32_t got; /* the item of the thread's last GET */
} maker;

static inline void make_script(uint64_t latency)
{
	memset(&maker, 0, sizeof(maker));
	maker.script = (struct cpa_script){ .step = maker.step,
					    .object = maker.object,
					    .item = maker.item,
					    .thread = maker.thread,
					    .ends = CPA_NOWHERE,
					    .latency = latency };
	for (uint32_t i = 0; i < MAKER_ITEMS; i++)
		maker.item[i].first = CPA_NOWHERE;
}

static inline uint32_t make_object(enum cpa_script_kind kind, uint32_t count)
{
	maker.object[maker.script.objects] =
		(struct cpa_script_object){ .kind = kind, .count = count, .lock = CPA_NOWHERE };
	return maker.script.objects++;
}

/* Begin a thread; later steps belong to it. */
static inline uint32_t make_thread(bool created, uint64_t begin)
{
	maker.thread[maker.script.threads] = (struct cpa_script_thread){
		.first = maker.script.steps, .tail = CPA_NOWHERE, .begin = begin, .created = created
	};
	maker.got = CPA_NOWHERE;
	return maker.script.threads++;
}

static inline void make_step(uint64_t work, enum cpa_step_kind kind, uint32_t object,
			     uint64_t value)
{
	maker.step[maker.script.steps++] = (struct cpa_step){ kind, object, work, value };
	if (kind == CPA_STEP_PUT && value >= maker.script.items)
		maker.script.items = (uint32_t)value + 1;
	if (kind == CPA_STEP_GET) {
		maker.item[value] = (struct cpa_script_item){ maker.script.steps, CPA_NOWHERE };
		maker.got = (uint32_t)value;
	}
}

/* End the service of the thread's last item; it gets no more. */
static inline void make_tail(void)
{
	if (maker.got != CPA_NOWHERE)
		maker.item[maker.got].end = maker.script.steps;
	maker.thread[maker.script.threads - 1].tail = maker.script.steps;
}

static inline void make_exit(uint64_t work)
{
	make_step(work, CPA_STEP_EXIT, 0, 0);
}

#endif
