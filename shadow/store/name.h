/* SPDX-License-Identifier: MIT */
/* shadow/store/name.h - texts that the program gives to regions, queues and marks */
#ifndef CPA_SHADOW_STORE_NAME_H
#define CPA_SHADOW_STORE_NAME_H

#include "shadow/store/table.h"

/*
 * Return the row of @text (NULL: the empty text); equal texts have one row. 0: no space. Any
 * thread.
 */
CPA_HIDDEN uint32_t cpa_name(const char *text);

/* The same if it has a row; else 0. */
CPA_HIDDEN uint32_t cpa_name_seen(const char *text);

/*
 * Record that thread @thread (id), with a path of @len ticks, marked @name at clock @now.
 * Lock-free.
 */
CPA_HIDDEN void cpa_mark(uint32_t name, uint32_t thread, uint64_t len, uint64_t now);

#endif
