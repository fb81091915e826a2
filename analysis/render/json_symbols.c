/* SPDX-License-Identifier: MIT */
/* analysis/render/json_symbols.c - modules without symbols, as JSON */
#include "analysis/derived/nameless.h"
#include "analysis/render/json_put.h"
#include "analysis/profile/modules.h"

json_t *cpa_json_missing_symbols(const struct cpa_profile *profile)
{
	json_t *array = json_array();
	struct cpa_nameless nameless;

	cpa_nameless_init(&nameless, profile);
	for (size_t i = 0; i < nameless.modules; i++) {
		const struct cpa_nameless_module *module = &nameless.module[i];
		json_t *object = json_object();

		put_text(object, "path", profile->module[module->module - 1].path);
		put_real(object, "critical_path_s", module->critical_path_s);
		put_real(object, "total_s", module->total_s);
		put_text(object, "package", module->package);
		json_array_append_new(array, object);
	}
	cpa_nameless_fini(&nameless);
	return array;
}
