/* SPDX-License-Identifier: MIT */
#include "shadow/edge/process.h"

#include <string.h>

#include "shadow/edge/offer.h"
#include "shadow/store/stack.h"
#include "shadow/edge/thread.h"
#include "shadow/path/token.h"

#define NOBODY UINT32_MAX /* stands for a pid: the parent has vacated the row */
/* objects of a row that may be used again: reuse looks at all of them */
#define OBJECTS_MOST 20000u

_Static_assert(offsetof(struct cpa_thread, off) - offsetof(struct cpa_thread, before) ==
		       offsetof(struct cpa_process_sums, off),
	       "the sums of a thread are a struct cpa_process_sums");

enum { SUMS = sizeof(struct cpa_process_sums) / sizeof(uint64_t) };

static uint32_t *below(uint32_t number)
{
	return &cpa_process(number)->below;
}

static uint32_t rows(void)
{
	return __atomic_load_n(&cpa_table(CPA_TABLE_PROCESSES)->used, __ATOMIC_RELAXED);
}

/* Relaxed, like all fields that a search may read while the row is used again. */
static void set_parent(struct cpa_process_row *p, uint32_t parent)
{
	__atomic_store_n(&p->parent_key, parent ? cpa_process(parent)->key : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->parent, parent, __ATOMIC_RELAXED);
}

static bool is_child(const struct cpa_process_row *p, uint32_t parent)
{
	return __atomic_load_n(&p->parent, __ATOMIC_RELAXED) == parent &&
	       __atomic_load_n(&p->parent_key, __ATOMIC_RELAXED) ==
		       (parent ? cpa_process(parent)->key : 0);
}

static bool was_waited(const struct cpa_process_row *p)
{
	return __atomic_load_n(&p->waited, __ATOMIC_RELAXED);
}

uint32_t cpa_process_claim(uint32_t parent)
{
	uint32_t number = 0;
	struct cpa_process_row *p;

	if (rows() >= CPA_PROCESSES_KEPT)
		number = cpa_stack_pop(&cpa_header()->free_processes, below);
	if (!number && rows() < CPA_PROCESSES_MOST)
		number = cpa_table_append(CPA_TABLE_PROCESSES);
	if (!number) {
		cpa_diag(CPA_DIAG_PROCESSES_REFUSED);
		return 0;
	}
	p = cpa_process(number);
	p->parent_pid = 0;
	p->seen_ns = 0;
	set_parent(p, parent);
	p->space = parent ? cpa_process(parent)->space : 0;
	p->start_ticks = p->end_ticks = p->cpu_ns = 0;
	p->name = p->exit_thread = p->threads = 0;
	memset(p->argument, 0, sizeof(p->argument));
	p->images = 1;
	p->status = 0;
	p->sums = (struct cpa_process_sums){ 0 };
	__atomic_store_n(&p->token, 0, __ATOMIC_RELAXED);
	p->epoch = p->exec_cpu = 0;
	p->spawning = p->doubtful = 0;
	__atomic_store_n(&p->told, 0, __ATOMIC_RELAXED);
	/* Relaxed: the number must only be unique. */
	__atomic_store_n(&p->key,
			 __atomic_add_fetch(&cpa_header()->process_ids, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	/* Relaxed: a search that began when the row was another process's finds the key changed. */
	__atomic_store_n(&p->waited, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->owner, p->key << 32, __ATOMIC_RELAXED);
	/* RELEASE: a thread that sees CLAIMED sees the cleared fields. */
	__atomic_store_n(&p->state, CPA_PROCESS_CLAIMED, __ATOMIC_RELEASE);
	return number;
}

void cpa_process_free(uint32_t number)
{
	struct cpa_process_row *p = cpa_process(number);

	/* Relaxed: as in cpa_process_claim(). */
	__atomic_store_n(&p->key, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->pid, 0, __ATOMIC_RELAXED);
	/* RELEASE: pairs with the loads of `state` in the searches. */
	__atomic_store_n(&p->state, CPA_PROCESS_FREE, __ATOMIC_RELEASE);
	/* With more objects the row is never used again. */
	if (p->object_count <= OBJECTS_MOST)
		cpa_stack_push(&cpa_header()->free_processes, number, below);
}

/* Return the later of rows @best (may be 0) and @number. */
static uint32_t later(uint32_t best, uint32_t number)
{
	/* Relaxed: keys may change when a row is used again; the caller checks. */
	return best && __atomic_load_n(&cpa_process(best)->key, __ATOMIC_RELAXED) >
				       __atomic_load_n(&cpa_process(number)->key,
						       __ATOMIC_RELAXED) ?
		       best :
		       number;
}

uint32_t cpa_process_find(uint32_t pid, uint32_t parent, uint64_t last)
{
	uint32_t n = rows(), best = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);
		/* ACQUIRE pairs with cpa_process_claim(). */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if (state != CPA_PROCESS_FREE && state != CPA_PROCESS_SUM && !was_waited(p) &&
		    __atomic_load_n(&p->key, __ATOMIC_RELAXED) <= last &&
		    __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid && is_child(p, parent))
			best = later(best, i);
	}
	return best;
}

