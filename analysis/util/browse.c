/* SPDX-License-Identifier: MIT */
#include "analysis/util/browse.h"

#include <errno.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/util/format.h"

#define SUFFIX ".html"

bool cpa_browse(const char *file)
{
	/*
	 * The shell ends at once, so the browser is nobody's child that would have to be waited
	 * for.
	 */
	static char shell[] = "sh", option[] = "-c",
		    script[] = "command -v xdg-open >/dev/null || exit 1; "
			       "xdg-open \"$1\" </dev/null >/dev/null 2>&1 &";
	char *name = cpa_format_text("%s", file);
	char *const argv[] = { shell, option, script, shell, name, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	free(name);
	return status == 0;
}

char *cpa_browse_file(void)
{
	const char *folder = getenv("TMPDIR");
	char *name = cpa_format_text("%s/cpa.XXXXXX" SUFFIX, folder && *folder ? folder : "/tmp");
	int fd = mkstemps(name, (int)strlen(SUFFIX));

	if (fd < 0) {
		int error = errno;

		free(name);
		errno = error;
		return NULL;
	}
	close(fd);
	return name;
}
