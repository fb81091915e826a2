/* SPDX-License-Identifier: MIT */
#include "preload/libc/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <string.h>

#define HIDDEN	0x8000u /* bit of a version number: not the default version */
#define UNNAMED 1u	/* largest version number that means no version */
#define WORD	(8 * sizeof(ElfW(Addr)))

/* Tables of a module that a lookup needs; NULL: it has none. */
struct tables {
	uint64_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * versions; /* number of symbols */
	const ElfW(Verdef) * defined;
};

/* The loader relocates the addresses in dynamic sections, except in the vDSO. */
static const void *at(const struct cpa_image *image, uint64_t address)
{
	return (const void *)(address < image->base ? image->base + address : address);
}

static struct tables tables_of(const struct cpa_image *image)
{
	struct tables t = { .base = image->base };

	for (const ElfW(Dyn) *d = image->dynamic; d && d->d_tag != DT_NULL; d++) {
		const void *p = at(image, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB:
			t.symbols = p;
			break;
		case DT_STRTAB:
			t.strings = p;
			break;
		case DT_GNU_HASH:
			t.gnu_hash = p;
			break;
		case DT_HASH:
			t.sysv_hash = p;
			break;
		case DT_VERSYM:
			t.versions = p;
			break;
		case DT_VERDEF:
			t.defined = p;
			break;
		default:
			break;
		}
	}
	return t;
}

/* Whether version number @number of the module stands for @version. */
static bool is_version(const struct tables *t, unsigned number, const char *version)
{
	const char *p = (const char *)t->defined;

	while (p) {
		const ElfW(Verdef) *d = (const ElfW(Verdef) *)p;
		const ElfW(Verdaux) *name = (const ElfW(Verdaux) *)(p + d->vd_aux);

		if (d->vd_ndx == number)
			return !strcmp(t->strings + name->vda_name, version);
		p = d->vd_next ? p + d->vd_next : NULL;
	}
	return false;
}

/* Whether a reference to function @name of @version binds to symbol number @i. */
static bool matches(const struct tables *t, uint32_t i, const char *name, const char *version)
{
	const ElfW(Sym) *s = &t->symbols[i];
	const unsigned type = ELF64_ST_TYPE(s->st_info), binding = ELF64_ST_BIND(s->st_info);
	unsigned number;

	if (s->st_shndx == SHN_UNDEF || !s->st_value || binding == STB_LOCAL ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    strcmp(t->strings + s->st_name, name) != 0)
		return false;
	if (!t->versions)
		return true;
	number = t->versions[i] & ~HIDDEN;
	if (!(t->versions[i] & HIDDEN) && (!version || number <= UNNAMED))
		return true;
	return version && is_version(t, number, version);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		hash = hash * 33 + *p;
	return hash;
}

static const ElfW(Sym) * find_gnu(const struct tables *t, const char *name, const char *version)
{
	const uint32_t hash = gnu_hash_of(name), *table = t->gnu_hash;
	const uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)&table[4];
	const uint32_t *bucket = (const uint32_t *)&bloom[words], *chain = &bucket[buckets];
	const ElfW(Addr) word = bloom[hash / WORD % words];

	if (!(word >> hash % WORD & word >> (hash >> shift) % WORD & 1) || !buckets)
		return NULL;
	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && matches(t, i, name, version))
			return &t->symbols[i];
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static uint32_t sysv_hash_of(const char *name)
{
	uint32_t hash = 0;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		hash = (hash << 4) + *p;
		hash ^= hash >> 24 & 0xf0;
	}
	return hash & 0xfffffff;
}

static const ElfW(Sym) * find_sysv(const struct tables *t, const char *name, const char *version)
{
	const uint32_t buckets = t->sysv_hash[0];
	const uint32_t *bucket = &t->sysv_hash[2], *chain = &bucket[buckets];

	if (!buckets)
		return NULL;
	for (uint32_t i = bucket[sysv_hash_of(name) % buckets]; i != STN_UNDEF; i = chain[i])
		if (matches(t, i, name, version))
			return &t->symbols[i];
	return NULL;
}

void *cpa_symbol_in(const struct cpa_image *image, const char *name, const char *version)
{
	const struct tables t = tables_of(image);
	const ElfW(Sym) *s = NULL;
	uint64_t address;

	if (!t.symbols || !t.strings)
		return NULL;
	if (t.gnu_hash)
		s = find_gnu(&t, name, version);
	else if (t.sysv_hash)
		s = find_sysv(&t, name, version);
	if (!s)
		return NULL;
	address = (s->st_shndx == SHN_ABS ? 0 : t.base) + s->st_value;
	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		return ((void *(*)(void))address)();
	return (void *)address;
}

static struct link_map *module_of(const void *address)
{
	struct dl_find_object o;

	return _dl_find_object((void *)address, &o) ? NULL : o.dlfo_link_map;
}

void *cpa_symbol_next(const char *name, const char *version)
{
	const struct link_map *ours = module_of((const void *)cpa_symbol_next);
	const struct link_map *libc = module_of((const void *)gnu_get_libc_version);
	const struct link_map *m = libc;

	/* The list does not change up to the C library. A preloaded libcpa.so is in it. */
	while (m && m != ours)
		m = m->l_prev;
	for (m = m ? m->l_next : libc; m; m = m == libc ? NULL : m->l_next) {
		const struct cpa_image image = { m->l_addr, m->l_ld };
		void *f = cpa_symbol_in(&image, name, version);

		if (f)
			return f;
	}
	return NULL;
}

const char *cpa_symbol_string(const struct cpa_image *image, const ElfW(Dyn) * entry)
{
	return tables_of(image).strings + entry->d_un.d_val;
}

const char *cpa_symbol_module_name(const struct cpa_image *image)
{
	for (const ElfW(Dyn) *d = image->dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return cpa_symbol_string(image, d);
	return NULL;
}