static bool is_called(const struct cpa_process_row *p, uint32_t pid, uint32_t space)
{
	/* ACQUIRE pairs with the store of the pid: the fields stored before it are visible. */
	uint32_t known = (uint32_t)__atomic_load_n(&p->owner, __ATOMIC_ACQUIRE);

	if (!known) /* it has the pid namespace of its parent */
		known = __atomic_load_n(&p->pid, __ATOMIC_ACQUIRE);
	return known == pid && (!space || !p->space || p->space == space);
}

uint32_t cpa_process_self(uint32_t pid, uint32_t space)
{
	uint32_t n = rows(), best = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);
		/* ACQUIRE pairs with cpa_process_claim(). */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if ((state == CPA_PROCESS_CLAIMED || state == CPA_PROCESS_RUNNING ||
		     state == CPA_PROCESS_EXECED) &&
		    !was_waited(p) && is_called(p, pid, space))
			best = later(best, i);
	}
	return best;
}

uint32_t cpa_process_of_parent(uint32_t number, uint32_t pid)
{
	struct cpa_process_row *p = cpa_process(number);
	uint32_t parent;

	/*
	 * SEQ_CST: each side stores before it searches, so that one of the two finds the other.
	 * Pairs with cpa_process_adopt().
	 */
	__atomic_store_n(&p->parent_pid, pid, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	parent = pid ? cpa_process_self(pid, p->space) : 0;
	if (parent)
		set_parent(p, parent);
	return parent;
}

void cpa_process_adopt(uint32_t parent, uint64_t since_ns)
{
	const struct cpa_process_row *of = cpa_process(parent);
	uint32_t n;

	/* SEQ_CST: pairs with cpa_process_of_parent(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	n = rows();
	for (uint32_t i = 1; i <= n; i++) {
		struct cpa_process_row *p = cpa_process(i);

		/* ACQUIRE pairs with cpa_process_claim(). */
		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CPA_PROCESS_FREE &&
		    __atomic_load_n(&p->parent_pid, __ATOMIC_RELAXED) == of->pid && !p->parent &&
		    p->space == of->space && p->seen_ns >= since_ns)
			set_parent(p, parent);
	}
}

void cpa_process_tell(uint32_t number)
{
	/* Relaxed: who waits for a child whose pid was not told looks at it after that child's end. */
	__atomic_store_n(&cpa_process(number)->told, 1, __ATOMIC_RELAXED);
}

bool cpa_process_is_told(uint32_t number)
{
	return __atomic_load_n(&cpa_process(number)->told, __ATOMIC_RELAXED);
}

uint32_t cpa_process_taker(uint32_t token, uint32_t parent)
{
	uint32_t n = rows();

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);

		/* ACQUIRE pairs with cpa_process_claim(). */
		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CPA_PROCESS_FREE &&
		    __atomic_load_n(&p->token, __ATOMIC_RELAXED) == token && is_child(p, parent) &&
		    !was_waited(p))
			return i;
	}
	return 0;
}

uint32_t cpa_process_ended(uint32_t parent, uint64_t since, uint64_t before)
{
	uint32_t n = rows(), best = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);

		/* ACQUIRE pairs with the end of the process. */
		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CPA_PROCESS_ENDED ||
		    !is_child(p, parent) || was_waited(p) || p->end_ticks <= since ||
		    p->end_ticks >= before)
			continue;
		if (!best || p->end_ticks > cpa_process(best)->end_ticks)
			best = i;
	}
	return best;
}

