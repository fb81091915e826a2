/* SPDX-License-Identifier: MIT */
/* analysis/render/json_unexplained.c - time blocked that nothing explains, by threads, as JSON */
#include <string.h>

#include "analysis/render/json_put.h"

/* What the threads of the class with @class were blocked in the slot of an external. */
static double blocked_s(const struct cpa_profile *profile, uint32_t class, uint32_t slot)
{
	double sum = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		if (thread->slot != class)
			continue;
		for (uint32_t k = 0; k < thread->spends; k++)
			if (thread->spend[k].slot == slot && thread->spend[k].kind == CPA_EXTERNAL)
				sum += thread->spend[k].seconds;
	}
	return sum;
}

/* Whether an earlier thread than number @at is of its class. */
static bool had(const struct cpa_profile *profile, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (profile->thread[i].slot == profile->thread[at].slot)
			return true;
	return false;
}

/* The name of the class of @thread. */
static const char *class_name(const struct cpa_profile *profile,
			      const struct cpa_thread_figures *thread)
{
	const struct cpa_component_figures *class =
		cpa_profile_component(profile, thread->slot, CPA_THREAD);

	return class ? class->name : thread->start_routine;
}

json_t *cpa_json_unexplained(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->kind != CPA_EXTERNAL || component->class != CPA_EXT_WAIT)
			continue;
		for (size_t k = 0; k < profile->threads; k++) {
			const struct cpa_thread_figures *thread = &profile->thread[k];
			double sum = had(profile, k) ?
					     0 :
					     blocked_s(profile, thread->slot, component->slot);
			json_t *object;

			if (sum <= 0)
				continue;
			object = json_object();
			put_text(object, "what", component->name);
			put_text(object, "threads", class_name(profile, thread));
			put_real(object, "total_s", sum);
			json_array_append_new(array, object);
		}
	}
	return array;
}
