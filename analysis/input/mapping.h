/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/mapping.h - a mapped file that may be cut while it is looked at
 *
 * Whoever may write a file may make it shorter; to touch what is gone is SIGBUS. From there on the
 * mapping then reads as zeros, which every reader copes with, and keeps what is written to itself.
 * Needs no library of the others in this folder.
 */
#ifndef CPA_ANALYSIS_INPUT_MAPPING_H
#define CPA_ANALYSIS_INPUT_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Map the first @size bytes of @fd, shared, for writing too if @writable. NULL with errno set. One
 * mapping is guarded at a time, the latest. The process's handler of SIGBUS is ours from then on.
 */
void *cpa_mapping_open(int fd, uint64_t size, bool writable);

/*
 * False: the file was cut, or could not be read, since. @base: of the latest mapping, or another.
 */
bool cpa_mapping_whole(const void *base);

#endif
