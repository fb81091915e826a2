/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_stages.h - the stages of cpa_transcribe(), in this order */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_STAGES_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_STAGES_H

#include "analysis/predict/transcribe_state.h"

/* transcribe_queue.c: find the queues, the threads that get their items, and the items. */
void transcribe_queues(struct transcribe *t);

/* transcribe_pool.c: find waits that time out and are repeated. */
void transcribe_polls(struct transcribe *t);
/* Find conditions that behave as queues, first come first served. */
void transcribe_pools(struct transcribe *t);

/* transcribe_latency.c: compute the time from a thread's release until it runs. */
void transcribe_latency(struct transcribe *t);
/* Ticks of the wait of @event, after its release if it met one, in which the thread was ready, without a processor. */
uint64_t transcribe_ready(const struct transcribe *t, const struct cpa_history_event *event);

/* transcribe_weigh.c: store the process and external ticks of @event's activity after the changes. */
void transcribe_weigh(const struct transcribe *t, const struct cpa_history_event *event,
		      uint64_t *process, uint64_t *external);

/*
 * transcribe_event.c: add the activity of thread @which that ends with @event, not its first; then
 * the steps of @event.
 */
void transcribe_activity(struct transcribe *t, uint32_t which,
			 const struct cpa_history_event *event, const struct transcribe_part *part);
void transcribe_operation(struct transcribe *t, const struct cpa_history_event *event,
			  uint32_t number, const struct transcribe_part *part);

#endif
