/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_weigh.c - time of an activity after changes to its components */
#include "analysis/predict/transcribe_stages.h"

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* @ticks minus @less, times @part. */
static uint64_t changed(uint64_t ticks, double less, double part)
{
	double left = ((double)ticks - less) * part;

	return cpa_history_ticks(left + 0.5);
}

/*
 * Functions exclude each other, and so do externals, so their savings add up. Sections (locks,
 * regions, items in process) and the thread's class are active at the same time: each scales what
 * is left.
 */
void transcribe_weigh(const struct transcribe *t, const struct cpa_history_event *event,
		      uint64_t *process, uint64_t *external)
{
	const double *factor = t->changes->factor;
	double whole = (double)event->process + (double)event->external - (double)event->idle;
	double less_process = 0, less_external = 0, sections = 1, thread = 1;

	*process = event->process;
	*external = event->external;
	if (!factor)
		return;
	for (uint32_t i = 0; i < event->charges; i++) {
		const struct cpa_charge *charge = &event->charge[i];
		double less = charge->slot < t->cast->slots ? 1 - factor[charge->slot] : 0;

		if (less == 0 || charge->ticks == 0)
			continue;
		switch (t->cast->slot_kind[charge->slot]) {
		case CPA_FUNCTION:
			less_process += less * (double)charge->ticks;
			break;
		case CPA_EXTERNAL:
			less_external += less * (double)charge->ticks;
			break;
		case CPA_THREAD:
			thread *=
				1 - less * least(1, (double)charge->ticks / (double)event->process);
			break;
		default:
			sections *= 1 - less * least(1, (double)charge->ticks / whole);
		}
	}
	*process = changed(event->process, less_process, sections * thread);
	*external = changed(event->external, less_external, sections);
}
