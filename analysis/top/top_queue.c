/* SPDX-License-Identifier: MIT */
/* analysis/top/top_queue.c - details page of a class of queues: depth, rates, limit */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/render/sections.h"
#include "analysis/top/top_detail.h"
#include "analysis/top/top_views.h"
#include "analysis/profile/queues.h"

/* A damaged file may hold any number. */
static char *format_depth(double items)
{
	return xstrdup(cpa_format_count(items < 1e19 ? (uint64_t)items : UINT64_MAX).text);
}

static void put_items(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i)
{
	const struct cpa_queue_figures *queue = &top->now.profile->queue[i];
	double in = cpa_top_queue_in(top, i), out = cpa_top_queue_out(top, i);
	char *lately = NULL;

	if (!isnan(in) && !isnan(out))
		lately = cpa_format_text("; lately %s in and %s out a second",
					 cpa_format_ratio(in).text, cpa_format_ratio(out).text);
	cpa_top_say(screen, "%s items in it, %s on average, %s at most%s",
		    cpa_format_count(queue->never_dequeued).text,
		    cpa_format_ratio(queue->mean_depth).text,
		    cpa_format_count(queue->max_depth).text, lately ? lately : "");
	free(lately);
	if (queue->dequeued)
		cpa_top_say(screen, "waited %s on average, %s at the median, more than %s for 1%%",
			    cpa_format_seconds(queue->wait_s).text,
			    cpa_format_seconds(queue->wait_p50_s).text,
			    cpa_format_seconds(queue->wait_p99_s).text);
	if (queue->services)
		cpa_top_say(screen, "%s were processed, in %s each",
			    cpa_format_count(queue->services).text,
			    cpa_format_seconds(queue->service_s).text);
}

void cpa_top_put_queue(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		       size_t below)
{
	const struct cpa_queue_figures *queue = &top->now.profile->queue[i];
	const struct cpa_component_figures *component =
		cpa_top_component(top, queue->slot, CPA_QUEUE);
	struct cpa_top_sheet sheet;

	cpa_top_put(screen, CPA_TOP_STRONG, cpa_format_text("queue %s", queue->name));
	put_items(top, screen, i);
	cpa_top_put_trail(top, screen, "depth", format_depth);
	if (component)
		cpa_top_put_savings(top, screen, component);
	cpa_top_sheet_begin(&sheet, screen);
	sheet.row = 0;
	cpa_text_queue(&sheet.page, queue);
	cpa_top_sheet_end(&sheet, screen, SIZE_MAX - 1, below);
	cpa_top_put_edges(top, screen, queue->name, below);
}
