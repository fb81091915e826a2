/* SPDX-License-Identifier: MIT */
/* analysis/symbols/perf_map.c - names of code that a program made while it ran, from perf maps */
#include "analysis/symbols/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/symbols/jitdump.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "shadow/store/timespec.h"

#define LARGEST	  ((off_t)1 << 28)     /* bytes of a map */
#define LISTED	  2		       /* functions of one place that are named */
#define BEFORE_NS CPA_SECOND_NS	       /* that a process may have run before cpa saw it */
#define AFTER_NS  (10 * CPA_SECOND_NS) /* that it may take from cpa's last event to its end */

struct entry {
	uint64_t start, last;
	uint64_t reach;	  /* largest `last` of this entry and all before it */
	const char *name; /* in `texts` */
};

struct cpa_perf_map {
	size_t count, room;
	struct entry *entry; /* by start */
	size_t texts;
	char **text; /* contents of files; of maps with NUL at the ends of lines */
	size_t troubles;
	char **trouble; /* sentences */
};

/* When a file of a process may have been written, ns since 1970, and whose it must be. */
struct allowed {
	uint32_t owner;
	uint64_t from_ns, to_ns;
};

static bool is_allowed(const struct stat *st, const struct allowed *allowed)
{
	return S_ISREG(st->st_mode) && st->st_uid == allowed->owner && st->st_size > 0 &&
	       st->st_size <= LARGEST && cpa_timespec_ns(&st->st_mtim) >= allowed->from_ns &&
	       cpa_timespec_ns(&st->st_mtim) <= allowed->to_ns;
}

/* The contents of @path, *@size bytes and a NUL, if it is a file that is @allowed. */
static char *read_file(const char *path, const struct allowed *allowed, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && is_allowed(&st, allowed)) {
		text = xmalloc((size_t)st.st_size + 1);
		while (n && used < (size_t)st.st_size) {
			n = read(fd, text + used, (size_t)st.st_size - used);
			if (n < 0 && errno != EINTR)
				break;
			used += n > 0 ? (size_t)n : 0;
		}
		text[used] = '\0';
		*size = used;
	}
	close(fd);
	return text;
}

/* Add the @size bytes, not 0, of code at @start. */
static void add_entry(void *to, uint64_t start, uint64_t size, const char *name)
{
	struct cpa_perf_map *map = to;

	if (map->count == map->room) {
		map->room = 2 * map->room + 1024;
		map->entry = XRESIZEVEC(struct entry, map->entry, map->room);
	}
	map->entry[map->count++] =
		(struct entry){ .start = start, .last = start + size - 1, .name = name };
}

/* Add the entry of @line; a line of another kind is left out. */
static void add_line(struct cpa_perf_map *map, char *line)
{
	uint64_t start, size;
	char *end;

	errno = 0;
	start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || errno || !size ||
	    size - 1 > UINT64_MAX - start)
		return;
	add_entry(map, start, size, end + 1);
}

/* Keep @text, which has names. */
static void keep(struct cpa_perf_map *map, char *text)
{
	map->text = XRESIZEVEC(char *, map->text, map->texts + 1);
	map->text[map->texts++] = text;
}

static void add_map(struct cpa_perf_map *map, uint32_t pid, const struct allowed *allowed)
{
	char *path = cpa_format_text("/tmp/perf-%" PRIu32 ".map", pid), *text;
	size_t size;

	text = read_file(path, allowed, &size);
	free(path);
	if (!text)
		return;
	keep(map, text);
	while (*text) {
		char *end = text + strcspn(text, "\n");
		bool more = *end != '\0';

		*end = '\0';
		add_line(map, text);
		text = end + more;
	}
}

/* Add the jitdump at @path. Return false if there is none that is @allowed. */
static bool add_jitdump(struct cpa_perf_map *map, const char *path, uint32_t pid,
			const struct allowed *allowed)
{
	size_t size;
	char *bytes = read_file(path, allowed, &size), *why, *shown;

	if (!bytes)
		return false;
	keep(map, bytes);
	why = cpa_jitdump_read(bytes, size, pid, add_entry, map);
	if (!why)
		return true;
	shown = cpa_printable(path, SIZE_MAX);
	map->trouble = XRESIZEVEC(char *, map->trouble, map->troubles + 1);
	map->trouble[map->troubles++] = cpa_format_text(
		"%s %s: some names of code made while the program ran are missing.", shown, why);
	free(shown);
	free(why);
	return true;
}

