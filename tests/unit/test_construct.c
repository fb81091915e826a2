/* SPDX-License-Identifier: MIT */
/* tests/unit/test_construct.c - names of OpenMP constructs, of what gcc and clang call their code */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/components.h"
#include "analysis/profile/profile.h"
#include "analysis/render/construct_text.h"
#include "analysis/symbols/construct.h"

static struct cpa_place make(const char *name, const char *location, bool nameless)
{
	return (struct cpa_place){ .name = strdup(name),
				   .location = strdup(location),
				   .nameless = nameless };
}

static void expect(struct cpa_place *place, const char *name)
{
	assert_string_equal(place->name, name);
	free(place->name);
	free(place->location);
}

static void expect_region(const char *symbol, const char *location, bool nameless,
			  const char *under, const char *name)
{
	struct cpa_place place = make(symbol, location, nameless);

	cpa_construct_name(&place, "parallel", under);
	expect(&place, name);
}

static void expect_met(const char *inlined, const char *name)
{
	struct cpa_place place = make("main", "/src/solve.c:88", false);

	cpa_construct_met(&place, inlined);
	cpa_construct_name(&place, "parallel", NULL);
	expect(&place, name);
}

static void expect_body(const char *symbol, const char *location, bool begins, const char *name)
{
	struct cpa_place place = make(symbol, location, false);

	cpa_construct_body(&place, begins, NULL);
	expect(&place, name);
}

static void expect_within(const char *symbol, const char *location, bool lacks, const char *name)
{
	struct cpa_place place = make(symbol, location, false);

	assert_int_equal(cpa_construct_lacks_function(&place), lacks);
	cpa_construct_body(&place, true, "smooth()");
	expect(&place, name);
}

static void test_region(void **state)
{
	(void)state;
	expect_region("solve._omp_fn.0", "/src/solve.c:88", false, NULL,
		      "solve() parallel at solve.c:88");
	expect_region("m::solve(int) [clone ._omp_fn.1]", "solve.cc:8", false, NULL,
		      "m::solve(int) parallel at solve.cc:8");
	expect_region(".omp_outlined..2", "solve.c:88", false, NULL, "parallel at solve.c:88");
	expect_region("__omp_offloading_fe00_aa2221_solve_l12", "solve.c:14", false, NULL,
		      "solve() parallel at solve.c:14");
	expect_region("__omp_offloading_fe00_aa2221__ZN1m5solveEi_l12_debug__.omp_outlined",
		      "solve.c:14", false, NULL, "m::solve() parallel at solve.c:14");
	expect_region("__omp_offloading_l12", "solve.c:14", false, NULL,
		      "__omp_offloading_l12() parallel at solve.c:14");
	expect_region("libgomp user", "solve.c:88", false, NULL,
		      "libgomp user() parallel at solve.c:88");
}

/* The innermost function at the place is that of the construct. */
static void test_region_inlined(void **state)
{
	(void)state;
	expect_met(NULL, "main() parallel at solve.c:88");
	expect_met("solve\t/src/solve.c:80\t/src/main.c:7", "solve() parallel at solve.c:88");
	expect_met("run\t\t\tsolve\t/src/solve.c:80\t/src/run.c:7",
		   "solve() parallel at solve.c:88");
}

/* Without lines the name still tells regions of one function apart. */
static void test_region_without_lines(void **state)
{
	(void)state;
	expect_region("solve._omp_fn.1", "/lib/libs.so", false, NULL,
		      "solve() parallel [_omp_fn.1]");
	expect_region("solve(int) [clone ._omp_fn.1]", "libs.so", false, NULL,
		      "solve(int) parallel [_omp_fn.1]");
	expect_region(".omp_outlined..2", "libs.so", false, "solve",
		      "parallel under solve() [.omp_outlined..2]");
	expect_region("libs.so+0x12", "libs.so", true, "solve",
		      "parallel under solve() [libs.so+0x12]");
	expect_region("libs.so+0x12", "libs.so", true, NULL, "parallel [libs.so+0x12]");
	expect_region("main", "prog", false, NULL, "main() parallel");
}

