/* SPDX-License-Identifier: MIT */
#include "tests/e2e/annotated.h"

int library_function(void)
{
	static char queue;

	return annotated("library", &queue, 12);
}
