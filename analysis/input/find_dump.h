/* SPDX-License-Identifier: MIT */
/* analysis/input/find_dump.h - the dump that a user means */
#ifndef CPA_ANALYSIS_INPUT_FIND_DUMP_H
#define CPA_ANALYSIS_INPUT_FIND_DUMP_H

#include <stdint.h>

/*
 * The file that @argument names: a file, or a process by its number, with its session, or if it has
 * ended with the newest profile of that number; NULL: the newest *.dump in the current folder and
 * its .cpa. The caller frees it. *@pid: the process, if it runs and its number is given, else 0.
 * NULL if there is none, with *@error the message, which the caller frees.
 */
char *cpa_dump_find(const char *argument, uint32_t *pid, char **error);

#endif
