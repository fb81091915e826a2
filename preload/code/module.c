/* SPDX-License-Identifier: MIT */
#include "preload/code/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/code/unload.h"
#include "preload/libc/settings.h"
#include "preload/unwind/frame_table.h"
#include "shadow/store/hash.h"
#include "shadow/store/index.h"
#include "shadow/store/kernel.h"
#include "shadow/store/table.h"

#define KERNEL_FIRST (UINT64_C(1) << 63)

#define PLACES 1024u /* a power of 2 */
#define PROBES 16u   /* entries in which a place may be */
#define BUSY   2u    /* key of an entry that a thread writes; those of places are odd */
#define LOADS  21u   /* bits of a key: 1, and cpa_unloads, cut */

/* Path of the executable. */
static char program[256];

/*
 * Where this process has, or had, which module; by the key of path and addresses. A cache: an entry may be
 * missing, or be there twice. It holds until a library is unloaded: then another file may lie under the path,
 * and be loaded to the same addresses. Its other words follow from the key, but for `variables`. So whoever
 * finds the same key before and after has read what belongs to it. Keys never become 0 again.
 */
static struct place {
	uint64_t key;	     /* atomic; 0: unused. {hash:43, cpa_unloads:20, 1:1} */
	uint64_t start, end; /* atomic */
	uint64_t by;	     /* atomic: bytes above the addresses in the row */
	uint32_t row;	     /* atomic */
	uint32_t variables;  /* atomic: 1: the module contains variables of classes, or did */
} places[PLACES];

static bool find_object(uint64_t address, struct dl_find_object *found)
{
	return address < KERNEL_FIRST && !_dl_find_object((void *)address, found);
}

/* Whether @m has its build id now, from the notes at @c. */
static bool take_build_id(struct cpa_module *m, struct cpa_cursor *c)
{
	while (c->at < c->end) {
		uint64_t name_size = cpa_cursor_number(c, 4), size = cpa_cursor_number(c, 4);
		uint64_t type = cpa_cursor_number(c, 4);
		struct cpa_cursor name = cpa_cursor_part(c, (name_size + 3) & ~UINT64_C(3));
		struct cpa_cursor data = cpa_cursor_part(c, (size + 3) & ~UINT64_C(3));

		if (c->bad)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name.at, "GNU", 4) &&
		    size <= sizeof(m->build_id)) {
			memcpy(m->build_id, data.at, size);
			m->build_id_size = (uint32_t)size;
			return true;
		}
	}
	return false;
}

static void copy_build_id(struct cpa_module *m, const struct dl_find_object *o)
{
	struct cpa_cursor c;
	uint64_t count;
	const ElfW(Phdr) *ph = cpa_frame_headers(o, &count);

	for (uint64_t i = 0; ph && i < count; i++) {
		const uint8_t *p = (const uint8_t *)m->bias + ph[i].p_vaddr;

		if (ph[i].p_type == PT_NOTE && cpa_frame_segment(o, p, &c) &&
		    (uint64_t)(c.end - p) >= ph[i].p_filesz) {
			c.at = p;
			c.end = p + ph[i].p_filesz;
			if (take_build_id(m, &c))
				return;
		}
	}
}

/*
 * The layer of module @m: one above the highest of the modules whose addresses it overlaps. Those
 * have been unloaded, or are in other processes.
 */
static uint32_t layer_above(const struct cpa_module *m)
{
	/*
	 * Relaxed: a row that another thread is making now belongs to a module at other addresses. Only
	 * another process may make one at these, within the microsecond that this takes.
	 */
	uint32_t rows = __atomic_load_n(&cpa_table(CPA_TABLE_MODULES)->used, __ATOMIC_RELAXED);
	uint32_t layer = 0;

	for (uint32_t i = 1; i <= rows; i++) {
		const struct cpa_module *other = cpa_row(CPA_TABLE_MODULES, i);

		/*
		 * ACQUIRE: the row is complete once its key is set. Pairs with cpa_table_intern().
		 */
		if (__atomic_load_n(&other->key, __ATOMIC_ACQUIRE) && other->start < m->end &&
		    m->start < other->end && other->layer >= layer)
			layer = other->layer < CPA_LAYERS ? other->layer + 1 : CPA_LAYERS;
	}
	return layer;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (const char *p = text; *p; p++)
		hash = cpa_hash(hash ^ (unsigned char)*p);
	return hash;
}