uint32_t cpa_process_begun(uint32_t parent, uint64_t since, uint32_t behind)
{
	uint32_t n = rows();

	for (uint32_t i = behind + 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);
		/* ACQUIRE pairs with the begin of the process. */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if ((state == CPA_PROCESS_RUNNING || state == CPA_PROCESS_EXECED) &&
		    is_child(p, parent) && !was_waited(p) && p->start_ticks > since)
			return i;
	}
	return 0;
}

static void add(struct cpa_process_sums *to, const struct cpa_process_sums *from,
		const struct cpa_process_sums *less)
{
	uint64_t *t = (uint64_t *)to;

	/* Relaxed: sums. */
	for (unsigned i = 0; i < SUMS; i++)
		__atomic_fetch_add(&t[i],
				   ((const uint64_t *)from)[i] -
					   (less ? ((const uint64_t *)less)[i] : 0),
				   __ATOMIC_RELAXED);
}

static const struct cpa_process_sums *sums_of(const struct cpa_thread *row)
{
	return (const struct cpa_process_sums *)&row->before;
}

/* Add @more threads to the count, which stops at UINT32_MAX. */
static void count_threads(struct cpa_process_row *p, uint32_t more)
{
	uint32_t old = __atomic_load_n(&p->threads, __ATOMIC_RELAXED), new;

	/* Relaxed: a count. */
	do
		new = old + more < old ? UINT32_MAX : old + more;
	while (!__atomic_compare_exchange_n(&p->threads, &old, new, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

void cpa_process_claims(struct cpa_thread *row, uint32_t number)
{
	row->process_row = number;
	row->process_key = number ? cpa_process(number)->key : 0;
}

void cpa_process_enter(struct cpa_thread *row, uint32_t number)
{
	row->given = *sums_of(row);
	cpa_process_claims(row, number);
	if (number)
		count_threads(cpa_process(number), 1);
}

void cpa_process_give(struct cpa_thread *row)
{
	struct cpa_process_row *p = row->process_row ? cpa_process(row->process_row) : NULL;

	if (!p || p->key != row->process_key)
		return;
	add(&p->sums, sums_of(row), &row->given);
	row->given = *sums_of(row);
}

/* Return the CPA_PROCESS_SUM row for the command of @p. 0: no space. */
static uint32_t sum_of(const struct cpa_process_row *p)
{
	uint32_t n = rows(), number;

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *sum = cpa_process(i);

		/* ACQUIRE pairs with the RELEASE below. */
		if (__atomic_load_n(&sum->state, __ATOMIC_ACQUIRE) == CPA_PROCESS_SUM &&
		    sum->name == p->name)
			return i;
	}
	number = cpa_table_append(CPA_TABLE_PROCESSES);
	if (number) {
		struct cpa_process_row *sum = cpa_process(number);

		sum->key = __atomic_add_fetch(&cpa_header()->process_ids, 1, __ATOMIC_RELAXED);
		sum->name = p->name;
		sum->start_ticks = p->start_ticks;
		/* RELEASE: the row is complete before it can be found. */
		__atomic_store_n(&sum->state, CPA_PROCESS_SUM, __ATOMIC_RELEASE);
	}
	return number;
}

/* Add process row @number to row @to, the sum of its command, and free it. */
static void fold(uint32_t to, uint32_t number)
{
	struct cpa_process_row *sum = cpa_process(to);
	const struct cpa_process_row *p = cpa_process(number);

	add(&sum->sums, &p->sums, NULL);
	/* Relaxed: sums, and the latest end. */
	__atomic_fetch_add(&sum->cpu_ns, p->cpu_ns, __ATOMIC_RELAXED);
	count_threads(sum, p->threads);
	__atomic_fetch_add(&sum->count, 1, __ATOMIC_RELAXED);
	if (p->end_ticks > sum->end_ticks)
		__atomic_store_n(&sum->end_ticks, p->end_ticks, __ATOMIC_RELAXED);
	cpa_process_free(number);
}

static uint64_t process_of(uint32_t number)
{
	/* Relaxed: a row that is taken out meanwhile may be another process's. */
	return __atomic_load_n(&cpa_process(number)->sums.process, __ATOMIC_RELAXED);
}

/*
 * Keep row @number, whose process was waited for, as the latest of its command, whose sum is row @to, and the one
 * before if it has had the most CPU time. Return the row that is left over; 0: none. Rows that were waited for are
 * found by no search, so any process may take one over, and whoever takes it out has it alone.
 */
static uint32_t keep(uint32_t to, uint32_t number)
{
	struct cpa_process_row *sum = cpa_process(to);
	/* ACQ_REL: who takes the row out finds all of it. Pairs with itself, and with the exchange below. */
	uint32_t left = __atomic_exchange_n(&sum->latest, number, __ATOMIC_ACQ_REL);
	/* ACQUIRE: pairs with the exchange below. */
	uint32_t most = __atomic_load_n(&sum->busiest, __ATOMIC_ACQUIRE);

	if (!left || (most && process_of(left) <= process_of(most)))
		return left;
	/* ACQ_REL: as above. If the row was taken out meanwhile it fails. */
	return __atomic_compare_exchange_n(&sum->busiest, &most, left, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED) ?
		       most :
		       left;
}

static void free_threads(uint32_t number, uint64_t key)
{
	uint32_t n = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);

	for (uint32_t i = 1; i <= n; i++) {
		struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, i);

		/*
		 * ACQUIRE: a row claimed meanwhile no longer belongs to this process. Pairs with
		 * cpa_thread_claim().
		 */
		if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == CPA_THREAD_DONE ||
		    row->process_row != number || row->process_key != key)
			continue;
		cpa_process_give(row);
		cpa_thread_joined(i);
	}
}

