/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/lock.c - critical sections, locks and nestable locks of libgomp and libomp
 *
 * They go the way of a pthread mutex: preload/sync/lock.h. All unnamed critical sections of a program
 * exclude each other, and so do updates that the compiler cannot make atomic by an instruction: each
 * of the two is one lock. A named one is known by its variable. A critical section cannot be tried: it
 * goes as a lock that has to wait, unless its user (preload/sync/lock.h) finds it free.
 *
 * libomp's functions may call each other by name: who is called in the midst of a wait passes.
 */
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/lib/next_symbol.h"
#include "preload/sync/lock.h"
#include "shadow/store/kernel.h"
#include "shadow/store/name.h"

void omp_set_lock(void *lock);
void omp_unset_lock(void *lock);
int omp_test_lock(void *lock);
void omp_init_lock(void *lock);
void omp_init_lock_with_hint(void *lock, unsigned hint);
void omp_destroy_lock(void *lock);
void omp_set_nest_lock(void *lock);
void omp_unset_nest_lock(void *lock);
int omp_test_nest_lock(void *lock);
void omp_init_nest_lock(void *lock);
void omp_init_nest_lock_with_hint(void *lock, unsigned hint);
void omp_destroy_nest_lock(void *lock);
/* What Fortran calls: the lock is an integer, which may be a pointer. */
void omp_set_lock_(void *lock);
void omp_unset_lock_(void *lock);
void omp_set_nest_lock_(void *lock);
void omp_unset_nest_lock_(void *lock);
int omp_test_lock_(void *lock);
int omp_test_nest_lock_(void *lock);
void omp_init_lock_(void *lock);
void omp_destroy_lock_(void *lock);
void omp_init_nest_lock_(void *lock);
void omp_destroy_nest_lock_(void *lock);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_critical_name_start(void **name);
void GOMP_critical_name_end(void **name);
void GOMP_atomic_start(void);
void GOMP_atomic_end(void);
void __kmpc_critical(void *place, int thread, void *name);
void __kmpc_critical_with_hint(void *place, int thread, void *name, unsigned hint);
void __kmpc_end_critical(void *place, int thread, void *name);

#define FUNCTIONS(F)                    \
	F(omp_set_lock)                 \
	F(omp_unset_lock)               \
	F(omp_test_lock)                \
	F(omp_init_lock)                \
	F(omp_init_lock_with_hint)      \
	F(omp_destroy_lock)             \
	F(omp_set_nest_lock)            \
	F(omp_unset_nest_lock)          \
	F(omp_test_nest_lock)           \
	F(omp_init_nest_lock)           \
	F(omp_init_nest_lock_with_hint) \
	F(omp_destroy_nest_lock)        \
	F(omp_set_lock_)                \
	F(omp_unset_lock_)              \
	F(omp_test_lock_)               \
	F(omp_init_lock_)               \
	F(omp_destroy_lock_)            \
	F(omp_set_nest_lock_)           \
	F(omp_unset_nest_lock_)         \
	F(omp_test_nest_lock_)          \
	F(omp_init_nest_lock_)          \
	F(omp_destroy_nest_lock_)       \
	F(GOMP_critical_start)          \
	F(GOMP_critical_end)            \
	F(GOMP_critical_name_start)     \
	F(GOMP_critical_name_end)       \
	F(GOMP_atomic_start)            \
	F(GOMP_atomic_end)              \
	F(__kmpc_critical)              \
	F(__kmpc_critical_with_hint)    \
	F(__kmpc_end_critical)

CPA_NEXT_SYMBOL_LIBRARY(omp_lock, FUNCTIONS)

#define ORIGINAL(name) __typeof__(&(name)) original = CPA_NEXT_SYMBOL(omp_lock, name)

/*
 * Locks of a program that has no runtime, but tests for these functions. It finds ours, and would have
 * called none. The first word of a lock is 0 or names who has it, the second one of a nestable lock
 * counts. The lock of a critical section is the word at its name, which is 0 at first.
 */
