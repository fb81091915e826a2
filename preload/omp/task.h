/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/task.h - tasks of an OpenMP runtime: who made them, and who waits for them
 *
 * The edges of a task: its creation to its start; its end to the taskwait of its parent, to the end
 * of its taskgroup, and to the barrier of the team if it ran in there. (If it ran elsewhere, the
 * thread that ran it has it on its path when it arrives at the barrier.) Ends of dependences lead to
 * the starts of the tasks that depend on them. A task with an event (detach) also ends where that is
 * fulfilled, by any thread.
 *
 * A record lives as long as its task or a child of it. Records are in memory of ours, and their paths
 * in tokens of the session, which a child of fork() must not use: see cpa_task.space.
 */
#ifndef CPA_PRELOAD_OMP_TASK_H
#define CPA_PRELOAD_OMP_TASK_H

#include "preload/omp/team.h"

#define CPA_TASK_DEPENDENCES 6u

/* The join of paths of many releases, taken by one: shadow/edge/merge.h. */
struct cpa_group {
	uint64_t ends;
	uint64_t space; /* as in cpa_task */
	struct cpa_group *outer;
};

/* What a task does with an address: tasks of one set (inoutset) do not depend on each other. */
enum cpa_depends { CPA_DEPENDS_READ, CPA_DEPENDS_WRITE, CPA_DEPENDS_SET, CPA_DEPENDS_KINDS };

/* An address that tasks of one parent name in depend clauses. */
struct cpa_dependence {
	const void *address;
	struct cpa_dependence *next;
	/* By kind: join of the paths of ended tasks, which others read in place. */
	uint64_t ended[CPA_DEPENDS_KINDS];
};

/* A task that runs. Lives on the stack of the thread, or in the task's record. */
struct cpa_task_run {
	struct cpa_task *task, *outer;
	struct cpa_omp_wait *wait; /* that it interrupts; NULL: none */
	struct cpa_team *team;	   /* of the standing wait that it interrupts, if it does */
	bool stood;
	bool covers; /* of that wait */
	bool runs;   /* its start was seen */
};

struct cpa_task {
	uint32_t refs;		 /* atomic: the task and its children */
	uint32_t start;		 /* token with the path of its creation: `token`; 0: none */
	uint32_t token;		 /* that the record keeps from task to task; 0: none */
	uint32_t class;		 /* component row of its kind */
	uint32_t count;		 /* of `on` */
	uint64_t rounds;	 /* atomic; of a taskloop: those whose tasks have not begun */
	uint64_t caller;	 /* code address of its creation */
	uint64_t space;		 /* cpa_object_space then: tokens are of that */
	struct cpa_task *parent; /* of a free record: the next one */
	struct cpa_group *group; /* innermost of those that its children belong to */
	uint64_t ends;		 /* of its children: as in cpa_group */
	struct cpa_dependence *dependences; /* of its children; only the task itself uses the list */
	struct cpa_dependence *on[CPA_TASK_DEPENDENCES];
	uint8_t kind[CPA_TASK_DEPENDENCES]; /* enum cpa_depends, of `on` */
	struct cpa_task_run run;	    /* of libomp */
};

/*
 * The calling thread makes a task of the code at @function, or that is known by its @caller only if
 * @function is 0. Returns a record, whose reference is the task's; NULL: not profiled, or no memory.
 */
CPA_HIDDEN struct cpa_task *cpa_task_new(uint64_t function, uint64_t caller);

/*
 * A record for one of the tasks of the taskloop @loop, which has @rounds of its rounds, by the thread that
 * begins it: their code may run at once. The task that has the last of them takes a reference of @loop. NULL:
 * not profiled, or no memory.
 */
CPA_HIDDEN struct cpa_task *cpa_task_of_loop(struct cpa_task *loop, uint64_t rounds);

/* Before the task can start: it depends on @address, in the way of @kind. By its maker. */
CPA_HIDDEN void cpa_task_depends(struct cpa_task *task, const void *address, enum cpa_depends kind);

/*
 * What the calling thread waits for as a task with dependences would (taskwait depend): a record that
 * is none of a task, with a reference that is the caller's. NULL: as cpa_task_new().
 */
CPA_HIDDEN struct cpa_task *cpa_task_waiter(uint64_t caller);

/*
 * The event of @task, which holds a reference for it, is about to be fulfilled, by any thread. Gives
 * that back.
 */
CPA_HIDDEN void cpa_task_fulfill(struct cpa_task *task, uint64_t caller);

/*
 * The runtime has made the task. If the thread was blocked in there, by a lock of the runtime, that
 * was a wait.
 */
CPA_HIDDEN void cpa_task_made(uint64_t caller);

/* Give a reference back. cpa_task_drop(): inside our code. NULL: nothing. */
CPA_HIDDEN void cpa_task_drop(struct cpa_worker *w, struct cpa_task *task);
CPA_HIDDEN void cpa_task_let(struct cpa_task *task);

/* One more reference. */
static inline void cpa_task_hold(struct cpa_task *task)
{
	/* Relaxed: the caller has one. */
	__atomic_fetch_add(&task->refs, 1, __ATOMIC_RELAXED);
}

/* The calling thread begins, or has ended, the code of @task. The latter gives a reference back. */
CPA_HIDDEN void cpa_task_enter(struct cpa_task_run *run, struct cpa_task *task);
CPA_HIDDEN void cpa_task_exit(struct cpa_task_run *run);

/*
 * A wait for tasks: the calling thread's children, or its innermost group; those that a record names
 * (cpa_task_waiter()); or for some, in which the thread may run them: what else it waits for is not known.
 */
enum cpa_task_wait_kind { CPA_WAIT_CHILDREN, CPA_WAIT_GROUP, CPA_WAIT_NAMED, CPA_WAIT_OTHER };

struct cpa_task_wait {
	struct cpa_omp_wait wait;
	struct cpa_op op;
	enum cpa_task_wait_kind kind;
	struct cpa_task *named; /* of CPA_WAIT_NAMED */
	bool seen;
};

CPA_HIDDEN void cpa_task_wait_begin(struct cpa_task_wait *t, enum cpa_task_wait_kind kind,
				    uint64_t caller);
/* The same, for what @named names, which outlives the wait. */
CPA_HIDDEN void cpa_task_wait_for(struct cpa_task_wait *t, struct cpa_task *named, uint64_t caller);
CPA_HIDDEN void cpa_task_wait_end(struct cpa_task_wait *t);

/*
 * The same where nothing is kept on the stack in between: the wait stands. cpa_task_stood() is of the
 * kind of the wait that it ends.
 */
CPA_HIDDEN void cpa_task_stand(uint64_t caller);
CPA_HIDDEN void cpa_task_stood(enum cpa_task_wait_kind kind, uint64_t caller);

/* A taskgroup of the calling thread begins. It ends by a wait for a group. */
CPA_HIDDEN void cpa_task_group_begin(void);

#endif
