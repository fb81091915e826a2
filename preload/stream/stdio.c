/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/stdio.c - reads, writes and closes of stdio's files
 *
 * The C library does not call them by name. A FILE has a table of functions; all tables lie in one
 * part of the C library's data, which is read-only once the program runs. At start, while there is one
 * thread, the functions for read, write and close in these tables are replaced by ours, which call
 * them. The C library checks where a table lies, not what is in it.
 *
 * A table is known by what it contains: the address of _IO_file_read() followed by that of
 * _IO_file_write(), in a part of the library that is made read-only behind relocation. Without these
 * two names, or if the memory may not be written, nothing is replaced, and stdio is not seen. Tried
 * with glibc 2.36.
 */
#include "preload/stream/stdio.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/core/track.h"
#include "preload/libc/private_fds.h"
#include "preload/libc/real.h"
#include "preload/libc/symbol.h"
#include "preload/stream/descriptor.h"
#include "preload/stream/stream.h"
#include "shadow/store/kernel.h"

/* Order of functions in a table, from that for reading. */
enum { SLOT_READ, SLOT_WRITE, SLOT_SEEK, SLOT_CLOSE, SLOTS };

static cpa_file_io *original_read, *original_write;
static int (*original_close)(FILE *file), (*original_proc_close)(FILE *file);

static ssize_t read_file(FILE *file, void *to, ssize_t n)
{
	return cpa_external_read(original_read, file, to, n);
}

static ssize_t write_file(FILE *file, void *from, ssize_t n)
{
	return cpa_external_write(original_write, file, from, n);
}

static int close_file(FILE *file)
{
	int fd = file->_fileno, ret;
	uint32_t closing;

	closing = cpa_descriptor_closing(fd, CPA_CALLER());
	ret = original_close(file);
	cpa_descriptor_closed((unsigned)fd, (unsigned)fd);
	cpa_private_fds_closed();
	cpa_descriptor_was_closed(closing);
	return ret;
}

/* Of popen(): it closes the descriptor, and then waits for the child. */
static int close_proc(FILE *file)
{
	int fd = file->_fileno, ret;
	uint32_t closing;

	closing = cpa_descriptor_not_timed(cpa_descriptor_closing(fd, CPA_CALLER()));
	ret = original_proc_close(file);
	cpa_descriptor_closed((unsigned)fd, (unsigned)fd);
	cpa_private_fds_closed();
	cpa_descriptor_was_closed(closing);
	return ret;
}

static uint64_t original(const char *name)
{
	return (uint64_t)cpa_symbol_next(name, NULL);
}

/* The part of the module at @base that is read-only behind relocation: whole pages. False: none. */
static bool relro(uint64_t base, uint64_t *from, uint64_t *to)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + elf->e_phoff);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < elf->e_phnum; i++, p++) {
		if (p->p_type != PT_GNU_RELRO)
			continue;
		*from = (base + p->p_vaddr) & -page;
		*to = (base + p->p_vaddr + p->p_memsz) & -page;
		return *from < *to;
	}
	return false;
}

static void replace(uint64_t *table)
{
	table[SLOT_READ] = (uint64_t)read_file;
	table[SLOT_WRITE] = (uint64_t)write_file;
	if (table[SLOT_CLOSE] == (uint64_t)original_close)
		table[SLOT_CLOSE] = (uint64_t)close_file;
	else if (table[SLOT_CLOSE] == (uint64_t)original_proc_close)
		table[SLOT_CLOSE] = (uint64_t)close_proc;
}

/* The system call, not mprotect(), which some programs replace. */
static bool protect(uint64_t from, uint64_t to, int how)
{
	return !cpa_kernel(SYS_mprotect, from, to - from, how);
}

void cpa_stdio_begin(void)
{
	uint64_t from, to;
	struct dl_find_object libc;

	original_read = (cpa_file_io *)original("_IO_file_read");
	original_write = (cpa_file_io *)original("_IO_file_write");
	original_close = (int (*)(FILE *))original("_IO_file_close");
	original_proc_close = (int (*)(FILE *))original("_IO_proc_close");
	if (!original_read || !original_write || !original_close || !original_proc_close ||
	    _dl_find_object((void *)original_read, &libc) ||
	    !relro((uint64_t)libc.dlfo_map_start, &from, &to) ||
	    !protect(from, to, PROT_READ | PROT_WRITE))
		return;
	for (uint64_t *p = (uint64_t *)from; p + SLOTS <= (uint64_t *)to; p++)
		if (p[SLOT_READ] == (uint64_t)original_read &&
		    p[SLOT_WRITE] == (uint64_t)original_write)
			replace(p);
	protect(from, to, PROT_READ);
}

/* The file that the C library has made: the program may assign to `stdout`. */
extern FILE _IO_2_1_stdout_;

void cpa_stdio_end(void)
{
	const FILE *file = &_IO_2_1_stdout_;
	/* As the C library decides at exit. In another thread that writes now they may change. */
	ptrdiff_t left = file->_mode <= 0 ? file->_IO_write_ptr - file->_IO_write_base : 0;
	struct cpa_stream_use use;

	if (left <= 0 || !original_write)
		return;
	cpa_stream_writes(&use, file->_fileno, NULL, SIZE_MAX, CPA_CALLER());
	if (use.stream && use.stream->kind != CPA_STREAM_EVENTFD)
		cpa_stream_did_write(&use, left, CPA_CALLER());
}
