/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/mapping.h - a mapped file that may be truncated while it is read
 *
 * Any process with write access may truncate the file; touching the lost part raises SIGBUS. The
 * handler then replaces the mapping from there on by zeros, which readers must accept; writes to
 * that part are not stored in the file. Needs no other library of this folder.
 */
#ifndef CPA_ANALYSIS_INPUT_MAPPING_H
#define CPA_ANALYSIS_INPUT_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Map the first @size bytes of @fd, shared, also for writing if @writable. Return NULL with errno
 * set. Only the latest mapping is guarded. Installs a handler for SIGBUS in the process.
 */
void *cpa_mapping_open(int fd, uint64_t size, bool writable);

/*
 * Return false if the file of @base was truncated or could not be read since it was mapped. Always
 * true if @base is not the latest mapping.
 */
bool cpa_mapping_whole(const void *base);

#endif
