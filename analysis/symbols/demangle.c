/* SPDX-License-Identifier: MIT */
/* analysis/symbols/demangle.c - names as the programmer wrote them, from those of a linker */
#include "analysis/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"

/*
 * Replace the name of a libstdc++ wrapper for std::thread or std::async by the name of the function
 * that it runs, as "main::{lambda()#1}".
 */
static void unwrap_thread(char *name)
{
	static const char before[] = "std::thread::_Invoker<std::tuple<", run[] = "::_M_run";
	char *from = strstr(name, before), *to;
	int depth = 0;

	if (!from || !strstr(from, run))
		return;
	from += strlen(before);
	for (to = from; *to && (depth > 0 || (*to != '>' && *to != ',')); to++)
		depth += (*to == '<' || *to == '(') - (*to == '>' || *to == ')');
	memmove(name, from, (size_t)(to - from));
	name[to - from] = '\0';
}

static bool is_fortran(const char *location)
{
	static const char *const ends[] = { "f", "for", "ftn", "f77", "f90", "f95", "f03", "f08" };
	const char *dot = location ? strrchr(location, '.') : NULL;
	size_t length = dot ? strcspn(dot + 1, ":") : 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends) && dot; i++)
		if (strlen(ends[i]) == length && strncasecmp(dot + 1, ends[i], length) == 0)
			return true;
	return false;
}

/*
 * "solver::smooth" of gfortran's "__solver_MOD_smooth", "smooth" of "smooth_", each with what a
 * compiler adds behind a '.', as in "smooth_._omp_fn.0". NULL: it is no such name.
 */
static char *fortran(const char *symbol, const char *location)
{
	static const char module[] = "_MOD_";
	const char *found = strstr(symbol, module);
	size_t length = strcspn(symbol, ".");

	if (strncmp(symbol, "__", 2) == 0 && found && found > symbol + 2)
		return cpa_format_text("%.*s::%s", (int)(found - symbol - 2), symbol + 2,
				       found + strlen(module));
	if (length > 1 && symbol[length - 1] == '_' && symbol[length - 2] != '_' &&
	    is_fortran(location))
		return cpa_format_text("%.*s%s", (int)length - 1, symbol, symbol + length);
	return NULL;
}

char *cpa_demangle(const char *symbol, const char *location)
{
	char *plain = cplus_demangle(symbol, DMGL_AUTO | DMGL_ANSI); /* C++ and Rust */
	char *text;

	if (!plain && symbol[0] == '_' && symbol[1] == 'D')
		plain = dlang_demangle(symbol, 0);
	if (plain)
		unwrap_thread(plain);
	else
		plain = fortran(symbol, location);
	text = cpa_printable(plain ? plain : symbol, SIZE_MAX);
	free(plain);
	return text;
}
