/* SPDX-License-Identifier: MIT */
/* analysis/input/process.c - what the kernel reports about a profiled process */
#include "analysis/input/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/util/format.h"
#include "analysis/input/load.h"
#include "analysis/util/printable.h"

#define DELETED " (deleted)"

/* A line of /proc/PID/maps: a file mapped shared and writable from its first byte. */
struct mapping {
	uint64_t inode;
	char *path; /* in the line */
};

/* Return false if the line is of another kind. */
static bool parse_mapping(char *line, struct mapping *mapping)
{
	char rights[8];
	uint64_t offset;
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*x-%*x %7s %" SCNx64 " %*x:%*x %" SCNu64 " %n", rights, &offset,
		   &mapping->inode, &path) < 3 ||
	    path == 0)
		return false;
	mapping->path = line + path;
	return strcmp(rights, "rw-s") == 0 && offset == 0 && mapping->path[0] == '/';
}

/* Whether @path is a session file with inode @inode. */
static bool is_session(const char *path, uint64_t inode)
{
	char magic[sizeof(CPA_MAGIC) - 1] = "";
	struct stat st;
	int fd;

	/* Devices can be mapped too, and opening one may have side effects. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != inode)
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic))
		magic[0] = '\0';
	close(fd);
	return memcmp(magic, CPA_MAGIC, sizeof(magic)) == 0;
}

/*
 * The file's path as seen by us: the process's path, or that below its root folder if it is in a
 * container.
 */
static char *find_session(uint32_t pid, const struct mapping *mapping)
{
	char *path;

	if (is_session(mapping->path, mapping->inode))
		return xstrdup(mapping->path);
	path = cpa_format_text("/proc/%" PRIu32 "/root%s", pid, mapping->path);
	if (is_session(path, mapping->inode))
		return path;
	free(path);
	return NULL;
}

static bool is_deleted(const char *path)
{
	size_t length = strlen(path), end = strlen(DELETED);

	return length > end && strcmp(path + length - end, DELETED) == 0 &&
	       strstr(path, ".dump" DELETED);
}

/* /proc/PID/task/@tid/maps; NULL if there is none, as of a first thread that has exited. */
static FILE *open_task_maps(uint32_t pid, const char *tid)
{
	char *name = cpa_format_text("/proc/%" PRIu32 "/task/%s/maps", pid, tid);
	FILE *maps = fopen(name, "re");
	int first = maps ? getc(maps) : EOF;

	free(name);
	if (first != EOF) {
		ungetc(first, maps);
	} else if (maps && !ferror(maps)) {
		fclose(maps);
		maps = NULL;
		errno = 0;
	}
	return maps;
}

/* NULL with errno 0: the process has no maps because it is ending. */
static FILE *open_maps(uint32_t pid)
{
	struct dirent *entry;
	FILE *maps = NULL;
	char name[32];
	DIR *folder;
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/task", pid);
	folder = opendir(name);
	if (!folder)
		return NULL;
	while (!maps && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		maps = open_task_maps(pid, entry->d_name);
		err = maps ? 0 : errno;
	}
	closedir(folder);
	errno = err;
	return maps;
}

/* The message why there is no session. @why: an errno, 0 if all was readable. */
static char *explain(uint32_t pid, int why, bool deleted)
{
	if (why == ENOENT || why == ESRCH)
		return cpa_format_text("%" PRIu32 ": no such process (name a process or a *.dump "
				       "file)",
				       pid);
	if (why)
		return cpa_format_text(
			"%" PRIu32 ": cannot be inspected: %s (it must be a process of your own)",
			pid, strerror(why));
	if (deleted)
		return cpa_format_text("%" PRIu32 ": its session file was removed", pid);
	return cpa_format_text("%" PRIu32 ": not profiled (start it with cpa run -- PROGRAM)", pid);
}

char *cpa_process_session(uint32_t pid, char **error)
{
	FILE *maps = open_maps(pid);
	int why = maps ? 0 : errno;
	char *line = NULL, *found = NULL;
	struct mapping mapping;
	bool deleted = false;
	size_t room = 0;

	while (maps && !found && getline(&line, &room, maps) > 0) {
		if (!parse_mapping(line, &mapping))
			continue;
		found = find_session(pid, &mapping);
		deleted |= is_deleted(mapping.path);
	}
	/* The maps of another user's process can be opened but not read. */
	if (maps && ferror(maps))
		why = errno;
	if (!found)
		*error = explain(pid, why, deleted);
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* Return true if the process maps @file, or if we may not know. */
static bool maps_file(uint32_t pid, const char *file)
{
	FILE *maps = open_maps(pid);
	struct mapping mapping;
	bool found = false;
	char *line = NULL;
	size_t room = 0;
	struct stat st;

	if (!maps)
		return errno == EACCES || errno == EPERM;
	if (stat(file, &st) == 0)
		while (!found && getline(&line, &room, maps) > 0)
			found = parse_mapping(line, &mapping) && mapping.inode == st.st_ino &&
				strcmp(cpa_printable_base(mapping.path),
				       cpa_printable_base(file)) == 0;
	found |= ferror(maps) != 0;
	free(line);
	fclose(maps);
	return found;
}

struct cpa_process cpa_process_open(uint32_t pid, const char *file)
{
	struct cpa_process process;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%" PRIu32, pid);
	process.folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* It exists, so the pid still belongs to the process that was opened. */
	if (process.folder >= 0 && !maps_file(pid, file)) {
		close(process.folder);
		process.folder = -1;
	}
	return process;
}

void cpa_process_close(const struct cpa_process *process)
{
	if (process->folder >= 0)
		close(process->folder);
}

/* Read a short file. Return false if it does not exist (any more). */
static bool read_small(int folder, const char *name, char *text, size_t size)
{
	int fd = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* The state letter of a task; 0: it no longer exists. */
static char read_state(int folder, const char *name)
{
	char text[512], *end;

	if (!read_small(folder, name, text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && !strchr("ZXx", end[2]) ? end[2] : 0;
}

static DIR *open_tasks(const struct cpa_process *process)
{
	int fd = process->folder < 0 ?
			 -1 :
			 openat(process->folder, "task", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder && fd >= 0)
		close(fd);
	return folder;
}

bool cpa_process_alive(const struct cpa_process *process)
{
	struct dirent *entry;
	size_t tasks = 0;
	DIR *folder;

	if (read_state(process->folder, "stat"))
		return true;
	/*
	 * The first thread may have exited before the others, whose tasks vanish as soon as they
	 * end.
	 */
	folder = open_tasks(process);
	while (folder && (entry = readdir(folder)))
		tasks += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return tasks > 1;
}

bool cpa_process_writes(uint32_t pid, const char *file)
{
	struct cpa_process process = cpa_process_open(pid, file);
	bool alive = process.folder >= 0 && cpa_process_alive(&process);

	cpa_process_close(&process);
	return alive;
}

/* Fill in the data of the task with the given tid. Return false if it no longer exists. */
static bool read_task(const struct cpa_process *process, struct cpa_process_task *task)
{
	char name[48], text[128];

	snprintf(name, sizeof(name), "task/%" PRIu32 "/stat", task->tid);
	task->state = read_state(process->folder, name);
	snprintf(name, sizeof(name), "task/%" PRIu32 "/schedstat", task->tid);
	if (!task->state || !read_small(process->folder, name, text, sizeof(text)))
		return false;
	task->cpu_s = (double)strtoull(text, NULL, 10) * 1e-9;
	return true;
}

static int compare_tids(const void *a, const void *b)
{
	const struct cpa_process_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct cpa_process_task *cpa_process_tasks(const struct cpa_process *process, size_t *count)
{
	struct cpa_process_task *tasks = xcalloc(1, sizeof(*tasks));
	DIR *folder = open_tasks(process);
	struct dirent *entry;

	*count = 0;
	while (folder && (entry = readdir(folder))) {
		struct cpa_process_task task = { .tid = (uint32_t)strtoul(entry->d_name, NULL,
									  10) };

		if (task.tid == 0 || !read_task(process, &task))
			continue;
		tasks = xrealloc(tasks, (*count + 1) * sizeof(*tasks));
		tasks[(*count)++] = task;
	}
	if (folder)
		closedir(folder);
	qsort(tasks, *count, sizeof(*tasks), compare_tids);
	return tasks;
}
