/* SPDX-License-Identifier: MIT */
/*
 * cpa.h - tell the critical-path profiler cpa what it cannot see for itself
 *
 *	#include <cpa.h>			C99 or C++11; nothing to link with
 *
 * Each macro is a statement. Without cpa in the process it costs about a nanosecond and does
 * nothing; with CPA_DISABLE defined before the #include it is no code at all. Macros may be used
 * by several threads at once, in signal handlers, in static inline functions, in programs and in
 * libraries, with hidden visibility. They do not change errno, block or allocate.
 *
 * Arguments are evaluated only when the program is profiled: they must have no side effects, as
 * in assert().
 *
 * Work queues
 *
 *	q	any pointer that names the queue: its address. Not NULL
 *	item	any pointer or integer that names the item while it is in the queue
 *
 * A thread that takes an item depends on the thread that put that item in, and on nobody else,
 * whatever the order in which items leave.
 */
#ifndef CPA_H
#define CPA_H

/*
 * @item is about to be put into @q. Before the operation by which others can see it: after, a
 * consumer may be faster.
 */
#define CPA_ENQUEUE(q, item) CPA_CALL(enqueue, (q), CPA_ITEM(item))

/*
 * The calling thread has got @item out of @q, and begins to process it: its time counts as
 * processing of items of @q, until CPA_ITEM_DONE() or, in a program that never says so, the
 * thread's next CPA_DEQUEUE() from @q.
 */
#define CPA_DEQUEUE(q, item) CPA_CALL(dequeue, (q), CPA_ITEM(item))

/* The calling thread is done with @item, which it had got out of @q. */
#define CPA_ITEM_DONE(q, item) CPA_CALL(item_done, (q), CPA_ITEM(item))

/* Reports call @q so; queues of equal names are one class. Once, at best before the first use. */
#define CPA_QUEUE_NAME(q, name) CPA_CALL(queue_name, (q), (name))

/*
 * @lock is a part of @q: threads that meet in it do not depend on each other, their items do. A
 * pointer to a mutex, spin lock, rwlock or semaphore, C11, POSIX or C++, that is initialized. The
 * condition variables used with a mutex follow it. Once for each, before the queue is used.
 */
#define CPA_QUEUE_LOCK(q, lock) CPA_CALL(queue_lock, (q), (lock))

/*
 * The name of @lock, or of a condition, barrier or the like, in reports; locks of equal names are one
 * component. Once, after its initialization and before its first use; later it has no effect.
 */
#define CPA_LOCK_NAME(lock, name) CPA_CALL_SINCE(lock_name, (lock), (name))

/*
 * The time of the calling thread between the two belongs to the region @name. Regions nest; one
 * ends in the thread that began it.
 */
#define CPA_REGION_BEGIN(name) CPA_CALL(region_begin, (name))
#define CPA_REGION_END()       CPA_CALL(region_end, )

/* The program begins the phase @name. */
#define CPA_MARK(name) CPA_CALL(mark, (name))

/*
 * Synchronization made by hand: what comes after CPA_HAPPENS_AFTER(address) depends on all that
 * came before a CPA_HAPPENS_BEFORE(address) of other threads. The first goes before the operation
 * that lets another thread go on, the second after the operation that found so. Any pointer does
 * for @address. The time that a thread spins before CPA_HAPPENS_AFTER() counts as work of its own:
 * nobody can tell that it waited.
 */
#define CPA_HAPPENS_BEFORE(address) CPA_CALL(happens_before, (address))
#define CPA_HAPPENS_AFTER(address)  CPA_CALL(happens_after, (address))

/*
 * Profile from here on, or up to here: all threads, at any time, as often as you like. The report
 * is of these parts of the run, as if what lies between them were cut out. CPA_START=off in the
 * environment begins off. To switch as it already is does nothing.
 */
#define CPA_START() CPA_CALL_SINCE(start, )
#define CPA_STOP()  CPA_CALL_SINCE(stop, )

/* The rest is not for use. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libcpa.so offers, as `cpa_annotations`. Later versions add at the end. */
struct cpa_annotations {
	size_t size; /* of the struct */
	void (*enqueue)(const volatile void *queue, uint64_t item);
	void (*dequeue)(const volatile void *queue, uint64_t item);
	void (*item_done)(const volatile void *queue, uint64_t item);
	void (*queue_name)(const volatile void *queue, const char *name);
	void (*queue_lock)(const volatile void *queue, const volatile void *lock);
	void (*region_begin)(const char *name);
	void (*region_end)(void);
	void (*mark)(const char *name);
	void (*happens_before)(const volatile void *address);
	void (*happens_after)(const volatile void *address);
	void (*start)(void);
	void (*stop)(void);
	void (*lock_name)(const volatile void *lock, const char *name);
};

#if defined(CPA_DISABLE) || !defined(__GNUC__) || !defined(__x86_64__) || defined(__ILP32__)
/* Never defined or referenced: arguments are used and checked, and that is all. */
extern const struct cpa_annotations cpa_annotations;
#define CPA_CALL(hook, ...)                                \
	do {                                               \
		if (0)                                     \
			cpa_annotations.hook(__VA_ARGS__); \
	} while (0)
#define CPA_CALL_SINCE CPA_CALL
#else
/*
 * The address of libcpa's struct, NULL without libcpa. From the global offset table, which the
 * loader fills: C's own weak reference is resolved to 0 by the static linker where the code is not
 * position-independent. Not volatile: it is a constant.
 *
 * No functions: the call is at the place in the program that it is about, optimized or not.
 */
#define CPA_CALL(hook, ...) CPA_CALL_IF(1, hook, __VA_ARGS__)
/* What an earlier libcpa did not have. */
#define CPA_CALL_SINCE(hook, ...) \
	CPA_CALL_IF(cpa_found_->size > offsetof(struct cpa_annotations, hook), hook, __VA_ARGS__)
#define CPA_CALL_IF(has, hook, ...)                                         \
	do {                                                                \
		const struct cpa_annotations *cpa_found_;                   \
                                                                            \
		__asm__(".weak cpa_annotations\n\t"                         \
			"{movq cpa_annotations@GOTPCREL(%%rip), %0"         \
			"|mov %0, QWORD PTR cpa_annotations@GOTPCREL[rip]}" \
			: "=r"(cpa_found_));                                \
		if (__builtin_expect(cpa_found_ != NULL, 0) && (has))       \
			cpa_found_->hook(__VA_ARGS__);                      \
	} while (0)
#endif

#ifdef __cplusplus
} /* extern "C" */

template <typename T> inline uint64_t cpa_item(T *item)
{
	return reinterpret_cast<uintptr_t>(item);
}

template <typename T> inline uint64_t cpa_item(T item)
{
	return static_cast<uint64_t>(item);
}

#define CPA_ITEM(item) cpa_item(item)
#else
#define CPA_ITEM(item) ((uint64_t)(uintptr_t)(item))
#endif

#endif
