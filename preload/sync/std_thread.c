/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/std_thread.c - the function that a std::thread of libstdc++ 6 or later runs
 *
 * libstdc++ starts all threads with one routine. Its argument is an object: a pointer to a virtual
 * table, then a std::tuple with the arguments and behind them the callable. Entry 2 of the table is
 * the function _M_run(), which calls the callable.
 */
#include "preload/sync/std_thread.h"

#include <string.h>

#include "preload/code/function.h"
#include "preload/code/module.h"
#include "preload/core/object.h"

static bool is_function(uint64_t address)
{
	return address & 0xfff && cpa_module_of(address) && cpa_function_start(address) == address;
}

/*
 * Whether the object with virtual table @table holds exactly one pointer to a function, which is
 * the callable. The name of its type says so: "std::tuple<void (*)(...), ...>". False without RTTI.
 */
static bool calls_pointer(const uint64_t *table)
{
	static const char tuple[] = "St5tupleIJ";
	const uint64_t *type = (const uint64_t *)table[-1];
	const char *callable;

	if (!cpa_module_of((uint64_t)type) || !cpa_module_of(type[1]))
		return false;
	callable = strstr((const char *)type[1], tuple);
	if (!callable)
		return false;
	callable += strlen(tuple);
	return (strncmp(callable, "PF", 2) == 0 || *callable == 'M') && !strstr(callable + 2, "PF");
}

uint64_t cpa_std_thread_function(uint64_t routine, const void *argument)
{
	uint32_t module = cpa_module_of(routine);
	const uint64_t *state = argument, *table;

	if (!module || !state ||
	    !strstr(((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, module))->path,
		    "/libstdc++.so"))
		return routine;
	table = (const uint64_t *)state[0];
	if (!cpa_module_of((uint64_t)table))
		return routine;
	if (calls_pointer(table)) {
		if (is_function(state[1]))
			return state[1];
		/* state[1] is an argument: arguments stand before the callable. */
		if (is_function(state[2]))
			return state[2];
	}
	return is_function(table[2]) ? table[2] : routine;
}
