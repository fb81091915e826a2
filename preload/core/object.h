/* SPDX-License-Identifier: MIT */
/*
 * preload/core/object.h - from the address of a pthread object to its shadow
 */
#ifndef CPA_PRELOAD_CORE_OBJECT_H
#define CPA_PRELOAD_CORE_OBJECT_H

#include "preload/core/guard.h"
#include "shadow/graph/component.h"

/*
 * Set in the key of an address given to CPA_HAPPENS_BEFORE(): its row is apart from that of a futex,
 * for one, at the same address.
 */
#define CPA_ANNOTATED (UINT64_C(1) << 63)

/* Bits of the process's address space in its keys: see shadow/format/layout_process.h. */
extern CPA_HIDDEN uint64_t cpa_object_space;

static inline uint64_t cpa_object_key(const void *address)
{
	return (uint64_t)address | cpa_object_space;
}

/*
 * The shadow of the object at @address, if this process has used it, or another process that shares
 * it; else NULL.
 */
CPA_HIDDEN struct cpa_object *cpa_object_seen(struct cpa_worker *w, const void *address,
					      enum cpa_object_kind kind);

/* Atomic: bit k: there are, or were, objects of kind k in this process. */
extern CPA_HIDDEN uint32_t cpa_object_kinds;

/* Whether the calling thread may know of an object of @kind. */
static inline bool cpa_object_has(enum cpa_object_kind kind)
{
	/* Relaxed: who uses one has made it, or has it from a thread that has. */
	return __atomic_load_n(&cpa_object_kinds, __ATOMIC_RELAXED) >> kind & 1;
}

/* Whether an object of @kind is at @address, of those this process alone uses. Makes no row. */
CPA_HIDDEN bool cpa_object_is(const void *address, enum cpa_object_kind kind);

/* The object row of @address, of any kind, made if it is new. 0: no space. */
CPA_HIDDEN uint32_t cpa_object_row(const void *address);

/*
 * After a fork: the address space is a copy of the one with bits @space, and so are its objects.
 */
CPA_HIDDEN void cpa_object_inherit(uint64_t space);

/* The address space is new: objects known by address belong to another process. */
CPA_HIDDEN void cpa_object_forget_all(struct cpa_worker *w);

/*
 * The shadow of the object of @kind at @address, first seen in an operation called from @caller.
 * NULL: no space (counted), or another thread is changing the row from another kind.
 */
CPA_HIDDEN struct cpa_object *cpa_object_find_slow(struct cpa_worker *w, const void *address,
						   enum cpa_object_kind kind, uint64_t caller);

/*
 * Other memory may lie at @address than when its object was used last: whether processes share it is not known any more.
 */
CPA_HIDDEN void cpa_object_mapped(struct cpa_worker *w, const void *address);

/*
 * The program initializes or destroys the object at @address: its history is dropped. No other
 * thread may use the object during that.
 */
CPA_HIDDEN struct cpa_object *cpa_object_created(struct cpa_worker *w, const void *address,
						 enum cpa_object_kind kind, uint64_t caller);
CPA_HIDDEN void cpa_object_destroyed(struct cpa_worker *w, const void *address);

/*
 * The object at @address, used before or not, belongs to the queue of row @queue until it is
 * destroyed, or another object is made at its address.
 */
CPA_HIDDEN void cpa_object_declare(struct cpa_worker *w, const void *address, uint32_t queue);

/*
 * The class of the object at @address, which has not been used yet, is that of all with @name, until
 * it is destroyed. No other thread may use the object during that.
 */
CPA_HIDDEN void cpa_object_name(struct cpa_worker *w, const void *address, const char *name);

/*
 * The class row, of @kind, of an object that was not named, and whose initialization was not seen:
 * by the variable at @address if there is one, else by the place of its first use, @caller.
 */
CPA_HIDDEN uint32_t cpa_object_unnamed(enum cpa_component_kind kind, uint32_t object_kind,
				       uint64_t address, uint64_t caller);

/*
 * The shadow of the object of @kind and class row @class at @address, an address that no object of
 * the program can have. NULL: no space (counted).
 */
CPA_HIDDEN struct cpa_object *cpa_object_of_class_slow(struct cpa_worker *w, const void *address,
						       enum cpa_object_kind kind, uint32_t class);

/* Index of @address in the cache worker.objects. */
static inline unsigned cpa_object_cached(const void *address)
{
	uint64_t a = (uint64_t)address;

	/* Locks of four bytes may lie side by side: they differ in bit 2, which becomes the highest of the index. */
	return (unsigned)(a >> 3 ^ a << 5) % CPA_OBJECT_CACHE;
}

static inline struct cpa_object *cpa_object_of(struct cpa_worker *w, const void *address,
					       enum cpa_object_kind kind, uint64_t caller)
{
	unsigned at = cpa_object_cached(address);
	struct cpa_object *o = w->objects.cache[at].object;

	if (likely(w->objects.cache[at].address == (uint64_t)address && o->kind == (uint32_t)kind))
		return o;
	return cpa_object_find_slow(w, address, kind, caller);
}

static inline struct cpa_object *cpa_object_of_class(struct cpa_worker *w, const void *address,
						     enum cpa_object_kind kind, uint32_t class)
{
	unsigned at = cpa_object_cached(address);
	struct cpa_object *o = w->objects.cache[at].object;

	if (likely(w->objects.cache[at].address == (uint64_t)address && o->kind == (uint32_t)kind))
		return o;
	return cpa_object_of_class_slow(w, address, kind, class);
}

#endif
