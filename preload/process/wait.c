/* SPDX-License-Identifier: MIT */
/*
 * preload/process/wait.c - a wait for a child depends on the child's end
 *
 * The clock of the child's end is in its process row, its path in the row of the thread that ended
 * it; nobody reuses them before the parent has waited. A child that left no end (it was killed, or
 * became a program that did not join) is known up to its last event: the rest of the wait is
 * external time. All of the wait is external time if the child never joined. If a thread was
 * blocked in something else when a child ended, and went on at once, SIGCHLD or the end of a pipe
 * woke it: that counts as a wait for the child, too.
 *
 * All of these functions are cancellation points, as pthread_join() is: see preload/sync/thread.c.
 */
#include "preload/process/wait.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/core/window.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"
#include "preload/libc/signal_mask.h"
#include "preload/core/track.h"
#include "shadow/arch/arch.h"
#include "shadow/edge/acquire.h"
#include "shadow/edge/part.h"
#include "shadow/store/kernel.h"
#include "shadow/edge/process.h"

#define PATIENCE 100000u /* checks of the flag: some hundred microseconds */

/*
 * Atomic. 1: a thread reads the path of a child that has ended, or frees its rows; another may have
 * waited for the same child. Not a lock: after PATIENCE checks a thread goes on without reading or
 * freeing. That thread blocks signals: a handler that jumps out would leave the flag set, and each wait
 * would then take PATIENCE.
 */
static uint32_t reading;

/* *@before: for end_reading(). */
static bool begin_reading(sigset_t *before)
{
	*before = cpa_signal_hold();
	for (unsigned i = 0; i < PATIENCE; i++) {
		/* ACQUIRE pairs with end_reading(). */
		if (!__atomic_exchange_n(&reading, 1, __ATOMIC_ACQUIRE))
			return true;
		cpa_arch_pause();
	}
	cpa_signal_let(before);
	return false;
}

static void end_reading(const sigset_t *before)
{
	/* RELEASE pairs with begin_reading(). */
	__atomic_store_n(&reading, 0, __ATOMIC_RELEASE);
	cpa_signal_let(before);
}

void cpa_child_forked(void)
{
	reading = 0;
}

/* Make an event where the thread begins to wait for a child, or has waited without blocking. */
static void arrive(struct cpa_op *op)
{
	if (cpa_process_has_children && cpa_child_block(op->w, CPA_EXT_OTHER, op->caller)) {
		cpa_done(op->w);
		cpa_reenter();
	}
	cpa_op_arrive(op, CPA_EV_CHILD, 0);
}

struct cpa_op cpa_child_wait(uint64_t caller)
{
	struct cpa_op op = CPA_OP(cpa_enter(), caller);

	if (op.w) {
		arrive(&op);
		cpa_op_block(&op);
	}
	return op;
}

static const struct cpa_path *path_of(uint32_t thread)
{
	return &((const struct cpa_thread *)cpa_row(CPA_TABLE_THREADS, thread))->path;
}

bool cpa_child_block(struct cpa_worker *w, enum cpa_external kind, uint64_t caller)
{
	struct cpa_wait wait = { 0 };
	uint32_t number;
	sigset_t before;

	/* A look at first: mostly there is none. */
	if (!cpa_process_number ||
	    !cpa_process_ended(cpa_process_number, w->clock.last, UINT64_MAX) ||
	    !begin_reading(&before))
		return false;
	number = cpa_process_ended(cpa_process_number, w->clock.last, UINT64_MAX);
	if (number && !cpa_process(number)->exit_thread) /* it ended in no part of the run */
		number = 0;
	if (number && cpa_event_awaited(w, kind, CPA_EV_CHILD, caller,
					cpa_process(number)->end_ticks, &wait)) {
		cpa_acquire_path(&w->self, path_of(cpa_process(number)->exit_thread), &wait);
		if (wait.from)
			cpa_dependency(&w->self, &wait, wait.now - wait.arrived);
	}
	end_reading(&before);
	return number;
}

