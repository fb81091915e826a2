/* SPDX-License-Identifier: MIT */
/* analysis/input/find_dump.c - the dump that a user means */
#include "analysis/input/find_dump.h"

#include <dirent.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/input/process.h"
#include "analysis/util/format.h"

#define PID_DIGITS 9 /* a number with more digits is not a pid */
#define SUFFIX	   ".dump"

struct newest {
	char *file; /* NULL: none yet */
	struct timespec changed;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Look for *.dump in @folder, whose names have @part (NULL: any). @prefix is put before a name. */
static void search(struct newest *newest, const char *folder, const char *prefix, const char *part)
{
	struct dirent *entry;
	DIR *open = opendir(folder);

	while (open && (entry = readdir(open))) {
		struct stat st;
		char *file;

		if (!ends_with(entry->d_name, SUFFIX) || (part && !strstr(entry->d_name, part)))
			continue;
		file = cpa_format_text("%s%s", prefix, entry->d_name);
		if (stat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
		    (newest->file && (st.st_mtim.tv_sec < newest->changed.tv_sec ||
				      (st.st_mtim.tv_sec == newest->changed.tv_sec &&
				       st.st_mtim.tv_nsec <= newest->changed.tv_nsec)))) {
			free(file);
			continue;
		}
		free(newest->file);
		*newest = (struct newest){ file, st.st_mtim };
	}
	if (open)
		closedir(open);
}

static char *find_newest(const char *part)
{
	struct newest newest = { 0 };

	search(&newest, ".", "", part);
	search(&newest, ".cpa", ".cpa/", part);
	return newest.file;
}

static bool is_pid(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && strlen(text) <= PID_DIGITS;
}

char *cpa_dump_find(const char *argument, uint32_t *pid, char **error)
{
	char *file, *part;

	*pid = 0;
	if (!argument) {
		file = find_newest(NULL);
		if (!file)
			*error = xstrdup("no *.dump in this folder or its .cpa (name a process or "
					 "a dump, or make one with cpa run -- PROGRAM)");
		return file;
	}
	if (!is_pid(argument) || access(argument, F_OK) == 0)
		return xstrdup(argument);
	*pid = (uint32_t)strtoul(argument, NULL, 10);
	file = cpa_process_session(*pid, error);
	if (file)
		return file;
	/* It has ended, or is another process of that number. */
	part = cpa_format_text(".%u.", *pid);
	file = find_newest(part);
	free(part);
	*pid = 0;
	if (file)
		free(*error);
	return file;
}
