/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/recipe.h - session files that lie, made of some bytes that say how
 *
 * A recipe is a byte that chooses a sound session of tests/unit/dump_queues.h, and then steps of
 * 16 bytes, each of which does one thing to it. So whatever a fuzzer makes of a recipe has a good
 * magic number and touches rows and fields that exist; and a recipe is some bytes where a session
 * is a hundred kilobytes.
 */
#ifndef CPA_TESTS_RECIPE_H
#define CPA_TESTS_RECIPE_H

#include <stdbool.h>

#include "tests/unit/dump_queues.h"

#define STEPS_MAX 64u
#define ROWS_MAX  512u
#define HOLE_MAX  (UINT32_C(1) << 26)

/* The names of functions are looked up in this file, if a recipe says so. */
#ifndef RECIPE_MODULE
#define RECIPE_MODULE "/bin/true"
#endif

enum recipe_base { BASE_QUEUES = 1, BASE_LIVE = 2, BASE_EMPTY = 4, BASE_MODULE = 8 };

enum step_kind {
	STEP_ROW,     /* a word in a row */
	STEP_HEADER,  /* a word in the header */
	STEP_TABLE,   /* a word in the description of a table */
	STEP_ANY,     /* a word anywhere behind the header */
	STEP_POINTER, /* in a row, the offset of another row */
	STEP_TEXT,    /* in a row, a text that means harm */
	STEP_FILL,    /* in a row, equal bytes */
	STEP_COPY,    /* a row once more, at the end of its table */
	STEP_LENGTH,  /* the file is cut, or ends with a hole */
	STEP_READ,    /* the session is read as it is now, and lives on */
	STEP_KINDS
};

struct step {
	uint8_t kind, table;
	uint16_t row, offset;
	uint8_t width, unused;
	uint64_t value;
};

struct recipe {
	struct dump_maker maker;
	int fd;		  /* the file */
	uint64_t written; /* bytes of it that hold something */
	uint64_t hole;	  /* bytes behind them */
	/* Steps in the header: it stays sound for the maker until it is written. */
	size_t lies;
	struct step lie[STEPS_MAX];
};

/*
 * Let module 1 be @file, at its own addresses, and what lies in it be somewhere in its code or
 * data: our own debug information is large, and our addresses are others in each run.
 */
static inline void recipe_module(struct dump_maker *maker, const char *file)
{
	struct cpa_module *module = dump_maker_at(maker, CPA_TABLE_MODULES, 1);

	memset(module->path, 0, sizeof(module->path));
	strcpy(module->path, file);
	module->build_id_size = 0;
	module->bias = 0;
	for (uint32_t row = 1; row <= maker->rows[CPA_TABLE_COMPONENTS]; row++) {
		struct cpa_component *c = dump_maker_at(maker, CPA_TABLE_COMPONENTS, row);

		if (c->module)
			c->address = c->by == CPA_BY_VARIABLE ? 0x7508 : 0x2330 + 0x100 * row;
	}
	for (uint32_t row = 1; row <= maker->rows[CPA_TABLE_SITES]; row++)
		((struct cpa_site *)dump_maker_at(maker, CPA_TABLE_SITES, row))->key = 0x2640;
}

static inline void recipe_start(struct recipe *recipe, unsigned base, int fd)
{
	struct dump_maker *maker = &recipe->maker;
	struct cpa_thread *thread;

	recipe->fd = fd;
	recipe->written = UINT64_MAX;
	recipe->hole = 0;
	recipe->lies = 0;
	if (base & BASE_EMPTY) {
		dump_maker_start(maker);
	} else {
		dump_maker_example(maker);
		if (base & BASE_QUEUES)
			dump_maker_queues(maker);
		recipe_module(maker, base & BASE_MODULE ? RECIPE_MODULE : "");
		thread = dump_maker_at(maker, CPA_TABLE_THREADS, 1);
		thread->tid = (uint32_t)getpid();
	}
	dump_maker_header(maker)->pid = (uint32_t)getpid();
	if (base & BASE_LIVE)
		dump_maker_header(maker)->state = CPA_RUNNING;
}

/* Put @value into @size bytes, at @offset modulo the size, on its width's boundary. */
static inline void recipe_word(unsigned char *bytes, size_t size, const struct step *step)
{
	size_t width = (size_t)1 << step->width % 4;
	size_t at = step->offset % size / width * width;

	if (at + width <= size)
		memcpy(bytes + at, &step->value, width);
}