/* Row of the thread of process @number that had the latest event. 0: none. */
static uint32_t latest(uint32_t number)
{
	uint32_t n = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);
	uint32_t best = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, i);

		if (row->process_row == number && row->process_key == cpa_process(number)->key &&
		    (!best || row->path.released > path_of(best)->released))
			best = i;
	}
	return best;
}

/* The child of row @number left no end: its parent's wait goes on beyond its last event. */
static void join_gone(struct cpa_worker *w, uint32_t number, struct cpa_wait *wait)
{
	uint32_t thread = latest(number);
	const struct cpa_path *path = thread ? path_of(thread) : NULL;
	uint64_t now = wait->now;

	wait->arrived = cpa_self_since(&w->self, wait->arrived);
	if (path && path->released > wait->arrived && path->released < now)
		wait->now = path->released;
	else
		wait->now = wait->arrived;
	cpa_acquire_path(&w->self, path, wait);
	cpa_part_trim(&w->self);
	if (wait->from)
		cpa_dependency(&w->self, wait, wait->now - wait->arrived);
	wait->now = now;
}

static void gone(struct cpa_process_row *p, uint64_t now)
{
	if (p->state == CPA_PROCESS_RUNNING)
		cpa_diag(CPA_DIAG_PROCESSES_LOST);
	if (p->state != CPA_PROCESS_CLAIMED)
		__atomic_fetch_sub(&cpa_header()->running, 1, __ATOMIC_RELAXED);
	if (!p->end_ticks)
		p->end_ticks = now;
	/* RELEASE: pairs with the ACQUIRE in ended() and cpa_process_end(). */
	__atomic_store_n(&p->state, CPA_PROCESS_GONE, __ATOMIC_RELEASE);
}

static void depend(struct cpa_worker *w, uint32_t number, struct cpa_wait *wait)
{
	struct cpa_process_row *p = number ? cpa_process(number) : NULL;
	uint64_t now = wait->now, since = w->self.row->path.released;

	/* ACQUIRE pairs with cpa_process_end(). */
	if (p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == CPA_PROCESS_ENDED &&
	    p->exit_thread) {
		cpa_acquire_path(&w->self, path_of(p->exit_thread), wait);
		if (wait->from)
			cpa_dependency(&w->self, wait, now - wait->arrived);
		return;
	}
	if (p) {
		join_gone(w, number, wait);
		if (p->state != CPA_PROCESS_ENDED && p->state != CPA_PROCESS_RUNNING)
			cpa_diag(CPA_DIAG_UNSEEN_CHILDREN);
		if (p->state != CPA_PROCESS_ENDED)
			gone(p, w->clock.last);
		since = w->self.row->path.released;
	} else {
		cpa_diag(CPA_DIAG_UNSEEN_CHILDREN);
		cpa_acquire_path(&w->self, NULL, wait);
	}
	cpa_unexplained(w, CPA_EXT_CHILD, now > since ? now - since : 0);
	w->self.row->path.released = now;
}

static bool is_gone(uint32_t number)
{
	uint32_t pid = cpa_process(number)->pid;

	return pid && cpa_kernel(SYS_kill, pid, 0) < 0 && errno == ESRCH;
}

/*
 * Whether row @number may be that of a child of system() or popen() that a wait with @status has ended: it was there
 * when that wait was over, and has nothing that others can wait for, by whatever system call: their pids are told.
 */
static bool is_gone_by(uint32_t number, const struct cpa_child *child, int status, uint64_t last)
{
	/* Of a child that a signal ended there is no end. */
	bool killed = WIFSIGNALED(status) && !child->cancelled;

	return number && cpa_process(number)->key <= last && !cpa_process_is_told(number) &&
	       !(killed && cpa_process(number)->state == CPA_PROCESS_ENDED) && is_gone(number);
}

/*
 * Row of a child that began after @child->since, and is gone by @status: one that has ended, or, if there is none,
 * one that left no end. 0: none. The child of a call that was cancelled was killed: who has ended is another one's.
 */
