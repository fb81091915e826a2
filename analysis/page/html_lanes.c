/* SPDX-License-Identifier: MIT */
/* analysis/page/html_lanes.c - the events of a journal for the timeline of the page */
#include "analysis/page/html_lanes.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/json_put.h"
#include "analysis/profile/components.h"
#include "analysis/profile/threads.h"

#define EVENTS_MOST (1u << 20) /* written one by one; of more, those on a path and the longest */
#define LANES_MOST  256u       /* drawn at most; those with least time in events are left out */
#define BINS_LEAST  256u
#define BINS_MOST   65536u
#define BIN_EVENTS  16u /* of a lane, to a bin, at least */
#define LENGTHS	    65	/* bits of a length in ns */

struct writing {
	const struct cpa_lanes *lanes;
	const struct cpa_profile *profile;
	double ns; /* of a tick */
	struct cpa_bytes *bytes;
	uint32_t *component; /* by slot: index + 1 of the function or external */
	uint32_t slots;
	uint32_t *place;   /* by lane: its place in the page, UINT32_MAX: left out */
	unsigned least[2]; /* bits of the length that an event has; [1]: one on a path */
	uint64_t left_out; /* events that are in bins only */
	float *bin;	   /* [bins][CPA_HTML_SHARES] of the present lane, ns */
	size_t bins;
	double width; /* of a bin, ns */
};

/* Damaged journals have times that no ns hold. */
#define NS_MOST 0x1p53

static uint64_t ns_of(const struct writing *w, uint64_t ticks)
{
	return (uint64_t)llround(fmin((double)ticks * w->ns, NS_MOST));
}

/* Clock @at in ns since the start of the run; differences of such times do not add errors. */
static uint64_t ns_at(const struct writing *w, uint64_t at)
{
	return at > w->lanes->from ? ns_of(w, at - w->lanes->from) : 0;
}

/* An event's times in ns. */
struct times {
	uint64_t from, arrived, now;
	uint64_t process, external, runqueue;  /* of the activity */
	uint64_t wait_external, wait_runqueue; /* of the wait */
	uint64_t latency;		       /* from the release to the return */
	const struct cpa_history_event *release;
	size_t releaser;
};

/* Whether the sums of @e are those of a wait: there is no activity that they could be of. */
static bool of_wait(const struct cpa_history_event *e, uint64_t begun)
{
	return e->arrived == begun && !e->process && e->external + e->runqueue;
}

static struct times times_of(const struct writing *w, size_t lane, size_t event)
{
	const struct cpa_run_thread *t = &w->lanes->run->thread[lane];
	const struct cpa_history_event *e = &t->event[event];
	const struct cpa_history_event *next = event + 1 < t->events ? e + 1 : NULL;
	uint64_t begun = cpa_lanes_begin(w->lanes, lane, event);
	struct times v = { .from = ns_at(w, begun),
			   .arrived = ns_at(w, e->arrived),
			   .now = ns_at(w, e->now) };
	const struct cpa_history_event *shares = NULL;

	/* In a damaged journal clocks may go back. */
	v.arrived = v.arrived < v.from ? v.from : v.arrived;
	v.now = v.now < v.arrived ? v.arrived : v.now;
	if (of_wait(e, begun))
		shares = e->kind == CPA_HISTORY_MORE ? NULL : e;
	else {
		v.process = ns_of(w, e->process);
		v.external = ns_of(w, e->external);
		v.runqueue = ns_of(w, e->runqueue);
	}
	if (next && next->kind == CPA_HISTORY_MORE && of_wait(next, e->now))
		shares = next;
	if (v.now > v.arrived && shares) {
		v.wait_external = ns_of(w, shares->external);
		v.wait_runqueue = ns_of(w, shares->runqueue);
	}
	v.release = cpa_lanes_release(w->lanes, e, &v.releaser);
	if (v.release && v.now > v.arrived) {
		uint64_t released = ns_at(w, v.release->arrived);

		released = released < v.arrived ? v.arrived : released;
		v.latency = v.now > released ? v.now - released : 0;
	}
	return v;
}

