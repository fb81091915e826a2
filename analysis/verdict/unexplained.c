/* SPDX-License-Identifier: MIT */
#include "analysis/verdict/unexplained.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/profile/spin.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define SHARE	0.10 /* of the threads' time, or of a path: then the verdict says so first */
#define BORDERS "across borders of parts"
#define MATTERS 0.05 /* of the critical path: a smaller error of it is none */

static struct cpa_unexplained_row *add(struct cpa_unexplained *u, const char *what, double total_s)
{
	u->row = xrealloc(u->row, (u->rows + 1) * sizeof(*u->row));
	u->row[u->rows] = (struct cpa_unexplained_row){ .what = what, .total_s = total_s };
	return &u->row[u->rows++];
}

/* The file name of module @number; NULL: not known. */
static const char *module_name(const struct cpa_profile *profile, uint32_t number)
{
	const char *path = number && number <= profile->modules ? profile->module[number - 1].path :
								  NULL;

	return path ? cpa_printable_base(path) : NULL;
}

/* What the threads of the class with slot @class were blocked in the external with @slot. */
static double blocked_s(const struct cpa_profile *profile, uint32_t class, uint32_t slot)
{
	double sum = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		for (uint32_t k = 0; thread->slot == class && k < thread->spends; k++)
			if (thread->spend[k].slot == slot && thread->spend[k].kind == CPA_EXTERNAL)
				sum += thread->spend[k].seconds;
	}
	return sum;
}

/* Add the waits of @external, by classes of threads; what lies in none stands alone. */
static void add_waits(struct cpa_unexplained *u, const struct cpa_profile *profile,
		      const struct cpa_component_figures *external)
{
	double rest = external->total_s;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *class = &profile->component[i];
		struct cpa_unexplained_row *row;
		double sum;

		if (class->kind != CPA_THREAD)
			continue;
		sum = blocked_s(profile, class->slot, external->slot);
		if (sum <= 0)
			continue;
		row = add(u, external->name, sum);
		row->by = class->name;
		row->library = module_name(profile, class->module);
		rest -= sum;
	}
	if (rest > external->total_s / 100)
		add(u, external->name, rest);
	u->waited_s += external->total_s;
	u->path_s += external->observed_path_s;
}

/* Add the waits across borders of parts of the run. */
static void add_borders(struct cpa_unexplained *u, const struct cpa_program_figures *program)
{
	if (program->border_s <= 0)
		return;
	add(u, BORDERS, program->border_s);
	u->path_s += program->segment_border_s;
}

bool cpa_unexplained_spins(const struct cpa_profile *profile,
			   const struct cpa_component_figures *function)
{
	const char *name = module_name(profile, function->module);

	return name && cpa_spin_is_library(name);
}

/* Add the time that activities spend in functions of such libraries. */
static void add_spinning(struct cpa_unexplained *u, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->modules; i++) {
		const char *name = module_name(profile, (uint32_t)i + 1);
		double total_s = 0;

		if (!name || !cpa_spin_is_library(name))
			continue;
		for (size_t k = 0; k < profile->components; k++) {
			const struct cpa_component_figures *each = &profile->component[k];

			if (each->kind != CPA_FUNCTION || each->module != i + 1)
				continue;
			total_s += each->total_s;
			u->shorter_s += each->critical_path_s;
		}
		if (total_s <= 0)
			continue;
		add(u, "spinning", total_s)->library = u->spins_in = name;
		u->spun_s += total_s;
	}
}

/* Add reads of bytes that nobody of the session wrote, by kind of stream. */
static void add_reads(struct cpa_unexplained *u, const struct cpa_profile *profile)
{
	for (unsigned kind = 0; kind < CPA_STREAM_KINDS; kind++) {
		struct cpa_unexplained_row sum = { 0 };

		for (size_t i = 0; i < profile->streams; i++) {
			const struct cpa_stream_figures *stream = &profile->stream[i];

			if (stream->kind != kind || !stream->unmatched)
				continue;
			sum.count += stream->unmatched;
			sum.total_s += stream->from ? 0 : stream->waited_s;
		}
		if (sum.count) {
			struct cpa_unexplained_row *row = add(u, "reads", sum.total_s);

			row->by = cpa_stream_word(kind);
			row->count = sum.count;
		}
	}
}

/*
 * How long the run went on after the last event that cpa saw, as that of a Go program does: its threads
 * make their system calls themselves, and the last one ends it. Or a handler jumped out of cpa's code.
 */
static double after_last_event(const struct cpa_program_figures *program)
{
	if (program->complete || program->state == CPA_EXECED || !program->waited)
		return 0;
	return fmax(program->end_s - program->run_s, 0);
}

