/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stages.h - the work of stages_c.c and stages_cxx.cpp
 *
 * Path: parsing the first item, filtering all, storing the last. Without filtering: parsing the
 * first and storing all.
 */
#ifndef CPA_TESTS_STAGES_H
#define CPA_TESTS_STAGES_H

#include "tests/programs/burn.h"

#define STAGES_ITEMS 30
#define STAGES_DEPTH 4

/* Milliseconds: annotations.py knows them. */
static __attribute__((noinline)) void parse(void)
{
	burn_ms(6);
}

static __attribute__((noinline)) void filter(void)
{
	burn_ms(16);
}

static __attribute__((noinline)) void store(void)
{
	burn_ms(9);
}

#endif
