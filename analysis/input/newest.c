/* SPDX-License-Identifier: MIT */
/* analysis/input/newest.c - the default dump: the newest one in the current folder */
#include "analysis/input/newest.h"

#include <dirent.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

char *cpa_newest_dump(void)
{
	struct timespec newest = { 0 };
	struct dirent *entry;
	char *name = NULL;
	DIR *folder = opendir(".");

	while (folder && (entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);
		struct stat st;

		if (length < 5 || strcmp(entry->d_name + length - 5, ".dump") != 0 ||
		    stat(entry->d_name, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (name &&
		    (st.st_mtim.tv_sec < newest.tv_sec ||
		     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		free(name);
		name = xstrdup(entry->d_name);
		newest = st.st_mtim;
	}
	if (folder)
		closedir(folder);
	return name;
}
