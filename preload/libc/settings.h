/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/settings.h - settings from environment variables
 *
 * A wrong value costs one line on stderr that names it and what is allowed; the default holds.
 */
#ifndef CPA_PRELOAD_LIBC_SETTINGS_H
#define CPA_PRELOAD_LIBC_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_DEFAULT_HZ 997u /* a prime: out of step with periodic work of the program */

struct cpa_settings {
	char output[PATH_MAX]; /* pattern filled in */
	unsigned sample_hz;
	unsigned components; /* slots */
	uint64_t journal;    /* bytes; 0: none */
	bool on;	     /* profile from the start */
	bool stacks;	     /* take the stacks of samples */
	unsigned by_callers; /* divide functions by so many callers; 0: do not */
	bool look_on; /* spin before blocking on a mutex; CPA_LOOK_ON=off is for tests only */
};

void cpa_settings_read(struct cpa_settings *s);

/*
 * Write to @to, of PATH_MAX bytes, the name @output with number @n: before ".dump" if it has that.
 */
void cpa_settings_number(char *to, const char *output, unsigned n);

/* The path of the running program, cut on the left to @size. */
void cpa_settings_executable(char *to, size_t size);

#define CPA_COMMAND 256

/*
 * The name by which the running program was called, without its folder: the name of a link or a
 * script says more than that of the executable file.
 */
void cpa_settings_command(char to[CPA_COMMAND]);

/*
 * Write to @to, of @size bytes, a word that tells what is called by @arguments, as main() has them: the first one,
 * such as "clone" of git or the name of a file; if that is an option the file of -o, or else that of gcc's -dumpbase.
 * The empty text if it is no short word.
 */
void cpa_settings_argument(char *to, size_t size, char *const *arguments);

#endif
