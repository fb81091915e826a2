/* SPDX-License-Identifier: MIT */
/* analysis/symbols/cache_folder.c - read, replace and evict the files of the name cache */
#include "analysis/symbols/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/symbols/cache.h"
#include "analysis/util/format.h"

#define BLOCK 512u /* unit of st_blocks, bytes */

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whether @path would be created in a folder that belongs to us. */
static bool is_above_ours(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *above = slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
	struct stat st;
	bool ours = stat(above, &st) == 0 && st.st_uid == geteuid();

	free(above);
	return ours;
}

/* Open the folder @path, creating it if it does not exist. */
static int open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && is_above_ours(path) && mkdir(path, 0700) == 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !is_ours(&st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * The path of @name in the folder given by environment variable @variable, if that is an absolute
 * path; else NULL. The caller frees it.
 */
static char *path_in(const char *variable, const char *name)
{
	const char *value = getenv(variable);

	return value && value[0] == '/' ? cpa_format_text("%s/%s", value, name) : NULL;
}

int cpa_cache_folder(void)
{
	const char *own = getenv("CPA_CACHE");
	char *path = NULL, *above;
	int fd = -1;

	if (own && *own)
		return own[0] == '/' ? open_folder(own) : -1;
	path = path_in("XDG_CACHE_HOME", "cpa");
	if (!path) {
		/* $HOME/.cache may not exist either. */
		above = path_in("HOME", ".cache");
		fd = above ? open_folder(above) : -1;
		if (fd >= 0)
			close(fd);
		free(above);
		path = path_in("HOME", ".cache/cpa");
	}
	fd = path ? open_folder(path) : -1;
	free(path);
	return fd;
}

char *cpa_cache_folder_read(int folder, const char *name, size_t *size)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_ours(&st) &&
	    (uint64_t)st.st_size <= CPA_CACHE_FILE_MAX) {
		*size = (size_t)st.st_size;
		text = xcalloc(*size + 1, 1);
		got = pread(fd, text, *size, 0);
		if (got != st.st_size) {
			free(text);
			text = NULL;
		} else {
			futimens(fd, NULL);
		}
	}
	close(fd);
	return text;
}

struct file {
	char *name;
	struct timespec used;
	uint64_t bytes;
};

/* Most recently used first. */
static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec < y->used.tv_nsec) - (x->used.tv_nsec > y->used.tv_nsec);
}

static bool has_suffix(const char *name)
{
	size_t length = strlen(name), suffix = strlen(CPA_CACHE_SUFFIX);

	return length > suffix && strcmp(name + length - suffix, CPA_CACHE_SUFFIX) == 0;
}

/* Temporary files of writers that died are removed like any other file. */
static void evict(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = again < 0 ? NULL : fdopendir(again);
	struct file *files = NULL;
	size_t count = 0, room = 0;
	uint64_t bytes = 0;
	struct dirent *entry;
	struct stat st;

	while (all && (entry = readdir(all))) {
		if (!has_suffix(entry->d_name) ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (count == room) {
			room = room ? 2 * room : 64;
			files = xrealloc(files, room * sizeof(*files));
		}
		files[count++] = (struct file){ xstrdup(entry->d_name), st.st_mtim,
						(uint64_t)st.st_blocks * BLOCK };
	}
	if (all)
		closedir(all);
	if (count)
		qsort(files, count, sizeof(*files), compare_files);
	for (size_t i = 0; i < count; i++) {
		bytes += files[i].bytes;
		if (bytes > CPA_CACHE_FOLDER_MAX)
			unlinkat(folder, files[i].name, 0);
		free(files[i].name);
	}
	free(files);
}

void cpa_cache_folder_write(int folder, const char *name, const char *text, size_t size)
{
	char *temporary = cpa_format_text("tmp-%d-%s", (int)getpid(), name);
	int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	bool good = fd >= 0 && write(fd, text, size) == (ssize_t)size;

	if (fd >= 0)
		good = close(fd) == 0 && good;
	if (fd >= 0 && (!good || renameat(folder, temporary, folder, name) < 0))
		unlinkat(folder, temporary, 0);
	free(temporary);
	if (good)
		evict(folder);
}
