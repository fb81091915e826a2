/* SPDX-License-Identifier: MIT */
#include "analysis/compare/side.h"

#include <glob.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/input/find_dump.h"
#include "analysis/input/load.h"
#include "analysis/profile/profile.h"
#include "analysis/render/json.h"
#include "analysis/report/span.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

static double of_program(const json_t *run, const char *key)
{
	return json_number_value(json_object_get(json_object_get(run, "program"), key));
}

static bool is_sampled(const json_t *run)
{
	return json_is_true(json_object_get(json_object_get(run, "program"), "sampled"));
}

void cpa_side_add_run(struct cpa_side *side, const char *file, json_t *run)
{
	if (!(of_program(run, "wall_s") > 0)) {
		json_decref(run);
		side->blank++;
		return;
	}
	side->file = xrealloc(side->file, (side->runs + 1) * sizeof(*side->file));
	side->run = xrealloc(side->run, (side->runs + 1) * sizeof(json_t *));
	side->file[side->runs] = cpa_printable(file, SIZE_MAX);
	side->run[side->runs++] = run;
}

json_t *cpa_side_read(const char *file, const struct cpa_profile *before, char **error)
{
	struct cpa_profile *profile;
	struct cpa_dump dump;
	json_t *run = NULL;

	if (cpa_dump_open(&dump, file, error) < 0)
		return NULL;
	profile = cpa_profile_build(&dump, CPA_GRAPH_NODES);
	if (!cpa_dump_whole(&dump))
		*error = cpa_format_text(
			"%s: the file became unreadable during reading (try again)", dump.file);
	else if (!before || cpa_span_apply(profile, before, error) == 0)
		run = cpa_json_profile(profile);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	return run;
}

/* Whether @run has what is read of it. */
static bool is_report(const json_t *run)
{
	return json_integer_value(json_object_get(run, "schema")) == CPA_JSON_SCHEMA &&
	       json_is_object(json_object_get(run, "program")) &&
	       json_is_array(json_object_get(run, "components")) &&
	       json_is_array(json_object_get(run, "objects")) &&
	       json_is_array(json_object_get(run, "queues"));
}

static json_t *read_json(const char *file, char **error)
{
	char *name = cpa_printable(file, SIZE_MAX), *text;
	json_error_t why;
	json_t *run = json_load_file(file, 0, &why);

	if (!run) {
		text = cpa_printable(why.text, sizeof(why.text));
		*error = cpa_format_text("%s: line %d: %s (a dump, or a file of cpa-report "
					 "--format json, expected)",
					 name, why.line, text);
		free(text);
	} else if (!is_report(run)) {
		*error = cpa_format_text("%s: not a report of schema %d (write it again with "
					 "cpa-report --format json)",
					 name, CPA_JSON_SCHEMA);
		json_decref(run);
		run = NULL;
	}
	free(name);
	return run;
}

/* JSON begins with a brace, a dump with a magic word. */
static bool is_json(const char *file)
{
	FILE *in = fopen(file, "re");
	int first = in ? getc(in) : EOF;

	if (in)
		fclose(in);
	return first == '{';
}

static int add_file(struct cpa_side *side, const char *file, char **error)
{
	json_t *run = is_json(file) ? read_json(file, error) : cpa_side_read(file, NULL, error);

	if (!run)
		return -1;
	cpa_side_add_run(side, file, run);
	return 0;
}

/* By length first, so that run 10 follows run 9. */
static int compare_names(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t size_x = strlen(x), size_y = strlen(y);

	if (size_x != size_y)
		return size_x < size_y ? -1 : 1;
	return strcmp(x, y);
}

/* Whether @name ends with a number and its suffix, behind @size letters and a dot. */
static bool is_numbered(const char *name, size_t size)
{
	const char *number = name + size + 1;

	return number[strspn(number, "0123456789")] == '.' &&
	       !strchr(number + strspn(number, "0123456789") + 1, '.');
}

/* Add the files that match @patterns behind @prefix, in which no letter is special. */
static int add_matching(struct cpa_side *side, const char *prefix, const char *const *patterns,
			bool numbered, char **error)
{
	size_t size = strlen(prefix);
	char *quoted = xmalloc(2 * size + 1), *to = quoted;
	glob_t found = { 0 };
	int ret = 0, flags = 0;

	for (; *prefix; prefix++) {
		if (strchr("*?[\\", *prefix))
			*to++ = '\\';
		*to++ = *prefix;
	}
	*to = '\0';
	for (; *patterns; patterns++) {
		char *pattern = cpa_format_text("%s%s", quoted, *patterns);

		glob(pattern, flags, NULL, &found);
		flags = GLOB_APPEND;
		free(pattern);
	}
	qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), compare_names);
	for (size_t i = 0; i < found.gl_pathc && ret == 0; i++)
		if (!numbered || is_numbered(found.gl_pathv[i], size))
			ret = add_file(side, found.gl_pathv[i], error);
	globfree(&found);
	free(quoted);
	return ret;
}

/* Add the run of the process with number @pid. */
static int add_process(struct cpa_side *side, const char *pid, char **error)
{
	uint32_t running;
	char *file = cpa_dump_find(pid, &running, error);
	int ret = file ? add_file(side, file, error) : -1;

	free(file);
	return ret;
}

int cpa_side_add(struct cpa_side *side, const char *argument, char **error)
{
	static const char *const in_folder[] = { "/*.dump", "/*.json", NULL };
	static const char *const behind[] = { ".[0-9]*.dump", ".[0-9]*.json", NULL };
	size_t before = side->runs + side->blank;
	struct stat st;
	bool exists = stat(argument, &st) == 0;
	char *name;
	int ret;

	if (exists && !S_ISDIR(st.st_mode))
		return add_file(side, argument, error);
	ret = add_matching(side, argument, exists ? in_folder : behind, !exists, error);
	if (ret < 0 || side->runs + side->blank > before)
		return ret;
	if (*argument && !argument[strspn(argument, "0123456789")])
		return add_process(side, argument, error);
	name = cpa_printable(argument, SIZE_MAX);
	*error = cpa_format_text("%s: no such file, nor %s.1.dump (cpa run --repeat 5 -o %s -- "
				 "PROGRAM writes %s.1.dump to %s.5.dump)",
				 name, name, name, name, name);
	free(name);
	return -1;
}

double cpa_side_profiled(const json_t *run)
{
	double wall_s = of_program(run, "wall_s"), run_s = of_program(run, "run_s");

	return is_sampled(run) && wall_s < run_s ? wall_s / run_s : 1;
}

void cpa_side_fini(struct cpa_side *side)
{
	for (size_t i = 0; i < side->runs; i++) {
		free(side->file[i]);
		json_decref(side->run[i]);
	}
	free(side->file);
	free(side->run);
}