static void fill_row(void *row, const void *argument)
{
	struct cpa_module *m = row;

	*m = *(const struct cpa_module *)argument;
	m->layer = layer_above(m);
}

/*
 * The range of addresses of module @m. Where the program has gaps, the loader gives the addresses of one
 * segment; the row has those of all.
 */
static void find_range(struct cpa_module *m, const struct dl_find_object *o)
{
	uint64_t count = 0;
	const ElfW(Phdr) *ph = NULL;

	m->start = (uint64_t)o->dlfo_map_start;
	m->end = (uint64_t)o->dlfo_map_end;
	m->bias = o->dlfo_link_map->l_addr;
	if (!o->dlfo_link_map->l_name || !*o->dlfo_link_map->l_name)
		ph = cpa_frame_headers(o, &count);
	for (uint64_t i = 0; ph && i < count; i++) {
		uint64_t start = m->bias + ph[i].p_vaddr, end = start + ph[i].p_memsz;

		if (ph[i].p_type != PT_LOAD)
			continue;
		m->start = start < m->start ? start : m->start;
		m->end = end > m->end ? end : m->end;
	}
}

/*
 * The row of the file of module @o. All processes that look for it at once get the same: see
 * shadow/store/table.h. *@by: bytes that the module is above the addresses in the row. 0: no space.
 */
static uint32_t file_row(const struct dl_find_object *o, const char *path, uint64_t *by)
{
	struct cpa_module m = { 0 };
	size_t length = strlen(path), room = sizeof(m.path) - 1;
	uint64_t key, part;
	uint32_t row;

	find_range(&m, o);
	strncpy(m.path, path + (length > room ? length - room : 0), room);
	copy_build_id(&m, o);
	key = hash_text(m.end - m.start, m.path) ^ m.build_id_size;
	for (size_t i = 0; i < sizeof(m.build_id); i += sizeof(part)) {
		memcpy(&part, m.build_id + i, sizeof(part));
		key = cpa_index_hash(key ^ part);
	}
	/* Even keys are those of modules without an address: preload/core/dlopen.c. */
	row = cpa_table_intern(CPA_TABLE_MODULES, key | 1, fill_row, &m);
	*by = row ? m.bias - ((const struct cpa_module *)cpa_row(CPA_TABLE_MODULES, row))->bias : 0;
	return row;
}

/* The key of the place of @o, of @path, from @loads of cpa_unloads on. */
static uint64_t place_key(const struct dl_find_object *o, const char *path, uint32_t loads)
{
	uint64_t hash = (uint64_t)o->dlfo_map_start ^ cpa_hash((uint64_t)o->dlfo_map_end);
	uint64_t low = ((uint64_t)loads << 1 | 1) & ((UINT64_C(1) << LOADS) - 1);

	return hash_text(hash, path) >> LOADS << LOADS | low;
}

static struct place *place_at(uint64_t key, unsigned probe)
{
	return &places[((cpa_hash(key >> LOADS) >> 32) + probe) % PLACES];
}

/* The entry with @key, and what it says; NULL: there is none. */
static struct place *find_place(uint64_t key, uint32_t *row, uint64_t *by)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct place *place = place_at(key, i);
		/* ACQUIRE: the entry is complete. Pairs with the RELEASE in keep_place(). */
		uint64_t at = __atomic_load_n(&place->key, __ATOMIC_ACQUIRE);

		if (!at)
			break;
		if (at != key)
			continue;
		*row = __atomic_load_n(&place->row, __ATOMIC_RELAXED);
		*by = __atomic_load_n(&place->by, __ATOMIC_RELAXED);
		/* ACQUIRE: words of another place come with another key. Pairs with keep_place(). */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&place->key, __ATOMIC_RELAXED) == key)
			return place;
	}
	return NULL;
}

/* The entries that a thread takes for a key, in order of preference. */
enum choice {
	SAME,	/* that of the same place, before a library was unloaded */
	UNUSED, /* else one that is not used */
	OLD,	/* else one that holds no longer, and whose module has no objects left */
	CHOICES
};

/* Whether a search for @key with @choice ends at the entry @place, whose key was read as @at. */
static bool is_choice(const struct place *place, uint64_t at, uint64_t key, enum choice choice)
{
	switch (choice) {
	case SAME:
		return at >> LOADS == key >> LOADS && at & 1;
	case UNUSED:
		return !at;
	default:
		/* Relaxed: if another thread writes the entry by now, its key has changed. */
		return at & 1 && (at ^ key) << (64 - LOADS) &&
		       !__atomic_load_n(&place->variables, __ATOMIC_RELAXED);
	}
}

