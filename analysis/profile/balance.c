/* SPDX-License-Identifier: MIT */
/* analysis/profile/balance.c - which side limits a queue, and the best number of workers */
#include "analysis/profile/balance.h"

#include <math.h>

#include "analysis/util/format.h"
#include "analysis/profile/queues.h"

#define FULL	    0.75 /* mean depth / largest depth of a queue that counts as full */
#define IDLE_MUCH   0.50 /* share of the consumers' time */
#define IDLE_SOME   0.20
#define STARVED	    0.25
#define ENGAGED	    0.10 /* share of the consumers' work that is the processing of items */
#define FITS	    0.25 /* of the critical path: how far the model's path may be off */
#define WORKERS_MAX 1e6	 /* a larger optimum comes from a damaged dump */

static bool has_backlog(const struct cpa_queue_figures *queue)
{
	if (queue->mean_depth >= FULL * (double)queue->max_depth)
		return true;
	return queue->mean_depth >= (double)queue->consumers;
}

enum cpa_limit cpa_balance_limit(const struct cpa_queue_figures *queue)
{
	if (queue->dequeued == 0 || queue->consumers == 0 || queue->max_depth == 0)
		return CPA_LIMIT_UNKNOWN;
	if (!has_backlog(queue))
		return queue->idle >= IDLE_SOME ? CPA_LIMIT_PRODUCERS : CPA_LIMIT_BALANCED;
	if (queue->engaged < ENGAGED)
		return CPA_LIMIT_ELSEWHERE;
	if (queue->starved >= STARVED)
		return CPA_LIMIT_PROCESSORS;
	return queue->idle >= IDLE_MUCH ? CPA_LIMIT_MIXED : CPA_LIMIT_CONSUMERS;
}

const char *cpa_balance_word(enum cpa_limit limit)
{
	static const char *const words[CPA_LIMITS] = {
		[CPA_LIMIT_UNKNOWN] = "unknown",     [CPA_LIMIT_CONSUMERS] = "consumers",
		[CPA_LIMIT_PRODUCERS] = "producers", [CPA_LIMIT_MIXED] = "mixed",
		[CPA_LIMIT_ELSEWHERE] = "elsewhere", [CPA_LIMIT_PROCESSORS] = "processors",
		[CPA_LIMIT_BALANCED] = "balanced",
	};

	return words[limit];
}

char *cpa_balance_reason(const struct cpa_queue_figures *queue)
{
	struct cpa_figure wait = cpa_format_seconds(queue->wait_s);
	struct cpa_figure service = cpa_format_seconds(queue->service_s);
	struct cpa_figure depth = cpa_format_ratio(queue->mean_depth);
	struct cpa_figure idle = cpa_format_percent(queue->idle, 1);

	switch (queue->limit) {
	case CPA_LIMIT_CONSUMERS:
		return cpa_format_text("consumers limit: items waited %s on average for %s of "
				       "service, %s were waiting (mean depth)",
				       wait.text, service.text, depth.text);
	case CPA_LIMIT_ELSEWHERE:
		return cpa_format_text("consumers came late: items waited %s on average, but %s of "
				       "the consumers' work was processing them",
				       wait.text, cpa_format_percent(queue->engaged, 1).text);
	case CPA_LIMIT_PROCESSORS:
		return cpa_format_text("processors limit: items waited %s on average for %s of "
				       "service, but consumers were ready without a processor for "
				       "%s of their time",
				       wait.text, service.text,
				       cpa_format_percent(queue->starved, 1).text);
	case CPA_LIMIT_MIXED:
		return cpa_format_text("mixed: items waited %s on average for %s of service, yet "
				       "consumers waited for %s of their time (items come in "
				       "bursts, or their processing waits for something else)",
				       wait.text, service.text, idle.text);
	case CPA_LIMIT_PRODUCERS:
		return cpa_format_text("producers limit: few items were waiting (mean depth %s), "
				       "and consumers waited for %s of their time",
				       depth.text, idle.text);
	case CPA_LIMIT_BALANCED:
		return cpa_format_text(
			"balanced: few items were waiting (mean depth %s), and consumers waited "
			"for only %s of their time",
			depth.text, idle.text);
	default:
		return cpa_format_text("%s", queue->dequeued ? "it is not known which side limits" :
							       "no item was dequeued");
	}
}

static double path(double workers, double per_worker_s, double workers_s)
{
	return workers * per_worker_s + workers_s / workers;
}

static const char *find_trouble(const struct cpa_queue_figures *queue, double master_s,
				uint32_t both)
{
	if (queue->producers != 1)
		return queue->producers ? "several producers" : "no producer";
	if (queue->consumers < 2)
		return "fewer than two consumers";
	if (both)
		return "the producer is also a consumer";
	if (!(master_s > 0) || !(queue->services_s > 0))
		return "one side did no work";
	return NULL;
}

struct cpa_master_figures cpa_balance_master(const struct cpa_queue_figures *queue, double master_s,
					     uint32_t both)
{
	struct cpa_master_figures master = {
		.trouble = find_trouble(queue, master_s, both),
		.workers = queue->consumers,
		.master_s = master_s,
		.workers_s = queue->services_s,
	};
	double per_worker_s = master_s / queue->consumers, least;

	if (master.trouble)
		return master;
	master.optimum = fmin(sqrt(master.workers_s / per_worker_s), WORKERS_MAX);
	/* L_c is convex, so its best whole number is next to the real optimum. */
	least = fmax(floor(master.optimum), 1);
	if (path(least + 1, per_worker_s, master.workers_s) <
	    path(least, per_worker_s, master.workers_s))
		least++;
	master.best_workers = (uint32_t)least;
	master.path_s = path(queue->consumers, per_worker_s, master.workers_s);
	master.best_path_s = path(least, per_worker_s, master.workers_s);
	return master;
}

bool cpa_balance_fits(const struct cpa_queue_figures *queue, double path_s)
{
	return !queue->master.trouble && queue->dequeued >= CPA_BALANCE_ITEMS &&
	       fabs(queue->master.path_s - path_s) <= FITS * path_s;
}
