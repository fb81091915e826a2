/* SPDX-License-Identifier: MIT */
/* analysis/render/json_unexplained.c - time blocked that nothing explains, by threads, as JSON */
#include <string.h>

#include "analysis/render/json_put.h"

/* What the threads that start at @routine were blocked in the slot of an external. */
static double blocked_s(const struct cpa_profile *profile, const char *routine, uint32_t slot)
{
	double sum = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		if (strcmp(thread->start_routine, routine) != 0)
			continue;
		for (uint32_t k = 0; k < thread->spends; k++)
			if (thread->spend[k].slot == slot && thread->spend[k].kind == CPA_EXTERNAL)
				sum += thread->spend[k].seconds;
	}
	return sum;
}

/* Whether an earlier thread than number @at has its start routine. */
static bool had(const struct cpa_profile *profile, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(profile->thread[i].start_routine, profile->thread[at].start_routine) ==
		    0)
			return true;
	return false;
}

json_t *cpa_json_unexplained(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->kind != CPA_EXTERNAL || component->class != CPA_EXT_WAIT)
			continue;
		for (size_t k = 0; k < profile->threads; k++) {
			const char *routine = profile->thread[k].start_routine;
			double sum = had(profile, k) ? 0 :
						       blocked_s(profile, routine, component->slot);
			json_t *object;

			if (sum <= 0)
				continue;
			object = json_object();
			put_text(object, "what", component->name);
			put_text(object, "threads", routine);
			put_real(object, "total_s", sum);
			json_array_append_new(array, object);
		}
	}
	return array;
}
