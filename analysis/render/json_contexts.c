/* SPDX-License-Identifier: MIT */
/* analysis/render/json_contexts.c - who called whom, as JSON */
#include "analysis/profile/contexts.h"
#include "analysis/render/json_put.h"

static json_t *context_json(size_t number, const struct cpa_context_figures *context)
{
	json_t *object = json_object();

	put_count(object, "id", number);
	put_count(object, "caller", context->caller);
	put_text(object, "name", context->name);
	if (context->location)
		put_text(object, "location", context->location);
	put_count(object, "stacks_on_path", context->stacks);
	put_real(object, "critical_path_s", context->path_s);
	put_real(object, "cpu_s", context->cpu_s);
	return object;
}

json_t *cpa_json_contexts(const struct cpa_contexts *contexts)
{
	json_t *object = json_object(), *array = json_array();

	put_count(object, "stacks", contexts->stacks);
	put_count(object, "stacks_cut", contexts->cut);
	put_count(object, "stacks_on_path", contexts->on_path);
	for (size_t i = 0; i < contexts->count; i++)
		if (contexts->context[i].name)
			json_array_append_new(array, context_json(i + 1, &contexts->context[i]));
	json_object_set_new(object, "contexts", array);
	return object;
}