static int compare(const void *a, const void *b)
{
	const struct cpa_unexplained_row *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

void cpa_unexplained_init(struct cpa_unexplained *u, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	double missing = profile->diagnostics.missing_s, most;

	*u = (struct cpa_unexplained){ 0 };
	for (size_t i = 0; i < profile->threads; i++)
		u->lived_s += profile->thread[i].lived_s;
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_EXTERNAL &&
		    profile->component[i].class == CPA_EXT_WAIT &&
		    profile->component[i].total_s > 0)
			add_waits(u, profile, &profile->component[i]);
	add_borders(u, program);
	if (u->rows)
		qsort(u->row, u->rows, sizeof(*u->row), compare);
	add_spinning(u, profile);
	if (profile->spin.stacks)
		add(u, "busy waiting", profile->spin.cpu_s)->by = profile->spin.location;
	if (missing > 0)
		add(u, "threads", missing)->count = profile->diagnostics.strangers;
	add_reads(u, profile);
	u->after_s = after_last_event(program);
	if (u->after_s > 0)
		add(u, "end", u->after_s);
	most = fmin(program->observed_path_s,
		    program->work_s + program->blocked_s[CPA_EXT_SERVICE] + missing);
	if (u->waited_s + program->border_s + missing > 0)
		u->longer_s = fmax(most - program->critical_path_s, 0);
}

void cpa_unexplained_fini(struct cpa_unexplained *u)
{
	free(u->row);
}

/*
 * ", most of it threads rml::run of libtbb.so.12, blocked", of waits @on_path or all that are not across borders.
 * The caller frees it.
 */
static char *most_of(const struct cpa_unexplained *u, const struct cpa_program_figures *program,
		     bool on_path)
{
	const struct cpa_unexplained_row *row = u->row;
	const char *of;

	if (on_path && program->segment_border_s > u->path_s / 2)
		return xstrdup(", most of it " BORDERS);
	row += strcmp(row->what, BORDERS) == 0 && u->rows > 1;
	of = row->library ? row->library : "";
	if (!row->by)
		return cpa_format_text(", most of it %s", row->what);
	if (strncmp(row->by, of, strlen(of)) == 0)
		of = "";
	return cpa_format_text(", most of it %s%s%s%s, %s",
			       strcmp(row->by, "main") == 0 ? "the thread " : "threads ", row->by,
			       *of ? " of " : "", of, row->what);
}

char *cpa_unexplained_reason(const struct cpa_unexplained *u, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	double missing = profile->diagnostics.missing_s;
	bool on_path = u->path_s > SHARE * program->observed_path_s;
	bool longer = u->longer_s > MATTERS * program->critical_path_s;
	char *why, *most, *text;

	if (u->after_s > u->path_s && u->after_s > SHARE * (program->run_s + u->after_s))
		return cpa_format_text("the run went on for %s after the last event that cpa saw, "
				       "and what it did then is in no figure.",
				       cpa_format_seconds(u->after_s).text);
	if (!on_path && (!longer || u->waited_s + missing <= SHARE * u->lived_s))
		return NULL;
	if (!on_path && missing > u->waited_s) {
		why = cpa_format_text("threads that cpa never met used %s of CPU time",
				      cpa_format_seconds(missing).text);
	} else {
		double all = on_path ? program->observed_path_s : u->lived_s;
		double part = on_path ? u->path_s : u->waited_s;

		most = most_of(u, program, on_path);
		why = cpa_format_text(
			"for %s of the %s (%s) cpa did not see what threads waited for%s",
			cpa_format_percent(part, all).text,
			on_path ? "observed path" : "threads' time", cpa_format_seconds(part).text,
			most);
		free(most);
	}
	text = longer ? cpa_format_text("%s: the critical path may be up to %s longer.", why,
					cpa_format_seconds(u->longer_s).text) :
			cpa_format_text("%s: the observed path may be off by as much.", why);
	free(why);
	return text;
}

char *cpa_unexplained_busy(const struct cpa_profile *profile, double share)
{
	const struct cpa_spin_figures *spin = &profile->spin;
	const char *at = spin->location ? cpa_printable_base(spin->location) : NULL;

	if (!spin->stacks || spin->path_s <= share * profile->program.critical_path_s)
		return NULL;
	return cpa_format_text(
		"about %s of the critical path is in loops of the program that do nothing but wait until another "
		"thread changes a variable%s%s: that counts as work, and the path may be shorter by as much.",
		cpa_format_seconds(spin->path_s).text, at ? ", most of it at " : "", at ? at : "");
}

/* @text, which is freed, and that loops of the program only wait, if they have much of the path. */
static char *with_busy(char *text, const struct cpa_profile *profile)
{
	char *busy = cpa_unexplained_busy(profile, SHARE), *both;

	if (!busy)
		return text;
	both = cpa_format_text("%s%s", text ? text : "This may be off: ", text ? " And " : "");
	free(text);
	text = cpa_format_text("%s%s", both, busy);
	free(both);
	free(busy);
	return text;
}

char *cpa_unexplained_doubt(const struct cpa_unexplained *u, const struct cpa_profile *profile)
{
	char *reason = cpa_unexplained_reason(u, profile), *text = NULL, *spins;

	if (reason)
		text = cpa_format_text("This may be off: %s", reason);
	if (u->shorter_s > SHARE * profile->program.critical_path_s) {
		spins = cpa_format_text(
			"%s%s%s of the critical path is time in %s, whose threads spin while they "
			"have no work: the path may be shorter by as much.",
			text ? text : "This may be off: ", text ? " " : "",
			cpa_format_seconds(u->shorter_s).text, u->spins_in);
		free(text);
		text = spins;
	}
	free(reason);
	return with_busy(text, profile);
}