static void test_body(void **state)
{
	(void)state;
	expect_body("solve._omp_fn.0", "/src/solve.c:88", true, "solve() body at solve.c:88");
	expect_body("solve._omp_fn.0", "/src/solve.c:90", false, "solve() body");
	expect_body(".omp_outlined.", "/src/solve.c:88", true, "body at solve.c:88");
	expect_body(".omp_outlined.", "/src/solve.c:90", false, ".omp_outlined.");
	expect_body("__omp_offloading_fe00_aa2221_run_lines_l12", "solve.c:12", true,
		    "run_lines() target at solve.c:12");
	expect_body("solve._omp_fn.0", "libs.so", true, "solve._omp_fn.0");
	expect_body("solve", "/src/solve.c:80", true, "solve");
}

/* Where a thread met the construct tells in which function a body of clang is written. */
static void test_within(void **state)
{
	(void)state;
	expect_within(".omp_outlined.", "/src/solve.c:88", true, "smooth() body at solve.c:88");
	expect_within(".omp_task_entry..4", "/src/solve.c:88", true, "smooth() body at solve.c:88");
	expect_within("solve._omp_fn.0", "/src/solve.c:88", false, "solve() body at solve.c:88");
	expect_within("main.omp_outlined", "/src/solve.c:88", false, "main() body at solve.c:88");
	expect_within(".omp_outlined.", "libs.so", false, ".omp_outlined.");
	expect_within("solve", "/src/solve.c:80", false, "solve");
}

static void test_pool(void **state)
{
	struct cpa_place pool = make("libgomp.so.1+0x1cc40", "libgomp.so.1", true);
	struct cpa_place named = make("gomp_thread_start", "team.c:70", false);
	struct cpa_place other = make("libgomperts.so+0x12", "libgomperts.so", true);

	(void)state;
	cpa_construct_pool(&pool);
	expect(&pool, "OpenMP pool");
	cpa_construct_pool(&named);
	expect(&named, "gomp_thread_start");
	cpa_construct_pool(&other);
	expect(&other, "libgomperts.so+0x12");
}

static void expect_columns(enum cpa_component_kind kind, char *name, char *location,
			   const char *left, const char *right)
{
	struct cpa_component_figures component = { .kind = kind,
						   .name = name,
						   .location = location };
	struct cpa_columns columns = cpa_columns_of(&component);

	assert_string_equal(columns.name, left);
	assert_string_equal(columns.where, right);
	cpa_columns_fini(&columns);
}

static void test_columns(void **state)
{
	(void)state;
	expect_columns(CPA_REGION, "solve() parallel at solve.c:88", "/src/solve.c:88", "solve()",
		       "solve.c:88");
	expect_columns(CPA_REGION, "parallel at solve.c:88", "/src/solve.c:88", "parallel",
		       "solve.c:88");
	expect_columns(CPA_REGION, "parallel under f() [libs.so+0x12]", "/lib/libs.so", "under f()",
		       "libs.so+0x12");
	expect_columns(CPA_REGION, "parallel [libs.so+0x12]", "/lib/libs.so", "parallel",
		       "libs.so+0x12");
	expect_columns(CPA_FUNCTION, "solve() body at solve.c:88", "/src/solve.c:88",
		       "solve() body", "solve.c:88");
	expect_columns(CPA_QUEUE, "solve() task at solve.c:90", "/src/solve.c:90", "solve() task",
		       "solve.c:90");
	expect_columns(CPA_FUNCTION, "solve", "/src/solve.c:80", "solve", "solve.c:80");
	expect_columns(CPA_LOCK, "lock [0]", "/src/solve.c:80", "lock [0]", "solve.c:80");
	expect_columns(CPA_REGION, "my parallel phase", NULL, "my parallel phase", "");
}

static void expect_text(const char *name, const char *text)
{
	char *found = cpa_text_region(name);

	assert_string_equal(found, text);
	free(found);
}

static void test_region_text(void **state)
{
	(void)state;
	expect_text("solve() parallel at solve.c:88", "solve() solve.c:88");
	expect_text("parallel at solve.c:88", "at solve.c:88");
	expect_text("parallel under solve() [libs.so+0x12]", "under solve() +0x12");
	expect_text("parallel [libs.so+0x12]", "[libs.so+0x12]");
	expect_text("solve() parallel [_omp_fn.1]", "solve() [_omp_fn.1]");
	expect_text("up to its end", "up to its end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_region),	cmocka_unit_test(test_region_inlined),
		cmocka_unit_test(test_pool),	cmocka_unit_test(test_region_without_lines),
		cmocka_unit_test(test_body),	cmocka_unit_test(test_within),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_region_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