static uint32_t gone_since(const struct cpa_child *child, int status, uint64_t last)
{
	uint64_t since = child->since;
	uint32_t number = 0, next = 0;

	if (!child->cancelled)
		next = cpa_process_ended(cpa_process_number, since, UINT64_MAX);
	/* The oldest of those that ended: the others began too late for threads that waited before this one. */
	for (; next;
	     next = cpa_process_ended(cpa_process_number, since, cpa_process(next)->end_ticks))
		if (cpa_process(next)->start_ticks > since && is_gone_by(next, child, status, last))
			number = next;
	if (number)
		return number;
	next = cpa_process_begun(cpa_process_number, since, 0);
	while (next && !is_gone_by(next, child, status, last))
		next = cpa_process_begun(cpa_process_number, since, next);
	return next;
}

/*
 * Row @number is taken to be that of @child. If others may be, too, as several threads wait in system() or pclose(),
 * and children took each other's tokens, nobody knows which status is whose.
 */
static void doubt(uint32_t number, const struct cpa_child *child, int status, uint64_t last)
{
	bool has_end = cpa_process(number)->state == CPA_PROCESS_ENDED;
	uint64_t since = child->since;
	uint32_t next = has_end ? cpa_process_ended(cpa_process_number, since, UINT64_MAX) :
				  cpa_process_begun(cpa_process_number, since, 0);

	while (next) {
		struct cpa_process_row *p = cpa_process(next);

		if (next != number && p->start_ticks > since &&
		    is_gone_by(next, child, status, last))
			p->doubtful = cpa_process(number)->doubtful = 1;
		next = has_end ? cpa_process_ended(cpa_process_number, since, p->end_ticks) :
				 cpa_process_begun(cpa_process_number, since, next);
	}
}

/*
 * Row of @child, which ended with @status, and which nobody else frees while this thread reads. 0: none.
 *
 * If several threads make children by system() or popen() at once, one child may have taken the
 * token of another, and still run. Rows with keys beyond @last are of processes that were made since the wait,
 * and may have the pid.
 */
static uint32_t row_of(const struct cpa_child *child, int status, uint64_t last)
{
	uint32_t number;

	if (!cpa_process_number || !*cpa_alive)
		return 0;
	if (child->pid)
		return cpa_process_find(child->pid, cpa_process_number, last);
	number = child->token ? cpa_process_taker(child->token, cpa_process_number) : 0;
	if (!is_gone_by(number, child, status, last))
		number = gone_since(child, status, last);
	if (number)
		doubt(number, child, status, last);
	return number;
}

/* Note that @child, of row @number, has ended with @status. */
static void note_status(struct cpa_worker *w, uint32_t number, const struct cpa_child *child,
			int status)
{
	const struct cpa_process_row *p = cpa_process(number);
	/* The signal may have come behind its end; of what the C library was told then nobody knows. */
	bool ended = child->cancelled && p->state == CPA_PROCESS_ENDED;

	if (ended || (!child->pid && p->doubtful))
		status = CPA_STATUS_UNKNOWN;
	cpa_process_waited(&w->self, number, status);
}

/* Return whether the child's rows could be read. */
static bool end(struct cpa_worker *w, const struct cpa_child *child, int status, uint64_t last,
		struct cpa_wait *wait)
{
	uint32_t number;
	sigset_t before;

	if (!begin_reading(&before))
		return false;
	number = row_of(child, status, last);
	depend(w, number, wait);
	if (number)
		note_status(w, number, child, status);
	end_reading(&before);
	return true;
}

/* Profiling is off: the wait is in no part of the run, but the child's rows can be used again. */
static void waited_off(const struct cpa_child *child, int status, uint64_t last)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter_any();
	uint32_t number;
	sigset_t before;

	if (!w)
		return;
	if (begin_reading(&before)) {
		number = row_of(child, status, last);
		if (number && cpa_process(number)->state != CPA_PROCESS_ENDED)
			gone(cpa_process(number), cpa_clock_now());
		if (number)
			note_status(w, number, child, status);
		end_reading(&before);
	}
	cpa_leave();
	errno = err;
}

