/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/gomp_task.c - tasks of libgomp
 *
 * The compiler calls GOMP_task() with the task's code, and a block of data that libgomp copies. We pass
 * code of ours, and a block that begins with a header of ours and ends with the program's. libgomp
 * writes and reads the first words of the block: GOMP_taskloop() stores bounds in two, and looks for
 * reductions in the third; a task that can be detached has its event in the first. So the header begins
 * with three words that are copied to or from the program's.
 */
#include "preload/omp/omp.h"
#include "preload/omp/task.h"

#include <string.h>

#include "preload/core/object.h"
#include "preload/lib/next_symbol.h"

#define FLAG_DEPEND  (1u << 3) /* gcc before 4.9 passes nothing behind the flags */
#define FLAG_UP	     (1u << 8) /* of GOMP_taskloop() */
#define FLAG_SIZES   (1u << 9) /* of GOMP_taskloop(): told are rounds of a task, not tasks */
#define FLAG_IF	     (1u << 10)
#define FLAG_NOGROUP (1u << 11)
#define FLAG_DETACH  (1u << 13)

#define QUEUED_MOST 64u /* tasks of a thread that libgomp queues; more run at once */

typedef void task_function(void *data);
typedef void copy_function(void *to, void *from);

void GOMP_task(task_function *f, void *data, copy_function *copy, long size, long align,
	       bool deferred, unsigned flags, void **depend, int priority, void *detach);
void GOMP_taskloop(task_function *f, void *data, copy_function *copy, long size, long align,
		   unsigned flags, unsigned long tasks, int priority, long start, long end,
		   long step);
void GOMP_taskloop_ull(task_function *f, void *data, copy_function *copy, long size, long align,
		       unsigned flags, unsigned long tasks, int priority, unsigned long long start,
		       unsigned long long end, unsigned long long step);
void GOMP_taskwait(void);
void GOMP_taskwait_depend(void **depend);
void GOMP_taskgroup_start(void);
void GOMP_taskgroup_end(void);
void omp_fulfill_event(void *event);
bool GOMP_cancellation_point(int which);
int omp_get_num_threads(void);

#define FUNCTIONS(F)            \
	F(GOMP_task)            \
	F(GOMP_taskloop)        \
	F(GOMP_taskloop_ull)    \
	F(GOMP_taskwait)        \
	F(GOMP_taskwait_depend) \
	F(GOMP_taskgroup_start) \
	F(GOMP_taskgroup_end)   \
	F(omp_fulfill_event)    \
	F(omp_get_num_threads)  \
	F(GOMP_cancellation_point)

CPA_NEXT_SYMBOL_LIBRARY(gomp_task, FUNCTIONS)

