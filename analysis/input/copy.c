/* SPDX-License-Identifier: MIT */
/* analysis/input/copy.c - copy the session of a running process in one consistent state */
#include "analysis/input/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/input/snapshot.h"
#include "shadow/store/epoch.h"
#include "shadow/store/timespec.h"

#define PAGE	 4096u
#define READINGS 5 /* of both clocks */
#define NOWHERE \
	(UINT64_MAX / 2) /* offset for data that could not be read, so that readers report it */

/* The threads' state, and the data that its rows refer to by offsets into `bytes`. */
struct state {
	uint32_t rows;
	struct cpa_thread *row; /* key 0: no thread */
	unsigned char *bytes;
	uint64_t size, room;
	uint32_t copied; /* enum cpa_copy */
};

/* Append @size bytes: a copy of @from, or zeros if it is NULL. Return their offset. */
static uint64_t append(struct state *state, const void *from, uint64_t size)
{
	uint64_t at = state->size;

	state->size += (size + 7) / 8 * 8;
	if (!state->bytes || state->size > state->room) {
		state->room = 2 * state->size;
		state->bytes = xrealloc(state->bytes, state->room);
	}
	memset(state->bytes + at, 0, state->size - at);
	if (from)
		memcpy(state->bytes + at, from, size);
	return at;
}

static bool is_used(const struct cpa_vector *v, uint32_t slot)
{
	return v->slack[slot] || v->share[slot] || v->observed[slot];
}

/* Append a version of @slots with @count vectors and room for @more values. */
static uint64_t append_version(struct state *state, uint32_t slots, uint64_t *const vector[],
			       unsigned count, uint32_t more)
{
	const uint64_t size = slots * sizeof(uint64_t);
	struct cpa_version *version;
	uint64_t at =
		append(state, NULL, sizeof(*version) + count * size + more * sizeof(uint64_t));

	version = (struct cpa_version *)(state->bytes + at);
	version->refs = 1;
	version->slots = slots;
	for (unsigned i = 0; i < count; i++)
		memcpy(version->value + i * slots, vector[i], size);
	return at;
}

/* Store all values of @v, which was read from @path, as versions that @path alone refers to. */
static void put_path(struct state *state, struct cpa_path *path, const struct cpa_vector *v)
{
	uint64_t *const inherent[] = { v->slack, v->share };
	uint32_t slots = v->slots;
	struct cpa_version *version;

	while (slots && !is_used(v, slots - 1))
		slots--;
	path->observed_version = append_version(state, slots, &v->observed, 1, 0);
	path->version = append_version(state, slots, inherent, 2,
				       (slots + CPA_VERSION_BLOCK - 1) / CPA_VERSION_BLOCK);
	version = (struct cpa_version *)(state->bytes + path->version);
	for (uint32_t c = 0; c < slots; c++) {
		uint64_t *most = &version->value[2 * slots + c / CPA_VERSION_BLOCK];

		*most = v->slack[c] > *most ? v->slack[c] : *most;
		version->max_slack = *most > version->max_slack ? *most : version->max_slack;
	}
	memset(path->delta, 0, sizeof(path->delta));
}

static void put_row(struct state *state, const struct cpa_snapshot *snapshot, uint32_t number,
		    const struct cpa_reading *reading)
{
	struct cpa_thread *row = &state->row[number - 1];

	*row = reading->row;
	/* Odd: the row was taken in the middle of an event. */
	row->writing = snapshot->boundary ? 0 : snapshot->writing[number - 1];
	row->checkpoint[0] = row->checkpoint[1] = 0;
	row->held_external = 0;
	row->totals_slots = reading->totals;
	row->totals = append(state, reading->total, reading->totals * sizeof(*reading->total));
	row->edges = reading->edges ? append(state, reading->edge, sizeof(reading->edge)) : 0;
	row->path.version = row->retired.version = NOWHERE;
	if (!reading->sound)
		return;
	put_path(state, &row->path, &reading->path);
	put_path(state, &row->retired, &reading->retired);
}

static void read_state(struct state *state, struct cpa_dump *dump)
{
	struct cpa_reading *reading = xcalloc(1, sizeof(*reading));
	struct cpa_snapshot snapshot;

	cpa_reading_init(reading, dump->header.slots);
	cpa_snapshot_begin(&snapshot, dump);
	do {
		state->rows = snapshot.rows;
		state->size = 0;
		append(state, NULL, sizeof(uint64_t)); /* offset 0 means none */
		free(state->row);
		state->row = xcalloc((size_t)snapshot.rows + 1, sizeof(*state->row));
		for (uint32_t row = 1; row <= snapshot.rows && !snapshot.failed; row++)
			if (cpa_snapshot_read(&snapshot, row, reading) && !snapshot.failed)
				put_row(state, &snapshot, row, reading);
	} while (cpa_snapshot_again(&snapshot));
	state->copied = snapshot.raw ? CPA_COPY_ROWS : CPA_COPY_STATE;
	cpa_snapshot_end(&snapshot);
	cpa_reading_fini(reading);
	free(reading);
}

