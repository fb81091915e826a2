/* SPDX-License-Identifier: MIT */
#include "analysis/export/pprof.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analysis/export/protobuf.h"
#include "analysis/export/stack_sums.h"
#include "analysis/util/format.h"
#include "analysis/profile/modules.h"

/* Numbers of fields, from pprof's profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	FUNCTION_START = 5,
};

struct pprof {
	struct cpa_bytes message, part, inner;
	char **string; /* [strings] */
	size_t strings, room;
};

/* Strings that recur. They begin the table, whose first string is empty by definition. */
static const char *const known[] = { "",     "nanoseconds", "path",	"cpu",	"wall", "wait",
				     "kind", "function",    "external", "lock", "other" };

/* The number of @text in the table of strings. Others than the known ones are not compared. */
static uint64_t string(struct pprof *pprof, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(known) && pprof->strings >= ARRAY_SIZE(known); i++)
		if (strcmp(known[i], text) == 0)
			return i;
	if (pprof->strings == pprof->room) {
		pprof->room = pprof->room ? 2 * pprof->room : 64;
		pprof->string = xrealloc(pprof->string, pprof->room * sizeof(*pprof->string));
	}
	pprof->string[pprof->strings] = xstrdup(text);
	return pprof->strings++;
}

static void put_type(struct pprof *pprof, unsigned field, const char *type)
{
	cpa_message_number(&pprof->part, TYPE_TYPE, string(pprof, type));
	cpa_message_number(&pprof->part, TYPE_UNIT, string(pprof, "nanoseconds"));
	cpa_message_part(&pprof->message, field, &pprof->part);
}

/* The innermost frame comes first. */
static void put_stack(struct pprof *pprof, const struct cpa_stack_sums *stacks,
		      const struct cpa_stack_times *stack)
{
	uint32_t name[CPA_STACK_MOST];
	size_t names = cpa_stack_sums_names(stacks, stack, name);
	uint64_t all = 0;

	for (unsigned i = 0; i < CPA_WEIGHTS; i++)
		all |= stack->weight_ns[i];
	if (!all)
		return;
	while (names--)
		cpa_message_number(&pprof->part, SAMPLE_LOCATION, (uint64_t)name[names] + 1);
	for (unsigned i = 0; i < CPA_WEIGHTS; i++)
		cpa_bytes_varint(&pprof->inner, stack->weight_ns[i]);
	cpa_message_part(&pprof->part, SAMPLE_VALUE, &pprof->inner);
	cpa_message_number(&pprof->inner, LABEL_KEY, string(pprof, "kind"));
	cpa_message_number(&pprof->inner, LABEL_TEXT,
			   string(pprof, stacks->frames.frame[stack->frame].kind));
	cpa_message_part(&pprof->part, SAMPLE_LABEL, &pprof->inner);
	cpa_message_part(&pprof->message, PROFILE_SAMPLE, &pprof->part);
}

/* "/src/queue.c:88": store the file, which the caller frees, and return the line; 0: none. */
static uint64_t split(const char *location, char **file)
{
	const char *colon = location ? strrchr(location, ':') : NULL;
	char *end = NULL;
	unsigned long line = colon ? strtoul(colon + 1, &end, 10) : 0;

	*file = xstrdup(location ? location : "");
	if (!line || *end)
		return 0;
	(*file)[colon - location] = '\0';
	return line;
}

static void put_function(struct pprof *pprof, const struct cpa_stack_name *frame, const char *file,
			 uint64_t line, uint64_t number)
{
	uint64_t name = string(pprof, frame->name);

	cpa_message_number(&pprof->part, FUNCTION_ID, number);
	cpa_message_number(&pprof->part, FUNCTION_NAME, name);
	cpa_message_number(&pprof->part, FUNCTION_SYSTEM_NAME, name);
	cpa_message_number(&pprof->part, FUNCTION_FILE, string(pprof, file));
	cpa_message_number(&pprof->part, FUNCTION_START, line);
	cpa_message_part(&pprof->message, PROFILE_FUNCTION, &pprof->part);
}

/*
 * A location for each name, with its number, and a function for each that is a whole one. A line
 * that is not in the function's file is left out: there is one file for both.
 */
static void put_location(struct pprof *pprof, const struct cpa_stack_name *frame, uint64_t number)
{
	char *file, *other;
	uint64_t begin = split(frame->location, &file), line = begin;

	if (frame->line) {
		line = split(frame->line, &other);
		if (strcmp(file, other) != 0)
			line = 0;
		free(other);
	}
	cpa_message_number(&pprof->part, LOCATION_ID, number);
	if (frame->module) {
		cpa_message_number(&pprof->part, LOCATION_MAPPING, frame->module);
		cpa_message_number(&pprof->part, LOCATION_ADDRESS, frame->offset);
	}
	cpa_message_number(&pprof->inner, LINE_FUNCTION, (uint64_t)frame->function + 1);
	cpa_message_number(&pprof->inner, LINE_LINE, line);
	cpa_message_part(&pprof->part, LOCATION_LINE, &pprof->inner);
	cpa_message_part(&pprof->message, PROFILE_LOCATION, &pprof->part);
	if (frame->function + 1 == number)
		put_function(pprof, frame, file, begin, number);
	free(file);
}

