/* SPDX-License-Identifier: MIT */
/* analysis/top/top_detail.c - details page of a component or lock */
#include "analysis/top/top_detail.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/symbols/names.h"
#include "analysis/util/printable.h"
#include "analysis/render/text.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/threads.h"

const struct cpa_component_figures *cpa_top_component(const struct cpa_top *top, uint32_t slot,
						      enum cpa_component_kind kind)
{
	return cpa_profile_component(top->now.profile, slot, kind);
}

void cpa_top_say(struct cpa_top_screen *screen, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cpa_top_put(screen, CPA_TOP_PLAIN, cpa_format_args(format, args));
	va_end(args);
}

void cpa_top_put_bars(const struct cpa_top *top, struct cpa_top_screen *screen, const double *value,
		      size_t count)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	const char *const *steps = top->ascii ? plain : bars;
	char *text = xstrdup("");
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, value[i]);
	for (size_t i = 0; i < count; i++) {
		double part = most > 0 ? fmax(value[i], 0) / most : 0;
		size_t step = (size_t)lround(part * (ARRAY_SIZE(bars) - 1));
		char *longer = cpa_format_text("%s%s", text, isnan(value[i]) ? " " : steps[step]);

		free(text);
		text = longer;
	}
	cpa_top_put(screen, CPA_TOP_PLAIN, text);
}

void cpa_top_put_trail(const struct cpa_top *top, struct cpa_top_screen *screen, const char *head,
		       char *(*format)(double value))
{
	const struct cpa_top_trail *trail = &top->trail;
	bool ours = trail->of.view == top->detail.view && trail->of.id == top->detail.id;
	size_t count = ours ? trail->readings : 0, skipped;
	double value[CPA_TOP_HISTORY], most = 0;
	char *text;

	skipped = count > CPA_TOP_HISTORY ? count - CPA_TOP_HISTORY : 0;
	count -= skipped;
	for (size_t i = 0; i < count; i++) {
		value[i] = trail->value[(skipped + i) % CPA_TOP_HISTORY];
		most = fmax(most, value[i]);
	}
	if (count == 0) {
		cpa_top_put(screen, CPA_TOP_FAINT,
			    cpa_format_text("%s: with the next readings", head));
		return;
	}
	text = format(most);
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("%s, in the last %zu readings; the highest is %s", head, count,
				    text));
	free(text);
	cpa_top_put_bars(top, screen, value, count);
}

/* Savings of the latest moments, as bars. */
static void put_history(const struct cpa_top *top, struct cpa_top_screen *screen, uint32_t slot)
{
	size_t count = top->moments < CPA_TOP_HISTORY ? top->moments : CPA_TOP_HISTORY;
	double value[CPA_TOP_HISTORY], most = 0;

	for (size_t i = 0; i < count; i++) {
		value[i] = cpa_top_saved(top, slot, count - 1 - i);
		most = fmax(most, value[i]);
	}
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("saves, in the last %zu readings; the highest is %s", count,
				    cpa_format_seconds(most).text));
	cpa_top_put_bars(top, screen, value, count);
}