/* The function or external in which the activity was for longest. */
static uint32_t component_of(const struct writing *w, const struct cpa_history_event *e)
{
	uint64_t most = 0;
	uint32_t found = 0;

	for (uint32_t i = 0; i < e->charges; i++) {
		const struct cpa_charge *charge = &e->charge[i];

		if (charge->slot < w->slots && w->component[charge->slot] && charge->ticks > most) {
			most = charge->ticks;
			found = w->component[charge->slot];
		}
	}
	return found;
}

static unsigned bits_of(uint64_t length)
{
	return length ? 64 - (unsigned)__builtin_clzll(length) : 0;
}

static bool is_written(const struct writing *w, size_t lane, size_t event, const struct times *v)
{
	return bits_of(v->now - v->from) >= w->least[w->lanes->on[lane][event] != 0];
}

static void write_event(struct writing *w, size_t lane, size_t event, const struct times *v,
			uint64_t *written)
{
	const struct cpa_history_event *e = &w->lanes->run->thread[lane].event[event];
	uint32_t place = v->release ? w->place[v->releaser] : UINT32_MAX;
	bool work = v->process == v->arrived - v->from && !v->external && !v->runqueue;
	bool waits = v->now > v->arrived, released = waits && place != UINT32_MAX;
	bool shares = waits && v->wait_external + v->wait_runqueue;

	cpa_bytes_put(w->bytes,
		      w->lanes->on[lane][event] | (work ? CPA_EV_WORK : 0) |
			      (waits ? CPA_EV_WAITS : 0) | (released ? CPA_EV_RELEASED : 0) |
			      (shares ? CPA_EV_SHARES : 0) | (v->from > *written ? CPA_EV_GAP : 0));
	if (v->from > *written)
		cpa_bytes_varint(w->bytes, v->from - *written);
	cpa_bytes_varint(w->bytes, e->node);
	cpa_bytes_varint(w->bytes, component_of(w, e));
	cpa_bytes_varint(w->bytes, v->arrived - v->from);
	if (!work) {
		cpa_bytes_varint(w->bytes, v->process);
		cpa_bytes_varint(w->bytes, v->external);
		cpa_bytes_varint(w->bytes, v->runqueue);
	}
	if (waits)
		cpa_bytes_varint(w->bytes, v->now - v->arrived);
	if (shares) {
		cpa_bytes_varint(w->bytes, v->wait_external);
		cpa_bytes_varint(w->bytes, v->wait_runqueue);
	}
	if (released) {
		cpa_bytes_varint(w->bytes, place);
		cpa_bytes_varint(w->bytes, v->latency);
	}
	*written = v->now;
}

enum share { WORK, EXTERNAL, RUNQUEUE, WAIT, WOKEN, OTHER, CRITICAL, OBSERVED };

/* Spread @amount ns evenly over the bins of @from to @to. */
static void spread(struct writing *w, uint64_t from, uint64_t to, enum share share, double amount)
{
	size_t first = (size_t)((double)from / w->width), last = (size_t)((double)to / w->width);

	if (to <= from || amount <= 0)
		return;
	for (size_t i = first; i <= last && i < w->bins; i++) {
		double begin = fmax((double)from, (double)i * w->width);
		double end = fmin((double)to, (double)(i + 1) * w->width);

		if (end > begin)
			w->bin[i * CPA_HTML_SHARES + share] +=
				(float)(amount * (end - begin) / (double)(to - from));
	}
}

static void bin_event(struct writing *w, const struct times *v, bool critical)
{
	double activity = (double)(v->arrived - v->from);
	double wait = (double)(v->now - v->arrived - v->latency);
	double known = (double)(v->wait_external + v->wait_runqueue);

	spread(w, v->from, v->arrived, WORK, (double)v->process);
	spread(w, v->from, v->arrived, EXTERNAL, (double)v->external);
	spread(w, v->from, v->arrived, RUNQUEUE, (double)v->runqueue);
	spread(w, v->from, v->arrived, OTHER,
	       activity - (double)(v->process + v->external + v->runqueue));
	if (critical)
		spread(w, v->from, v->arrived, CRITICAL, activity);
	spread(w, v->arrived, v->now - v->latency, EXTERNAL, (double)v->wait_external);
	spread(w, v->arrived, v->now - v->latency, RUNQUEUE, (double)v->wait_runqueue);
	spread(w, v->arrived, v->now - v->latency, WAIT, wait - known);
	spread(w, v->now - v->latency, v->now, WOKEN, (double)v->latency);
}

