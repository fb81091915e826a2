/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_latency.c - time from a thread's release until it runs */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/transcribe_stages.h"

/* A moment at which a thread begins or ceases to need a core. */
struct moment {
	uint64_t now;
	int by;
	uint64_t wait; /* for a woken thread: ticks from release to return, but for those without a processor, plus 1 */
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->now < y->now ? -1 : x->now > y->now;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Clock of the last release that @event met; 0: none. */
static uint64_t released(const struct transcribe *t, const struct cpa_history_event *event)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < event->causes; i++) {
		uint32_t *number;
		const struct cpa_history_event *cause =
			transcribe_cause(t, &event->cause[i], &number);

		if (cause && cause->now > last)
			last = cause->now;
	}
	return last;
}

uint64_t transcribe_ready(const struct transcribe *t, const struct cpa_history_event *event)
{
	uint64_t from = event->ready ? released(t, event) : 0;

	if (from < event->arrived)
		from = event->arrived;
	if (from >= event->now)
		return 0;
	return event->ready < event->now - from ? event->ready : event->now - from;
}

static size_t find_moments(const struct transcribe *t, struct moment *moment)
{
	size_t count = 0;

	for (size_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];

		for (size_t k = 0; k < thread->events; k++) {
			const struct cpa_history_event *event = &thread->event[k];
			uint64_t from = released(t, event);

			if (k)
				moment[count++] = (struct moment){ event->arrived, -1, 0 };
			if (from > event->arrived && from <= event->now)
				moment[count++] = (struct moment){
					from, 1, event->now - from - transcribe_ready(t, event) + 1
				};
			else
				moment[count++] =
					(struct moment){ event->matched && !event->failed ?
								 event->arrived :
								 event->now,
							 1, 0 };
		}
	}
	return count;
}

/*
 * Median over the waits whose release found a free core: not needed by a thread of this program,
 * nor by one woken at the same time. If there is none, as on one core, the latency is not known.
 */
void transcribe_latency(struct transcribe *t)
{
	struct moment *moment = XNEWVEC(struct moment, 2 * t->run->events + 1);
	uint64_t *wait = XNEWVEC(uint64_t, t->run->events + 1);
	size_t count = find_moments(t, moment), waits = 0, next;
	int64_t ready = 0;

	qsort(moment, count, sizeof(*moment), by_time);
	for (size_t i = 0; i < count; i = next) {
		for (next = i; next < count && moment[next].now == moment[i].now; next++)
			ready += moment[next].by;
		for (size_t k = i; k < next; k++)
			if (moment[k].wait && ready <= (int64_t)t->cast->cores)
				wait[waits++] = moment[k].wait - 1;
	}
	qsort(wait, waits, sizeof(*wait), by_length);
	t->out->weakness.waits = waits;
	t->out->script.latency = waits ? wait[waits / 2] : 0;
	free(moment);
	free(wait);
}
