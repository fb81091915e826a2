/* SPDX-License-Identifier: MIT */
#include "preload/core/untimed.h"

#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/journal/journal.h"

#define CARRIED 8u /* most time carried over to later activities, in re-base intervals */

_Static_assert(CPA_UNTIMED_LEARN == CPA_UNTIMED_SCALE, "the sum of those is a mean as it stands");

/* B of preload/core/untimed.h, in ticks. */
static uint64_t brief(void)
{
	/* Relaxed: the sampler writes it before there are untimed sections. */
	return cpa_clock_ticks(__atomic_load_n(&cpa_header()->machine.brief_ns, __ATOMIC_RELAXED));
}

/*
 * The first activity of a drawn section, or all of the section, took @ticks: put that into the
 * mean.
 */
static void learn(const struct cpa_worker *w, uint64_t ticks)
{
	/* The reading of the clock at its end is included in @ticks; untimed sections have none. */
	uint64_t before = cpa_clock_now(), look = cpa_clock_now() - before, most = brief();

	ticks = ticks > look ? ticks - look : 0;
	ticks = ticks < most ? ticks : most;
	*w->untimed.begun +=
		(uint32_t)ticks - (w->untimed.learns ? 0 : *w->untimed.begun / CPA_UNTIMED_SCALE);
}

/* Ticks of the activity that ends which may belong to the drawn section. */
static uint64_t drawn_part(const struct cpa_worker *w, const struct cpa_span *span)
{
	uint64_t ticks = w->clock.last > w->untimed.begun_at ? w->clock.last - w->untimed.begun_at :
							       0;
	uint64_t most = span->process;

	/* the thread kept its processor: see cpa_clock_repaid() */
	if (w->clock.resumed != w->clock.last)
		most += span->runqueue;
	return ticks < most ? ticks : most;
}

/* A section of @class is open; it took @length ticks more than were noted. */
static void open_class(struct cpa_worker *w, uint32_t class, uint64_t length)
{
	for (unsigned i = 0; i < CPA_UNTIMED; i++) {
		if (w->untimed.classes[i].class != class || w->untimed.classes[i].open)
			continue;
		w->untimed.classes[i].open = true;
		w->untimed.classes[i].ticks += length * CPA_UNTIMED_SCALE;
	}
}

/*
 * From now on, time the sections that are open. Store their classes in @class, return the number.
 */
static unsigned time_open(struct cpa_worker *w, uint64_t length, uint64_t apart, uint32_t class[])
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->untimed.open_count; i++) {
		struct cpa_object *o = w->untimed.open[i];

		/* The section may have ended and been timed in a signal handler. */
		if (o->holder != w->self.id || o->since)
			continue;
		o->since = w->clock.last;
		o->hold += length + apart;
		class[n++] = o->class;
	}
	w->untimed.open_count = 0;
	for (unsigned i = w->untimed.open_reads ? 0 : w->reads.count; i < w->reads.count; i++) {
		if (w->reads.held[i].since)
			continue;
		w->reads.held[i].since = w->clock.last;
		/* Relaxed: several readers add to the sum. */
		__atomic_fetch_add(&w->reads.held[i].object->hold, length + apart,
				   __ATOMIC_RELAXED);
		class[n++] = w->reads.held[i].object->class;
	}
	w->untimed.open_reads = 0;
	for (unsigned i = 0; i < n; i++)
		open_class(w, class[i], length);
	return n;
}

/*
 * Charge the sections of @u to their class, at most the @process and @external ticks of the
 * activity.
 */
static void charge_class(struct cpa_worker *w, struct cpa_untimed *u, uint64_t process,
			 uint64_t external)
{
	const uint64_t most = CARRIED * cpa_clock_rebase_ticks;
	uint32_t slot = cpa_component_slot(u->class);
	uint64_t noted = u->ticks / CPA_UNTIMED_SCALE, ticks = noted < process ? noted : process;

	if (!u->open)
		external = 0;
	if (cpa_holds(&w->self, slot)) /* the class was charged with the whole activity already */
		ticks = 0;
	else if (slot)
		cpa_activity_charge(&w->self, slot, ticks + external, ticks);
	if (unlikely(external))
		cpa_activity_held_external(&w->self, slot, external);
	/*
	 * Estimates beyond the length of the activity are charged to later activities, so that the
	 * sum stays right.
	 */
	noted = noted - ticks < most ? noted - ticks : most;
	u->class = noted ? u->class : 0;
	u->ticks = noted * CPA_UNTIMED_SCALE;
	u->open = false;
}

static void charge(struct cpa_worker *w, uint64_t process, uint64_t external)
{
	cpa_writing(w->self.row);
	for (unsigned i = 0; i < CPA_UNTIMED; i++)
		if (w->untimed.classes[i].class)
			charge_class(w, &w->untimed.classes[i], process, external);
	cpa_written(w->self.row);
	cpa_diag_add(CPA_DIAG_UNTIMED, w->untimed.count);
	if (unlikely(w->self.journal))
		cpa_journal_untimed(&w->self, w->untimed.count);
	w->untimed.count = 0;
}

void cpa_untimed_charge(struct cpa_worker *w, uint64_t process)
{
	charge(w, process, 0);
}

void cpa_untimed_end(struct cpa_worker *w, const struct cpa_span *span)
{
	uint64_t sampled = span->sampled_ticks;
	uint32_t class[CPA_OPEN + CPA_READS];
	unsigned opened;

	if (sampled && w->clock.last < w->sampler.latest + brief())
		sampled -= sampled < w->sampler.period ? sampled : w->sampler.period;
	if (w->untimed.begun)
		learn(w, drawn_part(w, span));
	w->untimed.begun = NULL;
	opened = time_open(w, sampled, span->external + span->idle + span->runqueue, class);
	charge(w, span->process, span->external);
	for (unsigned i = 0; i < opened; i++)
		cpa_hold(&w->self, class[i], cpa_component_slot(class[i]));
}

/* Not in line: its own time, except for its return, lies in the section. */
__attribute__((noinline)) void cpa_untimed_draw(struct cpa_worker *w, uint32_t *mean)
{
	/* xorshift: no pattern of the program can coincide with it. */
	uint32_t x = w->untimed.random ? w->untimed.random : w->self.id;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	w->untimed.random = x;
	w->untimed.draw = 1 + (int32_t)(x % (2 * CPA_UNTIMED_DRAW - 1));
	if (w->untimed.begun) /* the section is inside one that was drawn */
		return;
	w->untimed.begun = mean;
	w->untimed.learns = false;
	cpa_force_slow(w);
	w->untimed.begun_at = cpa_clock_now();
}

void cpa_untimed_drawn(struct cpa_worker *w, const uint32_t *mean, uint64_t now)
{
	if (w->untimed.begun != mean) /* the drawn section is inside this one */
		return;
	learn(w, now - w->untimed.begun_at);
	w->untimed.begun = NULL;
}
