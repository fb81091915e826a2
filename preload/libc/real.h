/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/real.h - the original functions behind our wrappers
 *
 * REAL(name) is the next definition of `name` after ours. It is resolved on first use, because
 * constructors of other libraries run before ours and may call a wrapper. Resolving twice gives
 * the same pointer, so no order is needed. The loader is not asked, whose lock another thread may
 * hold while it waits for the caller: see preload/libc/symbol.h. Async-signal-safe.
 */
#ifndef CPA_PRELOAD_LIBC_REAL_H
#define CPA_PRELOAD_LIBC_REAL_H

#include "shadow/arch/arch.h"
#include "shadow/store/session.h"

#define CPA_EXPORT __attribute__((visibility("default")))

/* The address of the original @name, of @version if that exists. Never NULL: see real.c. */
CPA_HIDDEN void *cpa_real_find(const char *name, const char *version);

/* Find the original once, and keep it in @real_. */
#define REAL_IN(real_, function, version)                                               \
	({                                                                              \
		/* Relaxed: every writer stores the same value. */                      \
		__typeof__(&function) f_ = __atomic_load_n(&(real_), __ATOMIC_RELAXED); \
                                                                                        \
		if (unlikely(!f_)) {                                                    \
			f_ = (__typeof__(&function))cpa_real_find(#function, version);  \
			__atomic_store_n(&(real_), f_, __ATOMIC_RELAXED);               \
		}                                                                       \
		f_;                                                                     \
	})
#define REAL_VERSION(function, version)             \
	({                                          \
		static __typeof__(&function) real_; \
                                                    \
		REAL_IN(real_, function, version);  \
	})
#define REAL(function) REAL_VERSION(function, NULL)

/*
 * For a wrapper that mostly calls the original and does nothing else: CPA_KEEP(name) in its file declares where
 * REAL_KEPT(name), which is REAL(name), keeps it, and KEPT(name) is it, or NULL before the first REAL_KEPT(name). KEPT()
 * calls nothing, so that the wrapper need not save registers for it.
 */
#define CPA_KEEP(function)  static __typeof__(&function) kept_##function
#define REAL_KEPT(function) REAL_IN(kept_##function, function, NULL)
/* Relaxed: as in REAL_IN(). */
#define KEPT(function) __atomic_load_n(&kept_##function, __ATOMIC_RELAXED)

/*
 * The C library keeps an older @version of some functions, which does something else, for programs
 * that were linked when it was the only one. Those programs find function##_older(); all others find
 * the version that preload/exports.map names. On a processor whose C library has no older versions,
 * function##_older() is not exported.
 */
#ifdef CPA_ARCH_GLIBC_OLDER
#define CPA_OLDER(function, version)                      \
	CPA_EXPORT __typeof__(function) function##_older; \
	__asm__(".symver " #function "_older, " #function "@" version ", remove")
#else
#define CPA_OLDER(function, version) \
	static __attribute__((unused)) __typeof__(function) function##_older
#endif

#endif
