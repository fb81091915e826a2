/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/balance.h - which side of a queue limits it, and the number of workers for a
 * master
 */
#ifndef CPA_ANALYSIS_PROFILE_BALANCE_H
#define CPA_ANALYSIS_PROFILE_BALANCE_H

#include "analysis/profile/profile.h"

/*
 * What limits @queue, from figures of the whole run:
 *
 *   a backlog     on average an item was waiting for each consumer, or the queue was full, its mean
 *                 depth near its largest (small bounded queues). Items then waited as long as their
 *                 processing took: by Little's law no fewer of them waited than were in work
 *   elsewhere     a backlog, but processing such items was a small part of the consumers' work:
 *                 they came late, and neither faster processing nor faster producers help
 *   processors    a backlog, but consumers were ready without a processor for a quarter of their
 *                 time: more of them do not help
 *   mixed         a backlog, yet consumers waited for half of their time: items come in bursts, or
 *                 the processing waits for something else
 *   consumers     any other backlog: faster processing or more consumers help
 *   producers     no backlog, and consumers waited for a fifth of their time
 *   balanced      no backlog, and they did not
 *
 * Not by how long items waited: a consumer that is woken for every item takes longer to wake up
 * than it may take to process the item. Consumers that waited for less than half of their time stay
 * the limit of a backlog, as they wait at the start and the end of most runs.
 */
enum cpa_limit cpa_balance_limit(const struct cpa_queue_figures *queue);

/* The word for @limit: "consumers", "producers" ...; static storage. */
const char *cpa_balance_word(enum cpa_limit limit);

/* The limit and its reason, with figures. The caller frees it. */
char *cpa_balance_reason(const struct cpa_queue_figures *queue);

/*
 * The master-slave structure of Yang and Miller, "Critical Path Analysis for the Execution of
 * Parallel and Distributed Programs" (IPS), Appendix 3: the master's time C_m = N c_m is serialized
 * with the concurrent execution of N slaves, which share C_s, so that the path is
 *
 *	L_c(N) = N c_m + C_s / N        minimal at N = sqrt(C_s / c_m),
 *
 * where both have the same share of it. Here the queue's one producer is the master, its consumers
 * are the slaves, C_m is all work of the master's thread (@master_s: process and external time),
 * C_s the processing of all items. The paper's assumptions: the master's time is proportional to N
 * with no fixed part (F_m << N c_m), times are deterministic, slaves share evenly.
 * @both: threads that produce and consume.
 */
struct cpa_master_figures cpa_balance_master(const struct cpa_queue_figures *queue, double master_s,
					     uint32_t both);

/* Fewer items say nothing about the sides of a queue. */
#define CPA_BALANCE_ITEMS 30

/*
 * Whether queue->master may be told: there are enough items, and the path of the model is within a
 * quarter of the critical path of the run, @path_s. Otherwise the run contradicts its assumptions.
 */
bool cpa_balance_fits(const struct cpa_queue_figures *queue, double path_s);

#endif
