/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/code_bytes.h - the instructions of a module, from its file
 *
 * A file is read only if it has the build-id of the run, and its code is for x86-64. It may be damaged: each offset and
 * size in it is compared with the size of the file, and no more is read than the headers and what was asked for.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_CODE_BYTES_H
#define CPA_ANALYSIS_SYMBOLS_CODE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_code;

/* NULL: the module's file is another one now, or cannot be read. The caller closes it. */
struct cpa_code *cpa_code_open(const struct cpa_module *module);
void cpa_code_close(struct cpa_code *code); /* NULL is allowed */

/*
 * Copy up to @size bytes of code from @address on, as the file has addresses. Return how many there are; 0: that is
 * no code.
 */
size_t cpa_code_read(const struct cpa_code *code, uint64_t address, uint8_t *bytes, size_t size);

#endif
