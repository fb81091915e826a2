/* SPDX-License-Identifier: MIT */
/* analysis/launch/sanitizer.c - find the sanitizer library that a program is linked with */
#include "analysis/launch/sanitizer.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Read @size bytes of the part that is loaded at @address. */
static bool read_loaded(int fd, const Elf64_Ehdr *header, uint64_t address, void *to, size_t size)
{
	Elf64_Phdr part;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		off_t at = (off_t)(header->e_phoff + (Elf64_Off)i * sizeof(part));

		if (pread(fd, &part, sizeof(part), at) != sizeof(part))
			return false;
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address - part.p_vaddr < part.p_filesz)
			return pread(fd, to, size,
				     (off_t)(part.p_offset + address - part.p_vaddr)) > 0;
	}
	return false;
}

static bool is_sanitizer(const char *name)
{
	static const char *const names[] = { "libasan.so", "libtsan.so", "libhwasan.so",
					     "liblsan.so" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Search the dynamic section at @offset for a sanitizer library. */
static void look(int fd, const Elf64_Ehdr *header, off_t offset, char *name, size_t size)
{
	uint64_t strings = 0;
	Elf64_Dyn entry;

	for (off_t at = offset;
	     pread(fd, &entry, sizeof(entry), at) == sizeof(entry) && entry.d_tag != DT_NULL;
	     at += (off_t)sizeof(entry))
		if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_ptr;
	for (off_t at = offset;
	     pread(fd, &entry, sizeof(entry), at) == sizeof(entry) && entry.d_tag != DT_NULL;
	     at += (off_t)sizeof(entry)) {
		memset(name, 0, size);
		if (entry.d_tag == DT_NEEDED &&
		    read_loaded(fd, header, strings + entry.d_un.d_val, name, size - 1) &&
		    is_sanitizer(name))
			return;
	}
	name[0] = '\0';
}

void cpa_sanitizer_of(const char *image, char *name, size_t size)
{
	int fd = open(image, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	Elf64_Phdr part;

	name[0] = '\0';
	if (fd < 0)
		return;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		header.e_phnum = 0;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + (Elf64_Off)i * sizeof(part));

		if (pread(fd, &part, sizeof(part), at) == sizeof(part) && part.p_type == PT_DYNAMIC)
			look(fd, &header, (off_t)part.p_offset, name, size);
	}
	close(fd);
}
