/* SPDX-License-Identifier: MIT */
#include "analysis/launch/beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/launch/program.h"

/* The folder of this executable. Return false if unknown. */
static bool own_folder(char *folder)
{
	ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	folder[len > 0 ? len : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/* Find an installed or freshly built file of cpa in @folders, relative to the executable. */
static bool find_beside(const char *const *folders, const char *name, char *found)
{
	char own[PATH_MAX], path[2 * PATH_MAX];

	if (!own_folder(own))
		return false;
	for (; *folders; folders++) {
		snprintf(path, sizeof(path), "%s/%s/%s", own, *folders, name);
		if (access(path, R_OK) == 0 && realpath(path, found))
			return true;
	}
	return false;
}

bool cpa_beside_find_tool(const char *name, char *found)
{
	static const char *const folders[] = { ".", "../bin", NULL };

	return find_beside(folders, name, found);
}

int cpa_beside_find_library(char *library)
{
	static const char *const folders[] = { ".", "../lib/cpa", "../lib", NULL };
	const char *wanted = getenv("CPA_LIB");

	if (wanted && *wanted) {
		if (!realpath(wanted, library) || access(library, R_OK) < 0) {
			cpa_complain("CPA_LIB=%s: %s (name a libcpa.so, or unset it)", wanted,
				     strerror(errno));
			return CPA_EXIT_USAGE;
		}
	} else if (!find_beside(folders, "libcpa.so", library)) {
		cpa_complain("libcpa.so: not found beside cpa nor in ../lib/cpa "
			     "(run make, or set CPA_LIB)");
		return CPA_EXIT_USAGE;
	}
	if (strpbrk(library, ": ")) {
		cpa_complain("%s: LD_PRELOAD cannot hold a path with a blank or colon "
			     "(move it, or set CPA_LIB)",
			     library);
		return CPA_EXIT_USAGE;
	}
	return 0;
}

int cpa_beside_become(const char *name, char **argv)
{
	char path[PATH_MAX];

	if (!cpa_beside_find_tool(name, path)) {
		cpa_complain("%s: not found beside cpa (run make)", name);
		return CPA_EXIT_NOT_FOUND;
	}
	argv[0] = path;
	execv(path, argv);
	cpa_complain("%s: cannot be started: %s", path, strerror(errno));
	return CPA_EXIT_CANNOT_EXECUTE;
}
