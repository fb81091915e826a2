/* SPDX-License-Identifier: MIT */
#include "analysis/exact/weigh.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exact/walk.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"

struct weighing {
	struct cpa_profile *profile;
	struct cpa_journal_file file;
	struct cpa_exact *exact;
	double tick_s;
	uint64_t *share, *saved; /* by slot, ticks */
};

static void add_shares(void *argument, const struct cpa_step *step)
{
	uint64_t *share = argument;

	for (size_t i = 0; i < step->charges; i++)
		share[step->charge[i].slot] += step->charge[i].ticks;
}

/* What zeroing each slot saves, as many slots at a time as there are lanes. */
static void find_savings(struct weighing *w)
{
	struct cpa_exact *x = w->exact;
	uint64_t len = x->result[0];

	for (uint32_t slot = 1; slot < w->file.slots;) {
		uint32_t of[CPA_LANES] = { 0 };

		memset(x->lane_of, 0, w->file.slots * sizeof(*x->lane_of));
		for (x->lanes = 1; slot < w->file.slots && x->lanes < CPA_LANES; slot++) {
			if (!x->total[slot])
				continue;
			of[x->lanes] = slot;
			x->lane_of[slot] = (uint8_t)x->lanes++;
		}
		if (x->lanes > 1)
			cpa_exact_run(x);
		for (unsigned k = 1; k < x->lanes; k++)
			w->saved[of[k]] = len > x->result[k] ? len - x->result[k] : 0;
	}
}

static int compare(const void *a, const void *b)
{
	const struct cpa_component_figures *x = a, *y = b;

	if (x->saved_s != y->saved_s)
		return x->saved_s > y->saved_s ? -1 : 1;
	return x->total_s != y->total_s ? (x->total_s > y->total_s ? -1 : 1) :
					  strcmp(x->name, y->name);
}

static void adopt_figures(struct weighing *w)
{
	struct cpa_profile *p = w->profile;
	struct cpa_program_figures *program = &p->program;

	program->critical_path_s = program->idle_path_s;
	program->max_parallelism =
		program->idle_path_s > 0 ?
			(program->work_s + program->external_s) / program->idle_path_s :
			0;
	for (size_t i = 0; i < p->components; i++) {
		struct cpa_component_figures *c = &p->component[i];

		if (c->slot >= w->file.slots)
			continue;
		c->critical_path_s = (double)w->share[c->slot] * w->tick_s;
		c->saved_s = (double)w->saved[c->slot] * w->tick_s;
		c->class = CPA_EXT_SERVICE; /* it is one of the components that can save */
	}
	qsort(p->component, p->components, sizeof(*p->component), compare);
	for (size_t i = 0; i < p->objects; i++) {
		struct cpa_object_figures *o = &p->object[i];

		if (!o->has_slot || o->slot >= w->file.slots)
			continue;
		o->critical_path_s = (double)w->share[o->slot] * w->tick_s;
		o->saved_s = (double)w->saved[o->slot] * w->tick_s;
	}
	for (size_t i = 0; i < p->queues; i++) {
		struct cpa_queue_figures *q = &p->queue[i];

		if (!q->slot || q->slot >= w->file.slots)
			continue;
		q->critical_path_s = (double)w->share[q->slot] * w->tick_s;
		q->saved_s = (double)w->saved[q->slot] * w->tick_s;
	}
}

/* The journal does not reach back to the start of every thread. */
static bool has_gap(const struct weighing *w)
{
	bool gap = w->file.overwritten || w->file.refused || w->exact->broken || w->exact->missing;

	for (size_t i = 0; i < w->file.strands; i++)
		gap |= w->file.strand[i].dropped != 0;
	return gap;
}

static int weigh(struct weighing *w, bool adopt, const char *name, char **error)
{
	const struct cpa_exact *x = w->exact;

	cpa_exact_run(w->exact);
	if (has_gap(w)) {
		*error =
			cpa_format_text("%s: events of the run are missing in its journal (cpa run "
					"--journal=SIZE, larger)",
					name);
		return -1;
	}
	w->profile->program.idle_path_s = (double)x->result[0] * w->tick_s;
	if (!adopt || !w->file.strands)
		return 0;
	w->share = xcalloc(w->file.slots, sizeof(*w->share));
	w->saved = xcalloc(w->file.slots, sizeof(*w->saved));
	cpa_walk(x, x->longest, x->strand[x->longest].last, add_shares, w->share);
	find_savings(w);
	adopt_figures(w);
	free(w->share);
	free(w->saved);
	return 0;
}

int cpa_weigh_idle(struct cpa_dump *dump, struct cpa_profile *profile, bool adopt, char **error)
{
	const struct cpa_header *h = &dump->header;
	struct weighing w = { .profile = profile };
	int ret;

	if (h->last_ticks > h->start_ticks)
		w.tick_s = (double)(h->last_ns - h->start_ns) / 1e9 /
			   (double)(h->last_ticks - h->start_ticks);
	dump->idle_weighs = true;
	if (!cpa_journal_open(&w.file, dump, error)) {
		dump->idle_weighs = false;
		if (!*error)
			*error = cpa_format_text("%s: it has no journal (cpa run --journal)",
						 dump->file);
		return -1;
	}
	w.exact = cpa_exact_new(&w.file);
	ret = weigh(&w, adopt, dump->file, error);
	cpa_exact_free(w.exact);
	cpa_journal_close(&w.file);
	dump->idle_weighs = adopt && !ret;
	return ret;
}
