/* SPDX-License-Identifier: MIT */
/* analysis/top/top_views.c - the columns of each view */
#include "analysis/top/top_views.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"
#include "analysis/util/format.h"
#include "analysis/symbols/names.h"
#include "analysis/util/printable.h"
#include "analysis/render/text.h"

#define OF(what, i) (&top->now.profile->what[i])
#define FIGURE(name, expr)                                      \
	static double name(const struct cpa_top *top, size_t i) \
	{                                                       \
		return expr;                                    \
	}
#define TEXT(name, expr)                                       \
	static char *name(const struct cpa_top *top, size_t i) \
	{                                                      \
		return expr;                                   \
	}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* Rate per second in the last interval. */
static double rate(const struct cpa_top *top, size_t before, uint64_t now, uint64_t earlier)
{
	if (!top->before.profile)
		return NAN;
	/* A counter may be read late in one moment and early in the next. */
	if (before != SIZE_MAX && earlier > now)
		return 0;
	return ratio((double)(now - (before == SIZE_MAX ? 0 : earlier)),
		     top->now.queues_at_s - top->before.queues_at_s);
}

/* Components. */

FIGURE(component_saves, OF(component, i)->saved_s)
FIGURE(component_change, OF(component, i)->saved_s - cpa_top_saved(top, OF(component, i)->slot, 1))
FIGURE(component_path,
       ratio(OF(component, i)->critical_path_s, top->now.profile->program.critical_path_s))
FIGURE(component_saves_margin, OF(component, i)->saved_margin_s)
FIGURE(component_path_margin,
       ratio(OF(component, i)->critical_path_margin_s, top->now.profile->program.critical_path_s))
FIGURE(component_wall,
       ratio(OF(component, i)->observed_path_s, top->now.profile->program.observed_path_s))
FIGURE(component_cpu, OF(component, i)->kind == CPA_EXTERNAL ?
			      NAN :
			      ratio(OF(component, i)->total_s, top->now.profile->program.cpu_s))
TEXT(component_kind, xstrdup(cpa_names_component_kind(OF(component, i)->kind)))
TEXT(component_name, xstrdup(OF(component, i)->name))
TEXT(component_where,
     xstrdup(cpa_printable_where(OF(component, i)->name, OF(component, i)->location)))

static size_t count_components(const struct cpa_profile *profile)
{
	return profile->components;
}

static bool component_shown(const struct cpa_profile *profile, size_t i)
{
	const struct cpa_component_figures *component = &profile->component[i];

	return component->saved_s > 0 || component->critical_path_s > 0 ||
	       component->observed_path_s > 0 || component->total_s > 0;
}

static struct cpa_top_key component_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_COMPONENTS,
				     CPA_TOP_COMPONENT_ID(OF(component, i)->slot,
							  OF(component, i)->kind) };
}

/* Locks, and the other objects that threads wait for. */

static double lock_waited(const struct cpa_top *top, size_t i)
{
	size_t before = top->before.profile ? top->lock_before[i] : SIZE_MAX;

	if (!top->before.profile)
		return NAN;
	if (before == SIZE_MAX)
		return OF(object, i)->wait_s;
	return fmax(OF(object, i)->wait_s - top->before.profile->object[before].wait_s, 0);
}

FIGURE(lock_wait, OF(object, i)->wait_s)
FIGURE(lock_hold, OF(object, i)->hold_s)
FIGURE(lock_saves, OF(object, i)->has_slot ? OF(object, i)->saved_s : NAN)
FIGURE(lock_wait_margin, OF(object, i)->wait_margin_s)
FIGURE(lock_saves_margin, OF(object, i)->saved_margin_s)
FIGURE(lock_contended, ratio((double)OF(object, i)->contended, (double)OF(object, i)->acquisitions))
FIGURE(lock_handoffs, cpa_text_hands_off(OF(object, i)) ? (double)OF(object, i)->handoffs : NAN)

