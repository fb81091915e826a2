/* SPDX-License-Identifier: MIT */
/*
 * preload/core/shared.h - objects that processes share
 *
 * An object that is initialized to be shared (PTHREAD_PROCESS_SHARED, sem_open()) and lies in a
 * shared mapping has one row for all processes, wherever they have mapped it: its key is a hash of
 * device, inode and offset. Each process also has a row of its own for the address, which names the
 * shared row.
 */
#ifndef CPA_PRELOAD_CORE_SHARED_H
#define CPA_PRELOAD_CORE_SHARED_H

#include "preload/core/guard.h"

/* Whether the object of @kind at @address was initialized as shared between processes. */
CPA_HIDDEN bool cpa_shared_is(const void *address, enum cpa_object_kind kind);

/* The shared key of @address; 0: it lies in no shared mapping, or that is not known. */
CPA_HIDDEN uint64_t cpa_shared_key(const void *address);

#endif