/* Where Java's and LLVM's agents write, below a folder that they make anew for each run. */
static void search_agents(struct cpa_perf_map *map, uint32_t pid, const struct allowed *allowed)
{
	const char *home = getenv("JITDUMPDIR");
	char *pattern;
	glob_t found = { 0 };

	home = home ? home : getenv("HOME");
	if (!home)
		return;
	pattern = cpa_format_text("%s/.debug/jit/*/jit-%" PRIu32 ".dump", home, pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (add_jitdump(map, found.gl_pathv[i], pid, allowed))
				break;
	globfree(&found);
	free(pattern);
}

static void find_jitdump(struct cpa_perf_map *map, const char *session, uint32_t pid,
			 const struct allowed *allowed)
{
	const char *slash = strrchr(session, '/');
	char *own = slash ? xstrndup(session, (size_t)(slash + 1 - session)) : xstrdup("");
	const char *const folders[] = { own, "./", "/tmp/" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(folders) && !found; i++) {
		char *path = cpa_format_text("%sjit-%" PRIu32 ".dump", folders[i], pid);

		found = add_jitdump(map, path, pid, allowed);
		free(path);
	}
	if (!found)
		search_agents(map, pid, allowed);
	free(own);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->last < y->last ? -1 : x->last > y->last;
}

static void sort(struct cpa_perf_map *map)
{
	uint64_t reach = 0;

	if (map->count)
		qsort(map->entry, map->count, sizeof(*map->entry), compare);
	for (size_t i = 0; i < map->count; i++) {
		reach = map->entry[i].last > reach ? map->entry[i].last : reach;
		map->entry[i].reach = reach;
	}
}

/* The time of day at clock @ticks of the run, ns. */
static uint64_t time_of(const struct cpa_header *h, uint64_t ticks)
{
	double rate = h->last_ticks > h->start_ticks ?
			      (double)(h->last_ns - h->start_ns) /
				      (double)(h->last_ticks - h->start_ticks) :
			      0;

	return h->start_real_ns +
	       (ticks > h->start_ticks ? (uint64_t)((double)(ticks - h->start_ticks) * rate) : 0);
}

struct cpa_perf_map *cpa_perf_map_open(struct cpa_dump *dump)
{
	const struct cpa_header *h = &dump->header;
	struct cpa_perf_map *map = xcalloc(1, sizeof(*map));

	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_PROCESSES] && h->start_real_ns; i++) {
		struct cpa_process_row row;
		struct allowed allowed = { .owner = dump->owner };
		uint64_t end;

		if (!cpa_dump_row(dump, CPA_TABLE_PROCESSES, i, &row, sizeof(row)) || !row.pid)
			continue;
		end = row.end_ticks ? row.end_ticks : h->end_ticks;
		allowed.from_ns = time_of(h, row.start_ticks) - BEFORE_NS;
		allowed.to_ns = end ? time_of(h, end) + AFTER_NS : UINT64_MAX;
		add_map(map, row.pid, &allowed);
		find_jitdump(map, dump->file, row.pid, &allowed);
	}
	sort(map);
	return map;
}

void cpa_perf_map_close(struct cpa_perf_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->texts; i++)
		free(map->text[i]);
	for (size_t i = 0; i < map->troubles; i++)
		free(map->trouble[i]);
	free(map->trouble);
	free(map->text);
	free(map->entry);
	free(map);
}

/* Number of the blocks at @address in @blocks that have code of @entry. */
static unsigned overlap(const struct entry *entry, uint64_t address, uint64_t blocks)
{
	unsigned count = 0;

	for (unsigned i = 0; i < 64; i++) {
		uint64_t start = address + i * CPA_PERF_MAP_BLOCK;

		count += (blocks >> i & 1) && entry->start <= start + CPA_PERF_MAP_BLOCK - 1 &&
			 entry->last >= start;
	}
	return count;
}

struct candidate {
	const char *name;
	unsigned count;
};

/* Add @count blocks to @name among the @used candidates. Return their number. */
static size_t add_candidate(struct candidate *candidates, size_t used, const char *name,
			    unsigned count)
{
	size_t i = 0;

	while (i < used && strcmp(candidates[i].name, name) != 0)
		i++;
	if (i == used)
		candidates[used++] = (struct candidate){ .name = name };
	candidates[i].count += count;
	return used;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->name, y->name);
}

/* "f, g, +3 more" of the @count candidates, the best first; the caller frees it. */
static char *join(struct candidate *candidates, size_t count)
{
	char *text, *longer, *next;

	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	text = cpa_printable(candidates[0].name, SIZE_MAX);
	for (size_t i = 1; i < count && i < LISTED; i++) {
		next = cpa_printable(candidates[i].name, SIZE_MAX);
		longer = cpa_format_text("%s, %s", text, next);
		free(next);
		free(text);
		text = longer;
	}
	if (count <= LISTED)
		return text;
	longer = cpa_format_text("%s, +%zu more", text, count - LISTED);
	free(text);
	return longer;
}

char *cpa_perf_map_name(const struct cpa_perf_map *map, uint64_t address, uint64_t blocks)
{
	uint64_t end = address + 64 * CPA_PERF_MAP_BLOCK - 1;
	struct candidate *candidates = NULL;
	size_t low = 0, high = map->count, used = 0, room = 0;
	char *name;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->entry[middle].start <= end)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && map->entry[low - 1].reach >= address; low--) {
		unsigned count = overlap(&map->entry[low - 1], address, blocks);

		if (!count)
			continue;
		if (used == room) {
			room = 2 * room + 16;
			candidates = XRESIZEVEC(struct candidate, candidates, room);
		}
		used = add_candidate(candidates, used, map->entry[low - 1].name, count);
	}
	name = used ? join(candidates, used) : NULL;
	free(candidates);
	return name;
}

const char *cpa_perf_map_trouble(const struct cpa_perf_map *map, size_t number)
{
	return map && number < map->troubles ? map->trouble[number] : NULL;
}
