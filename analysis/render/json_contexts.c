/* SPDX-License-Identifier: MIT */
/* analysis/render/json_contexts.c - who called whom, as JSON */
#include "analysis/profile/contexts.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/uses.h"
#include "analysis/render/json_put.h"

static json_t *context_json(size_t number, const struct cpa_context_figures *context)
{
	json_t *object = json_object();

	put_count(object, "id", number);
	put_count(object, "caller", context->caller);
	put_text(object, "name", context->name);
	if (context->location)
		put_text(object, "location", context->location);
	if (context->inlined)
		json_object_set_new(object, "inlined", json_true());
	put_count(object, "stacks_on_path", context->stacks);
	put_real(object, "critical_path_s", context->path_s);
	put_real(object, "cpu_s", context->cpu_s);
	return object;
}

static const char *const use_names[] = {
	[CPA_USE_WAIT] = "wait", [CPA_USE_HOLD] = "hold", [CPA_USE_FIRST] = "first"
};

/* The stacks of each class of objects, in the order of the list "objects". */
static json_t *uses_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->objects; i++) {
		for (enum cpa_use_kind kind = CPA_USE_WAIT; kind <= CPA_USE_FIRST; kind++) {
			size_t count;
			const struct cpa_use_figures *use =
				cpa_uses_of(profile, profile->object[i].row, kind, &count);

			for (size_t k = 0; k < count; k++) {
				json_t *object = json_object();

				put_text(object, "use", use_names[kind]);
				put_count(object, "object", i);
				put_count(object, "context", use[k].context);
				put_count(object, "stacks", use[k].stacks);
				put_real(object, "time_s", use[k].time_s);
				json_array_append_new(array, object);
			}
		}
	}
	return array;
}

json_t *cpa_json_contexts(const struct cpa_profile *profile)
{
	const struct cpa_contexts *contexts = profile->contexts;
	json_t *object = json_object(), *array = json_array();

	put_count(object, "stacks", contexts->stacks);
	put_count(object, "stacks_cut", contexts->cut);
	put_count(object, "stacks_on_path", contexts->on_path);
	put_real(object, "cost_s", contexts->cost_s);
	for (size_t i = 0; i < contexts->count; i++)
		json_array_append_new(array, context_json(i + 1, &contexts->context[i]));
	json_object_set_new(object, "contexts", array);
	json_object_set_new(object, "uses", uses_json(profile));
	return object;
}
