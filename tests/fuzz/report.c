/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/report.c - every view of cpa-report and cpa top, of session files that lie
 *
 *   report [CORPUS [COUNT]]   the recipes of CORPUS, one a line in hex, and COUNT random ones
 *
 * Under libFuzzer (tests/fuzz/run) it chooses recipes by what they reach. Whatever the file: no
 * sanitizer complains, nothing but printable characters comes out, JSON parses, the rows of a CSV
 * table have equally many fields, and no line of cpa top is longer than its screen.
 */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>

#include "analysis/render/csv.h"
#include "analysis/export/folded.h"
#include "analysis/render/annotate_text.h"
#include "analysis/render/callers_text.h"
#include "analysis/render/json.h"
#include "analysis/input/load.h"
#include "analysis/render/metrics_text.h"
#include "analysis/render/phases_text.h"
#include "analysis/export/pprof.h"
#include "analysis/export/sqlite.h"
#include "analysis/profile/profile.h"
#include "analysis/symbols/symbols.h"
#include "analysis/render/text.h"
#include "analysis/top/top_session.h"
#include "tests/fuzz/output.h"
#include "tests/fuzz/recipe.h"
#include "tests/property/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file[64];
static int fd = -1;

/* Fields of the record at *@at, which moves to the next one. */
static size_t csv_fields(const char **at)
{
	size_t fields = 1;
	bool quoted = false;

	for (; **at && (quoted || **at != '\n'); (*at)++) {
		if (**at == '"')
			quoted = !quoted;
		fields += **at == ',' && !quoted;
	}
	if (quoted || !**at)
		fail("CSV: the last record does not end");
	(*at)++;
	return fields;
}

static void check_csv(const char *text)
{
	size_t fields = csv_fields(&text);

	while (*text)
		if (csv_fields(&text) != fields)
			fail("CSV: a record is not as long as the first");
}

static void view(const struct cpa_profile *profile, int level, bool csv)
{
	static const size_t widths[] = { 72, 80, 200 };
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct cpa_page page = { .out = out, .width = widths[(unsigned)level % 3] };

	if (level < 0) {
		if (cpa_json_write(profile, out) < 0)
			fail("JSON: not written");
	} else if (csv) {
		cpa_csv_write(profile, (enum cpa_level)level, out);
	} else {
		cpa_text_write(profile, &page, (enum cpa_level)level, 10);
	}
	fclose(out);
	if (level < 0)
		check_json(text, size);
	else
		check_text(csv ? "CSV" : "text", text, size, csv ? "\r\n" : "\n");
	if (csv)
		check_csv(text);
	free(text);
}

/* Formats of other tools. Their own readers are in tests/e2e/exports.py. */
static void view_exports(const struct cpa_profile *profile)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (cpa_pprof_write(profile, out) < 0 || cpa_sqlite_write(profile, out) < 0)
		fail("pprof or SQLite: not written");
	fclose(out);
	free(text);
	for (unsigned weight = 0; weight < CPA_WEIGHTS; weight++) {
		out = open_memstream(&text, &size);
		cpa_folded_write(profile, weight, out);
		fclose(out);
		check_text("folded", text, size, "\n");
		free(text);
	}
}

/* What stacks tell: callers, the tree of them, parts of functions, lines. */
static void view_stacks(const struct cpa_profile *profile)
{
	size_t size = 0;
	char *text = NULL, *error = NULL;
	FILE *out = open_memstream(&text, &size);
	struct cpa_page page = { .out = out, .width = 80 };

	cpa_text_callers(&page, profile, "*", 10, &error);
	free(error);
	error = NULL;
	cpa_text_tree(&page, profile, 10, &error);
	free(error);
	error = NULL;
	cpa_text_annotate(&page, profile, "*", &error);
	free(error);
	cpa_text_contexts(&page, profile, 2, 10);
	fclose(out);
	check_text("stacks", text, size, "\n");
	free(text);
}

/* What cpa-report adds for --metrics, --histogram and --phases. */
static void view_details(struct cpa_profile *profile)
{
	const struct cpa_phase_range range = { "range", 0.1, INFINITY };
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct cpa_page page = { .out = out, .width = 80 };

	profile->metrics = cpa_metrics_build(profile);
	profile->phases = cpa_phases_build(
		profile, &(struct cpa_phase_settings){ .ranges = 1, .range = &range });
	profile->histogram =
		cpa_histogram_build(profile, profile->metrics, CPA_METRIC_LOAD, CPA_AT_THREAD);
	cpa_text_metrics(&page, profile->metrics, CPA_METRIC_LEVELS, 10);
	cpa_text_phases(&page, profile, profile->phases, 10);
	cpa_text_histogram(&page, profile->histogram, 10);
	fclose(out);
	check_text("details", text, size, "\n");
	free(text);
	view(profile, -1, false);
	cpa_histogram_free(profile->histogram);
	cpa_phases_free(profile->phases);
	cpa_metrics_free(profile->metrics);
	profile->metrics = NULL;
	profile->phases = NULL;
	profile->histogram = NULL;
}