/* An entry for @key, which no other thread takes. NULL: there is none. */
static struct place *take_place(uint64_t key)
{
	for (unsigned i = 0; i < CHOICES * PROBES; i++) {
		struct place *place = place_at(key, i % PROBES);
		uint64_t at = __atomic_load_n(&place->key, __ATOMIC_RELAXED);

		if (is_choice(place, at, key, (enum choice)(i / PROBES)) &&
		    __atomic_compare_exchange_n(&place->key, &at, BUSY, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return place;
	}
	return NULL;
}

/* Remember that module row @row, not 0, is at @o. Return the entry; NULL: it has none. */
static struct place *keep_place(uint64_t key, const struct dl_find_object *o, uint32_t row,
				uint64_t by)
{
	struct place *place = take_place(key);

	if (!place)
		return NULL;
	/* RELEASE: whoever reads a word of this place finds that the key has changed: find_place(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&place->start, (uint64_t)o->dlfo_map_start, __ATOMIC_RELAXED);
	__atomic_store_n(&place->end, (uint64_t)o->dlfo_map_end, __ATOMIC_RELAXED);
	__atomic_store_n(&place->by, by, __ATOMIC_RELAXED);
	__atomic_store_n(&place->row, row, __ATOMIC_RELAXED);
	/* RELEASE: the entry is complete before its key is visible. */
	__atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
	return place;
}

/* The path of the program by its name, as the loader opened it; if that can be told. */
static void name_by_argument(void)
{
	long fd = cpa_kernel(SYS_openat, AT_FDCWD, program_invocation_name, O_PATH | O_CLOEXEC);
	char link[40], path[sizeof(program)];
	long n;

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	n = cpa_kernel(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	cpa_kernel(SYS_close, fd);
	if (n <= 0 || n >= (long)sizeof(path) - 1)
		return;
	path[n] = '\0';
	strcpy(program, path);
}

void cpa_module_init(void)
{
	cpa_settings_executable(program, sizeof(program));
	/* Someone ran the loader, with the program as its argument: the executable is the loader. */
	if (!getauxval(AT_BASE))
		name_by_argument();
}

/* As cpa_module_place(); *@place: the entry, if there is one. */
static uint32_t look_up(uint64_t *address, struct place **place)
{
	struct dl_find_object o;
	const char *path;
	uint64_t key, by;
	uint32_t row, loads;

	/* ACQUIRE: before the loader is asked. Pairs with dlclose(). */
	loads = __atomic_load_n(&cpa_unloads, __ATOMIC_ACQUIRE);
	*place = NULL;
	if (!find_object(*address, &o))
		return 0;
	/* The program itself has no name in the loader's list. */
	path = o.dlfo_link_map->l_name && *o.dlfo_link_map->l_name ? o.dlfo_link_map->l_name :
								     program;
	key = place_key(&o, path, loads);
	*place = find_place(key, &row, &by);
	if (unlikely(!*place)) {
		row = file_row(&o, path, &by);
		if (!row)
			return 0;
		*place = keep_place(key, &o, row, by);
	}
	*address -= by;
	return row;
}

uint32_t cpa_module_place(uint64_t *address)
{
	struct place *place;

	return look_up(address, &place);
}

uint32_t cpa_module_of(uint64_t address)
{
	return cpa_module_place(&address);
}

uint32_t cpa_module_variable(uint64_t *address)
{
	struct place *place;
	uint32_t row = look_up(address, &place);

	/* Relaxed: the thread that unloads the module does so after this use. */
	if (place)
		__atomic_store_n(&place->variables, 1, __ATOMIC_RELAXED);
	return row;
}

bool cpa_module_next(unsigned *at, uint64_t *start, uint64_t *end)
{
	while (*at < PLACES) {
		const struct place *place = &places[(*at)++];

		/* Relaxed, all: set before the first use of a variable, which an unload follows. */
		if (!__atomic_load_n(&place->variables, __ATOMIC_RELAXED))
			continue;
		*start = __atomic_load_n(&place->start, __ATOMIC_RELAXED);
		*end = __atomic_load_n(&place->end, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

void cpa_module_unloaded(const unsigned *at)
{
	/* Relaxed: no other thread writes this word while no module is loaded there. */
	__atomic_store_n(&places[*at - 1].variables, 0, __ATOMIC_RELAXED);
}
