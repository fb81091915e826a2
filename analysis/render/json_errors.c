/* SPDX-License-Identifier: MIT */
/* analysis/render/json_errors.c - how far the figures of a component may be off, as JSON */
#include "analysis/render/json_put.h"

void cpa_json_put_errors(json_t *object, const struct cpa_component_figures *component)
{
	if (component->has_interval) {
		put_real(object, "critical_path_error_s", component->critical_path_error_s);
		put_real(object, "saved_error_s", component->saved_error_s);
	}
	if (component->among) {
		put_count(object, "among", component->among);
		put_real(object, "since_s", component->since_s);
		put_real(object, "since_critical_path_s", component->since_path_s);
		put_real(object, "before_at_most_s", component->before_s);
		put_real(object, "error_at_most_s", component->error_s);
	}
}