void cpa_process_waited(struct cpa_self *self, uint32_t number, int status)
{
	struct cpa_process_row *p = cpa_process(number);
	uint32_t token, sum;

	p->status = status;
	__atomic_store_n(&p->waited, 1, __ATOMIC_RELAXED);
	free_threads(number, p->key);
	cpa_process_drop_token(self, number);
	while ((token = cpa_offer_take(number)))
		cpa_token_free(self, token);
	sum = rows() >= CPA_PROCESSES_KEPT ? sum_of(p) : 0;
	number = sum ? keep(sum, number) : 0;
	if (number)
		fold(sum, number);
}

void cpa_process_drop_token(struct cpa_self *self, uint32_t number)
{
	/* Relaxed: the token now belongs to this thread. */
	uint32_t token = __atomic_exchange_n(&cpa_process(number)->token, 0, __ATOMIC_RELAXED);

	if (token && token != CPA_TOKEN_NONE)
		cpa_token_free(self, token);
}

uint32_t cpa_process_twin(uint32_t number)
{
	const struct cpa_process_row *own = cpa_process(number);
	uint32_t n, best = 0;

	/* SEQ_CST: the own pid is stored before the search; the other side does the same. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	n = rows();
	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_process_row *p = cpa_process(i);
		/* ACQUIRE pairs with cpa_process_claim(). */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		/* ACQUIRE: the fields stored before the pid are visible. */
		if (i != number && state != CPA_PROCESS_FREE && state != CPA_PROCESS_SUM &&
		    __atomic_load_n(&p->pid, __ATOMIC_ACQUIRE) == own->pid &&
		    is_child(p, own->parent))
			best = later(best, i);
	}
	return best;
}

/* Relaxed: the fields that go with the pid are published by other stores. */
static bool own(struct cpa_process_row *p, uint64_t key, uint32_t pid)
{
	uint64_t none = key << 32;

	return __atomic_compare_exchange_n(&p->owner, &none, none | pid, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ||
	       none == (key << 32 | pid);
}

bool cpa_process_occupy(uint32_t number, uint32_t pid)
{
	struct cpa_process_row *p = cpa_process(number);
	/* ACQUIRE: if the row belongs to another process by now, its pid or key differs. */
	uint64_t key = __atomic_load_n(&p->key, __ATOMIC_ACQUIRE);

	return is_called(p, pid, 0) && own(p, key, pid);
}

bool cpa_process_vacate(uint32_t number)
{
	if (!own(cpa_process(number), cpa_process(number)->key, NOBODY))
		return false;
	cpa_process_free(number);
	return true;
}

void cpa_process_call(uint32_t number, uint32_t pid)
{
	struct cpa_process_row *p = cpa_process(number);

	/* RELEASE: the fields stored before the pid are visible with it. Pairs with is_called(). */
	__atomic_store_n(&p->owner, p->key << 32 | pid, __ATOMIC_RELEASE);
}