static void report(void)
{
	struct cpa_profile *profile;
	struct cpa_dump dump;
	char *error;

	if (cpa_dump_open(&dump, file, &error) < 0) {
		check_message(error);
		return;
	}
	profile = cpa_profile_build(&dump, CPA_GRAPH_ALL);
	view(profile, -1, false);
	for (int level = 0; level < CPA_LEVELS; level++) {
		view(profile, level, false);
		view(profile, level, true);
	}
	view_details(profile);
	view_exports(profile);
	view_stacks(profile);
	cpa_profile_free(profile);
	if (dump.rows[CPA_TABLE_CONTEXTS]) {
		profile = cpa_profile_build(&dump, CPA_GRAPH_LINES);
		view_exports(profile);
		view_stacks(profile);
		cpa_profile_free(profile);
	}
	cpa_dump_close(&dump);
}

static void draw(struct cpa_top *top, size_t columns, size_t lines)
{
	struct cpa_top_screen screen = cpa_top_draw(top, columns, lines);

	if (screen.used > lines)
		fail("cpa top: %zu lines on a screen of %zu", screen.used, lines);
	for (size_t i = 0; i < screen.used; i++) {
		const char *text = screen.line[i].text;

		check_text("cpa top", text, strlen(text), "");
		if (cpa_printable_columns(text) > columns)
			fail("cpa top: longer than %zu columns: %s", columns, text);
	}
	cpa_top_screen_free(&screen);
}

static void watch(struct cpa_top_session *session, struct cpa_top *top)
{
	static const int keys[] = { CPA_KEY_DOWN,
				    CPA_KEY_ENTER,
				    CPA_KEY_ESCAPE,
				    's',
				    CPA_KEY_LEFT,
				    'l',
				    CPA_KEY_END,
				    CPA_KEY_ENTER,
				    CPA_KEY_UP,
				    CPA_KEY_ESCAPE,
				    'u',
				    't',
				    CPA_KEY_RIGHT,
				    'r',
				    'm',
				    'c',
				    '/',
				    'e',
				    CPA_KEY_ENTER,
				    CPA_KEY_ESCAPE,
				    '?',
				    CPA_KEY_ESCAPE };

	cpa_top_read(session, top);
	draw(top, 80, 24);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		cpa_top_press(top, keys[i]);
		draw(top, i & 1 ? 80 : 132, i & 1 ? 24 : 50);
	}
	draw(top, 10, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpa_top_session session;
	struct recipe recipe;
	struct cpa_top top;
	bool open = false;
	char *error;

	if (size < 1 || size > 1 + STEPS_MAX * sizeof(struct step))
		return 0;
	if (fd < 0) {
		cpa_symbols_here = true;
		fd = memfd_create("session", MFD_CLOEXEC);
		/* As the process has it whose session it is, which is us. */
		if (ftruncate(fd, 1) ||
		    mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
			maker_fail("memfd");
		snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	}
	recipe_start(&recipe, data[0], fd);
	for (size_t at = 1; at + sizeof(struct step) <= size; at += sizeof(struct step)) {
		struct step step;

		memcpy(&step, data + at, sizeof(step));
		recipe_step(&recipe, &step);
		if (step.kind % STEP_KINDS != STEP_READ)
			continue;
		recipe_save(&recipe);
		if (!open) {
			open = cpa_top_open(&session, file, &error) == 0;
			if (open)
				cpa_top_init(&top, session.dump.header.slots, false);
			else
				free(error);
		}
		if (open)
			watch(&session, &top);
	}
	if (open) {
		cpa_top_close(&session);
		cpa_top_fini(&top);
	}
	recipe_save(&recipe);
	report();
	dump_maker_free(&recipe.maker);
	return 0;
}

#ifndef FUZZER

static size_t unhex(const char *line, uint8_t *data, size_t room)
{
	size_t size = 0;
	unsigned byte;

	for (; size < room && sscanf(line, "%2x", &byte) == 1; line += 2)
		data[size++] = (uint8_t)byte;
	return size;
}

static unsigned replay(const char *corpus)
{
	FILE *lines = fopen(corpus, "re");
	uint8_t data[1 + STEPS_MAX * sizeof(struct step)];
	size_t room = 0;
	char *line = NULL;
	unsigned count = 0;

	if (!lines)
		maker_fail(corpus);
	while (getline(&line, &room, lines) > 0) {
		if (!isxdigit((unsigned char)line[0]))
			continue;
		count++;
		printf("# recipe %u\n", count);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, unhex(line, data, sizeof(data)));
	}
	free(line);
	fclose(lines);
	return count;
}

static void cook(uint64_t seed, uint64_t count)
{
	uint8_t data[1 + 8 * sizeof(struct step)];

	for (uint64_t n = 0; n < count; n++) {
		struct rnd r = rnd_sequence(seed, n);
		size_t steps = 1 + rnd_below(&r, 8);

		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)rnd_next(&r);
		/* Names take long to look up: few recipes do. */
		if (rnd_percent(&r, 90))
			data[0] &= (uint8_t)~BASE_MODULE;
		printf("# CPA_SEED=%llu, %llu\n", (unsigned long long)seed, (unsigned long long)n);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, 1 + steps * sizeof(struct step));
	}
}

int main(int argc, char **argv)
{
	bool more = getenv("CPA_LONG") != NULL;

	printf("1..2\n");
	printf("ok 1 - %u recipes of the corpus\n",
	       replay(argc > 1 ? argv[1] : "tests/fuzz/corpus.txt"));
	cook(rnd_seed(), argc > 2 ? strtoull(argv[2], NULL, 10) : more ? 20000 : 500);
	printf("ok 2 - random recipes\n");
	return 0;
}

#endif
