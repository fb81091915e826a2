/* SPDX-License-Identifier: MIT */
#include "preload/core/function.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "preload/core/dlopen.h"
#include "preload/core/unload.h"
#include "preload/libc/settings.h"
#include "preload/libc/signal_mask.h"
#include "preload/unwind/frame_table.h"
#include "shadow/graph/moved.h"

#define KERNEL_FIRST (UINT64_C(1) << 63)
#define PAGE_MASK    UINT64_C(0xfff)

#define MODULES 256u

/* Path of the executable. `joined`: other programs may have put modules into the session before. */
static char program[256];
static bool joined;

/* In a program that joined: module rows, by the key that each module would have here. */
static struct {
	uint64_t taken, key; /* atomic */
	uint32_t row;
} known[MODULES];

static bool find_object(uint64_t address, struct dl_find_object *found)
{
	return address < KERNEL_FIRST && !_dl_find_object((void *)address, found);
}

uint64_t cpa_function_start(uint64_t pc)
{
	struct cpa_frame_table table;
	struct cpa_frame_description d;

	if (cpa_frame_table_find(pc, &table) && cpa_frame_description_find(&table, pc, &d))
		return d.start;
	/* No table covers it, such as hand-written assembly, or its table is damaged. */
	return pc & ~PAGE_MASK;
}

bool cpa_function_is_ours(uint64_t pc)
{
	/* The address range of libcpa.so. Racing threads store the same values. */
	static uint64_t start, end;
	struct dl_find_object o;

	if (unlikely(!end) && find_object((uint64_t)&cpa_base, &o)) {
		start = (uint64_t)o.dlfo_map_start;
		end = (uint64_t)o.dlfo_map_end;
	}
	return pc >= start && pc < end;
}

/* Argument of fill_module(). */
struct module_source {
	const struct dl_find_object *object;
	const char *path;
};

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
 * have been unloaded.
 */
static uint32_t layer_above(const struct cpa_module *m)
{
	/*
	 * Relaxed: a row that another thread is making now belongs to a module at other addresses.
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

static void fill_module(void *row, const void *argument)
{
	const struct module_source *source = argument;
	struct cpa_module *m = row;
	size_t length = strlen(source->path), room = sizeof(m->path) - 1;

	m->start = (uint64_t)source->object->dlfo_map_start;
	m->end = (uint64_t)source->object->dlfo_map_end;
	m->bias = source->object->dlfo_link_map->l_addr;
	strncpy(m->path, source->path + (length > room ? length - room : 0), room);
	m->layer = layer_above(m);
	copy_build_id(m, source->object);
}

/* Whether @a and @b are the same file, loaded at two places. */
static bool is_same(const struct cpa_module *a, const struct cpa_module *b)
{
	return a->end - a->start == b->end - b->start && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, sizeof(a->build_id)) &&
	       !strcmp(a->path, b->path) && !a->unseen == !b->unseen;
}

/* The first row of the module of row @number: two processes may have made one each. */
static uint32_t first_of(uint32_t number)
{
	const struct cpa_module *m = cpa_row(CPA_TABLE_MODULES, number);

	for (uint32_t i = 1; i < number; i++) {
		const struct cpa_module *other = cpa_row(CPA_TABLE_MODULES, i);

		/*
		 * ACQUIRE: the row is complete once its key is set. Pairs with cpa_table_intern().
		 */
		if (__atomic_load_n(&other->key, __ATOMIC_ACQUIRE) && is_same(m, other))
			return i;
	}
	return number;
}

/* The row of a module that an earlier process may have met. 0: no space. */
static uint32_t module_met(uint64_t key, const struct module_source *source)
{
	struct cpa_module m = { 0 };
	uint32_t rows = cpa_table(CPA_TABLE_MODULES)->used, number = 0, first;

	fill_module(&m, source);
	for (uint32_t i = 1; i <= rows && !number; i++) {
		const struct cpa_module *other = cpa_row(CPA_TABLE_MODULES, i);

		/*
		 * ACQUIRE: the row is complete once its key is set. Pairs with cpa_table_intern().
		 */
		if (__atomic_load_n(&other->key, __ATOMIC_ACQUIRE) && is_same(&m, other))
			number = i;
	}
	if (!number)
		number = cpa_table_intern(CPA_TABLE_MODULES, key, fill_module, source);
	if (!number)
		return 0;
	first = first_of(number); /* another process may have made one in the meantime */
	cpa_moved_set(first,
		      m.start - ((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, first))->start);
	return first;
}

