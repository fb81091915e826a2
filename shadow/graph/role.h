/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/role.h - the component of a thread: its start routine and the name it was given
 *
 * Threads with one start routine and different names are different components: thread pools,
 * runtimes and libraries have one routine for all they do. Names that differ only in a number at the
 * end are one name, with * for the number: "worker-1" and "worker-2" are "worker-*". A thread without
 * a name is of its routine's own component.
 *
 * Any thread may name a thread, at any time. It writes the name into row->role; the thread takes it
 * up itself, because only it may change what its time is charged to.
 *
 * Progress: lock-free. cpa_role_take() is called by the thread itself, inside our code.
 */
#ifndef CPA_SHADOW_GRAPH_ROLE_H
#define CPA_SHADOW_GRAPH_ROLE_H

#include "shadow/graph/component.h"

#define CPA_ROLE_NONE  UINT32_MAX /* row->role of a thread whose name counts for nothing */
#define CPA_ROLE_NAMES 4096u /* texts in the session; from then on new names are CPA_ROLE_NONE */

/* Return what thread @name makes of row->role: a row of the names table, or CPA_ROLE_NONE. */
CPA_HIDDEN uint32_t cpa_role_of(const char *name);

/* Return the component of the start routine of component @row, which may be that itself. */
static inline uint32_t cpa_role_routine(uint32_t row)
{
	const struct cpa_component *c = row ? cpa_component(row) : NULL;

	return c && c->by == CPA_BY_ROLE ? (uint32_t)(c->address >> CPA_ROLE_BITS) : row;
}

/* Return whether the thread has a name that counts, other than that of @role. */
CPA_HIDDEN bool cpa_role_ends(const struct cpa_self *self, uint32_t role);

/* Take up row->role, which is not 0: activities that end from now on count for that name. */
CPA_HIDDEN void cpa_role_take(struct cpa_self *self);

#endif
