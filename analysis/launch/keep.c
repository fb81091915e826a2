/* SPDX-License-Identifier: MIT */
#include "analysis/launch/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/input/copy.h"
#include "analysis/input/history.h"
#include "analysis/launch/parts.h"
#include "analysis/launch/program.h"
#include "shadow/format/layout.h"
#include "shadow/store/size.h"

#define HOUR 3600
#define DAY  86400
#define NEW  "new" /* a copy that is not complete */

struct copy {
	char name[NAME_MAX + 1];
	time_t made;
	time_t age;	/* how far that is from now; ahead of it, where the clock was set back */
	uint64_t bytes; /* that it takes on the disk */
	bool dense;	/* another one stays for its step */
};

bool cpa_keep_parse(const char *text, struct cpa_keep *keep)
{
	const char *comma = strchr(text, ',');
	char age[32];

	snprintf(age, sizeof(age), "%.*s", comma ? (int)(comma - text) : 31, text);
	if (!comma && cpa_size_read(text, &keep->bytes))
		return true;
	return cpa_parts_time(age, &keep->most_ns) && keep->most_ns &&
	       (!comma || cpa_size_read(comma + 1, &keep->bytes));
}

static int by_time(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	return x->made < y->made ? -1 : x->made > y->made ? 1 : 0;
}

/* The copy just made is the first. */
static int by_age(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	return x->age < y->age ? -1 : x->age > y->age ? 1 : by_time(a, b);
}

/*
 * Store the copies in @folder, in the order of their times, at *@copies, which the caller frees. Return
 * their number.
 */
static size_t list(const char *folder, time_t now, struct copy **copies)
{
	DIR *open = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	*copies = NULL;
	while (open && (entry = readdir(open))) {
		struct copy *more, one;
		struct stat st;

		if (!cpa_history_time(entry->d_name, &one.made) ||
		    fstatat(dirfd(open), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		more = realloc(*copies, (count + 1) * sizeof(**copies));
		if (!more)
			break;
		*copies = more;
		strcpy(one.name, entry->d_name);
		one.age = one.made < now ? now - one.made : one.made - now;
		one.dense = false;
		one.bytes = (uint64_t)st.st_blocks * 512;
		more[count++] = one;
	}
	if (open)
		closedir(open);
	if (count)
		qsort(*copies, count, sizeof(**copies), by_time);
	return count;
}

/* How far apart copies of age @age are, seconds. */
static time_t step_at(time_t age)
{
	return age < HOUR ? 1 : age < DAY ? HOUR : DAY;
}

void cpa_keep_thin(const struct cpa_keep *keep, const char *folder, int64_t now)
{
	char path[PATH_MAX + NAME_MAX];
	uint64_t bytes = 0;
	struct copy *copies;
	size_t count = list(folder, (time_t)now, &copies);

	for (size_t i = 1; i < count; i++) {
		time_t step = step_at(copies[i].age);

		/* The first copy of each step is the one that stays. */
		copies[i].dense = step_at(copies[i - 1].age) == step &&
				  copies[i - 1].made / step == copies[i].made / step;
	}
	if (count)
		qsort(copies, count, sizeof(*copies), by_age);
	for (size_t i = 0; i < count; i++) {
		bytes += copies[i].bytes;
		if (!copies[i].dense && (double)copies[i].age * 1e9 <= (double)keep->most_ns &&
		    (bytes <= keep->bytes || i == 0))
			continue;
		bytes -= copies[i].bytes;
		snprintf(path, sizeof(path), "%s/%s", folder, copies[i].name);
		unlink(path);
	}
	free(copies);
}

/*
 * Say once that copies are not made, and why. A program that has just begun has no session yet: the next copy is
 * as good as the first.
 */
static void complain(const struct cpa_keep *keep, const char *error)
{
	const char *quiet = getenv("CPA_QUIET");

	if (keep->failed == (keep->made ? 0 : 1) && !(quiet && strcmp(quiet, "1") == 0))
		cpa_complain("no copy of the profile: %s", error);
}

/* Whether the session is not that of another run, which has replaced the file or made it before. */
static bool is_ours(const struct cpa_keep *keep)
{
	int fd = open(keep->session, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct cpa_header header;
	ssize_t length = fd < 0 ? 0 : pread(fd, &header, sizeof(header), 0);

	if (fd >= 0)
		close(fd);
	return length < (ssize_t)sizeof(header) || header.start_real_ns >= keep->started_ns;
}

/* Keep the copiers of other runs out of @folder until this process ends. Return false if there is one. */
static bool lock(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Make a copy of the session, and thin the history out. Return whether it was made. */
static bool copy(const struct cpa_keep *keep)
{
	char folder[PATH_MAX], fresh[PATH_MAX + 8], name[PATH_MAX + 64], stamp[32];
	time_t now = time(NULL);
	char *error = NULL;
	bool made = false;
	struct tm tm;

	snprintf(folder, sizeof(folder), "%.*s" CPA_HISTORY_SUFFIX, PATH_MAX - 8, keep->session);
	snprintf(fresh, sizeof(fresh), "%s/" NEW, folder);
	strftime(stamp, sizeof(stamp), CPA_HISTORY_FORMAT, gmtime_r(&now, &tm));
	snprintf(name, sizeof(name), "%s/%s", folder, stamp);
	mkdir(folder, 0700);
	if (!is_ours(keep) || !lock(folder)) {
		complain(keep, "another run has a profile of this name");
		return false;
	}
	unlink(fresh); /* of a copier that was killed */
	if (cpa_copy_session(keep->session, fresh, &error) < 0)
		complain(keep, error);
	else if (rename(fresh, name) < 0)
		complain(keep, strerror(errno));
	else
		made = true;
	free(error);
	cpa_keep_thin(keep, folder, now);
	return made;
}

uint64_t cpa_keep_next(struct cpa_keep *keep)
{
	int status;

	if (keep->copier && waitpid(keep->copier, &status, WNOHANG) != 0) {
		keep->copier = 0;
		keep->made |= status == 0;
		keep->failed = status ? keep->failed + 1 : 0;
	}
	if (!keep->every_ns)
		return UINT64_MAX;
	if (!keep->next_ns)
		keep->next_ns = keep->every_ns;
	return keep->next_ns;
}

void cpa_keep_act(struct cpa_keep *keep, uint64_t now)
{
	/* Copies that were missed, as the machine slept, are not made up for. */
	keep->next_ns += (1 + (now - keep->next_ns) / keep->every_ns) * keep->every_ns;
	if (keep->copier)
		return;
	keep->copier = fork();
	if (keep->copier < 0)
		keep->copier = 0;
	else if (keep->copier == 0) {
		_exit(nice(10) >= -20 && copy(keep) ? 0 : 1);
	}
}
