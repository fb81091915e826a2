/* SPDX-License-Identifier: MIT */
#include "preload/code/function.h"

#include <dlfcn.h>

#include "preload/code/module.h"
#include "preload/code/unload.h"
#include "preload/libc/signal_mask.h"
#include "preload/unwind/frame_table.h"

#define KERNEL_FIRST (UINT64_C(1) << 63)
#define PAGE_MASK    UINT64_C(0xfff)

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

uint32_t cpa_function_called(uint64_t pc, uint32_t context)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION,
					   .by = context ? CPA_BY_CALLERS : CPA_BY_ADDRESS,
					   .context = context };
	uint32_t row;

	/* Kernel addresses: one component, "kernel", at address ~0. */
	name.address = pc >= KERNEL_FIRST ? UINT64_MAX >> 16 : cpa_function_start(pc);
	name.module = cpa_module_place(&name.address);
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
	const struct site_source source = { cpa_module_place(&address), function };

	return cpa_table_intern(CPA_TABLE_SITES, kind | cpa_address_key(address, source.module),
				fill_site, &source);
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
