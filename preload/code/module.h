/* SPDX-License-Identifier: MIT */
/*
 * preload/code/module.h - from an address to the row of its module
 *
 * A file has one row in the session, wherever its processes load it and however often: the file is
 * known by its path, its build id and its size in memory. The row has the addresses of whoever met the
 * file first. All others translate: so a function, a variable or a site has one name in the session.
 *
 * Each process remembers where it has which module. Async-signal-safe, lock-free.
 */
#ifndef CPA_PRELOAD_CODE_MODULE_H
#define CPA_PRELOAD_CODE_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/store/session.h"

/* Before the other functions. */
CPA_HIDDEN void cpa_module_init(void);

/* The module row that holds @address; 0 if none does. */
CPA_HIDDEN uint32_t cpa_module_of(uint64_t address);

/* The same; *@address becomes the address that rows of the session name it by. */
CPA_HIDDEN uint32_t cpa_module_place(uint64_t *address);

/* As cpa_module_place(), for the address of a variable by which a class of objects is named. */
CPA_HIDDEN uint32_t cpa_module_variable(uint64_t *address);

/*
 * The next module, from *@at on, which is 0 at first, with such variables: its addresses in this
 * process. It may have been unloaded. False: there is none.
 */
CPA_HIDDEN bool cpa_module_next(unsigned *at, uint64_t *start, uint64_t *end);

/* The module that cpa_module_next() found with *@at has been unloaded, and its variables are gone. */
CPA_HIDDEN void cpa_module_unloaded(const unsigned *at);

#endif
