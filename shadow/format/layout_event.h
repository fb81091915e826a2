/* SPDX-License-Identifier: MIT */
/* shadow/format/layout_event.h - kinds of events; part of shadow/format/layout.h */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_EVENT_H
#define CPA_SHADOW_FORMAT_LAYOUT_EVENT_H

enum cpa_event_kind {
	CPA_EV_START = 1, /* start of a thread */
	CPA_EV_EXIT = 2,
	CPA_EV_CREATE = 3,
	CPA_EV_JOIN = 4,
	CPA_EV_LOCK = 5, /* also: rwlock for writing, spin lock */
	CPA_EV_UNLOCK = 6,
	CPA_EV_RDLOCK = 7,
	CPA_EV_WAIT = 8, /* return from a condition wait */
	CPA_EV_SIGNAL = 9,
	CPA_EV_BROADCAST = 10,
	CPA_EV_ARRIVE = 11, /* arrival at a barrier */
	CPA_EV_LEAVE = 12,
	CPA_EV_SEM_WAIT = 13,
	CPA_EV_POST = 14,
	CPA_EV_ONCE = 15,
	CPA_EV_EXTERNAL = 16, /* return of a call that blocked */
	CPA_EV_FUTEX_WAIT = 17,
	CPA_EV_FUTEX_WAKE = 18,
	CPA_EV_TRY_FAILED = 19,
	CPA_EV_SLEEP = 20, /* begin of a condition wait, which releases the mutex */
	CPA_EV_AFTER = 21, /* annotations */
	CPA_EV_BEFORE = 22,
	CPA_EV_ENQUEUE = 23, /* class of this and the next two: the queue's component */
	CPA_EV_DEQUEUE = 24,
	CPA_EV_DONE = 25,
	CPA_EV_REGION = 26, /* begin of a region; class: the region's component */
	CPA_EV_REGION_END = 27,
	CPA_EV_MARK = 28,
	CPA_EV_STOP = 29,    /* end of a part of the run for the thread */
	CPA_EV_RESTART = 30, /* begin of the next part */
	CPA_EV_FORK = 31,    /* creation of a process, by any call */
	CPA_EV_CHILD = 32,   /* a wait for a child process returned */
	CPA_EV_EXEC = 33,    /* the process becomes another program */
	/* OpenMP; class: the region's component, of tasks that of their kind */
	CPA_EV_TEAM = 34,     /* fork of a team */
	CPA_EV_TEAM_END = 35, /* the master goes on behind the region */
	CPA_EV_PART = 36,     /* a thread begins its part of the team's work */
	CPA_EV_PART_END = 37, /* it has done it, and waits: the master for all, others for a fork */
	CPA_EV_TEAM_ARRIVE = 38, /* at a barrier of the team */
	CPA_EV_TEAM_LEAVE = 39,
	CPA_EV_TASK = 40, /* a task is made */
	CPA_EV_TASK_START = 41,
	CPA_EV_TASK_END = 42,
	CPA_EV_TASK_WAIT = 43, /* taskwait and kin: a wait for tasks */
	CPA_EV_READ = 44,      /* bytes or the end of a stream: layout_stream.h */
	CPA_EV_WRITE = 45,
	CPA_EV_POLL = 46,  /* a wait for a descriptor ended by a write that cpa saw */
	CPA_EV_CLOSE = 47, /* of an end of a stream */
	CPA_EV_NAME = 48,  /* the thread takes another name */
	CPA_EV_CHUNK = 49, /* a thread takes iterations of a loop (OpenMP); class: the region */
	CPA_EV_KINDS
};

#endif