/* Names are complete, so that pprof does not look for others in the files. */
static void put_module(struct pprof *pprof, const struct cpa_module_figures *module,
		       uint64_t number)
{
	cpa_message_number(&pprof->part, MAPPING_ID, number);
	cpa_message_number(&pprof->part, MAPPING_START, module->start);
	cpa_message_number(&pprof->part, MAPPING_LIMIT, module->end);
	cpa_message_number(&pprof->part, MAPPING_FILE, string(pprof, module->path));
	if (module->build_id)
		cpa_message_number(&pprof->part, MAPPING_BUILD_ID, string(pprof, module->build_id));
	cpa_message_number(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
	cpa_message_number(&pprof->part, MAPPING_HAS_FILES, 1);
	cpa_message_number(&pprof->part, MAPPING_HAS_LINES, 1);
	cpa_message_part(&pprof->message, PROFILE_MAPPING, &pprof->part);
}

/* The executable first: pprof calls the profile by its name. */
static void put_modules(struct pprof *pprof, const struct cpa_profile *profile)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < profile->modules; i++) {
			const struct cpa_module_figures *module = &profile->module[i];

			if (module->path &&
			    (strcmp(module->path, profile->program.exe) != 0) == (pass > 0))
				put_module(pprof, module, i + 1);
		}
	}
}

static void put_run(struct pprof *pprof, const struct cpa_program_figures *program)
{
	char *comment = cpa_format_text("cpa " CPA_VERSION ": %s; path: critical path; wall: "
					"observed path; savings do not add up and are not here",
					program->exe);

	cpa_message_number(&pprof->message, PROFILE_DURATION, (uint64_t)(program->wall_s * 1e9));
	put_type(pprof, PROFILE_PERIOD_TYPE, "cpu");
	cpa_message_number(&pprof->message, PROFILE_PERIOD,
			   program->sample_hz ? 1000000000 / program->sample_hz : 0);
	cpa_message_number(&pprof->message, PROFILE_COMMENT, string(pprof, comment));
	cpa_message_number(&pprof->message, PROFILE_DEFAULT_TYPE, string(pprof, "path"));
	free(comment);
}

static void put_strings(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->strings; i++)
		cpa_message_text(&pprof->message, PROFILE_STRING, pprof->string[i]);
}

/* Write @message as gzip does. */
static int put_compressed(const struct cpa_bytes *message, FILE *out)
{
	z_stream stream = { 0 };
	unsigned char block[1 << 16];
	int ret;

	/*
	 * 15 bits of window, and 16: the header of gzip, which without a time is always the same.
	 */
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		xmalloc_failed(sizeof(block));
	stream.next_in = message->at;
	stream.avail_in = (uInt)message->used;
	do {
		size_t size;

		stream.next_out = block;
		stream.avail_out = sizeof(block);
		ret = deflate(&stream, Z_FINISH);
		size = sizeof(block) - stream.avail_out;
		if (fwrite(block, 1, size, out) != size) {
			deflateEnd(&stream);
			return -1;
		}
	} while (ret == Z_OK);
	deflateEnd(&stream);
	return 0;
}

int cpa_pprof_write(const struct cpa_profile *profile, FILE *out)
{
	struct pprof pprof = { 0 };
	struct cpa_stack_sums stacks;
	int ret;

	cpa_stack_sums_init(&stacks, profile);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		string(&pprof, known[i]);
	for (unsigned i = 0; i < CPA_WEIGHTS; i++)
		put_type(&pprof, PROFILE_SAMPLE_TYPE, cpa_weight_name(i));
	for (size_t i = 0; i < stacks.count; i++)
		put_stack(&pprof, &stacks, &stacks.stack[i]);
	for (size_t i = 0; i < stacks.names; i++)
		put_location(&pprof, &stacks.name[i], i + 1);
	put_modules(&pprof, profile);
	put_run(&pprof, &profile->program);
	put_strings(&pprof);
	ret = put_compressed(&pprof.message, out);
	for (size_t i = 0; i < pprof.strings; i++)
		free(pprof.string[i]);
	free(pprof.string);
	free(pprof.message.at);
	free(pprof.part.at);
	free(pprof.inner.at);
	cpa_stack_sums_fini(&stacks);
	return ret;
}