static void bin_observed(struct writing *w, size_t lane)
{
	const struct cpa_lanes *lanes = w->lanes;

	for (size_t i = 0; i < lanes->pieces; i++) {
		const struct cpa_piece *piece = &lanes->piece[i];
		uint64_t from = ns_at(w, piece->from), to = ns_at(w, piece->to);

		if (piece->lane == lane)
			spread(w, from, to, OBSERVED, (double)(to - from));
	}
}

static size_t bins_for(size_t events)
{
	size_t bins = BINS_LEAST;

	while (bins < BINS_MOST && bins * BIN_EVENTS < events)
		bins *= 2;
	return bins;
}

/* The class of the thread, as its component is called. */
static const char *class_of(const struct writing *w, size_t lane)
{
	uint32_t slot = w->lanes->run->thread[lane].thread.slot;
	const struct cpa_component_figures *component =
		cpa_profile_component(w->profile, slot, CPA_THREAD);

	return component ? component->name : NULL;
}

static const struct cpa_thread_figures *thread_of(const struct writing *w, size_t lane)
{
	for (size_t i = 0; i < w->profile->threads; i++)
		if (w->profile->thread[i].id == w->lanes->run->thread[lane].thread.id)
			return &w->profile->thread[i];
	return NULL;
}

static json_t *write_lane(struct writing *w, size_t lane)
{
	const struct cpa_run_thread *t = &w->lanes->run->thread[lane];
	const struct cpa_thread_figures *thread = thread_of(w, lane);
	uint64_t begin = t->events ? ns_at(w, cpa_lanes_begin(w->lanes, lane, 0)) : 0;
	uint64_t written = begin;
	size_t at = w->bytes->used, count = 0;
	json_t *object = json_object();

	w->bins = bins_for(t->events);
	w->width = (double)ns_at(w, w->lanes->to) / (double)w->bins;
	w->width = fmax(w->width, 1);
	w->bin = XCNEWVEC(float, w->bins *CPA_HTML_SHARES);
	for (size_t i = 0; i < t->events; i++) {
		struct times v = times_of(w, lane, i);

		bin_event(w, &v, w->lanes->on[lane][i] & CPA_ON_CRITICAL);
		if (v.now == v.from)
			continue;
		if (is_written(w, lane, i, &v)) {
			write_event(w, lane, i, &v, &written);
			count++;
		} else {
			w->left_out++;
		}
	}
	bin_observed(w, lane);
	put_text(object, "class", class_of(w, lane));
	put_text(object, "name", thread ? thread->last_name : NULL);
	if (thread)
		put_count(object, "tid", thread->tid);
	put_count(object, "begin_ns", begin);
	put_count(object, "end_ns", t->events ? ns_at(w, t->event[t->events - 1].now) : 0);
	put_count(object, "events", count);
	put_count(object, "events_at", at);
	put_count(object, "bins", w->bins);
	put_count(object, "bins_at", w->bytes->used);
	for (size_t i = 0; i < w->bins * CPA_HTML_SHARES; i++)
		cpa_bytes_put(w->bytes, (unsigned)lround(fmin(w->bin[i] / w->width, 1) * 255));
	free(w->bin);
	return object;
}

/* Choose from which length on events are written one by one. */
static void choose_events(struct writing *w)
{
	uint64_t number[2][LENGTHS] = { 0 }, all = 0;
	const struct cpa_run *run = w->lanes->run;

	for (size_t lane = 0; lane < run->threads; lane++)
		for (size_t i = 0; i < run->thread[lane].events; i++) {
			uint64_t length = ns_at(w, run->thread[lane].event[i].now) -
					  ns_at(w, cpa_lanes_begin(w->lanes, lane, i));

			number[w->lanes->on[lane][i] != 0][bits_of(length)]++;
		}
	w->least[0] = w->least[1] = LENGTHS;
	for (unsigned on = 2; on-- > 0;)
		while (w->least[on] > 0 && all + number[on][w->least[on] - 1] <= EVENTS_MOST)
			all += number[on][--w->least[on]];
}

