/* SPDX-License-Identifier: MIT */
/*
 * preload/core/object.h - from the address of a pthread object to its shadow
 */
#ifndef CPA_PRELOAD_CORE_OBJECT_H
#define CPA_PRELOAD_CORE_OBJECT_H

#include "preload/core/worker.h"
#include "shadow/graph/component.h"

/*
 * Set in the address of what CPA_HAPPENS_BEFORE() names: a row of its own, where the program has a
 * futex, too, for one.
 */
#define CPA_ANNOTATED (UINT64_C(1) << 63)

/* In the keys of this process's objects: see shadow/format/layout_process.h. */
extern CPA_HIDDEN uint64_t cpa_object_space;

static inline uint64_t cpa_object_key(const void *address)
{
	return (uint64_t)address | cpa_object_space;
}

/* The shadow of what is at @address, if it was seen, by this process or by one that shares it. */
CPA_HIDDEN struct cpa_object *cpa_object_seen(struct cpa_worker *w, const void *address,
					      enum cpa_object_kind kind);

/* The row of whatever is at @address, made if it is new. 0: no space. */
CPA_HIDDEN uint32_t cpa_object_row(const void *address);

/*
 * The address space is a copy of that with @space: what was initialized there is still what it was.
 */
CPA_HIDDEN void cpa_object_inherit(uint64_t space);

/* The address space is new: what was at its addresses was another's. */
CPA_HIDDEN void cpa_object_forget_all(struct cpa_worker *w);

/*
 * The shadow of the object of @kind at @address, first seen in an operation called from @caller.
 * NULL: no space (counted), or another thread is just taking it over for another kind.
 */
CPA_HIDDEN struct cpa_object *cpa_object_find_slow(struct cpa_worker *w, const void *address,
						   enum cpa_object_kind kind, uint64_t caller);

/* The program initializes or destroys the object: it has no past. Nobody else may use it. */
CPA_HIDDEN struct cpa_object *cpa_object_created(struct cpa_worker *w, const void *address,
						 enum cpa_object_kind kind, uint64_t caller);
CPA_HIDDEN void cpa_object_destroyed(struct cpa_worker *w, const void *address);

/*
 * The object at @address, which may have been used or not, is a part of the queue of row @queue. It
 * stays one until it is destroyed, or its address becomes another object's.
 */
CPA_HIDDEN void cpa_object_declare(struct cpa_worker *w, const void *address, uint32_t queue);

/*
 * The class row, of @kind, of what nobody named or initialized before our eyes: the variable at
 * @address if it is one, else the place of its first use.
 */
CPA_HIDDEN uint32_t cpa_object_unnamed(enum cpa_component_kind kind, uint32_t object_kind,
				       uint64_t address, uint64_t caller);

/* Where a worker remembers the object at @address. */
static inline unsigned cpa_object_cached(const void *address)
{
	return (unsigned)((uint64_t)address >> 3) % CPA_OBJECT_CACHE;
}

static inline struct cpa_object *cpa_object_of(struct cpa_worker *w, const void *address,
					       enum cpa_object_kind kind, uint64_t caller)
{
	unsigned at = cpa_object_cached(address);
	struct cpa_object *o = w->objects[at].object;

	if (likely(w->objects[at].address == (uint64_t)address && o->kind == (uint32_t)kind))
		return o;
	return cpa_object_find_slow(w, address, kind, caller);
}

#endif
