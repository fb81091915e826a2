/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/nameless.c - modules whose functions have no names, and what would give them
 * some
 */
#include "analysis/derived/nameless.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/symbols/packages.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"

#define LEAST 0.01 /* part of the path or of the CPU time that matters */

static int compare(const void *a, const void *b)
{
	const struct cpa_nameless_module *x = a, *y = b;

	if (x->critical_path_s != y->critical_path_s)
		return x->critical_path_s > y->critical_path_s ? -1 : 1;
	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

/*
 * Whether the debug file of a module is installed: then its functions have no names there either.
 */
static bool has_debug_file(const char *build_id)
{
	char *path;
	bool has;

	if (!build_id || strlen(build_id) < 3)
		return false;
	path = cpa_format_text("/usr/lib/debug/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	has = access(path, R_OK) == 0;
	free(path);
	return has;
}

/* Sums of nameless functions, by module - 1; the caller frees them. */
static struct cpa_nameless_module *sum(const struct cpa_profile *profile)
{
	struct cpa_nameless_module *sums = xcalloc(profile->modules + 1, sizeof(*sums));

	for (size_t i = 0; i < profile->modules; i++)
		sums[i].module = (uint32_t)i + 1;
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *figures = &profile->component[i];

		if (figures->kind != CPA_FUNCTION || !figures->nameless || !figures->module ||
		    profile->module[figures->module - 1].path[0] != '/')
			continue;
		sums[figures->module - 1].total_s += figures->total_s;
		sums[figures->module - 1].critical_path_s += figures->critical_path_s;
	}
	return sums;
}

void cpa_nameless_init(struct cpa_nameless *nameless, const struct cpa_profile *profile)
{
	struct cpa_nameless_module *sums = sum(profile);
	const struct cpa_program_figures *program = &profile->program;

	*nameless = (struct cpa_nameless){ 0 };
	qsort(sums, profile->modules, sizeof(*sums), compare);
	for (size_t i = 0; i < profile->modules && nameless->modules < CPA_NAMELESS_MOST; i++) {
		const struct cpa_module_figures *module = &profile->module[sums[i].module - 1];

		if ((sums[i].critical_path_s <= LEAST * program->critical_path_s &&
		     sums[i].total_s <= LEAST * program->work_s) ||
		    has_debug_file(module->build_id))
			continue;
		sums[i].package = cpa_packages_debug(module->path);
		nameless->module[nameless->modules++] = sums[i];
	}
	free(sums);
}

void cpa_nameless_fini(struct cpa_nameless *nameless)
{
	for (size_t i = 0; i < nameless->modules; i++)
		free(nameless->module[i].package);
}

char *cpa_nameless_sentence(const struct cpa_nameless *nameless, const struct cpa_profile *profile)
{
	char *text = xstrdup("No symbols for"), *longer;
	bool automatic = false;

	for (size_t i = 0; i < nameless->modules; i++) {
		const struct cpa_nameless_module *module = &nameless->module[i];
		const char *path = profile->module[module->module - 1].path;
		struct cpa_figure share = cpa_format_percent(module->critical_path_s,
							     profile->program.critical_path_s);

		longer = cpa_format_text("%s%s %s of the path, in %s (%s%s)", text, i ? ";" : "",
					 share.text, cpa_printable_base(path),
					 module->package ? "package " : "package not known",
					 module->package ? module->package : "");
		automatic |= module->package && strstr(module->package, "-dbgsym");
		free(text);
		text = longer;
	}
	longer = nameless->modules ?
			 cpa_format_text(
				 "%s.%s%s", text,
				 automatic ? " The -dbgsym packages are in the debug "
					     "archive of the distribution." :
					     "",
				 getenv("DEBUGINFOD_URLS") ?
					 "" :
					 " Or set DEBUGINFOD_URLS: these servers are then asked.") :
			 NULL;
	free(text);
	return longer;
}