struct order {
	uint64_t begin, time;
	size_t lane;
};

static int by_time(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->time > y->time ? -1 : x->time < y->time;
}

static int by_begin(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The lanes that are drawn, in the order of their begin; *@count of them. The caller frees it. */
static struct order *choose_lanes(struct writing *w, size_t *count)
{
	const struct cpa_run *run = w->lanes->run;
	struct order *order = XCNEWVEC(struct order, run->threads + 1);

	for (size_t i = 0; i < run->threads; i++) {
		order[i].lane = i;
		order[i].begin = run->thread[i].events ? cpa_lanes_begin(w->lanes, i, 0) :
							 UINT64_MAX;
		for (size_t k = 0; k < run->thread[i].events; k++)
			order[i].time +=
				run->thread[i].event[k].process + run->thread[i].event[k].external;
		w->place[i] = UINT32_MAX;
	}
	qsort(order, run->threads, sizeof(*order), by_time);
	*count = run->threads < LANES_MOST ? run->threads : LANES_MOST;
	qsort(order, *count, sizeof(*order), by_begin);
	for (size_t i = 0; i < *count; i++)
		w->place[order[i].lane] = (uint32_t)i;
	return order;
}

static void find_components(struct writing *w)
{
	const struct cpa_profile *profile = w->profile;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].slot >= w->slots)
			w->slots = profile->component[i].slot + 1;
	w->component = XCNEWVEC(uint32_t, w->slots + 1);
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->kind == CPA_FUNCTION || component->kind == CPA_EXTERNAL)
			w->component[component->slot] = (uint32_t)i + 1;
	}
}

/* Sums of the observed path, seconds. */
static json_t *observed_json(const struct writing *w)
{
	static const char *const keys[] = { [CPA_PIECE_ACTIVITY] = "activities_s",
					    [CPA_PIECE_WAIT] = "waits_s",
					    [CPA_PIECE_WOKEN] = "woken_s",
					    [CPA_PIECE_BEYOND] = "beyond_s" };
	double sum[ARRAY_SIZE(keys)] = { 0 };
	json_t *object = json_object();

	for (size_t i = 0; i < w->lanes->pieces; i++)
		sum[w->lanes->piece[i].kind] +=
			(double)(w->lanes->piece[i].to - w->lanes->piece[i].from) * w->ns / 1e9;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
		put_real(object, keys[i], sum[i]);
	put_count(object, "pieces", w->lanes->pieces);
	return object;
}

json_t *cpa_html_lanes(const struct cpa_lanes *lanes, const struct cpa_profile *profile,
		       struct cpa_bytes *bytes)
{
	struct writing w = {
		.lanes = lanes, .profile = profile, .ns = profile->tick_s * 1e9, .bytes = bytes
	};
	json_t *object = json_object(), *array = json_array();
	struct order *order;
	size_t count;

	w.place = XCNEWVEC(uint32_t, lanes->run->threads + 1);
	find_components(&w);
	order = choose_lanes(&w, &count);
	choose_events(&w);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, write_lane(&w, order[i].lane));
	put_count(object, "end_ns", ns_at(&w, lanes->to));
	put_count(object, "overwritten", lanes->run->dropped);
	put_count(object, "threads", lanes->run->threads);
	put_count(object, "events", lanes->run->events);
	put_count(object, "left_out", w.left_out);
	put_known(object, "critical_s", lanes->critical != UINT64_MAX,
		  (double)lanes->critical * profile->tick_s);
	json_object_set_new(object, "observed", observed_json(&w));
	json_object_set_new(object, "lanes", array);
	free(order);
	free(w.place);
	free(w.component);
	return object;
}
