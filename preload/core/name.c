/* SPDX-License-Identifier: MIT */
#include "preload/core/name.h"

#include <string.h>

#include "preload/core/guard.h"
#include "shadow/graph/role.h"
#include "shadow/store/table.h"

void cpa_name_set(uint32_t number, const char *name, uint32_t role)
{
	struct cpa_thread *row = number ? cpa_row(CPA_TABLE_THREADS, number) : NULL;

	if (!row)
		return;
	strncpy(row->name, name, sizeof(row->name) - 1);
	/* Relaxed: see cpa_role_take(). */
	__atomic_store_n(&row->role, role, __ATOMIC_RELAXED);
}

/*
 * @thread's cpa_tls. A pthread_t of glibc is the address of the thread's control block, which is as far from the
 * thread's variables of the initial-exec model in all threads.
 */
static struct cpa_tls *tls_of(pthread_t thread)
{
	return (struct cpa_tls *)(thread + ((uintptr_t)&cpa_tls - pthread_self()));
}

void cpa_name_later(pthread_t thread, const char *name)
{
	struct cpa_tls *tls = tls_of(thread);
	uint64_t words[CPA_NAME_WORDS] = { 0 };

	strncpy((char *)words, name, sizeof(words) - 1);
	/* Relaxed, here and below: see above of two names. */
	for (unsigned i = CPA_NAME_WORDS; i--;)
		__atomic_store_n(&tls->name[i], words[i], __ATOMIC_RELAXED);
}

void cpa_name_now(pthread_t thread)
{
	__atomic_store_n(&tls_of(thread)->name[0], 0, __ATOMIC_RELAXED);
}

void cpa_name_take(struct cpa_worker *w)
{
	uint64_t words[CPA_NAME_WORDS];

	words[0] = __atomic_load_n(&cpa_tls.name[0], __ATOMIC_RELAXED);
	if (likely(!words[0]))
		return;
	for (unsigned i = 0; i < CPA_NAME_WORDS; i++)
		words[i] = __atomic_exchange_n(&cpa_tls.name[i], 0, __ATOMIC_RELAXED);
	cpa_name_set(w->self.number, (const char *)words, cpa_role_of((const char *)words));
}
