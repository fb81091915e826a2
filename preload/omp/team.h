/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/team.h - teams of threads of an OpenMP runtime
 *
 * A team is what runs one instance of a parallel region: the thread that met the region, its master,
 * and workers of the runtime's pool. Its edges:
 *
 *	fork           the master publishes, each worker joins where its part begins
 *	barrier        each arrival, each departure
 *	join           the workers publish where their part ends, the master joins behind the region
 *
 * A worker between two regions waits in the runtime's pool, where nothing is called: its wait stands
 * (cpa_op_stand()) from the end of its part to the begin of its next one. The release of that wait is
 * the next fork. Whatever a thread does in such waits, spinning included, is wait.
 *
 * A team's memory belongs to the master from fork to join. The workers use it only in between: the
 * runtime lets the master go on when all have arrived. Its paths are objects, named by addresses in
 * the team, so that a child of fork() has others.
 */
#ifndef CPA_PRELOAD_OMP_TEAM_H
#define CPA_PRELOAD_OMP_TEAM_H

#include "preload/core/op.h"

/* Addresses that name objects; nothing is stored there. 8 bytes apart: cpa_object_cached(). */
struct cpa_team_places {
	uint64_t fork, join, barrier, ordered, cancel;
};

/* What the workers read comes first, in one cache line that nobody writes while they run. */
struct cpa_team {
	uint64_t caller;   /* code address of the construct */
	uint64_t instance; /* counts the regions that have used this team */
	uint32_t region;   /* component row of the region */
	uint32_t master;   /* id of the thread */
	bool used_barrier, used_ordered,
		used_cancel; /* set by who uses it first: cpa_team_uses() */
	/*
	 * Of libomp: its last barrier is one of the team's like the others, and the join is there, at
	 * its last_round.
	 */
	bool told;
	bool alone; /* of libomp: it is of one thread, and has no last barrier */
	uint64_t last_round;
	struct cpa_team *below; /* free teams of a thread */
	uint64_t made;		/* cpa_object_space + 1 when the objects were made; 0: not yet */
	struct cpa_team_places place;
	uint64_t *iterations; /* atomic: see preload/omp/doacross.c; NULL: none yet */
};

/* Note in @used, of a team, that its object is used. */
static inline void cpa_team_uses(bool *used)
{
	/* Relaxed: all write the same, for the master, behind the region. */
	if (unlikely(!__atomic_load_n(used, __ATOMIC_RELAXED)))
		__atomic_store_n(used, true, __ATOMIC_RELAXED);
}

/* The barrier @o of a team has @members. */
static inline void cpa_team_barrier_of(struct cpa_object *o, uint32_t members)
{
	/* Relaxed: all members write the same, before the first of them leaves. */
	if (unlikely(__atomic_load_n(&o->waiting, __ATOMIC_RELAXED) != members))
		__atomic_store_n(&o->waiting, members, __ATOMIC_RELAXED);
}

/* The part of a thread in a team. Lives on its stack while the part runs. */
struct cpa_part {
	struct cpa_team *team;
	struct cpa_part *outer;
	uint64_t caller;  /* of the team; libomp's */
	uint32_t region;  /* component row of the region */
	uint32_t members; /* threads of the team; 0: not known yet */
	uint64_t round;	  /* of the team's barrier: those that the thread has left */
	uint64_t chunks;  /* `round` + 1 where it took iterations last: chunk.c; 0: nowhere */
	bool takes;	  /* it takes iterations at the moment */
	uint32_t counts;  /* of its loop with ordered(n): n, 0: none; see doacross.c */
	uint64_t posted;  /* key of the iteration of which it was the source last; 0: none */
	/* Its implicit task: NULL until that has children. What the thread ran outside the team. */
	struct cpa_task *task, *outer_task;
	struct cpa_omp_wait *outer_wait;
};

