/* SPDX-License-Identifier: MIT */
/* analysis/launch/folder.c - the folder .cpa: new profiles, cpa ls, cpa rm */
#include "analysis/launch/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/launch/parts.h"
#include "analysis/launch/program.h"
#include "shadow/format/layout.h"

#define SUFFIX ".dump"

/* A profile of the folder. */
struct entry {
	char name[NAME_MAX + 1];
	struct timespec changed;
	long long bytes; /* that it takes on the disk */
};

struct list {
	size_t count;
	struct entry *entry; /* newest first */
};

/* Keep the profiles out of a repository that the folder may be in. */
static void ignore_in_git(void)
{
	int fd = open(CPA_FOLDER "/.gitignore",
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	if (write(fd, "*\n", 2) != 2)
		unlink(CPA_FOLDER "/.gitignore");
	close(fd);
}

int cpa_folder_pattern(char *pattern, size_t size)
{
	char here[PATH_MAX], stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	if (mkdir(CPA_FOLDER, 0777) == 0) {
		ignore_in_git();
	} else if (errno != EEXIST) {
		cpa_complain("profile folder " CPA_FOLDER ": cannot be made: %s (name a file in a "
			     "folder that you may write by -o)",
			     strerror(errno));
		return CPA_EXIT_USAGE;
	}
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	/*
	 * The whole path, for processes of the run that begin elsewhere; '%' in it would be read.
	 */
	if (!getcwd(here, sizeof(here)) || strchr(here, '%'))
		here[0] = '\0';
	snprintf(pattern, size, "%s%s" CPA_FOLDER "/%%e.%%p.%s" SUFFIX, here, *here ? "/" : "",
		 stamp);
	return 0;
}

const char *cpa_folder_short(const char *file)
{
	char here[PATH_MAX];
	size_t length;

	if (!getcwd(here, sizeof(here)))
		return file;
	length = strlen(here);
	return strncmp(file, here, length) == 0 && file[length] == '/' ? file + length + 1 : file;
}

static bool is_profile(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec > y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Read the folder open as @fd, which may be -1. The caller frees the entries. */
static struct list read_folder(int fd)
{
	struct list list = { 0 };
	DIR *folder = fd < 0 ? NULL : fdopendir(dup(fd));
	struct dirent *each;

	while (folder && (each = readdir(folder))) {
		struct entry *more;
		struct stat st;

		if (!is_profile(each->d_name) ||
		    fstatat(fd, each->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		more = realloc(list.entry, (list.count + 1) * sizeof(*more));
		if (!more)
			break;
		list.entry = more;
		more[list.count] = (struct entry){ .changed = st.st_mtim,
						   .bytes = (long long)st.st_blocks * 512 };
		snprintf(more[list.count++].name, sizeof(more->name), "%s", each->d_name);
	}
	if (folder)
		closedir(folder);
	if (list.count)
		qsort(list.entry, list.count, sizeof(*list.entry), compare);
	return list;
}

static int open_folder(void)
{
	return open(CPA_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether the program of the profile still runs: it needs the file for processes to come. */
static bool is_running(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct cpa_header header;
	ssize_t length = fd < 0 ? -1 : pread(fd, &header, sizeof(header), 0);

	if (fd >= 0)
		close(fd);
	return length == sizeof(header) && header.state == CPA_RUNNING && header.pid > 0 &&
	       header.pid <= INT_MAX && kill((pid_t)header.pid, 0) == 0;
}

int cpa_folder_list(int argc, char **argv)
{
	int fd = open_folder();
	struct list list = read_folder(fd);

	if (argc > 1) {
		cpa_complain("ls: %s: no argument expected", argv[1]);
		return CPA_EXIT_USAGE;
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct entry *each = &list.entry[i];
		char when[32];
		struct tm tm;

		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S",
			 localtime_r(&each->changed.tv_sec, &tm));
		printf("%s %8lld K  " CPA_FOLDER "/%s%s\n", when, (each->bytes + 1023) / 1024,
		       each->name, is_running(fd, each->name) ? "  (runs)" : "");
	}
	if (list.count == 0)
		puts("no profile in " CPA_FOLDER " of this folder");
	free(list.entry);
	if (fd >= 0)
		close(fd);
	return fflush(stdout) ? 1 : 0;
}

/* Remove the profile @name. Return whether it is gone; else after one line on stderr. */
static bool remove_one(int folder, const char *name)
{
	if (is_running(folder, name)) {
		cpa_complain("rm: " CPA_FOLDER "/%s: its program runs; kept", name);
		return false;
	}
	if (unlinkat(folder, name, 0) == 0)
		return true;
	cpa_complain("rm: " CPA_FOLDER "/%s: cannot be removed: %s", name, strerror(errno));
	return false;
}

/* The name in the folder that @argument means, NULL: none. */
static const char *name_in_folder(const char *argument)
{
	static const char folder[] = CPA_FOLDER "/";

	if (strncmp(argument, folder, strlen(folder)) == 0)
		argument += strlen(folder);
	return strchr(argument, '/') || !is_profile(argument) ? NULL : argument;
}

static int remove_older(int folder, uint64_t older_ns)
{
	struct list list = read_folder(folder);
	time_t now = time(NULL);
	size_t removed = 0;

	for (size_t i = 0; i < list.count; i++)
		if (difftime(now, list.entry[i].changed.tv_sec) >= (double)older_ns / 1e9)
			removed += remove_one(folder, list.entry[i].name);
	printf("profiles removed: %zu of %zu\n", removed, list.count);
	free(list.entry);
	return 0;
}

/* Remove the profiles that @names ends with NULL. */
static int remove_named(int folder, char **names)
{
	int status = 0;

	for (; *names; names++) {
		const char *name = name_in_folder(*names);

		if (!name) {
			cpa_complain("rm: %s: no profile of the folder " CPA_FOLDER
				     " (cpa ls lists them)",
				     *names);
			status = CPA_EXIT_USAGE;
		} else if (!remove_one(folder, name)) {
			status = 1;
		}
	}
	return status;
}

int cpa_folder_remove(int argc, char **argv)
{
	static const struct option options[] = { { "older", required_argument, NULL, 'o' },
						 { NULL, 0, NULL, 0 } };
	static char name[] = "cpa rm";
	uint64_t older_ns = 0;
	bool older = false;
	int fd, status = 0, option;

	argv[0] = name; /* name in getopt_long()'s messages */
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option != 'o')
			return CPA_EXIT_USAGE;
		older = true;
		if (cpa_parts_time(optarg, &older_ns))
			continue;
		cpa_complain("rm: --older %s: not a time (give a number and s, m, h or d, as 7d)",
			     optarg);
		return CPA_EXIT_USAGE;
	}
	if (!older && optind == argc) {
		cpa_complain("rm: no profile named (usage: cpa rm [--older 7d] [PROFILE...])");
		return CPA_EXIT_USAGE;
	}
	fd = open_folder();
	if (older)
		status = remove_older(fd, older_ns);
	if (optind < argc)
		status = remove_named(fd, argv + optind);
	if (fd >= 0)
		close(fd);
	return status;
}
