/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/made_profile.h - the profile of a dump that a test has made
 *
 * A test fills in @maker, calls build(), looks at @profile, and ends with teardown(). cmocka's
 * headers come first.
 */
#ifndef CPA_TESTS_MADE_PROFILE_H
#define CPA_TESTS_MADE_PROFILE_H

#include "analysis/profile/profile.h"
#include "tests/unit/dump_maker.h"

static struct dump_maker maker;
static struct cpa_dump dump;
static struct cpa_profile *profile; /* NULL: not built */

/* Write the dump, and build the profile with so much of the graph. */
static void build(enum cpa_graph graph)
{
	char *error = NULL;

	dump_maker_save(&maker, maker_file, SIZE_MAX);
	assert_int_equal(cpa_dump_open(&dump, maker_file, &error), 0);
	profile = cpa_profile_build(&dump, graph);
}

static int teardown(void **state)
{
	(void)state;
	if (profile) {
		cpa_profile_free(profile);
		cpa_dump_close(&dump);
		profile = NULL;
	}
	dump_maker_free(&maker);
	return 0;
}

#endif