void cpa_top_put_savings(const struct cpa_top *top, struct cpa_top_screen *screen,
			 const struct cpa_component_figures *component)
{
	const struct cpa_program_figures *program = &top->now.profile->program;
	struct cpa_figure saved = cpa_text_margin(component->saved_margin_s, cpa_format_seconds);
	struct cpa_figure path = cpa_text_margin_percent(component->critical_path_margin_s,
							 program->critical_path_s);

	cpa_top_say(screen, "saves %s%s%s; %s%s%s of the critical path, %s of the observed%s",
		    cpa_format_seconds(component->saved_s).text, saved.text[0] ? " +- " : "",
		    saved.text,
		    cpa_format_percent(component->critical_path_s, program->critical_path_s).text,
		    path.text[0] ? " +- " : "", path.text,
		    cpa_format_percent(component->observed_path_s, program->observed_path_s).text,
		    component->shared ? "; shares its slot with others" : "");
	put_history(top, screen, component->slot);
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool node_is_of(const struct cpa_profile *profile, uint32_t id, const char *name)
{
	const struct cpa_node_figures *node = cpa_profile_node(profile, id);

	return node && (same(node->class, name) || same(node->site, name));
}

/*
 * Whether an edge begins or ends at an event of the component or in its code, or was spent in it.
 */
static bool touches(const struct cpa_profile *profile, const struct cpa_edge_figures *edge,
		    const char *name)
{
	if (node_is_of(profile, edge->from, name) || node_is_of(profile, edge->to, name))
		return true;
	for (uint32_t i = 0; i < edge->functions; i++)
		if (same(edge->function[i].function, name))
			return true;
	return false;
}

void cpa_top_put_edges(const struct cpa_top *top, struct cpa_top_screen *screen, const char *name,
		       size_t below)
{
	const struct cpa_profile *profile = top->now.profile;
	struct cpa_edge_figures *edges = xcalloc(profile->edges + 1, sizeof(*edges));
	struct cpa_top_sheet sheet;
	size_t count = 0;

	if (!top->now.edges) {
		free(edges);
		cpa_top_put(screen, CPA_TOP_FAINT,
			    xstrdup("the activity graph comes with the next reading"));
		return;
	}
	for (size_t i = 0; i < profile->edges; i++)
		if (touches(profile, &profile->edge[i], name))
			edges[count++] = profile->edge[i];
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("%zu edges of the activity graph touch it", count));
	cpa_top_sheet_begin(&sheet, screen);
	cpa_text_edges(&sheet.page, profile, edges, count, screen->lines);
	cpa_top_sheet_end(&sheet, screen, SIZE_MAX - 1, below);
	free(edges);
}

static void put_place(struct cpa_top_screen *screen, const char *location)
{
	cpa_top_put(screen, CPA_TOP_PLAIN, xstrdup(location ? location : "place not known"));
}

/* Waits and holds of a class of objects that threads wait for. */
static void put_uses(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i)
{
	const struct cpa_object_figures *object = &top->now.profile->object[i];
	const struct cpa_profile *before = top->before.profile;
	size_t then = before ? top->lock_before[i] : SIZE_MAX;
	char *lately = NULL;

	if (then != SIZE_MAX)
		lately = cpa_format_text(
			", lately +%s",
			cpa_format_seconds(fmax(object->wait_s - before->object[then].wait_s, 0))
				.text);
	cpa_top_say(screen, "threads waited %s%s; held %s%s%s",
		    cpa_format_seconds(object->wait_s).text, lately ? lately : "",
		    cpa_format_seconds(object->hold_s).text, object->queue ? "; of the queue " : "",
		    object->queue ? object->queue : "");
	free(lately);
	cpa_top_say(
		screen, "acquisitions %s, %s contended; hand-offs %s; %s object%s",
		cpa_format_count(object->acquisitions).text,
		cpa_format_percent((double)object->contended, (double)object->acquisitions).text,
		cpa_text_handoffs(object).text, cpa_format_count(object->objects).text,
		object->objects == 1 ? "" : "s");
}

static double spent_in(const struct cpa_thread_figures *thread,
		       const struct cpa_component_figures *component)
{
	for (uint32_t k = 0; k < thread->spends; k++)
		if (thread->spend[k].slot == component->slot &&
		    thread->spend[k].kind == component->kind)
			return thread->spend[k].seconds;
	return 0;
}

struct spender {
	double seconds;
	const struct cpa_thread_figures *thread;
};

static int compare_spenders(const void *a, const void *b)
{
	const struct spender *x = a, *y = b;

	return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : 0;
}

