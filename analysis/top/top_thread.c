/* SPDX-License-Identifier: MIT */
/*
 * analysis/top/top_thread.c - details page of a thread: its times, its locks, the saving of its
 * routine
 */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/symbols/names.h"
#include "analysis/util/printable.h"
#include "analysis/top/top_detail.h"
#include "analysis/top/top_views.h"
#include "analysis/profile/components.h"
#include "analysis/profile/threads.h"

static char *format_share(double part)
{
	return xstrdup(cpa_format_percent(part, 1).text);
}

/* Times over the thread's life; the rest is the time since its last event. */
static void put_times(struct cpa_top_screen *screen, const struct cpa_thread_figures *thread)
{
	double lived = thread->lived_s;

	cpa_top_say(screen, "lived %s from %s on, up to its last event%s",
		    cpa_format_seconds(lived).text, cpa_format_seconds(thread->begun_s).text,
		    thread->earlier ? "; with earlier threads in its row" : "");
	cpa_top_say(screen, "CPU %s (%s of it probes), waited %s, external %s, run queue %s",
		    cpa_format_percent(thread->cpu_s, lived).text,
		    cpa_format_percent(thread->probe_s, thread->cpu_s).text,
		    cpa_format_percent(thread->wait_s, lived).text,
		    cpa_format_percent(thread->external_s, lived).text,
		    cpa_format_percent(thread->runqueue_s, lived).text);
}

/* "running, after 30 events; the last: unlock q.lock; since then it holds r.lock" */
static void put_doing(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i)
{
	const struct cpa_thread_figures *thread = &top->now.profile->thread[i];
	char *state = cpa_top_thread_state(top, i), *event = cpa_top_thread_event(top, i);
	char *held = xstrdup(""), *longer;

	for (uint32_t k = 0; k < thread->holds; k++) {
		const struct cpa_component_figures *lock =
			cpa_top_component(top, thread->held_slot[k], CPA_LOCK);

		longer = cpa_format_text("%s%s%s", held, k ? ", " : "; since then it holds ",
					 lock ? lock->name : "a lock");
		free(held);
		held = longer;
	}
	cpa_top_say(screen, "%s%sevents %s; the last: %s%s", strcmp(state, "-") ? state : "",
		    strcmp(state, "-") ? ", " : "", cpa_format_count(thread->events).text, event,
		    held);
	free(state);
	free(event);
	free(held);
}

static void put_spends(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		       size_t below)
{
	const struct cpa_thread_figures *thread = &top->now.profile->thread[i];
	struct cpa_table_text table = { 0 };
	struct cpa_top_sheet sheet;

	cpa_table_column(&table, "time", false);
	cpa_table_column(&table, "of its life", false);
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "it was in", true);
	cpa_table_remark(&table, "where");
	for (uint32_t k = 0; k < thread->spends; k++) {
		const struct cpa_spend_figures *spend = &thread->spend[k];
		const struct cpa_component_figures *component =
			cpa_top_component(top, spend->slot, spend->kind);
		struct cpa_figure time = cpa_format_seconds(spend->seconds);
		struct cpa_figure share = cpa_format_percent(spend->seconds, thread->lived_s);

		cpa_table_row(&table,
			      (const char *const[]){
				      time.text, share.text, cpa_names_component_kind(spend->kind),
				      component ? component->name : "?",
				      component ? cpa_printable_where(component->name,
								      component->location) :
						  "" });
	}
	cpa_top_sheet_begin(&sheet, screen);
	cpa_table_end(&table, &sheet.page);
	cpa_top_sheet_end(&sheet, screen, SIZE_MAX - 1, below);
}

void cpa_top_put_thread(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			size_t below)
{
	const struct cpa_profile *profile = top->now.profile;
	const struct cpa_thread_figures *thread = &profile->thread[i];
	const struct cpa_component_figures *class =
		cpa_top_component(top, thread->slot, CPA_THREAD);

	cpa_top_put(screen, CPA_TOP_STRONG,
		    cpa_format_text("thread %u%s%s, of %s", thread->tid,
				    thread->last_name[0] ? " " : "", thread->last_name,
				    thread->last_routine));
	put_doing(top, screen, i);
	put_times(screen, thread);
	cpa_top_say(screen, "the longest chain of work to its last event is %s of %s",
		    cpa_format_seconds(thread->critical_path_s).text,
		    cpa_format_seconds(profile->program.critical_path_s).text);
	cpa_top_put_trail(top, screen, "CPU", format_share);
	if (class) {
		cpa_top_put(screen, CPA_TOP_FAINT,
			    cpa_format_text("all threads of %s together", class->name));
		cpa_top_put_savings(top, screen, class);
	}
	put_spends(top, screen, i, below);
}
