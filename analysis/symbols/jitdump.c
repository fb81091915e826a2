/* SPDX-License-Identifier: MIT */
/* analysis/symbols/jitdump.c - names of code that a program made while it ran, from a jitdump */
#include "analysis/symbols/jitdump.h"

#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

/* The format is described in the kernel's tools/perf/Documentation/jitdump-specification.txt. */
#define MAGIC	0x4a695444u /* "JiTD" */
#define SWAPPED 0x4454694au /* written on a machine of the other byte order */
#define VERSION 1u
#define MOST	(UINT64_C(1) << 22) /* numbers of functions whose moves are followed */

struct header {
	uint32_t magic, version;
	uint32_t size; /* of the header */
	uint32_t machine, pad, pid;
	uint64_t time, flags;
};

enum record_kind { LOAD = 0, MOVE = 1 }; /* others have no names */

struct record {
	uint32_t kind;
	uint32_t size; /* with this */
	uint64_t time;
};

struct load {
	struct record record;
	uint32_t pid, tid;
	uint64_t virtual_address, address, size, number;
	/* the name with its NUL, the code */
};

struct move {
	struct record record;
	uint32_t pid, tid;
	uint64_t virtual_address, before, address, size, number;
};

struct reading {
	cpa_jitdump_take *take;
	void *context;
	/* Names of functions, by number; NULL: not known. */
	const char **name;
	uint64_t names;
};

/* Remember the name of function @number, for moves. */
static void remember(struct reading *r, uint64_t number, const char *name)
{
	uint64_t more = 2 * number + 1024;

	if (number >= MOST)
		return;
	if (number >= r->names) {
		r->name = XRESIZEVEC(const char *, r->name, more);
		memset(r->name + r->names, 0, (more - r->names) * sizeof(*r->name));
		r->names = more;
	}
	r->name[number] = name;
}

static void take(const struct reading *r, uint64_t start, uint64_t size, const char *name)
{
	if (name && *name && size && size - 1 <= UINT64_MAX - start)
		r->take(r->context, start, size, name);
}

/* Take the function of the record at @bytes, which has @size bytes. Return whether it is sound. */
static bool read_record(struct reading *r, const unsigned char *bytes, size_t size)
{
	struct record record;
	struct load load;
	struct move move;

	memcpy(&record, bytes, sizeof(record));
	if (record.kind == LOAD) {
		const char *name = (const char *)bytes + sizeof(load);

		if (size <= sizeof(load) || !memchr(name, '\0', size - sizeof(load)))
			return false;
		memcpy(&load, bytes, sizeof(load));
		take(r, load.address, load.size, name);
		remember(r, load.number, name);
	} else if (record.kind == MOVE) {
		if (size < sizeof(move))
			return false;
		memcpy(&move, bytes, sizeof(move));
		take(r, move.address, move.size,
		     move.number < r->names ? r->name[move.number] : NULL);
	}
	return true;
}

/* NULL, or what is wrong with the header. */
static char *check_header(const struct header *header, size_t size, uint32_t pid)
{
	if (header->magic == SWAPPED)
		return xstrdup("is of another processor");
	if (header->magic != MAGIC || header->size < sizeof(*header) || header->size > size)
		return xstrdup("is no jitdump");
	if (header->version != VERSION)
		return cpa_format_text("has version %u of the format, not %u", header->version,
				       VERSION);
	if (header->pid != pid)
		return cpa_format_text("is of process %u", header->pid);
	return NULL;
}

char *cpa_jitdump_read(const void *dump, size_t size, uint32_t pid, cpa_jitdump_take *taker,
		       void *context)
{
	const unsigned char *bytes = dump;
	struct reading r = { .take = taker, .context = context };
	struct header header;
	struct record record;
	char *trouble;
	size_t at;

	if (size < sizeof(header))
		return xstrdup("is no jitdump");
	memcpy(&header, bytes, sizeof(header));
	trouble = check_header(&header, size, pid);
	if (trouble)
		return trouble;
	for (at = header.size; at < size; at += record.size) {
		if (size - at < sizeof(record))
			break;
		memcpy(&record, bytes + at, sizeof(record));
		if (record.size < sizeof(record) || record.size > size - at ||
		    !read_record(&r, bytes + at, record.size))
			break;
	}
	free(r.name);
	return at < size ? cpa_format_text("is damaged, or ends early, at byte %zu", at) : NULL;
}
