/* SPDX-License-Identifier: MIT */
#include "preload/core/object.h"

#include <string.h>

#include "preload/code/module.h"
#include "preload/code/unload.h"
#include "preload/core/identity.h"
#include "preload/core/shared.h"
#include "shadow/edge/object.h"
#include "shadow/edge/process.h"
#include "shadow/store/name.h"

uint64_t cpa_object_space;

#define CHANGING UINT32_MAX /* kind of an object row that a thread is changing */

uint32_t cpa_object_unnamed(enum cpa_component_kind kind, uint32_t object_kind, uint64_t address,
			    uint64_t caller)
{
	struct cpa_component_name name = { .kind = kind, .object_kind = object_kind };

	name.address = address;
	name.module = cpa_module_variable(&name.address);
	name.by = CPA_BY_VARIABLE;
	if (!name.module) {
		name.by = CPA_BY_FIRST_SITE;
		name.address = caller;
		name.module = cpa_module_place(&name.address);
	}
	return cpa_component_intern(&name);
}

/*
 * After a dlclose(), another library may lie at the addresses in the thread's caches: empty them.
 */
static void forget_unloaded(struct cpa_worker *w)
{
	if (likely(!cpa_unloads_changed(&w->objects.loads)))
		return;
	memset(w->nodes.places, 0, sizeof(w->nodes.places));
	memset(w->objects.classes, 0, sizeof(w->objects.classes));
}

static uint32_t class_by_init(struct cpa_worker *w, enum cpa_object_kind kind, uint64_t caller)
{
	struct cpa_class_place *place = &w->objects.classes[caller % CPA_CLASS_CACHE];
	struct cpa_component_name name = {
		.kind = CPA_LOCK, .by = CPA_BY_INIT_SITE, .address = caller, .object_kind = kind
	};

	forget_unloaded(w);

	if (unlikely(place->caller != caller || place->kind != (uint32_t)kind)) {
		name.module = cpa_module_place(&name.address);
		*place = (struct cpa_class_place){ caller, kind, cpa_component_intern(&name) };
	}
	return place->class;
}

/* Relaxed: sums. Zero is not added, because the cache line is shared by many threads. */
static void add(uint64_t *sum, uint64_t more)
{
	if (more)
		__atomic_fetch_add(sum, more, __ATOMIC_RELAXED);
}

/*
 * Add the counts of the object to its class, and clear it. The caller has exclusive access
 * (CHANGING).
 */
static void retire(struct cpa_worker *w, struct cpa_object *o)
{
	if (o->class) {
		struct cpa_component *c = cpa_component(o->class);

		add(&c->retired_objects, 1);
		add(&c->retired_acquisitions, o->acquisitions);
		add(&c->retired_contended, o->contended);
		add(&c->retired_handoffs, o->handoffs);
		add(&c->retired_wait, o->wait);
		add(&c->retired_hold, o->hold);
	}
	cpa_object_clear(&w->self, o);
	o->class = 0;
	o->holder = 0;
	o->depth = 0;
	o->acquisitions = o->contended = o->handoffs = 0;
	o->wait = o->hold = 0;
	o->user = o->run = o->mean = o->lost = o->asked = 0;
}

