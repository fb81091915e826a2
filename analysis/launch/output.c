/* SPDX-License-Identifier: MIT */
#include "analysis/launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/ctl/control.h"
#include "analysis/launch/program.h"

int cpa_output_name(const char *pattern, const char *exe, pid_t pid, char *name, size_t size)
{
	size_t used = 0;

	for (const char *p = pattern; *p; p++) {
		char part[NAME_MAX + 1] = { *p };

		if (p[0] == '%' && p[1] == 'e')
			snprintf(part, sizeof(part), "%s", exe);
		else if (p[0] == '%' && p[1] == 'p')
			snprintf(part, sizeof(part), pid ? "%d" : "PID", (int)pid);
		else if (p[0] == '%' && p[1] == 'h')
			gethostname(part, sizeof(part) - 1);
		if (p[0] == '%' && p[1] && strchr("eph", p[1]))
			p++;
		if (used + strlen(part) >= size)
			return -1;
		strcpy(name + used, part);
		used += strlen(part);
	}
	name[used] = '\0';
	return 0;
}

int cpa_output_stamp(const char *pattern, char *stamped, size_t size)
{
	time_t now = time(NULL);
	size_t used = 0;
	struct tm tm;

	for (const char *p = pattern; *p; p++) {
		char part[32] = { *p };

		if (p[0] == '%' && p[1] == 't') {
			strftime(part, sizeof(part), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
			p++;
		}
		if (used + strlen(part) >= size)
			return -1;
		strcpy(stamped + used, part);
		used += strlen(part);
	}
	stamped[used] = '\0';
	return 0;
}

/* Advice for errno @error when a file cannot be created. */
static const char *advice(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "create the folder, or name another one";
	case ENAMETOOLONG:
		return "name a shorter one";
	default:
		return "name a file in a folder that you may write";
	}
}

/* Create the file @name and remove it. Return 0, or an exit status after one line on stderr. */
static int try_to_make(const char *name, const char *source)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		unlink(name);
	} else if (errno != EEXIST) { /* another launcher tests the same name */
		cpa_complain("%s %s: cannot be written: %s (%s)", source, name, strerror(errno),
			     advice(errno));
		return CPA_EXIT_USAGE;
	}
	return 0;
}

/* Handle an existing file @name. Return 0, or an exit status after one line on stderr. */
static int make_room(const char *name, mode_t mode, const char *source, bool force)
{
	if (S_ISDIR(mode)) {
		cpa_complain("%s %s: is a folder (name a file in it, as %s%scpa.%%e.%%p.dump)",
			     source, name, name, name[strlen(name) - 1] == '/' ? "" : "/");
		return CPA_EXIT_USAGE;
	}
	if (!force) {
		cpa_complain("%s %s: exists already (remove it, or use --force to replace it)",
			     source, name);
		return CPA_EXIT_USAGE;
	}
	if (!S_ISREG(mode) || unlink(name) < 0) {
		cpa_complain("%s %s: cannot be replaced: %s (use another name)", source, name,
			     S_ISREG(mode) ? strerror(errno) : "not a regular file");
		return CPA_EXIT_USAGE;
	}
	return 0;
}

int cpa_output_check(const char *pattern, const char *source, const char *exe, bool force)
{
	char name[PATH_MAX];
	struct stat st;
	int ret = 0;

	if (cpa_output_name(pattern, exe, 0, name, sizeof(name)) < 0) {
		cpa_complain("%s %.40s...: name too long for a profile", source, pattern);
		return CPA_EXIT_USAGE;
	}
	if (lstat(name, &st) == 0)
		ret = make_room(name, st.st_mode, source, force);
	return ret ? ret : try_to_make(name, source);
}

/*
 * Truncate the file to the part that its processes, which have ended, used. It was created with
 * room for everything they might need, and tools that do not know holes would copy all of it.
 */
static void trim(const struct cpa_control *control)
{
	const struct cpa_header *header = control->header;
	const uint64_t reserved = header->reserved;
	struct stat st;

	if (fstat(control->fd, &st) < 0 || st.st_nlink != 1 || st.st_uid != geteuid() ||
	    header->running || reserved < sizeof(*header) || reserved >= (uint64_t)st.st_size)
		return;
	if (ftruncate(control->fd, (off_t)reserved) < 0)
		cpa_complain("%s: cannot be truncated to its used size: %s", control->file,
			     strerror(errno));
}

void cpa_output_ended(const char *name, pid_t pid, int status, const struct cpa_load *load)
{
	struct cpa_control control;
	char *error = NULL;

	if (cpa_control_open(&control, name, &error) < 0) {
		free(error); /* there is no profile; name_next() reports that */
		return;
	}
	if (control.header->pid == (uint32_t)pid) {
		cpa_control_ended(&control, status);
		control.header->load = *load;
		trim(&control);
	}
	cpa_control_close(&control);
}
