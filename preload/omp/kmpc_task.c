/* SPDX-License-Identifier: MIT */
/* preload/omp/kmpc_task.c - what libomp does not tell of tasks: a wait for some of them */
#include "preload/omp/omp.h"
#include "preload/omp/task.h"

#include "preload/lib/next_symbol.h"

/* As clang makes it for libomp. */
struct depend {
	const void *address;
	size_t length;
	uint8_t flags;
};

#define DEPENDS_OUT   2u /* also in and out; 1: in; 4: mutexinoutset */
#define DEPENDS_MUTEX 4u
#define DEPENDS_SET   8u

void __kmpc_omp_wait_deps(void *place, int thread, int count, struct depend *depends, int more,
			  struct depend *other);

#define FUNCTIONS(F) F(__kmpc_omp_wait_deps)

CPA_NEXT_SYMBOL_LIBRARY(kmpc_task, FUNCTIONS)

static void add(struct cpa_task *named, const struct depend *depends, int count)
{
	for (int i = 0; i < count; i++)
		cpa_task_depends(named, depends[i].address,
				 depends[i].flags & (DEPENDS_OUT | DEPENDS_MUTEX) ?
					 CPA_DEPENDS_WRITE :
				 depends[i].flags & DEPENDS_SET ? CPA_DEPENDS_SET :
								  CPA_DEPENDS_READ);
}

CPA_EXPORT void __kmpc_omp_wait_deps(void *place, int thread, int count, struct depend *depends,
				     int more, struct depend *other)
{
	__typeof__(&__kmpc_omp_wait_deps) original =
		CPA_NEXT_SYMBOL(kmpc_task, __kmpc_omp_wait_deps);
	struct cpa_task *named = cpa_part() ? cpa_task_waiter(CPA_CALLER()) : NULL;
	struct cpa_task_wait t = { .seen = false };

	if (likely(named)) {
		add(named, depends, count);
		add(named, other, more);
		cpa_task_wait_for(&t, named, CPA_CALLER());
	}
	if (likely(original))
		original(place, thread, count, depends, more, other);
	cpa_task_wait_end(&t);
	if (likely(named))
		cpa_task_let(named);
}