/*
 * A wait inside the runtime, in which the thread may run tasks: each ends the wait where it starts,
 * and another wait begins where it ends. Lives on the stack of the waiting thread.
 */
struct cpa_omp_wait {
	struct cpa_op *op;
	struct cpa_barrier_op *barrier; /* what @op is part of; NULL: another wait */
	struct cpa_omp_wait *outer;
};

struct cpa_task;

#define CPA_CONSTRUCTS 16u

/* What a thread has of OpenMP; from a pool, of one worker. */
struct cpa_omp {
	struct cpa_part *part;	   /* innermost; NULL: in no region */
	struct cpa_task *task;	   /* that it runs; NULL: the implicit one of its part */
	struct cpa_omp_wait *wait; /* that it is in, unless it runs a task in it; NULL: none */
	struct cpa_team *free;
	struct cpa_task *free_tasks; /* records, with their tokens */
	uint32_t free_task_count;
	struct cpa_op standing;		/* the wait behind the last part */
	struct cpa_team *standing_team; /* of that part */
	/* The program's construct that our wrapper passes on to libomp, which tells of the wrapper. */
	uint64_t passed_function, passed_caller;
	/* Components of constructs met lately, and cpa_unloads then. */
	struct {
		uint64_t address;
		uint32_t kind, component;
	} constructs[CPA_CONSTRUCTS];
	uint32_t loads;
};

/* NULL: no memory. Inside our code. */
CPA_HIDDEN struct cpa_omp *cpa_omp_of(struct cpa_worker *w);

/*
 * The component row, of @kind and @object_kind, of a construct whose code begins at @function, or that
 * is known by its @caller only if @function is 0. 0: neither is known, or no space. Inside our code.
 */
CPA_HIDDEN uint32_t cpa_omp_construct(struct cpa_omp *omp, enum cpa_component_kind kind,
				      uint32_t object_kind, uint64_t function, uint64_t caller);

/* The thread begins, or ends, a wait by the operation @op. Inside our code or not. */
static inline void cpa_omp_wait(struct cpa_omp_wait *wait, struct cpa_op *op)
{
	struct cpa_omp *omp = cpa_tls.worker->omp;

	wait->op = op;
	wait->outer = omp->wait;
	omp->wait = wait;
}

static inline void cpa_omp_waited(const struct cpa_omp_wait *wait)
{
	const struct cpa_worker *w = cpa_tls.worker;

	if (likely(w && w->omp && w->omp->wait == wait))
		w->omp->wait = wait->outer;
}

/* The innermost part of the calling thread; NULL: none. */
static inline struct cpa_part *cpa_part(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	return w && w->omp ? w->omp->part : NULL;
}

/*
 * The calling thread is about to fork a team for the region whose code begins at @function, or that
 * is known by its @caller only if @function is 0. NULL: the thread is not profiled, or no memory.
 */
CPA_HIDDEN struct cpa_team *cpa_team_fork(uint64_t function, uint64_t caller);

/* The region is over for all. Called by the master with what cpa_team_fork() returned. */
CPA_HIDDEN void cpa_team_join(struct cpa_team *team);

/* The path of the thread is one that the barrier depends on at which @part is, or arrives. */
CPA_HIDDEN void cpa_part_arrive(struct cpa_worker *w, struct cpa_part *part);

/* The join of @team depends on the path of the calling thread, unless that is the master. */
CPA_HIDDEN void cpa_team_offer(struct cpa_worker *w, struct cpa_team *team);

/*
 * @part is no longer the innermost one of the calling thread. Profiled or not: its memory is about to
 * be used for something else.
 */
CPA_HIDDEN void cpa_part_leave(const struct cpa_part *part);

/* The calling thread's part in @team begins, or ends. Each is called by all threads of the team. */
CPA_HIDDEN void cpa_part_enter(struct cpa_part *part, struct cpa_team *team);
CPA_HIDDEN void cpa_part_exit(struct cpa_part *part);

#endif