uint32_t cpa_object_row(const void *address)
{
	uint64_t key = cpa_object_key(address);
	uint32_t row = cpa_table_find(CPA_TABLE_OBJECTS, key), *first;
	struct cpa_object *o;

	if (likely(row))
		return row;
	row = cpa_table_intern(CPA_TABLE_OBJECTS, key, NULL, NULL);
	if (!row || !cpa_process_number)
		return row;
	o = cpa_row(CPA_TABLE_OBJECTS, row);
	/*
	 * If several threads find the row at once, one of them links it. Relaxed: nobody reads the
	 * list yet.
	 */
	if (__atomic_exchange_n(&o->linked, 1, __ATOMIC_RELAXED))
		return row;
	first = &cpa_process(cpa_process_number)->objects;
	o->next = __atomic_load_n(first, __ATOMIC_RELAXED);
	/* RELEASE: pairs with cpa_object_forget_all(), of another process. */
	while (!__atomic_compare_exchange_n(first, &o->next, row, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&cpa_process(cpa_process_number)->object_count, 1, __ATOMIC_RELAXED);
	return row;
}

uint32_t cpa_object_kinds;

bool cpa_object_is(const void *address, enum cpa_object_kind kind)
{
	uint32_t row = cpa_table_find(CPA_TABLE_OBJECTS, cpa_object_key(address));
	const struct cpa_object *o = row ? cpa_row(CPA_TABLE_OBJECTS, row) : NULL;

	/* Relaxed: nothing else of the row is read. */
	return o && __atomic_load_n(&o->kind, __ATOMIC_RELAXED) == (uint32_t)kind;
}

/* In a child of fork: the space bits of its parent's objects. */
static uint64_t inherited_space;
static bool inherits;

void cpa_object_inherit(uint64_t space)
{
	inherited_space = space;
	inherits = true;
}

/*
 * The parent's object at @address, of @kind, as it was when the process was forked. NULL: none is
 * known.
 */
static const struct cpa_object *ancestor(const void *address, enum cpa_object_kind kind)
{
	uint32_t row =
		inherits ? cpa_table_find(CPA_TABLE_OBJECTS, (uint64_t)address | inherited_space) :
			   0;
	const struct cpa_object *o = row ? cpa_row(CPA_TABLE_OBJECTS, row) : NULL;

	/* Relaxed: the parent may be using it; its class does not change. */
	return o && __atomic_load_n(&o->kind, __ATOMIC_RELAXED) == (uint32_t)kind && o->class ?
		       o :
		       NULL;
}

/* The class of the object at @address, a copy of @before (NULL: of none), whose initialization was not seen. */
static uint32_t class_found(const struct cpa_object *before, const void *address,
			    enum cpa_object_kind kind, uint64_t caller)
{
	return before ? before->class :
			cpa_object_unnamed(CPA_LOCK, kind, (uint64_t)address & ~CPA_ANNOTATED,
					   caller);
}

/* The class of locks of @kind with the name in row @name. 0: no space. */
static uint32_t class_named(uint32_t name, enum cpa_object_kind kind)
{
	return cpa_component_intern(&(struct cpa_component_name){
		.kind = CPA_LOCK, .by = CPA_BY_NAME, .address = name, .object_kind = kind });
}

/* There will be an object of @kind. */
static void note_kind(enum cpa_object_kind kind)
{
	/* Relaxed: see cpa_object_has(). */
	if (unlikely(!cpa_object_has(kind)))
		__atomic_fetch_or(&cpa_object_kinds, 1u << kind, __ATOMIC_RELAXED);
}

/*
 * Change @o from kind @old to an object of @kind and @class. False: another thread is changing it.
 */
static bool take_over(struct cpa_worker *w, struct cpa_object *o, uint32_t old,
		      enum cpa_object_kind kind, uint32_t class)
{
	bool declared;

	/* ACQUIRE: see what the last owner wrote. Pairs with the RELEASE below. */
	if (old == CHANGING || !__atomic_compare_exchange_n(&o->kind, &old, CHANGING, false,
							    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	declared = o->declared == (uint32_t)o->acquisitions + 1;
	note_kind(kind);
	retire(w, o);
	if (!kind || !declared)
		o->queue = o->name = 0;
	o->declared = 0;
	o->class = o->name ? class_named(o->name, kind) : class;
	o->slot = cpa_component_slot(o->class);
	class = o->class;
	/* RELEASE: other threads that find the new kind find a clean object. */
	__atomic_store_n(&o->kind, kind, __ATOMIC_RELEASE);
	cpa_callers_first(&w->sampler.callers, class);
	return true;
}

/* @o, of @kind, is a copy of @before (NULL: of none). */
static void inherit(struct cpa_object *o, enum cpa_object_kind kind,
		    const struct cpa_object *before)
{
	/* Relaxed: the count of a barrier is the same for all its threads. */
	if (before && kind == CPA_BARRIER)
		__atomic_store_n(&o->waiting, before->waiting, __ATOMIC_RELAXED);
}

/*
 * Make the clean row @o, of kind 0, that of an object of @kind, a copy of @before. Several threads may use it
 * for the first time at once: each takes all these steps, which change nothing after the first thread's. So
 * none waits for another, and none goes without the object.
 */
static void adopt(struct cpa_worker *w, struct cpa_object *o, enum cpa_object_kind kind,
		  uint32_t class, const struct cpa_object *before)
{
	uint32_t first = 0, clean = 0;

	class = o->name ? class_named(o->name, kind) : class;
	/* Relaxed, also below: published by the kind. */
	if (!__atomic_compare_exchange_n(&o->class, &first, class, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		class = first;
	__atomic_store_n(&o->slot, cpa_component_slot(class), __ATOMIC_RELAXED);
	__atomic_store_n(&o->declared, 0, __ATOMIC_RELAXED);
	note_kind(kind);
	inherit(o, kind, before);
	/* RELEASE: other threads that find the new kind find its class. */
	if (__atomic_compare_exchange_n(&o->kind, &clean, kind, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		cpa_callers_first(&w->sampler.callers, class);
}

/*
 * Make @o the row of an object of @kind and @class, a copy of @before, if it is not. Return it; NULL: another
 * thread is changing it from another kind.
 */
static struct cpa_object *make(struct cpa_worker *w, struct cpa_object *o,
			       enum cpa_object_kind kind, uint32_t class,
			       const struct cpa_object *before)
{
	/* ACQUIRE pairs with adopt() and take_over(). */
	uint32_t old = __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE);

	if (!old)
		adopt(w, o, kind, class, before);
	else if (old != (uint32_t)kind && take_over(w, o, old, kind, class))
		inherit(o, kind, before);
	/* ACQUIRE: it may be another thread that changed it. */
	return __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE) == (uint32_t)kind ? o : NULL;
}

/*
 * The row that all processes share for the object at @address, of which @o is this process's row.
 * 0: not shared, or no space.
 */
static uint32_t shared_row(struct cpa_worker *w, struct cpa_object *o, const void *address)
{
	uint64_t key;
	uint32_t row, asked = 0;

	/* ACQUIRE pairs with take_over(). */
	if (__atomic_load_n(&o->kind, __ATOMIC_ACQUIRE) == CPA_ALIAS && o->depth)
		return o->depth;
	/*
	 * Some objects that processes could share are in memory of one. To ask takes hundreds of microseconds, so that
	 * such an answer is believed for longer each time; while there is none, all threads ask. Relaxed: a sum.
	 */
	if (__atomic_load_n(&o->asked, __ATOMIC_RELAXED)) {
		asked = __atomic_fetch_add(&o->asked, 1, __ATOMIC_RELAXED);
		if (asked & (asked - 1))
			return 0;
	}
	key = cpa_shared_key(address);
	if (!key && !asked)
		__atomic_store_n(&o->asked, 1, __ATOMIC_RELAXED);
	row = key ? cpa_table_intern(CPA_TABLE_OBJECTS, key, NULL, NULL) : 0;
	if (!row || !take_over(w, o, o->kind, CPA_ALIAS, 0))
		return row;
	/* Relaxed: a thread that finds 0 looks the row up as this one did. */
	__atomic_store_n(&o->depth, row, __ATOMIC_RELAXED);
	return row;
}

/* This process's own row in the thread's cache for @address. NULL: look it up in the table. */
static struct cpa_object *remembered(const struct cpa_worker *w, const void *address)
{
	unsigned at = cpa_object_cached(address);
	struct cpa_object *o = w->objects.cache[at].object;

	/* Relaxed: the key of a row does not change. A shared row has another key. */
	return o && w->objects.cache[at].address == (uint64_t)address &&
			       __atomic_load_n(&o->key, __ATOMIC_RELAXED) ==
				       cpa_object_key(address) ?
		       o :
		       NULL;
}

/* This process's own row for @address. NULL: no space. */
static struct cpa_object *own_row(const struct cpa_worker *w, const void *address)
{
	struct cpa_object *o = remembered(w, address);
	uint32_t row = o ? 0 : cpa_object_row(address);

	return row ? cpa_row(CPA_TABLE_OBJECTS, row) : o;
}

/* The row of the object of @kind at @address, which processes may share. NULL: no space. */
static struct cpa_object *row_of(struct cpa_worker *w, const void *address,
				 enum cpa_object_kind kind)
{
	struct cpa_object *o = own_row(w, address);
	unsigned at = cpa_object_cached(address);
	uint32_t all = 0;

	if (unlikely(cpa_shared_is(address, kind) && o))
		all = shared_row(w, o, address);
	if (all)
		o = cpa_row(CPA_TABLE_OBJECTS, all);
	if (!o) {
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
		return NULL;
	}
	w->objects.cache[at].object = o;
	w->objects.cache[at].address = (uint64_t)address;
	return o;
}

struct cpa_object *cpa_object_find_slow(struct cpa_worker *w, const void *address,
					enum cpa_object_kind kind, uint64_t caller)
{
	struct cpa_object *o = row_of(w, address, kind);
	const struct cpa_object *before;

	w->self.slow++;
	forget_unloaded(w);
	/* ACQUIRE pairs with adopt() and take_over(). */
	if (!o || __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE) == (uint32_t)kind)
		return o;
	before = ancestor(address, kind);
	return make(w, o, kind, class_found(before, address, kind, caller), before);
}

struct cpa_object *cpa_object_of_class_slow(struct cpa_worker *w, const void *address,
					    enum cpa_object_kind kind, uint32_t class)
{
	struct cpa_object *o = row_of(w, address, kind);

	w->self.slow++;
	return o ? make(w, o, kind, class, NULL) : NULL;
}

void cpa_object_mapped(struct cpa_worker *w, const void *address)
{
	struct cpa_object *o = own_row(w, address);

	if (!o)
		return;
	/* Relaxed, also below: a thread that finds 0 asks, and gets the same answer. */
	__atomic_store_n(&o->asked, 0, __ATOMIC_RELAXED);
	if (__atomic_load_n(&o->kind, __ATOMIC_RELAXED) == CPA_ALIAS)
		__atomic_store_n(&o->depth, 0, __ATOMIC_RELAXED);
}

struct cpa_object *cpa_object_created(struct cpa_worker *w, const void *address,
				      enum cpa_object_kind kind, uint64_t caller)
{
	struct cpa_object *o;

	if (unlikely(cpa_shared_is(address, kind)))
		cpa_object_mapped(w, address);
	o = row_of(w, address, kind);
	if (!o || !take_over(w, o, o->kind, kind, class_by_init(w, kind, caller)))
		return NULL;
	return o;
}

void cpa_object_destroyed(struct cpa_worker *w, const void *address)
{
	struct cpa_object *o = remembered(w, address);
	uint32_t row = o ? 0 : cpa_table_find(CPA_TABLE_OBJECTS, cpa_object_key(address));

	if (row)
		o = cpa_row(CPA_TABLE_OBJECTS, row);
	if (o) {
		uint32_t all = o->kind == CPA_ALIAS ? o->depth : 0;

		take_over(w, o, o->kind, 0, 0);
		o = all ? cpa_row(CPA_TABLE_OBJECTS, all) : o;
		if (all)
			take_over(w, o, o->kind, 0, 0);
	}
}

struct cpa_object *cpa_object_seen(struct cpa_worker *w, const void *address,
				   enum cpa_object_kind kind)
{
	struct cpa_object *o = row_of(w, address, kind);

	/* ACQUIRE pairs with take_over(). */
	return o && __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE) == (uint32_t)kind ? o : NULL;
}

void cpa_object_forget_all(struct cpa_worker *w)
{
	uint32_t row;

	/* ACQUIRE pairs with cpa_object_row(). */
	row = cpa_process_number ?
		      __atomic_load_n(&cpa_process(cpa_process_number)->objects, __ATOMIC_ACQUIRE) :
		      0;
	while (row) {
		struct cpa_object *o = cpa_row(CPA_TABLE_OBJECTS, row);

		if (o->kind) {
			o->kind = 0; /* it may be CHANGING, left so by a process that was killed */
			take_over(w, o, 0, 0, 0);
		}
		row = o->next;
	}
}

void cpa_object_declare(struct cpa_worker *w, const void *address, uint32_t queue)
{
	struct cpa_object *o = row_of(w, address, 0);

	if (!o)
		return;
	o->declared = (uint32_t)o->acquisitions + 1;
	/* Relaxed: the program declares its lock before it uses it. */
	__atomic_store_n(&o->queue, queue, __ATOMIC_RELAXED);
}

void cpa_object_name(struct cpa_worker *w, const void *address, const char *name)
{
	struct cpa_object *o = row_of(w, address, 0);
	uint32_t row = o ? cpa_name(name) : 0;

	if (o && o->kind == CPA_ALIAS)
		o = o->depth ? cpa_row(CPA_TABLE_OBJECTS, o->depth) : NULL;
	if (!o || !row)
		return;
	if (o->acquisitions) {
		cpa_diag(CPA_DIAG_NAMED_LATE);
		return;
	}
	o->name = row;
	o->declared = 1;
	/* Initialized, and not used yet: nobody holds a lock of its class through it. */
	if (o->kind && o->kind != CHANGING) {
		o->class = class_named(row, o->kind);
		o->slot = cpa_component_slot(o->class);
	}
}
