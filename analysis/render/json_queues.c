/* SPDX-License-Identifier: MIT */
/* analysis/render/json_queues.c - work queues as JSON */
#include <stdlib.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/queues.h"
#include "analysis/render/json_put.h"

/*
 * The master-and-workers model of the queue (IPS, Appendix 3); only "trouble" if it does not apply.
 */
static json_t *master_json(const struct cpa_queue_figures *queue)
{
	const struct cpa_master_figures *master = &queue->master;
	json_t *object = json_object();

	put_bool(object, "applies", !master->trouble);
	if (master->trouble) {
		put_text(object, "trouble", master->trouble);
		return object;
	}
	put_count(object, "workers", master->workers);
	put_count(object, "best_workers", master->best_workers);
	put_real(object, "optimum", master->optimum);
	put_real(object, "master_s", master->master_s);
	put_real(object, "workers_s", master->workers_s);
	put_real(object, "master_critical_path_s", queue->producers_path_s);
	put_real(object, "workers_critical_path_s", queue->consumers_path_s);
	put_real(object, "path_s", master->path_s);
	put_real(object, "best_path_s", master->best_path_s);
	return object;
}

static json_t *queue_json(const struct cpa_queue_figures *queue)
{
	char *reason = cpa_balance_reason(queue);
	json_t *object = json_object();

	put_text(object, "name", queue->name);
	put_text(object, "location", queue->location);
	put_count(object, "queues", queue->queues);
	put_count(object, "enqueued", queue->enqueued);
	put_count(object, "dequeued", queue->dequeued);
	put_count(object, "never_dequeued", queue->never_dequeued);
	put_count(object, "enqueued_twice", queue->twice);
	put_count(object, "unmatched", queue->unmatched);
	put_count(object, "max_depth", queue->max_depth);
	put_real(object, "mean_depth", queue->mean_depth);
	put_real(object, "item_wait_s", queue->wait_s);
	put_real(object, "item_wait_p50_s", queue->wait_p50_s);
	put_real(object, "item_wait_p99_s", queue->wait_p99_s);
	put_real(object, "service_s", queue->service_s);
	put_real(object, "service_total_s", queue->services_s);
	put_count(object, "services", queue->services);
	put_count(object, "services_without_done", queue->undone);
	put_count(object, "producers", queue->producers);
	put_count(object, "consumers", queue->consumers);
	put_real(object, "consumers_idle", queue->idle);
	put_real(object, "consumers_runqueue", queue->starved);
	put_real(object, "consumers_engaged", queue->engaged);
	put_known(object, "critical_path_s", queue->slot, queue->critical_path_s);
	put_known(object, "observed_path_s", queue->slot, queue->observed_path_s);
	put_known(object, "saved_s", queue->slot, queue->saved_s);
	put_margin(object, "item_wait_margin_s", queue->wait_margin_s);
	put_margin(object, "critical_path_margin_s", queue->critical_path_margin_s);
	put_margin(object, "saved_margin_s", queue->saved_margin_s);
	put_text(object, "limit", cpa_balance_word(queue->limit));
	put_text(object, "limit_reason", reason);
	json_object_set_new(object, "master", master_json(queue));
	free(reason);
	return object;
}

json_t *cpa_json_queues(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->queues; i++)
		json_array_append_new(array, queue_json(&profile->queue[i]));
	return array;
}
