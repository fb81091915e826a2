/* SPDX-License-Identifier: MIT */
/* analysis/input/load.c - open a session file and check it before use */
#include "analysis/input/load.h"
#include "analysis/util/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/mapping.h"
#include "analysis/util/printable.h"

#define READINGS     8u
#define ROW_SIZE_MAX (UINT32_C(1) << 24)

#define FIELD(name)   offsetof(struct cpa_header, name)
#define OTHER_RELEASE "use the cpa-report of the release that wrote it"
#define DAMAGED	      "the file is damaged, run the program again"

_Static_assert(sizeof(struct cpa_header) <= CPA_HEADER_SIZE, "the header fits its place");

static int refuse(const struct cpa_dump *dump, char **error, uint64_t offset, const char *found,
		  const char *expected, const char *advice)
{
	*error = cpa_format_text("%s:0x%" PRIx64 ": %s found, %s expected (%s)", dump->file, offset,
				 found, expected, advice);
	return -1;
}

static int refuse_number(const struct cpa_dump *dump, char **error, uint64_t offset,
			 const char *what, uint64_t found, const char *expected, const char *advice)
{
	char *text = cpa_format_text("%s %" PRIu64, what, found);
	int ret = refuse(dump, error, offset, text, expected, advice);

	free(text);
	return ret;
}

/* Check the fields that decide whether the rest of the file can be understood. */
static int check_identity(const struct cpa_dump *dump, char **error)
{
	const struct cpa_header *header = &dump->header;
	char text[32];

	if (memcmp(header->magic, CPA_MAGIC, sizeof(header->magic)) != 0)
		return refuse(dump, error, FIELD(magic), "an unknown file type",
			      "a cpa session file", "name a *.dump file that libcpa.so wrote");
	snprintf(text, sizeof(text), "byte order 0x%08" PRIx32, header->byte_order);
	if (header->byte_order != CPA_BYTE_ORDER)
		return refuse(dump, error, FIELD(byte_order), text, "0x01020304",
			      "use cpa-report on a machine of the kind that wrote it");
	snprintf(text, sizeof(text), "%u", CPA_FORMAT);
	if (header->format != CPA_FORMAT)
		return refuse_number(dump, error, FIELD(format), "format", header->format, text,
				     OTHER_RELEASE);
	snprintf(text, sizeof(text), "%u", CPA_HEADER_SIZE);
	if (header->header_size != CPA_HEADER_SIZE)
		return refuse_number(dump, error, FIELD(header_size), "header size",
				     header->header_size, text, OTHER_RELEASE);
	if (header->tables == 0 || header->tables > ARRAY_SIZE(header->table))
		return refuse_number(dump, error, FIELD(tables), "number of tables", header->tables,
				     "1 to 16", DAMAGED);
	if (header->slots < CPA_SLOT_FIRST || header->slots > CPA_SLOTS_MAX)
		return refuse_number(dump, error, FIELD(slots), "number of slots", header->slots,
				     "8 to 32768", DAMAGED);
	return 0;
}

static int check_values(const struct cpa_dump *dump, char **error)
{
	const struct cpa_header *header = &dump->header;

	if (header->state > CPA_EXECED)
		return refuse_number(dump, error, FIELD(state), "session state", header->state,
				     "0 to 2", DAMAGED);
	if (header->start_ticks == 0)
		return refuse_number(dump, error, FIELD(start_ticks), "start time", 0,
				     "a clock reading",
				     "the program ended before it was profiled, run it again");
	if (header->state == CPA_COMPLETE && header->end_ticks < header->start_ticks)
		return refuse_number(dump, error, FIELD(end_ticks), "end time", header->end_ticks,
				     "a time after the start", DAMAGED);
	return 0;
}

/*
 * Check the description of @table and count the rows that chunks in the file have room for.
 * A chunk beyond the end of the file is no error: the file may have been cut.
 */
