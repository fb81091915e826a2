/* SPDX-License-Identifier: MIT */
/* analysis/symbols/vdso.h - the code that the kernel puts into each process, as a file */
#ifndef CPA_ANALYSIS_SYMBOLS_VDSO_H
#define CPA_ANALYSIS_SYMBOLS_VDSO_H

#include <stdbool.h>

/* Whether a module of that file name is the vdso, which has no file. */
bool cpa_vdso_is(const char *name);

/*
 * Return a descriptor of a file in memory with the vdso of this process, which is that of every
 * process of this kernel; -1: there is none. The caller closes it.
 */
int cpa_vdso_open(void);

#endif