/* "mutex q.lock (queue.c:12)" */
static char *lock_class(const struct cpa_top *top, size_t i)
{
	const struct cpa_object_figures *object = OF(object, i);
	const char *where = cpa_printable_where(object->class, object->location);
	char *class = cpa_text_class(object), *text;

	if (!*where)
		return class;
	text = cpa_format_text("%s (%s)", class, where);
	free(class);
	return text;
}

static size_t count_locks(const struct cpa_profile *profile)
{
	return profile->objects;
}

static struct cpa_top_key lock_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_LOCKS, OF(object, i)->row + UINT64_C(1) };
}

/* Queues. */

double cpa_top_queue_in(const struct cpa_top *top, size_t i)
{
	size_t before = top->before.profile ? top->queue_before[i] : SIZE_MAX;

	return rate(top, before, OF(queue, i)->enqueued,
		    before == SIZE_MAX ? 0 : top->before.profile->queue[before].enqueued);
}

double cpa_top_queue_out(const struct cpa_top *top, size_t i)
{
	size_t before = top->before.profile ? top->queue_before[i] : SIZE_MAX;

	return rate(top, before, OF(queue, i)->dequeued,
		    before == SIZE_MAX ? 0 : top->before.profile->queue[before].dequeued);
}

FIGURE(queue_depth, (double)OF(queue, i)->never_dequeued)
FIGURE(queue_wait, OF(queue, i)->dequeued ? OF(queue, i)->wait_s : NAN)
FIGURE(queue_p99, OF(queue, i)->dequeued ? OF(queue, i)->wait_p99_s : NAN)
FIGURE(queue_saves, OF(queue, i)->slot ? OF(queue, i)->saved_s : NAN)
FIGURE(queue_wait_margin, OF(queue, i)->wait_margin_s)
FIGURE(queue_saves_margin, OF(queue, i)->saved_margin_s)
TEXT(queue_limit, xstrdup(cpa_balance_word(OF(queue, i)->limit)))
TEXT(queue_name, xstrdup(OF(queue, i)->name))

static size_t count_queues(const struct cpa_profile *profile)
{
	return profile->queues;
}

static struct cpa_top_key queue_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_QUEUES, OF(queue, i)->row + UINT64_C(1) };
}

/* Threads. */

static const struct cpa_node_figures *last_event(const struct cpa_top *top, size_t i)
{
	return cpa_profile_node(top->now.profile, OF(thread, i)->node);
}

/*
 * Whether the last event is the beginning of a wait. For some kinds of wait the dump has only the
 * end.
 */
static bool waits(const struct cpa_node_figures *node)
{
	return node && (strcmp(node->kind, cpa_names_event(CPA_EV_SLEEP)) == 0 ||
			strcmp(node->kind, cpa_names_event(CPA_EV_ARRIVE)) == 0);
}

char *cpa_top_thread_state(const struct cpa_top *top, size_t i)
{
	const struct cpa_process_task *task = cpa_top_task(&top->now, OF(thread, i)->tid);
	enum cpa_thread_state state = OF(thread, i)->state;

	if (state == CPA_THREAD_EXITED || state == CPA_THREAD_DONE)
		return xstrdup("exited");
	if (top->now.state != CPA_TOP_RUNNING)
		return xstrdup("ended");
	if (!task)
		return xstrdup(waits(last_event(top, i)) ? "waiting" : "-");
	if (task->state == 'R')
		return xstrdup("running");
	if (task->state == 'T' || task->state == 't')
		return xstrdup("stopped");
	return xstrdup(waits(last_event(top, i)) ? "waiting" : "blocked");
}

char *cpa_top_thread_event(const struct cpa_top *top, size_t i)
{
	const struct cpa_node_figures *node = last_event(top, i);
	const char *of = !node ? NULL : node->class ? node->class : node->site;

	if (!node)
		return xstrdup("-");
	return of ? cpa_format_text("%s %s", node->kind, of) : xstrdup(node->kind);
}