static int check_table(struct cpa_dump *dump, uint32_t id, char **error)
{
	const struct cpa_table *table = &dump->header.table[id];
	uint64_t place = FIELD(table) + id * sizeof(*table);
	uint64_t before = 0;

	if (table->row_size < sizeof(uint64_t) || table->row_size > ROW_SIZE_MAX)
		return refuse_number(dump, error, place + offsetof(struct cpa_table, row_size),
				     "row size", table->row_size, "8 to 16777216", DAMAGED);
	if (table->first_rows == 0 || (table->first_rows & (table->first_rows - 1)) != 0)
		return refuse_number(dump, error, place + offsetof(struct cpa_table, first_rows),
				     "first chunk's number of rows", table->first_rows,
				     "a power of two", DAMAGED);
	for (uint32_t k = 0; k < CPA_CHUNKS; k++) {
		uint64_t chunk = table->chunk[k], rows = (uint64_t)table->first_rows << k, room;

		if (chunk != 0 && chunk < CPA_HEADER_SIZE)
			return refuse_number(dump, error,
					     place + offsetof(struct cpa_table, chunk[k]),
					     "chunk offset", chunk, "one behind the header",
					     DAMAGED);
		if (chunk != 0 && chunk < dump->size) {
			room = (dump->size - chunk) / table->row_size;
			room = before + (room < rows ? room : rows);
			dump->rows[id] = room < table->used ? (uint32_t)room : table->used;
		}
		before += rows;
	}
	dump->broken[id] += table->used - dump->rows[id];
	return 0;
}

/* Copy @size bytes at @from, again until two copies agree. Return false if they never did. */
static bool copy_steady(void *copy, const void *from, size_t size)
{
	for (unsigned i = 0; i < READINGS; i++) {
		memcpy(copy, from, size);
		/* The comparison must read the mapping again, not the copy. */
		atomic_signal_fence(memory_order_seq_cst);
		if (memcmp(copy, from, size) == 0)
			return true;
	}
	return false;
}

/* Whether the file begins as a session does. */
static bool has_magic(int fd)
{
	char magic[sizeof(((struct cpa_header *)0)->magic)];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, CPA_MAGIC, sizeof(magic)) == 0;
}

