/* SPDX-License-Identifier: MIT */
#include "analysis/symbols/vdso.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

bool cpa_vdso_is(const char *name)
{
	return strncmp(name, "linux-vdso", strlen("linux-vdso")) == 0;
}

int cpa_vdso_open(void)
{
	const ElfW(Ehdr) *vdso = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	int fd;

	if (!vdso)
		return -1;
	size = vdso->e_shoff +
	       (size_t)vdso->e_shnum * vdso->e_shentsize; /* the sections come last */
	fd = memfd_create("linux-vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, vdso, size) == (ssize_t)size)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