FIGURE(thread_id, (double)OF(thread, i)->tid)
FIGURE(thread_now, ratio(cpa_top_cpu(top, i), cpa_top_interval(top)))
FIGURE(thread_cpu, OF(thread, i)->cpu_s)
FIGURE(thread_wait, OF(thread, i)->wait_s)
FIGURE(thread_cpu_margin, OF(thread, i)->cpu_margin_s)
FIGURE(thread_wait_margin, OF(thread, i)->wait_margin_s)
FIGURE(thread_path, OF(thread, i)->critical_path_s)
TEXT(thread_name,
     xstrdup(OF(thread, i)->last_name[0] ? OF(thread, i)->last_name : OF(thread, i)->last_routine))

static size_t count_threads(const struct cpa_profile *profile)
{
	return profile->threads;
}

static struct cpa_top_key thread_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_THREADS, OF(thread, i)->id };
}

/* Marks. */

FIGURE(mark_at, OF(mark, i)->at_s)
FIGURE(mark_path, OF(mark, i)->critical_path_s)
FIGURE(mark_thread, OF(mark, i)->tid ? (double)OF(mark, i)->tid : NAN)
TEXT(mark_name, xstrdup(OF(mark, i)->name))

static size_t count_marks(const struct cpa_profile *profile)
{
	return profile->marks;
}

static struct cpa_top_key mark_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_MARKS, OF(mark, i)->row };
}

/* Streams. */

double cpa_top_stream_starved(const struct cpa_top *top, size_t i)
{
	size_t before = top->before.profile ? top->stream_before[i] : SIZE_MAX;

	if (!top->before.profile)
		return NAN;
	return OF(stream, i)->waited_s -
	       (before == SIZE_MAX ? 0 : top->before.profile->stream[before].waited_s);
}

double cpa_top_stream_rate(const struct cpa_top *top, size_t i)
{
	size_t before = top->before.profile ? top->stream_before[i] : SIZE_MAX;

	return rate(top, before, OF(stream, i)->bytes,
		    before == SIZE_MAX ? 0 : top->before.profile->stream[before].bytes);
}

FIGURE(stream_waited, OF(stream, i)->waited_s)
FIGURE(stream_blocked, OF(stream, i)->blocked_s)
FIGURE(stream_waited_margin, OF(stream, i)->waited_margin_s)
FIGURE(stream_blocked_margin, OF(stream, i)->blocked_margin_s)
TEXT(stream_limit, xstrdup(cpa_stream_limit(OF(stream, i))))
TEXT(stream_kind, xstrdup(cpa_stream_short(OF(stream, i)->kind)))
TEXT(stream_name, xstrdup(OF(stream, i)->name))

static size_t count_streams(const struct cpa_profile *profile)
{
	return profile->streams;
}

static struct cpa_top_key stream_key(const struct cpa_top *top, size_t i)
{
	return (struct cpa_top_key){ CPA_TOP_STREAMS, cpa_top_stream_id(top->now.profile, i) };
}