/* The @most threads that spent most time in a function or blocked in an external. */
static void put_spenders(const struct cpa_top *top, struct cpa_top_screen *screen,
			 const struct cpa_component_figures *component, size_t most, size_t below)
{
	const struct cpa_profile *profile = top->now.profile;
	struct spender *spenders = xcalloc(profile->threads + 1, sizeof(*spenders));
	struct cpa_table_text table = { 0 };
	struct cpa_top_sheet sheet;
	size_t count = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		spenders[count] = (struct spender){ spent_in(&profile->thread[i], component),
						    &profile->thread[i] };
		count += spenders[count].seconds > 0;
	}
	qsort(spenders, count, sizeof(*spenders), compare_spenders);
	cpa_table_column(&table, "time", false);
	cpa_table_column(&table, "of its life", false);
	cpa_table_column(&table, "thread", false);
	cpa_table_column(&table, "name", true);
	cpa_table_column(&table, "start routine", true);
	for (size_t i = 0; i < count && i < most; i++) {
		const struct cpa_thread_figures *thread = spenders[i].thread;
		struct cpa_figure time = cpa_format_seconds(spenders[i].seconds);
		struct cpa_figure share = cpa_format_percent(spenders[i].seconds, thread->lived_s);
		char *id = cpa_format_text("%u", thread->tid);

		cpa_table_row(&table, (const char *const[]){ time.text, share.text, id,
							     thread->name, thread->start_routine });
		free(id);
	}
	cpa_top_sheet_begin(&sheet, screen);
	cpa_table_end(&table, &sheet.page);
	cpa_top_sheet_end(&sheet, screen, SIZE_MAX - 1, below);
	free(spenders);
}

/* The lock class that has the slot of @component for itself; SIZE_MAX: none. */
static size_t find_class(const struct cpa_profile *profile,
			 const struct cpa_component_figures *component)
{
	if (component->kind == CPA_LOCK && !component->shared)
		for (size_t i = 0; i < profile->objects; i++)
			if (profile->object[i].slot == component->slot)
				return i;
	return SIZE_MAX;
}

static void put_component(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			  size_t below)
{
	const struct cpa_component_figures *component = &top->now.profile->component[i];
	size_t class = find_class(top->now.profile, component);
	struct cpa_figure margin = cpa_text_margin(component->total_margin_s, cpa_format_seconds);

	cpa_top_put(screen, CPA_TOP_STRONG,
		    cpa_format_text("%s %s", cpa_names_component_kind(component->kind),
				    component->name));
	if (component->kind != CPA_EXTERNAL)
		put_place(screen, component->location);
	cpa_top_say(screen,
		    component->kind == CPA_EXTERNAL ? "%s%s%s blocked, of all threads" :
						      "%s%s%s of all threads",
		    cpa_format_seconds(component->total_s).text, margin.text[0] ? " +- " : "",
		    margin.text);
	if (class != SIZE_MAX)
		put_uses(top, screen, class);
	cpa_top_put_savings(top, screen, component);
	/* Externals have no events; functions leave room for both. */
	if (component->kind == CPA_EXTERNAL || component->kind == CPA_FUNCTION)
		put_spenders(top, screen, component,
			     component->kind == CPA_EXTERNAL ? SIZE_MAX :
							       cpa_top_room(screen, below) / 2,
			     below);
	if (component->kind != CPA_EXTERNAL)
		cpa_top_put_edges(top, screen, component->name, below);
}

static void put_lock(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		     size_t below)
{
	const struct cpa_object_figures *object = &top->now.profile->object[i];
	const struct cpa_component_figures *component =
		cpa_top_component(top, object->slot, CPA_LOCK);

	cpa_top_put(screen, CPA_TOP_STRONG, cpa_text_class(object));
	put_place(screen, object->location);
	put_uses(top, screen, i);
	if (component)
		cpa_top_put_savings(top, screen, component);
	else
		cpa_top_say(screen, "its saving is not known");
	cpa_top_put_edges(top, screen, object->class, below);
}

void cpa_top_put_detail(const struct cpa_top *top, struct cpa_top_screen *screen, size_t below)
{
	static void (*const pages[CPA_TOP_VIEWS])(const struct cpa_top *, struct cpa_top_screen *,
						  size_t, size_t) = {
		[CPA_TOP_COMPONENTS] = put_component, [CPA_TOP_LOCKS] = put_lock,
		[CPA_TOP_QUEUES] = cpa_top_put_queue, [CPA_TOP_THREADS] = cpa_top_put_thread,
		[CPA_TOP_MARKS] = cpa_top_put_mark,   [CPA_TOP_STREAMS] = cpa_top_put_stream,
	};
	size_t i = cpa_top_index(top, top->detail);

	if (i == SIZE_MAX)
		cpa_top_say(screen, "It no longer exists.");
	else
		pages[top->detail.view](top, screen, i, below);
}