static int map_file(struct cpa_dump *dump, const char *file, char **error)
{
	/* O_NONBLOCK: the name may be that of a FIFO. */
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *base;

	if (fd < 0 || fstat(fd, &st) < 0) {
		*error = cpa_format_text("%s: cannot open: %s (name a *.dump file)", dump->file,
					 strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return refuse(dump, error, 0, S_ISDIR(st.st_mode) ? "a folder" : "a special file",
			      "a cpa session file", "name a *.dump file");
	}
	if ((uint64_t)st.st_size < CPA_HEADER_SIZE && !has_magic(fd)) {
		close(fd);
		return refuse(dump, error, 0, st.st_size ? "an unknown file type" : "an empty file",
			      "a cpa session file", "name a *.dump file that libcpa.so wrote");
	}
	if ((uint64_t)st.st_size < CPA_HEADER_SIZE) {
		close(fd);
		return refuse_number(dump, error, (uint64_t)st.st_size, "end of file at byte",
				     (uint64_t)st.st_size, "a header of 16384 bytes",
				     "the file was cut, run the program again");
	}
	/* Shared, so that later changes by the writer are visible. */
	base = cpa_mapping_open(fd, (uint64_t)st.st_size, false);
	close(fd);
	if (!base) {
		*error = cpa_format_text("%s: cannot map %jd bytes: %s", dump->file,
					 (intmax_t)st.st_size, strerror(errno));
		return -1;
	}
	dump->base = base;
	dump->size = (uint64_t)st.st_size;
	dump->owner = st.st_uid;
	return 0;
}

int cpa_dump_open(struct cpa_dump *dump, const char *file, char **error)
{
	*dump = (struct cpa_dump){ .file = cpa_printable(file, SIZE_MAX) };
	if (map_file(dump, file, error) < 0) {
		free(dump->file);
		return -1;
	}
	if (cpa_dump_again(dump, error) < 0) {
		cpa_dump_close(dump);
		return -1;
	}
	return 0;
}

int cpa_dump_over(struct cpa_dump *dump, const char *file, const void *base, uint64_t size,
		  char **error)
{
	*dump = (struct cpa_dump){ .file = cpa_printable(file, SIZE_MAX),
				   .base = base,
				   .size = size };
	return cpa_dump_again(dump, error);
}

int cpa_dump_again(struct cpa_dump *dump, char **error)
{
	uint32_t slots = dump->header.slots; /* 0: first call */

	memset(dump->rows, 0, sizeof(dump->rows));
	memset(dump->broken, 0, sizeof(dump->broken));
	dump->broken_paths = 0;
	dump->unsteady = !copy_steady(&dump->header, dump->base, sizeof(dump->header));
	dump->live = dump->header.state == CPA_RUNNING;
	if (check_identity(dump, error) < 0 || check_values(dump, error) < 0)
		return -1;
	if (slots && dump->header.slots != slots)
		return refuse_number(dump, error, FIELD(slots), "number of slots",
				     dump->header.slots, "the same as before", DAMAGED);
	for (uint32_t id = 0; id < CPA_TABLES && id < dump->header.tables; id++)
		if (check_table(dump, id, error) < 0)
			return -1;
	return 0;
}

void cpa_dump_grow(struct cpa_dump *dump, enum cpa_table_id id)
{
	const struct cpa_header *now = (const struct cpa_header *)dump->base;
	struct cpa_table *table = &dump->header.table[id], before = *table;
	char *error = NULL;

	copy_steady(table, &now->table[id], sizeof(*table));
	dump->rows[id] = 0;
	dump->broken[id] = 0;
	if (table->row_size == before.row_size && table->first_rows == before.first_rows &&
	    check_table(dump, id, &error) == 0)
		return;
	free(error);
	*table = before;
	check_table(dump, id, &error); /* it was checked before */
}

bool cpa_dump_whole(const struct cpa_dump *dump)
{
	return cpa_mapping_whole(dump->base);
}

void cpa_dump_close(struct cpa_dump *dump)
{
	munmap((void *)(uintptr_t)dump->base, dump->size);
	free(dump->file);
}

bool cpa_dump_bytes(const struct cpa_dump *dump, uint64_t offset, void *copy, uint64_t size)
{
	if (offset < CPA_HEADER_SIZE || offset > dump->size || size > dump->size - offset)
		return false;
	memcpy(copy, dump->base + offset, size);
	return true;
}

uint64_t cpa_dump_place(const struct cpa_dump *dump, enum cpa_table_id id, uint32_t row)
{
	const struct cpa_table *table = &dump->header.table[id];
	uint64_t left = (uint64_t)row - 1, rows = table->first_rows, chunk;
	uint32_t k = 0;

	if (row == 0 || row > dump->rows[id])
		return 0;
	for (; left >= rows; rows <<= 1, k++)
		left -= rows;
	chunk = table->chunk[k];
	if (chunk == 0 || chunk > dump->size || (dump->size - chunk) / table->row_size <= left)
		return 0;
	return chunk + left * table->row_size;
}

/* The row's address in the mapping, NULL if it is not in the file. */
static const unsigned char *find_row(const struct cpa_dump *dump, enum cpa_table_id id,
				     uint32_t row)
{
	uint64_t place = cpa_dump_place(dump, id, row);

	return place ? dump->base + place : NULL;
}

bool cpa_dump_row(struct cpa_dump *dump, enum cpa_table_id table, uint32_t row, void *copy,
		  size_t size)
{
	const unsigned char *from = find_row(dump, table, row);
	size_t known = dump->header.table[table].row_size;
	uint64_t key;

	if (!from)
		return false;
	known = known < size ? known : size;
	memset(copy, 0, size);
	if (!dump->live)
		memcpy(copy, from, known);
	else if (!copy_steady(copy, from, known))
		dump->unsteady++;
	memcpy(&key, copy, sizeof(key));
	return key != 0;
}

bool cpa_dump_field(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t row,
		    size_t field, void *copy, size_t size)
{
	const unsigned char *from = find_row(dump, table, row);

	if (!from || field + size > dump->header.table[table].row_size)
		return false;
	memcpy(copy, from + field, size);
	return true;
}

void cpa_dump_skip(struct cpa_dump *dump, enum cpa_table_id table)
{
	dump->broken[table]++;
}
