/* SPDX-License-Identifier: MIT */
#include "analysis/symbols/code_bytes.h"

#include <elf.h>
#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS   64u	  /* more are not looked at */
#define NOTES_MOST 65536u /* bytes of notes that are read */

struct cpa_code {
	int fd;
	size_t segments;
	Elf64_Phdr segment[SEGMENTS];
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Whether the @size bytes of notes at @note have the build-id of @module. */
static bool have_build_id(const char *note, size_t size, const struct cpa_module *module)
{
	Elf64_Nhdr head;
	size_t name, text;

	for (size_t at = 0; size - at >= sizeof(head); at += name + text) {
		memcpy(&head, note + at, sizeof(head));
		at += sizeof(head);
		name = ((size_t)head.n_namesz + 3) & ~(size_t)3;
		text = ((size_t)head.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || text > size - at - name)
			return false;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof("GNU") &&
		    memcmp(note + at, "GNU", sizeof("GNU")) == 0)
			return head.n_descsz == module->build_id_size &&
			       memcmp(note + at + name, module->build_id, head.n_descsz) == 0;
	}
	return false;
}

static bool is_of_run(const struct cpa_code *code, const struct cpa_module *module)
{
	bool found = false;

	for (size_t i = 0; i < code->segments && !found; i++) {
		const Elf64_Phdr *s = &code->segment[i];
		char *notes;

		if (s->p_type != PT_NOTE || s->p_filesz > NOTES_MOST)
			continue;
		notes = xmalloc(s->p_filesz + 1);
		found = read_at(code->fd, notes, s->p_filesz, s->p_offset) &&
			have_build_id(notes, s->p_filesz, module);
		free(notes);
	}
	return found;
}

static bool read_headers(struct cpa_code *code)
{
	Elf64_Ehdr head;
	struct stat st;

	if (fstat(code->fd, &st) || !S_ISREG(st.st_mode) ||
	    !read_at(code->fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_machine != EM_X86_64 || head.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	code->segments = head.e_phnum < SEGMENTS ? head.e_phnum : SEGMENTS;
	return read_at(code->fd, code->segment, code->segments * sizeof(Elf64_Phdr), head.e_phoff);
}

struct cpa_code *cpa_code_open(const struct cpa_module *module)
{
	struct cpa_code *code;
	char path[sizeof(module->path) + 1] = { 0 };
	struct stat st;

	memcpy(path, module->path, sizeof(module->path));
	if (path[0] != '/' || !module->build_id_size ||
	    module->build_id_size > sizeof(module->build_id))
		return NULL;
	if (stat(path, &st) || !S_ISREG(st.st_mode)) /* to open a device may do something */
		return NULL;
	code = xcalloc(1, sizeof(*code));
	code->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (code->fd >= 0 && read_headers(code) && is_of_run(code, module))
		return code;
	cpa_code_close(code);
	return NULL;
}

void cpa_code_close(struct cpa_code *code)
{
	if (code && code->fd >= 0)
		close(code->fd);
	free(code);
}

size_t cpa_code_read(const struct cpa_code *code, uint64_t address, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < code->segments; i++) {
		const Elf64_Phdr *s = &code->segment[i];
		uint64_t rest;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || address < s->p_vaddr ||
		    address - s->p_vaddr >= s->p_filesz)
			continue;
		rest = s->p_filesz - (address - s->p_vaddr);
		size = size < rest ? size : (size_t)rest;
		return read_at(code->fd, bytes, size, s->p_offset + (address - s->p_vaddr)) ? size :
											      0;
	}
	return 0;
}
