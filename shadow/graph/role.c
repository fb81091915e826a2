/* SPDX-License-Identifier: MIT */
#include "shadow/graph/role.h"

#include <string.h>

#include "shadow/graph/checkpoint.h"
#include "shadow/store/name.h"
#include "shadow/store/table.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* In ASCII, whatever the locale; bytes of other characters are part of words. */
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80);
}

/* Copy @name with * for the last number, if no letter is behind it. @pattern: CPA_NAME_SIZE. */
static void make_pattern(char *pattern, const char *name)
{
	size_t length = strnlen(name, sizeof(((struct cpa_thread *)NULL)->name) - 1);
	size_t end = length, begin;

	while (end && !is_word(name[end - 1]))
		end--;
	begin = end;
	while (begin && is_digit(name[begin - 1]))
		begin--;
	memcpy(pattern, name, begin);
	if (begin < end)
		pattern[begin++] = '*';
	memcpy(pattern + begin, name + end, length - end);
	pattern[begin + length - end] = 0;
}

uint32_t cpa_role_of(const char *name)
{
	char pattern[CPA_NAME_SIZE];
	uint32_t row = 0;

	make_pattern(pattern, name);
	/* Relaxed: a bound, which threads at once may pass by some. */
	if (pattern[0] &&
	    __atomic_load_n(&cpa_table(CPA_TABLE_NAMES)->used, __ATOMIC_RELAXED) < CPA_ROLE_NAMES)
		row = cpa_name(pattern);
	return row ? row : CPA_ROLE_NONE;
}

/* The component of routine component @routine with the name of @role. 0: no space. */
static uint32_t component_of(uint32_t routine, uint32_t role)
{
	struct cpa_component_name name = {
		.kind = CPA_THREAD,
		.by = CPA_BY_ROLE,
		.address = (uint64_t)routine << CPA_ROLE_BITS | role,
	};

	if (role == CPA_ROLE_NONE || !routine)
		return routine;
	return routine >> CPA_ROLE_BITS ? 0 : cpa_component_intern(&name);
}

bool cpa_role_ends(const struct cpa_self *self, uint32_t role)
{
	uint32_t now = self->row->component, routine = cpa_role_routine(now);

	return now != routine && component_of(routine, role) != now;
}

void cpa_role_take(struct cpa_self *self)
{
	struct cpa_thread *row = self->row;
	/* Relaxed: the texts of names are seen by their table's rules. */
	uint32_t role = __atomic_exchange_n(&row->role, 0, __ATOMIC_RELAXED);
	uint32_t component = role ? component_of(cpa_role_routine(row->component), role) : 0;

	if (!component || component == row->component)
		return;
	cpa_writing(row);
	row->component = component;
	row->thread_slot = cpa_component_slot(component);
	cpa_written(row);
}