static inline void recipe_text(unsigned char *bytes, size_t size, const struct step *step)
{
	static const char *const texts[] = {
		"\033[2J\033]0;x\a",
		"\x9b"
		"31m",
		"\xc2\x9b"
		"31m",
		"\xe2\x80\xae"
		"txt",
		"\xff\xfe",
		"\xf4\x90\x80\x80",
		"\xed\xa0\x80",
		"a\nb\r\n",
		"\"a\",b;'c'",
		"=cmd|' /C calc'!A0",
		"%s%n%1000d",
		"</script>",
		"/dev/stdin",
		"\t\v\f\b",
		"\xe2\x80\xa8",
		"\xc0\x80",
	};
	const char *text = texts[step->value % (sizeof(texts) / sizeof(texts[0]))];

	/* Up to the end, and with no NUL there. */
	for (size_t at = step->offset % size, i = 0; at < size; at++, i++) {
		if (!text[i]) {
			if (!(step->width & 1))
				break;
			i = 0;
		}
		bytes[at] = (unsigned char)text[i];
	}
}

/* The chunk of another row of any table. */
static inline uint64_t recipe_target(struct recipe *recipe, const struct step *step)
{
	unsigned id = step->value % CPA_TABLES;

	if (!recipe->maker.rows[id])
		return step->value;
	return (uint64_t)((unsigned char *)dump_maker_at(
				  &recipe->maker, id,
				  (uint32_t)(step->value >> 8) % recipe->maker.rows[id] + 1) -
			  recipe->maker.bytes);
}

static inline void recipe_copy(struct recipe *recipe, unsigned id, const unsigned char *row,
			       size_t size)
{
	unsigned char *copy;

	if (recipe->maker.rows[id] >= ROWS_MAX)
		return;
	copy = malloc(size);
	if (!copy)
		maker_fail("malloc");
	memcpy(copy, row, size);
	dump_maker_row(&recipe->maker, id, copy);
	free(copy);
}

static inline void recipe_in_row(struct recipe *recipe, const struct step *step)
{
	unsigned id = step->table % CPA_TABLES;
	size_t size = dump_maker_header(&recipe->maker)->table[id].row_size;
	struct step with = *step;
	unsigned char *row;

	if (!recipe->maker.rows[id])
		return;
	row = dump_maker_at(&recipe->maker, id, step->row % recipe->maker.rows[id] + 1);
	switch (step->kind % STEP_KINDS) {
	case STEP_POINTER:
		with.value = recipe_target(recipe, step);
		with.width = 3;
		/* fall through */
	case STEP_ROW:
		recipe_word(row, size, &with);
		break;
	case STEP_TEXT:
		recipe_text(row, size, step);
		break;
	case STEP_FILL:
		for (size_t i = step->offset % size; i < size && i < step->offset % size + 256; i++)
			row[i] = (unsigned char)step->value;
		break;
	case STEP_COPY:
		recipe_copy(recipe, id, row, size);
		break;
	}
}

/* Do one step; STEP_READ is the caller's. */
static inline void recipe_step(struct recipe *recipe, const struct step *step)
{
	struct dump_maker *maker = &recipe->maker;
	uint64_t size = maker->size - CPA_HEADER_SIZE, at;
	struct step with = *step;

	switch (step->kind % STEP_KINDS) {
	case STEP_HEADER:
	case STEP_TABLE:
		recipe->lie[recipe->lies++] = *step;
		break;
	case STEP_ANY:
		at = size ? ((uint64_t)step->row << 16 | step->offset) % size & ~UINT64_C(7) : 0;
		with.offset = 0;
		if (size)
			recipe_word(maker->bytes + CPA_HEADER_SIZE + at, size - at, &with);
		break;
	case STEP_LENGTH:
		if (step->width & 1)
			recipe->written = step->value % (maker->size + 1);
		else
			recipe->hole = step->value % HOLE_MAX;
		break;
	default:
		recipe_in_row(recipe, step);
	}
}

/* The header as it lies, for the caller to compare with what was said. */
static inline void recipe_lie(const struct recipe *recipe, struct cpa_header *header)
{
	for (size_t i = 0; i < recipe->lies; i++) {
		const struct step *step = &recipe->lie[i];

		if (step->kind % STEP_KINDS == STEP_TABLE)
			recipe_word((unsigned char *)&header->table[step->table % CPA_TABLES],
				    sizeof(header->table[0]), step);
		else
			recipe_word((unsigned char *)header, sizeof(*header), step);
	}
}

/* Write the session to its file as it is now. */
static inline void recipe_save(struct recipe *recipe)
{
	uint64_t size = recipe->maker.size < recipe->written ? recipe->maker.size : recipe->written;
	unsigned char head[CPA_HEADER_SIZE];
	struct cpa_header header;

	memcpy(head, recipe->maker.bytes, sizeof(head));
	memcpy(&header, head, sizeof(header));
	recipe_lie(recipe, &header);
	memcpy(head, &header, sizeof(header));
	if (ftruncate(recipe->fd, 0) || ftruncate(recipe->fd, (off_t)(size + recipe->hole)) ||
	    pwrite(recipe->fd, recipe->maker.bytes, size, 0) != (ssize_t)size ||
	    pwrite(recipe->fd, head, size < sizeof(head) ? size : sizeof(head), 0) < 0)
		maker_fail("recipe");
}

#endif
