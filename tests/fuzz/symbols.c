/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/symbols.c - names from ELF files with debug information that lies
 *
 *	symbols FILE COUNT
 *
 * The report reads the files that a session names, and those may be anything, whoever wrote them.
 * COUNT copies of FILE, each with some bytes changed where libelf and libdw look, are asked for the
 * names of code and variables all over them, one by one or, every other copy, together. Whoever reads a file may die over it, whoever asks may
 * not. CPA_SEED repeats a run.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/symbols/symbols.h"
#include "tests/property/random.h"

#define PLACES 64u

static unsigned char *original, *copy;
static size_t size;
static uint64_t loaded; /* all addresses of its code and data are below */
static int fd;

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static void load(const char *file)
{
	int from = open(file, O_RDONLY);
	off_t end = from < 0 ? -1 : lseek(from, 0, SEEK_END);

	if (end < 64)
		fail(file);
	size = (size_t)end;
	original = malloc(size);
	copy = malloc(size);
	if (!original || !copy || pread(from, original, size, 0) != end)
		fail(file);
	close(from);
	for (unsigned i = 0; i < ((Elf64_Ehdr *)original)->e_phnum; i++) {
		const Elf64_Phdr *p = (Elf64_Phdr *)(original + sizeof(Elf64_Ehdr)) + i;

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > loaded)
			loaded = p->p_vaddr + p->p_memsz;
	}
}

/* One word of a kind that is often not thought of. */
static uint64_t value(struct rnd *r)
{
	static const uint64_t odd[] = { 0,	    1,	       0x7f,	  0x80,
					0xff,	    0x7fff,    0xffff,	  0x7fffffff,
					UINT32_MAX, INT64_MAX, UINT64_MAX };

	return rnd_percent(r, 60) ? odd[rnd_below(r, sizeof(odd) / sizeof(odd[0]))] : rnd_next(r);
}

/* Where it matters: in the headers, or a section that is not loaded or holds names. */
static size_t place(struct rnd *r)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)original;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(original + elf->e_shoff);

	switch (rnd_below(r, 10)) {
	case 0:
		return rnd_below(r, sizeof(*elf) + elf->e_phnum * sizeof(Elf64_Phdr));
	case 1:
		return elf->e_shoff + rnd_below(r, elf->e_shnum * sizeof(*section));
	}
	for (;;) {
		const Elf64_Shdr *s = &section[rnd_below(r, elf->e_shnum)];

		if (s->sh_size && s->sh_type != SHT_NOBITS &&
		    (!(s->sh_flags & SHF_ALLOC) || s->sh_type != SHT_PROGBITS))
			return s->sh_offset + rnd_below(r, s->sh_size);
	}
}

static void damage(struct rnd *r)
{
	unsigned words = 1u << rnd_below(r, 6);
	size_t end = rnd_percent(r, 5) ? rnd_below(r, size) : size;

	memcpy(copy, original, size);
	for (unsigned i = 0; i < words; i++) {
		size_t at = place(r), width = (size_t)1 << rnd_below(r, 4);
		uint64_t v = value(r);

		memcpy(copy + at, &v, at + width <= size ? width : 1);
	}
	if (ftruncate(fd, 0) || pwrite(fd, copy, end, 0) != (ssize_t)end)
		fail("copy");
}

static void forget(struct cpa_place place)
{
	free(place.name);
	free(place.location);
	free(place.inlined);
}

/* Return whether whoever read the file died over it. @together: all questions at once, before. */
static bool ask(const char *file, bool together)
{
	struct cpa_symbols_question questions[2 * PLACES];
	struct cpa_module module = { .key = 1, .end = loaded };
	struct cpa_symbols *symbols;
	const char *trouble;
	bool died;

	strcpy(module.path, file);
	symbols = cpa_symbols_open(&module, 1);
	for (uint64_t i = 0; i < 2 * PLACES; i++)
		questions[i] = (struct cpa_symbols_question){ .address = loaded / PLACES * (i / 2),
							      .module = 1,
							      .variable = i % 2,
							      .inlined = i % 4 == 2,
							      .flag = i / 2 % 2 };
	if (together)
		cpa_symbols_prepare(symbols, questions, 2 * PLACES);
	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t at = loaded / PLACES * i;

		forget(cpa_symbols_code(symbols, 1, at, i % 2));
		forget(cpa_symbols_inlined(symbols, 1, at));
		forget(cpa_symbols_variable(symbols, 1, at, i % 2));
	}
	trouble = cpa_symbols_trouble(symbols, 1);
	died = trouble && strstr(trouble, "ended with");
	cpa_symbols_close(symbols);
	return died;
}

int main(int argc, char **argv)
{
	uint64_t seed = rnd_seed(), count, deaths = 0;
	char file[64];

	if (argc != 3)
		return 2;
	load(argv[1]);
	count = strtoul(argv[2], NULL, 10);
	fd = memfd_create("copy", 0);
	snprintf(file, sizeof(file), "/proc/%d/fd/%d", getpid(), fd);
	printf("# CPA_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < count; i++) {
		struct rnd r = rnd_sequence(seed, i);

		damage(&r);
		if (!ask(file, i % 2))
			continue;
		deaths++;
		printf("# who read copy %llu died\n", (unsigned long long)i);
		fflush(stdout);
	}
	printf("ok 1 - names of %llu copies, %llu of which nobody could read\n1..1\n",
	       (unsigned long long)count, (unsigned long long)deaths);
	return 0;
}