/* Write all @size bytes. Return 0 or -errno. */
static int put(int fd, const void *from, uint64_t size, uint64_t at)
{
	const char *bytes = from;

	while (size) {
		ssize_t n = pwrite(fd, bytes, size, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ENOSPC;
		n = n < 0 ? 0 : n;
		bytes += n;
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

/*
 * Copy the first @size bytes that exist. A part that is cut off meanwhile becomes a hole. Return 0
 * or -errno.
 */
static int copy_pages(int from, int to, uint64_t size)
{
	static const char nothing[PAGE];
	char page[PAGE];
	int ret = ftruncate(to, (off_t)size) < 0 ? -errno : 0;

	for (uint64_t at = 0; at < size && !ret; at += PAGE) {
		ssize_t n = pread(from, page, PAGE, (off_t)at);

		if (n < 0)
			return -errno;
		if (memcmp(page, nothing, (size_t)n) != 0)
			ret = put(to, page, (uint64_t)n, at);
	}
	return ret;
}

/*
 * Note both clocks of one moment: of those read with least time in between, as others may run
 * there.
 */
static void note_clocks(struct cpa_header *header)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = cpa_arch_counter(), ns = cpa_timespec_now_ns(CLOCK_MONOTONIC);
		uint64_t took = cpa_arch_counter() - before;

		if (took < best) {
			best = took;
			header->last_ticks = before + took / 2;
			header->last_ns = ns;
		}
	}
}

/* Write the header as it was before the state was read, except for its tables. */
static int put_header(const struct cpa_dump *dump, const struct state *state, int to, uint64_t size)
{
	struct cpa_header header = dump->header, now;

	if (pread(to, &now, sizeof(now), 0) != sizeof(now))
		return -EIO;
	memcpy(header.table, now.table, sizeof(header.table));
	header.table[CPA_TABLE_THREADS].used = state->rows;
	header.used = header.reserved = size;
	header.copied = state->copied;
	/* A program that is not profiled now has left no clock for long. */
	if (header.machine.source < CPA_SOURCE_KERNEL && !cpa_epoch_is_on(header.epoch))
		note_clocks(&header);
	return put(to, &header, sizeof(header), 0);
}

/* Append @state after the copy's first @size bytes, and write its rows to their places. */
static int put_state(const struct cpa_dump *dump, const struct state *state, int to, uint64_t size)
{
	uint32_t known = dump->header.table[CPA_TABLE_THREADS].row_size;
	int ret = put(to, state->bytes, state->size, size);

	known = known < sizeof(*state->row) ? known : sizeof(*state->row);
	for (uint32_t i = 0; i < state->rows && !ret; i++) {
		struct cpa_thread *row = &state->row[i];
		uint64_t at = cpa_dump_place(dump, CPA_TABLE_THREADS, i + 1);

		row->path.version += size;
		row->path.observed_version += size;
		row->retired.version += size;
		row->retired.observed_version += size;
		row->totals += size;
		row->edges += row->edges ? size : 0;
		ret = at ? put(to, row, known, at) : 0;
	}
	return ret ? ret : put_header(dump, state, to, size + state->size);
}

/* Number of bytes in use by the session now, at most its size when it was opened. */
static uint64_t size_of(const struct cpa_dump *dump, int fd)
{
	uint64_t reserved = 0;

	/* The file may have been truncated: then there is nothing to read. */
	if (pread(fd, &reserved, sizeof(reserved), offsetof(struct cpa_header, reserved)) < 0)
		return 0;
	reserved = reserved < dump->size ? reserved : dump->size;
	return (reserved + PAGE - 1) / PAGE * PAGE;
}

static int copy(struct cpa_dump *dump, int from, int to)
{
	struct state state = { 0 };
	bool live = dump->live;
	uint64_t size;
	int ret;

	if (live)
		read_state(&state, dump);
	size = size_of(dump, from);
	ret = copy_pages(from, to, size);
	if (live && !ret) /* a session that has ended is copied as it is */
		ret = put_state(dump, &state, to, size);
	free(state.row);
	free(state.bytes);
	return ret;
}

int cpa_copy_session(const char *file, const char *to, char **error)
{
	char *name = cpa_printable(to, SIZE_MAX);
	int from = -1, fd = -1, ret = -1;
	const char *what = "created";
	struct cpa_dump dump;

	if (cpa_dump_open(&dump, file, error) < 0) {
		free(name);
		return -1;
	}
	from = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from >= 0)
		fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ret = fd < 0 ? -errno : copy(&dump, from, fd);
	if (fd >= 0) {
		what = "written";
		if (close(fd) < 0 && !ret)
			ret = -errno;
		if (!ret && !cpa_dump_whole(&dump)) {
			what = "made: the session was truncated in the meantime";
			ret = -EIO;
		}
		if (ret)
			unlink(to);
	}
	if (from >= 0)
		close(from);
	if (ret)
		*error = cpa_format_text("%s: cannot be %s: %s", name, what, strerror(-ret));
	cpa_dump_close(&dump);
	free(name);
	return ret ? -1 : 0;
}