/* As module_met(), from the table `known` if the module is there. */
static uint32_t module_known(uint64_t key, const struct module_source *source)
{
	uint32_t row;

	for (unsigned i = 0; i < MODULES; i++) {
		/* ACQUIRE: pairs with the RELEASE below. */
		uint64_t at = __atomic_load_n(&known[i].key, __ATOMIC_ACQUIRE);

		if (at == key)
			return known[i].row;
		if (at)
			continue;
		row = module_met(key, source);
		if (row && __atomic_compare_exchange_n(&known[i].taken, &at, key, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			known[i].row = row;
			/* RELEASE: `row` is set before the key is visible. */
			__atomic_store_n(&known[i].key, key, __ATOMIC_RELEASE);
		}
		return row;
	}
	return module_met(key, source);
}

void cpa_function_init(bool others)
{
	cpa_settings_executable(program, sizeof(program));
	joined = others;
}

uint32_t cpa_module_of(uint64_t address)
{
	struct dl_find_object o;
	struct module_source source = { .object = &o };
	uint64_t key;

	if (!find_object(address, &o))
		return 0;
	/* The program itself has no name in the loader's list. */
	source.path = o.dlfo_link_map->l_name && *o.dlfo_link_map->l_name ?
			      o.dlfo_link_map->l_name :
			      program;
	/* Another library at the same place after dlclose() is another module. */
	key = (uint64_t)o.dlfo_map_start;
	for (const char *p = source.path; *p; p++)
		key = key * 31 + (unsigned char)*p;
	key |= 1;
	return joined ? module_known(key, &source) :
			cpa_table_intern(CPA_TABLE_MODULES, key, fill_module, &source);
}

uint32_t cpa_function_called(uint64_t pc, uint32_t context)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION,
					   .by = context ? CPA_BY_CALLERS : CPA_BY_ADDRESS,
					   .context = context };
	uint32_t row;

	/* Kernel addresses: one component, "kernel", at address ~0. */
	name.address = pc >= KERNEL_FIRST ? UINT64_MAX >> 16 : cpa_function_start(pc);
	name.module = cpa_module_of(name.address);
	row = cpa_component_intern(&name);
	if (row && !name.module && pc < KERNEL_FIRST)
		/* Relaxed: a set of its own. */
		__atomic_fetch_or(&cpa_component(row)->blocks, UINT64_C(1) << (pc >> 6 & 63),
				  __ATOMIC_RELAXED);
	return row ? cpa_function_id(row) : (uint32_t)CPA_SLOT_UNSAMPLED;
}

uint32_t cpa_function_at(uint64_t pc)
{
	uint32_t id = (uint32_t)CPA_SLOT_UNSAMPLED;
	sigset_t before;

	if (pc >= KERNEL_FIRST)
		return cpa_function_called(pc, 0);
	/* A sample may be of code that some thread unmaps by now. */
	before = cpa_signal_hold();
	if (cpa_unload_hold()) {
		id = cpa_function_called(pc, 0);
		cpa_unload_let();
	}
	cpa_signal_let(&before);
	return id;
}

/* Argument of fill_site(). */
struct site_source {
	uint32_t module, function;
};

static void fill_site(void *row, const void *argument)
{
	const struct site_source *source = argument;
	struct cpa_site *site = row;

	site->module = source->module;
	site->function = source->function;
}

/* The row of the site of @kind, 0 or a flag of its key, at @address, in @function. */
static uint32_t site_at(uint64_t kind, uint64_t address, uint32_t function)
{
	const struct site_source source = { cpa_module_of(address), function };
	uint64_t key = cpa_address_key(cpa_moved(address, source.module), source.module);

	return cpa_table_intern(CPA_TABLE_SITES, kind | key, fill_site, &source);
}

uint32_t cpa_site(uint64_t address)
{
	return site_at(0, address, 0);
}

uint32_t cpa_function_site(uint64_t address)
{
	return site_at(CPA_SITE_FUNCTION, address, 0);
}

uint32_t cpa_call_site(uint64_t address, uint32_t function)
{
	return site_at(CPA_SITE_CALL, address, function);
}