static const struct cpa_top_table tables[CPA_TOP_VIEWS] = {
	[CPA_TOP_COMPONENTS] = {
		.name = "components",
		.columns = 8,
		.column = {
			{ "saves", CPA_UNIT_SECONDS, .value = component_saves,
			  .margin = component_saves_margin },
			{ "change", CPA_UNIT_CHANGE, .value = component_change },
			{ "path", CPA_UNIT_SHARE, .value = component_path,
			  .margin = component_path_margin },
			{ "wall", CPA_UNIT_SHARE, .value = component_wall, .scarce = true },
			{ "CPU", CPA_UNIT_SHARE, .value = component_cpu, .scarce = true },
			{ "kind", CPA_UNIT_TEXT, .text = component_kind },
			{ "component", CPA_UNIT_TEXT, .text = component_name },
			{ "where", CPA_UNIT_TEXT, .text = component_where, .remark = true },
		},
		.count = count_components,
		.shown = component_shown,
		.key = component_key,
	},
	[CPA_TOP_LOCKS] = {
		.name = "locks",
		.columns = 7,
		.column = {
			{ "waited", CPA_UNIT_SECONDS, .value = lock_wait,
			  .margin = lock_wait_margin },
			{ "lately", CPA_UNIT_CHANGE, .value = lock_waited },
			{ "held", CPA_UNIT_SECONDS, .value = lock_hold },
			{ "saves", CPA_UNIT_SECONDS, .value = lock_saves,
			  .margin = lock_saves_margin },
			{ "contended", CPA_UNIT_SHARE, .value = lock_contended, .scarce = true },
			{ "hand-offs", CPA_UNIT_COUNT, .value = lock_handoffs, .scarce = true },
			{ "class", CPA_UNIT_TEXT, .text = lock_class },
		},
		.count = count_locks,
		.key = lock_key,
	},
	[CPA_TOP_QUEUES] = {
		.name = "queues",
		.columns = 8,
		.column = {
			{ "depth", CPA_UNIT_COUNT, .value = queue_depth },
			{ "in/s", CPA_UNIT_RATE, .value = cpa_top_queue_in },
			{ "out/s", CPA_UNIT_RATE, .value = cpa_top_queue_out },
			{ "in queue", CPA_UNIT_SECONDS, .value = queue_wait,
			  .margin = queue_wait_margin },
			{ "99%", CPA_UNIT_SECONDS, .value = queue_p99, .scarce = true },
			{ "saves", CPA_UNIT_SECONDS, .value = queue_saves,
			  .margin = queue_saves_margin },
			{ "limited by", CPA_UNIT_TEXT, .text = queue_limit },
			{ "queue", CPA_UNIT_TEXT, .text = queue_name },
		},
		.count = count_queues,
		.key = queue_key,
	},
	[CPA_TOP_THREADS] = {
		.name = "threads",
		.columns = 8,
		.column = {
			{ "CPU now", CPA_UNIT_SHARE, .value = thread_now },
			{ "CPU", CPA_UNIT_SECONDS, .value = thread_cpu,
			  .margin = thread_cpu_margin },
			{ "wait", CPA_UNIT_SECONDS, .value = thread_wait,
			  .margin = thread_wait_margin },
			{ "path", CPA_UNIT_SECONDS, .value = thread_path, .scarce = true },
			{ "id", CPA_UNIT_ID, .value = thread_id },
			{ "state", CPA_UNIT_TEXT, .text = cpa_top_thread_state },
			{ "name", CPA_UNIT_TEXT, .text = thread_name },
			{ "last event", CPA_UNIT_TEXT, .text = cpa_top_thread_event },
		},
		.count = count_threads,
		.key = thread_key,
	},
	[CPA_TOP_MARKS] = {
		.name = "marks",
		.columns = 4,
		.column = {
			{ "at", CPA_UNIT_SECONDS, .value = mark_at },
			{ "path", CPA_UNIT_SECONDS, .value = mark_path },
			{ "thread", CPA_UNIT_ID, .value = mark_thread },
			{ "mark", CPA_UNIT_TEXT, .text = mark_name },
		},
		.count = count_marks,
		.key = mark_key,
	},
	[CPA_TOP_STREAMS] = {
		.name = "streams",
		.columns = 7,
		.column = {
			{ "starved", CPA_UNIT_SECONDS, .value = stream_waited,
			  .margin = stream_waited_margin },
			{ "lately", CPA_UNIT_CHANGE, .value = cpa_top_stream_starved },
			{ "blocked", CPA_UNIT_SECONDS, .value = stream_blocked,
			  .margin = stream_blocked_margin },
			{ "bytes/s", CPA_UNIT_RATE, .value = cpa_top_stream_rate, .scarce = true },
			{ "limit", CPA_UNIT_TEXT, .text = stream_limit },
			{ "kind", CPA_UNIT_TEXT, .text = stream_kind },
			{ "writer -> reader", CPA_UNIT_TEXT, .text = stream_name },
		},
		.count = count_streams,
		.key = stream_key,
	},
};

const struct cpa_top_table *cpa_top_table(enum cpa_top_view view)
{
	return &tables[view];
}