void cpa_child_waited(struct cpa_op *op, const struct cpa_child *child, int status)
{
	uint64_t last;

	if (!op->blocked && !child)
		return;
	/* Relaxed: who gets a row from here on is not the child that has ended, even with its pid. */
	last = child && *cpa_alive ? __atomic_load_n(&cpa_header()->process_ids, __ATOMIC_RELAXED) :
				     0;
	if (!cpa_op_back(op)) {
		cpa_op_missed(op, NULL, CPA_HANDLE);
		if (child)
			waited_off(child, status, last);
		return;
	}
	if (!op->blocked)
		arrive(op);
	if (!child) {
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
		cpa_op_explain(op, CPA_EXT_CHILD);
	} else {
		if (!end(op->w, child, status, last, &op->wait))
			depend(op->w, 0, &op->wait);
		if (op->blocked)
			cpa_op_callers(op);
	}
	cpa_op_done(op);
}

static void ended(struct cpa_op *op, pid_t pid, int status)
{
	struct cpa_child child = { .pid = (uint32_t)pid };

	cpa_child_waited(op, pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)) ? &child : NULL,
			 status);
}

/* Wait as wait4() does. A call that does not block makes an event only when a child has ended. */
#define WAIT(call, options)                                     \
	({                                                      \
		struct cpa_op op_ = CPA_OP(NULL, CPA_CALLER()); \
		int own_ = 0, *told = status ? status : &own_;  \
		pid_t ret_;                                     \
                                                                \
		if (!((options)&WNOHANG))                       \
			op_ = cpa_child_wait(CPA_CALLER());     \
		ret_ = (call);                                  \
		ended(&op_, ret_, *told);                       \
		ret_;                                           \
	})

CPA_EXPORT pid_t wait(int *status)
{
	return WAIT(REAL(wait)(told), 0);
}

CPA_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return WAIT(REAL(waitpid)(pid, told, options), options);
}

CPA_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return WAIT(REAL(wait3)(told, options, usage), options);
}

CPA_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return WAIT(REAL(wait4)(pid, told, options, usage), options);
}

/* As ended(), of a wait that has told @told. */
static void ended_as(struct cpa_op *op, bool success, const siginfo_t *told, int options)
{
	struct cpa_child child = { .pid = (uint32_t)told->si_pid };
	bool is_end = success && told->si_pid && !(options & WNOWAIT) &&
		      (told->si_code == CLD_EXITED || told->si_code == CLD_KILLED ||
		       told->si_code == CLD_DUMPED);

	cpa_child_waited(op, is_end ? &child : NULL,
			 told->si_code == CLD_EXITED ? (told->si_status & 0xff) << 8 :
						       told->si_status);
}

CPA_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct cpa_op op = CPA_OP(NULL, CPA_CALLER());
	siginfo_t own = { 0 }, *told = info ? info : &own;
	pid_t before = told->si_pid;
	int ret;

	if (!(options & WNOHANG))
		op = cpa_child_wait(CPA_CALLER());
	told->si_pid = 0;
	ret = REAL(waitid)(type, id, told, options);
	ended_as(&op, !ret, told, options);
	if (ret)
		told->si_pid = before;
	return ret;
}

/* The kernel writes what it tells of a child if the call succeeds: nothing of the program's is touched before. */
long cpa_child_call(long number, const long a[], uint64_t caller)
{
	bool by_id = number == SYS_waitid;
	int options = (int)a[by_id ? 3 : 2], own = 0;
	struct cpa_op op = CPA_OP(NULL, caller);
	siginfo_t info = { 0 }, *told = by_id && a[2] ? (siginfo_t *)a[2] : &info;
	int *status = !by_id && a[1] ? (int *)a[1] : &own;
	long ret;

	if (!(options & WNOHANG))
		op = cpa_child_wait(caller);
	if (by_id) {
		ret = REAL(syscall)(number, a[0], a[1], told, a[3], a[4]);
		ended_as(&op, !ret, ret ? &info : told, options);
	} else {
		ret = REAL(syscall)(number, a[0], status, a[2], a[3]);
		ended(&op, (pid_t)ret, ret > 0 ? *status : 0);
	}
	return ret;
}