/* For a call that passes code of the calling module: see FORK() in preload/omp/gomp.c. */
#define ORIGINAL_BY(name, f)                                                      \
	__typeof__(&(name)) original = (__typeof__(&(name)))cpa_next_symbol_find( \
		&gomp_task, NUMBER_##name, (uint64_t)(f))
#define ORIGINAL(name) __typeof__(&(name)) original = CPA_NEXT_SYMBOL(gomp_task, name)

static bool is_libgomps(const void *original)
{
	return likely(original) && !cpa_ompt_has(original);
}

/* What precedes the program's data in the block. */
struct head {
	uint64_t first[3]; /* see the head of this file */
	task_function *function;
	copy_function *copy; /* the program's; NULL: the bytes are copied */
	void *data;	     /* the program's block; of the caller, while it makes the task */
	long size;	     /* of it */
	struct cpa_task *task;
	uint64_t step;	 /* of a taskloop; 0: of another task */
	uint32_t offset; /* of the data in our block */
	uint8_t words;	 /* of `first` that libgomp writes */
	bool up;	 /* `step` is above 0 */
	bool made;	 /* in the maker's header: libgomp made the task */
};

/* How many rounds of the taskloop of @h are from @start to @end. */
static uint64_t rounds_of(const struct head *h, uint64_t start, uint64_t end)
{
	uint64_t step = h->up ? h->step : -h->step, length = h->up ? end - start : start - end;

	return length / step + (length % step != 0);
}

#define CANCEL_PARALLEL	 1 /* of GOMP_cancellation_point() */
#define CANCEL_TASKGROUP 8

/*
 * Whether what @which says is cancelled: without us the runtime would make no task of @f, or not begin it. The thread is
 * in a region, or runs a task, which it may do after it has left the region's body.
 */
static bool is_cancelled(task_function *f, int which)
{
	__typeof__(&GOMP_cancellation_point) original;

	/* Relaxed: in the thread that cancelled it is set. */
	if (likely(!__atomic_load_n(&cpa_omp_cancelled, __ATOMIC_RELAXED)))
		return false;
	original = (__typeof__(original))cpa_next_symbol_find(
		&gomp_task, NUMBER_GOMP_cancellation_point, (uint64_t)f);
	return original && original(which);
}

/*
 * libgomp discards a task that was cancelled before it began, unless a function copied its data: they may have to be
 * destroyed. copy_block() is such a function, so a task whose data the program's do not copy is discarded here.
 */
static bool discard(const struct head *h)
{
	if (h->step || h->copy || likely(!is_cancelled(h->function, CANCEL_TASKGROUP)))
		return false;
	cpa_task_let(h->task);
	return true;
}

static void run(void *block)
{
	struct head *h = block;
	char *data = (char *)block + h->offset;
	struct cpa_task_run r;
	uint64_t outer = cpa_tls.code;

	if (unlikely(discard(h)))
		return;
	cpa_tls.code = (uint64_t)h->function;
	if (unlikely(h->words))
		memcpy(data, h->first, h->words * sizeof(h->first[0]));
	cpa_task_enter(&r,
		       h->step ? cpa_task_of_loop(h->task, rounds_of(h, h->first[0], h->first[1])) :
				 h->task);
	h->function(data);
	cpa_tls.code = outer;
	cpa_task_exit(&r);
}

/* Tasks whose events are not fulfilled. Who empties a place may be any thread. */
#define EVENTS 256u

static struct {
	uint64_t event; /* atomic; 0: free, TAKEN: about to be filled */
	struct cpa_task *task;
} events[EVENTS];

#define TAKEN UINT64_C(1)

/* The task ends by @event, too, which was just made. */
static void await_event(struct cpa_task *task, uint64_t event)
{
	unsigned at = (unsigned)(cpa_hash(event) >> 32) % EVENTS;

	for (unsigned i = 0; i < EVENTS; i++, at = (at + 1) % EVENTS) {
		uint64_t none = 0;

		/* ACQUIRE pairs with the RELEASE in fulfilled(). */
		if (!__atomic_compare_exchange_n(&events[at].event, &none, TAKEN, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		cpa_task_hold(task);
		events[at].task = task;
		/* RELEASE: who finds the event finds the task. */
		__atomic_store_n(&events[at].event, event, __ATOMIC_RELEASE);
		return;
	}
	cpa_diag(CPA_DIAG_OMP_UNSEEN);
}

/* Take the task of @event out. NULL: none is known. */
static struct cpa_task *fulfilled(uint64_t event)
{
	unsigned at = (unsigned)(cpa_hash(event) >> 32) % EVENTS;
	struct cpa_task *task;

	for (unsigned i = 0; i < EVENTS; i++, at = (at + 1) % EVENTS) {
		/* ACQUIRE pairs with await_event(). */
		if (__atomic_load_n(&events[at].event, __ATOMIC_ACQUIRE) != event)
			continue;
		task = events[at].task;
		/* RELEASE: the task was read. */
		__atomic_store_n(&events[at].event, 0, __ATOMIC_RELEASE);
		return task;
	}
	return NULL;
}

CPA_EXPORT void omp_fulfill_event(void *event)
{
	ORIGINAL(omp_fulfill_event);
	struct cpa_task *task = is_libgomps((const void *)original) ? fulfilled((uint64_t)event) :
								      NULL;

	if (task)
		cpa_task_fulfill(task, CPA_CALLER());
	if (likely(original))
		original(event);
}

/* libgomp makes a task: @to is its block, @from our header in the stack of the caller. */
static void copy_block(void *to, void *from)
{
	struct head *h = from;
	char *data = (char *)to + h->offset;

	h->made = true;
	memcpy(to, h, sizeof(*h));
	if (h->words == 1) { /* the event is for the program's copying function, too */
		memcpy(h->data, h->first, sizeof(h->first[0]));
		await_event(h->task, h->first[0]);
	}
	if (h->copy)
		h->copy(data, h->data);
	else if (h->size)
		memcpy(data, h->data, (size_t)h->size);
}

/* Fill @h for a task of this code and data. Return the alignment of our block. */
static long fill(struct head *h, struct cpa_task *task, task_function *f, copy_function *copy,
		 void *data, long size, long align)
{
	uint32_t to = align > 16 ? (uint32_t)align : 16;

	*h = (struct head){ .function = f, .copy = copy, .data = data, .size = size, .task = task };
	h->offset = ((uint32_t)sizeof(*h) + to - 1) / to * to;
	return to;
}

/* Bytes on the stack for fill_block(). */
#define BLOCK_ROOM(size, align, copy) \
	(sizeof(struct head) + 2 * (size_t)(16 + (align)) + ((copy) ? 0 : (size_t)(size)))

/* Most bytes of data in our block: gcc has large ones copied by a function. */
#define DATA_MOST 65536

/*
 * Fill a block, in @room, for a taskloop of this code and data. Unless @apart, the data are in the block,
 * and the runtime copies that; or it runs very many tasks in there, one by one. To have them copied by a function it
 * would make room for all of them on the stack.
 */
static struct head *fill_block(char *room, struct cpa_task *task, task_function *f,
			       copy_function *copy, bool apart, void *data, long size, long *align)
{
	uintptr_t to = *align > 16 ? (uintptr_t)*align : 16;
	struct head *h = (struct head *)(room + (-(uintptr_t)room & (to - 1)));

	*align = fill(h, task, f, copy, data, size, *align);
	if (!apart)
		memcpy((char *)h + h->offset, data, (size_t)size);
	return h;
}

/*
 * Whether libgomp runs the tasks of a taskloop of these @rounds at once, as they are more than it queues. It then has
 * the data of all of them on the stack, which our headers must not fill.
 */
static bool runs_at_once(task_function *f, unsigned flags, unsigned long tasks, uint64_t rounds)
{
	__typeof__(&omp_get_num_threads) threads = (__typeof__(threads))cpa_next_symbol_find(
		&gomp_task, NUMBER_omp_get_num_threads, (uint64_t)f);
	uint64_t count = tasks < rounds ? tasks : rounds;

	if (flags & FLAG_SIZES)
		count = tasks ? rounds / tasks : rounds;
	if (likely(threads && count <= QUEUED_MOST * (uint64_t)threads()))
		return false;
	if (*cpa_alive)
		cpa_diag(CPA_DIAG_OMP_UNSEEN);
	return true;
}

/* What an omp_depend_t object holds. The kinds are those of the compiler. */
struct depend_object {
	void *address;
	uintptr_t kind;
};

static enum cpa_depends kind_of(uintptr_t kind)
{
	enum { IN = 1, INOUTSET = 5 };

	return kind == IN	? CPA_DEPENDS_READ :
	       kind == INOUTSET ? CPA_DEPENDS_SET :
				  CPA_DEPENDS_WRITE;
}

/* Tell the dependences of @task. gcc lists those that write first. */
static void add_dependences(struct cpa_task *task, void **depend)
{
	uintptr_t count = (uintptr_t)depend[0], writes = (uintptr_t)depend[1], objects;
	void **at = depend + 2;

	if (count) {
		objects = count;
	} else { /* out and inout, mutexinoutset, in, and objects */
		count = (uintptr_t)depend[1];
		writes = (uintptr_t)depend[2] + (uintptr_t)depend[3];
		objects = writes + (uintptr_t)depend[4];
		at = depend + 5;
	}
	for (uintptr_t i = 0; i < objects; i++)
		cpa_task_depends(task, at[i], i < writes ? CPA_DEPENDS_WRITE : CPA_DEPENDS_READ);
	for (uintptr_t i = objects; i < count; i++) {
		const struct depend_object *d = at[i];

		cpa_task_depends(task, d->address, kind_of(d->kind));
	}
}

/* Of a program that tests for GOMP_task() and has no libgomp: run the task at once, on a copy. */
static void run_at_once(task_function *f, void *data, copy_function *copy, long size, long align)
{
	if (copy) {
		char *block = __builtin_alloca((size_t)(size + align));

		block += -(uintptr_t)block & (uintptr_t)(align - 1);
		copy(block, data);
		data = block;
	}
	f(data);
}

CPA_EXPORT void GOMP_task(task_function *f, void *data, copy_function *copy, long size, long align,
			  bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
	ORIGINAL_BY(GOMP_task, f);
	bool ours = is_libgomps((const void *)original);
	struct cpa_task *task = ours ? cpa_task_new((uint64_t)f, CPA_CALLER()) : NULL;
	struct cpa_task_wait wait = { .seen = false };
	struct head h;
	long to;

	if (unlikely(!task)) {
		if (likely(original) && !ours)
			cpa_ompt_pass((uint64_t)f, CPA_CALLER());
		if (likely(original))
			original(f, data, copy, size, align, deferred, flags, depend, priority,
				 detach);
		else
			run_at_once(f, data, copy, size, align);
		return;
	}
	to = fill(&h, task, f, copy, data, size, align);
	if (flags & FLAG_DETACH)
		h.words = 1;
	if (flags & FLAG_DEPEND)
		add_dependences(task, depend);
	if (flags & FLAG_DEPEND && !deferred) /* it may wait for others first */
		cpa_task_wait_begin(&wait, CPA_WAIT_OTHER, CPA_CALLER());
	original(run, &h, copy_block, (long)h.offset + size, to, deferred, flags, depend, priority,
		 detach);
	cpa_task_wait_end(&wait);
	cpa_task_made(CPA_CALLER());
	if (unlikely(!h.made)) /* the region or the taskgroup was cancelled */
		cpa_task_let(task);
}

/*
 * The taskloop of @task, which has any rounds, was made. If it is a group that ends, all its tasks are over: those
 * whose rounds are left were cancelled before they began.
 */
static void loop_made(struct cpa_task *task, bool group)
{
	/* ACQUIRE: the tasks are over. */
	if (group && unlikely(__atomic_load_n(&task->rounds, __ATOMIC_ACQUIRE)))
		cpa_task_let(task);
	cpa_task_let(task); /* the last task takes the other reference */
}

/* Make many tasks of one block. They are a group, which ends with the call, if there is one. */
#define TASKLOOP(name, number)                                                                    \
	CPA_EXPORT void name(task_function *f, void *data, copy_function *copy, long size,        \
			     long align, unsigned flags, unsigned long tasks, int priority,       \
			     number start, number end, number step)                               \
	{                                                                                         \
		ORIGINAL_BY(name, f);                                                             \
		bool group = !(flags & FLAG_NOGROUP), apart = copy || size > DATA_MOST;           \
		bool any = step && (flags & FLAG_UP ? start < end : start > end);                 \
		struct head like = { .step = (uint64_t)step, .up = flags & FLAG_UP };             \
		uint64_t rounds = any ? rounds_of(&like, (uint64_t)start, (uint64_t)end) : 0;     \
		bool ours = is_libgomps((const void *)original) &&                                \
			    !(apart && runs_at_once(f, flags, tasks, rounds));                    \
		struct cpa_task_wait wait = { .seen = false };                                    \
		struct cpa_task *task = NULL;                                                     \
		struct head *h;                                                                   \
                                                                                                  \
		if (group && ours)                                                                \
			cpa_task_group_begin();                                                   \
		if (ours && any &&                                                                \
		    !(cpa_part() &&                                                               \
		      is_cancelled(f, group || apart ? CANCEL_PARALLEL : CANCEL_TASKGROUP)))      \
			task = cpa_task_new((uint64_t)f, CPA_CALLER());                           \
		if (likely(task)) {                                                               \
			h = fill_block(__builtin_alloca(BLOCK_ROOM(size, align, apart)), task, f, \
				       copy, apart, data, size, &align);                          \
			h->words = 2;                                                             \
			memcpy(h->first, data, size < 24 ? (size_t)size : 24);                    \
			h->step = like.step;                                                      \
			h->up = like.up;                                                          \
			task->rounds = rounds;                                                    \
			cpa_task_hold(task);                                                      \
			f = run;                                                                  \
			data = h;                                                                 \
			copy = apart ? copy_block : NULL;                                         \
			size += h->offset;                                                        \
		}                                                                                 \
		if (group && ours)                                                                \
			cpa_task_wait_begin(&wait, CPA_WAIT_GROUP, CPA_CALLER());                 \
		if (likely(original)) {                                                           \
			original(f, data, copy, size, align, flags, tasks, priority, start, end,  \
				 step);                                                           \
		} else if (any) {                                                                 \
			((number *)data)[0] = start; /* of all rounds, by one task */             \
			((number *)data)[1] = end;                                                \
			run_at_once(f, data, copy, size, align);                                  \
		}                                                                                 \
		cpa_task_wait_end(&wait);                                                         \
		if (likely(task))                                                                 \
			loop_made(task, group);                                                   \
	}

TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

/* Evaluate @call as a wait for children, or for the group that ends. */
#define WAIT(name, call, kind)                                         \
	({                                                             \
		ORIGINAL(name);                                        \
		struct cpa_task_wait t = { .seen = false };            \
                                                                       \
		if (is_libgomps((const void *)original))               \
			cpa_task_wait_begin(&t, (kind), CPA_CALLER()); \
		if (likely(original))                                  \
			call;                                          \
		cpa_task_wait_end(&t);                                 \
	})

CPA_EXPORT void GOMP_taskwait(void)
{
	WAIT(GOMP_taskwait, original(), CPA_WAIT_CHILDREN);
}

CPA_EXPORT void GOMP_taskwait_depend(void **depend)
{
	ORIGINAL(GOMP_taskwait_depend);
	struct cpa_task *named =
		is_libgomps((const void *)original) ? cpa_task_waiter(CPA_CALLER()) : NULL;
	struct cpa_task_wait t = { .seen = false };

	if (likely(named)) {
		add_dependences(named, depend);
		cpa_task_wait_for(&t, named, CPA_CALLER());
	}
	if (likely(original))
		original(depend);
	cpa_task_wait_end(&t);
	if (likely(named))
		cpa_task_let(named);
}

CPA_EXPORT void GOMP_taskgroup_start(void)
{
	ORIGINAL(GOMP_taskgroup_start);

	if (is_libgomps((const void *)original))
		cpa_task_group_begin();
	if (likely(original))
		original();
}

CPA_EXPORT void GOMP_taskgroup_end(void)
{
	WAIT(GOMP_taskgroup_end, original(), CPA_WAIT_GROUP);
}
