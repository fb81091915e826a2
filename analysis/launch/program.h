/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/program.h - which file a command runs, and whether LD_PRELOAD reaches it
 *
 * The loader ignores LD_PRELOAD in a program that gains privilege, a static program has no
 * loader at all, and another architecture cannot load our library: each would run unprofiled,
 * in silence. cpa_program_check() names the reason before the program is started.
 */
#ifndef CPA_ANALYSIS_LAUNCH_PROGRAM_H
#define CPA_ANALYSIS_LAUNCH_PROGRAM_H

#include <limits.h>
#include <stddef.h>

enum {
	CPA_EXIT_USAGE = 2,
	CPA_EXIT_CANNOT_EXECUTE = 126,
	CPA_EXIT_NOT_FOUND = 127,
};

struct cpa_program {
	char path[PATH_MAX];  /* path for execve() */
	char image[PATH_MAX]; /* ELF file that will run: path, or the interpreter of a script */
};

/* Find @name as execvp() does. Return 0, or an exit status after one line on stderr. */
int cpa_program_find(struct cpa_program *program, const char *name);

/* Set ->image and check it. Return 0, or an exit status after one line on stderr. */
int cpa_program_check(struct cpa_program *program);

/* The name that the library will see: the last part of ->image after resolving symbolic links. */
void cpa_program_exe_name(const struct cpa_program *program, char *name, size_t size);

/* Print "cpa: ..." and a newline on stderr. */
void cpa_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