static int plain_try(int *lock, int by)
{
	int nobody = 0;

	/* ACQUIRE: pairs with plain_free(). */
	return __atomic_compare_exchange_n(lock, &nobody, by, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void plain_free(int *lock)
{
	/* RELEASE: pairs with plain_try(). */
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static int plain_test_lock(void *lock)
{
	return plain_try(lock, 1);
}

static int plain_test_nest_lock(void *lock)
{
	int *words = lock, own = (int)((uintptr_t)__builtin_thread_pointer() >> 6);

	/* Relaxed: only the thread itself writes that. */
	if (__atomic_load_n(words, __ATOMIC_RELAXED) == own)
		return ++words[1];
	return plain_try(words, own) ? (words[1] = 1) : 0;
}

static void plain_unset_lock(void *lock)
{
	plain_free(lock);
}

static void plain_unset_nest_lock(void *lock)
{
	if (!--((int *)lock)[1])
		plain_free(lock);
}

/* Get @lock by one of the two tests. */
static void plain_set(int (*test)(void *lock), const void *lock)
{
	while (!test((void *)lock))
		cpa_kernel(SYS_sched_yield);
}

/*
 * The section that the thread entered last, and the call, until it leaves it. The end is often a tail
 * call, which seems to come from another module, and must be that of the same copy of the library.
 */
static __thread struct {
	const void *lock;
	uint64_t caller;
	bool ends; /* the runtime is ending it */
} section __attribute__((tls_model("initial-exec")));

/* The runtime calls it inside another wrapper's original. */
static bool is_inner(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	return w && w->between;
}

/* Atomic: whether that happened, as libomp's functions for gcc call those for clang. */
static bool nests;

/* The locks that have no address in the program. */
static uint64_t critical, atomic_update;

/* Give the lock at @lock, one of ours, its class before it is used. Inside our code. */
static void name(struct cpa_worker *w, const void *lock)
{
	unsigned at = cpa_object_cached(lock);
	struct cpa_component_name class = { .kind = CPA_LOCK,
					    .by = CPA_BY_NAME,
					    .object_kind = CPA_OMP_LOCK };

	if (likely(w->objects.cache[at].address == (uint64_t)lock))
		return;
	class.address = cpa_name(lock == &critical ? "omp critical" : "omp atomic");
	cpa_object_of_class(w, lock, CPA_OMP_LOCK,
			    class.address ? cpa_component_intern(&class) : 0);
}

/* Its lock is NULL if the call is an inner one, which is not recorded. */
static struct cpa_lock_op begin(const void *lock, uint64_t caller)
{
	bool inner = is_inner();
	struct cpa_lock_op l =
		CPA_LOCK_OP(inner ? NULL : cpa_enter(), inner ? NULL : lock, CPA_OMP_LOCK, caller);

	/* Relaxed: a hint. */
	if (unlikely(inner))
		__atomic_store_n(&nests, true, __ATOMIC_RELAXED);
	if (l.op.w && (lock == &critical || lock == &atomic_update))
		name(l.op.w, lock);
	cpa_lock_arrive_untried(&l);
	return l;
}

/* It has got the lock. */
static void got_begun(struct cpa_lock_op *l)
{
	if (likely(l->lock))
		cpa_lock_enter(l);
}

/*
 * The shadow of the section @lock, if the thread is its user and it seems to be free; else NULL. Not of
 * libomp: there it may belong to the next in a queue, who does not know yet.
 */
static struct cpa_object *own_section(const void *lock)
{
	/* Relaxed, here and below: hints. The first uses of a section are not by this function. */
	struct cpa_object *o = is_inner() || __atomic_load_n(&nests, __ATOMIC_RELAXED) ?
				       NULL :
				       cpa_lock_used(lock, CPA_OMP_LOCK, cpa_epoch_seen());

	return o && !__atomic_load_n(&o->holder, __ATOMIC_RELAXED) ? o : NULL;
}

static void end(const void *lock, uint64_t caller)
{
	struct cpa_worker *w = is_inner() ? NULL : cpa_enter();

	if (likely(w))
		cpa_lock_exit(w, lock, CPA_OMP_LOCK, caller);
}

/* The thread is about to give @lock up. */
static void leave(const void *lock, uint64_t caller)
{
	struct cpa_object *o = is_inner() ? NULL :
					    cpa_lock_known(lock, CPA_OMP_LOCK, cpa_epoch_seen());

	if (unlikely(!o))
		end(lock, caller);
	else if (!cpa_lock_is_used(o) || !cpa_lock_exit_untimed(o))
		cpa_lock_exit_known(o, caller);
}

static void section_entered(const void *lock, uint64_t caller)
{
	section.lock = lock;
	section.caller = caller;
}

static uint64_t section_caller(const void *lock, uint64_t caller)
{
	if (section.lock == lock) {
		caller = section.caller;
		section.lock = NULL;
	}
	return caller;
}

/* Evaluate @call of the original of @f as one that gets @lock. */
#define SECTION(f, lock, call)                                       \
	({                                                           \
		ORIGINAL(f);                                         \
		struct cpa_lock_op l_ = begin((lock), CPA_CALLER()); \
                                                                     \
		if (likely(original))                                \
			call;                                        \
		else                                                 \
			plain_set(plain_test_lock, (lock));          \
		section_entered((lock), CPA_CALLER());               \
		got_begun(&l_);                                      \
	})

/* The same, of libgomp, which calls none of these functions by name. */
#define OWN_SECTION(f, lock, call)                                                \
	({                                                                        \
		struct cpa_object *own_ = own_section(lock);                      \
                                                                                  \
		if (unlikely(!own_)) {                                            \
			SECTION(f, lock, call);                                   \
		} else {                                                          \
			ORIGINAL(f);                                              \
                                                                                  \
			if (likely(original))                                     \
				call;                                             \
			else                                                      \
				plain_set(plain_test_lock, (lock));               \
			section_entered((lock), CPA_CALLER());                    \
			if (unlikely(!cpa_lock_enter_untimed(own_)))              \
				cpa_lock_got_untried(own_, (lock), CPA_CALLER()); \
		}                                                                 \
	})

/* Evaluate @call of the original of @f as one that gives @lock up. */
#define SECTION_END(f, lock, call)                                                    \
	({                                                                            \
		__typeof__(&(f)) original = (__typeof__(&(f)))cpa_next_symbol_find(   \
			&omp_lock, NUMBER_##f, section_caller((lock), CPA_CALLER())); \
                                                                                      \
		leave((lock), CPA_CALLER());                                          \
		if (likely(original))                                                 \
			call;                                                         \
		else                                                                  \
			plain_unset_lock((void *)(lock));                             \
	})

/* The same, by gcc's programs: libomp calls __kmpc_end_critical() for it. */
#define OWN_SECTION_END(f, lock, call)            \
	SECTION_END(f, lock, ({                   \
			    section.ends = true;  \
			    call;                 \
			    section.ends = false; \
		    }))

CPA_EXPORT void GOMP_critical_start(void)
{
	OWN_SECTION(GOMP_critical_start, &critical, original());
}

CPA_EXPORT void GOMP_critical_end(void)
{
	OWN_SECTION_END(GOMP_critical_end, &critical, original());
}

CPA_EXPORT void GOMP_atomic_start(void)
{
	OWN_SECTION(GOMP_atomic_start, &atomic_update, original());
}

CPA_EXPORT void GOMP_atomic_end(void)
{
	OWN_SECTION_END(GOMP_atomic_end, &atomic_update, original());
}

CPA_EXPORT void GOMP_critical_name_start(void **name)
{
	OWN_SECTION(GOMP_critical_name_start, name, original(name));
}

CPA_EXPORT void GOMP_critical_name_end(void **name)
{
	OWN_SECTION_END(GOMP_critical_name_end, name, original(name));
}

CPA_EXPORT void __kmpc_critical(void *place, int thread, void *name)
{
	SECTION(__kmpc_critical, name, original(place, thread, name));
}

CPA_EXPORT void __kmpc_critical_with_hint(void *place, int thread, void *name, unsigned hint)
{
	SECTION(__kmpc_critical_with_hint, name, original(place, thread, name, hint));
}

CPA_EXPORT void __kmpc_end_critical(void *place, int thread, void *name)
{
	if (unlikely(section.ends)) { /* its wrapper has recorded it */
		ORIGINAL(__kmpc_end_critical);

		original(place, thread, name);
		return;
	}
	SECTION_END(__kmpc_end_critical, name, original(place, thread, name));
}

/* The thread got @lock by a try, or a call while profiling was off. */
static void got(struct cpa_object *known, void *lock, uint64_t caller)
{
	struct cpa_worker *w;

	if (known) {
		if (!cpa_lock_is_used(known) || !cpa_lock_enter_untimed(known))
			cpa_lock_got_known(known, lock, caller);
		return;
	}
	w = cpa_enter();
	if (likely(w))
		cpa_lock_got(w, lock, CPA_OMP_LOCK, caller);
}

/* Get @lock by @try, a call of omp_test_lock() or kin, or else by @call, the original. */
#define LOCK(f, tries, plain, lock)                                                             \
	({                                                                                      \
		__typeof__(&(tries)) try_ = CPA_NEXT_SYMBOL(omp_lock, tries);                   \
		struct cpa_object *o_ = cpa_lock_known((lock), CPA_OMP_LOCK, cpa_epoch_seen()); \
                                                                                                \
		if (likely(try_ && try_(lock))) {                                               \
			got(o_, (lock), CPA_CALLER());                                          \
		} else {                                                                        \
			ORIGINAL(f);                                                            \
			struct cpa_lock_op l_ = begin((lock), CPA_CALLER());                    \
                                                                                                \
			if (likely(original))                                                   \
				original(lock);                                                 \
			else                                                                    \
				plain_set((plain), (lock));                                     \
			got_begun(&l_);                                                         \
		}                                                                               \
	})

#define UNLOCK(f, plain, lock)               \
	({                                   \
		ORIGINAL(f);                 \
                                             \
		leave((lock), CPA_CALLER()); \
		if (likely(original))        \
			original(lock);      \
		else                         \
			plain(lock);         \
	})

#define TRY(f, plain, lock)                                                                     \
	({                                                                                      \
		ORIGINAL(f);                                                                    \
		struct cpa_object *o_ = cpa_lock_known((lock), CPA_OMP_LOCK, cpa_epoch_seen()); \
		int got_ = likely(original) ? original(lock) : plain(lock);                     \
                                                                                                \
		if (got_) {                                                                     \
			got(o_, (lock), CPA_CALLER());                                          \
		} else {                                                                        \
			struct cpa_lock_op l_ =                                                 \
				CPA_LOCK_OP(cpa_enter(), (lock), CPA_OMP_LOCK, CPA_CALLER());   \
                                                                                                \
			if (l_.op.w)                                                            \
				cpa_lock_refused(&l_);                                          \
		}                                                                               \
		got_;                                                                           \
	})

/* @lock is new, or about to be none. */
static void made(void *lock, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_created(w, lock, CPA_OMP_LOCK, caller);
		cpa_leave();
	}
}

static void unmake(void *lock)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_destroyed(w, lock);
		cpa_leave();
	}
}

/* @plain: the kind of the lock without a runtime */
#define KIND(lock_kind, plain)                                                             \
	CPA_EXPORT void omp_set_##lock_kind(void *lock)                                    \
	{                                                                                  \
		LOCK(omp_set_##lock_kind, omp_test_##lock_kind, plain_test_##plain, lock); \
	}                                                                                  \
	CPA_EXPORT void omp_unset_##lock_kind(void *lock)                                  \
	{                                                                                  \
		UNLOCK(omp_unset_##lock_kind, plain_unset_##plain, lock);                  \
	}                                                                                  \
	CPA_EXPORT int omp_test_##lock_kind(void *lock)                                    \
	{                                                                                  \
		return TRY(omp_test_##lock_kind, plain_test_##plain, lock);                \
	}                                                                                  \
	CPA_EXPORT void omp_init_##lock_kind(void *lock)                                   \
	{                                                                                  \
		ORIGINAL(omp_init_##lock_kind);                                            \
                                                                                           \
		if (likely(original))                                                      \
			original(lock);                                                    \
		else                                                                       \
			plain_free(lock);                                                  \
		made(lock, CPA_CALLER());                                                  \
	}                                                                                  \
	CPA_EXPORT void omp_destroy_##lock_kind(void *lock)                                \
	{                                                                                  \
		ORIGINAL(omp_destroy_##lock_kind);                                         \
                                                                                           \
		unmake(lock);                                                              \
		if (likely(original))                                                      \
			original(lock);                                                    \
	}

#define WITH_HINT(lock_kind)                                                        \
	CPA_EXPORT void omp_init_##lock_kind##_with_hint(void *lock, unsigned hint) \
	{                                                                           \
		ORIGINAL(omp_init_##lock_kind##_with_hint);                         \
                                                                                    \
		if (likely(original))                                               \
			original(lock, hint);                                       \
		else                                                                \
			plain_free(lock);                                           \
		made(lock, CPA_CALLER());                                           \
	}

KIND(lock, lock)
KIND(nest_lock, nest_lock)
WITH_HINT(lock)
WITH_HINT(nest_lock)
KIND(lock_, lock)
KIND(nest_lock_, nest_lock)
