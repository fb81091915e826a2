/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout.h - the session file, byte by byte
 *
 * One file holds everything cpa knows about a process, while it runs and after it ended. The
 * threads of the target write it through a shared mapping; cpa-report reads it while the target
 * runs or after it died in any way. Rules:
 *
 *   - Integers are little-endian and naturally aligned. Positions are offsets in bytes from the
 *     start of the file; offset 0 (the header) serves as "none". There are no pointers.
 *   - Times are ticks of the time stamp counter. header.start_* and header.last_* give two points
 *     from which the reader derives ticks per nanosecond.
 *   - A table is up to CPA_CHUNKS chunks; chunk k has place for (first_rows << k) rows of row_size
 *     bytes, so rows never move. Rows are numbered from 1; 0 means "none". A reader uses row_size
 *     from the table, not sizeof, and skips bytes at the end of a row that it does not know.
 *   - A row whose key is 0 is unused: it is being filled, or lost a race with an equal key.
 *   - The comment of a struct names the writer of its fields. Several threads write only `used`
 *     counters, index words and fields marked "atomic".
 *   - "Internal" marks fields that only the target's processes use; a reader ignores them.
 *
 * Vectors of a path, over component slots, in ticks: S slack, H share of the longest inherent path,
 * O share of the observed path; L is the length of the inherent path (design 3).
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_H
#define CPA_SHADOW_FORMAT_LAYOUT_H

#include <stdint.h>

#include "shadow/arch/arch.h"
#include "shadow/format/layout_external.h"
#include "shadow/format/layout_machine.h"

#define CPA_MAGIC	 "CPADUMP\n"
#define CPA_FORMAT	 21u
#define CPA_BYTE_ORDER	 0x01020304u
#define CPA_HEADER_SIZE	 16384u
#define CPA_CHUNKS	 20u
#define CPA_INDEX_LEVELS 7u
#define CPA_INDEX_LINE	 8u /* entries of one index probe: one cache line */
#define CPA_PATH_DELTAS	 30u
#define CPA_HELD_MAX	 16u
#define CPA_EDGE_CACHE	 128u
#define CPA_MIX		 4u
#define CPA_ROUNDS	 4u
#define CPA_THREADS_KEPT 1024u
#define CPA_TREE_KEPT	 128u /* CPA_THREADS_KEPT of a session with more than this / 2 processes */
#define CPA_MIX_CLASSES	 16u  /* classes of duration: shadow/graph/mix.h */
#define CPA_MIX_CREDIT	 14u  /* lowest bit of the credit in an edge's mix */
#define CPA_MIX_SAMPLES	 ((UINT64_C(1) << CPA_MIX_CREDIT) - 1)
#define CPA_EARLIER	 12u
#define CPA_ITEMS_MAX	 (UINT32_C(1) << 20) /* items in queues at once */
#define CPA_MARKS_MAX	 4096u
#define CPA_ROLE_WORDS	 24u /* words of a bitmap of thread rows */
#define CPA_NAME_SIZE	 112u
#define CPA_PERIOD	 (UINT64_C(1) << 27) /* initial header.period: 45 to 90 ms today */
#define CPA_NOTE	 (1u << 20)	     /* initial header.note, some 0.4 ms; a thread's own */
#define CPA_NOTES	 4096u		     /* doubles whenever it has noted so many activities */
#define CPA_SAMPLES	 64u		     /* samples in a series, a power of two */
#define CPA_BORDERS	 64u		     /* latest changes of the epoch that are kept */
#define CPA_HEAP_CLASSES 80u
#define CPA_PLACED	 256u
/* Buckets of a histogram of ticks: four per power of two, see shadow/edge/queue.h. */
#define CPA_HISTOGRAM 192u

enum cpa_table_id {
	CPA_TABLE_THREADS,    /* struct cpa_thread */
	CPA_TABLE_OBJECTS,    /* struct cpa_object */
	CPA_TABLE_COMPONENTS, /* struct cpa_component */
	CPA_TABLE_SITES,      /* struct cpa_site */
	CPA_TABLE_MODULES,    /* struct cpa_module */
	CPA_TABLE_NODES,      /* struct cpa_node */
	CPA_TABLE_EDGES,      /* struct cpa_edge */
	CPA_TABLE_TOKENS,     /* struct cpa_token: internal */
	CPA_TABLE_NAMES,      /* struct cpa_name */
	CPA_TABLE_QUEUES,     /* struct cpa_queue */
	CPA_TABLE_MARKS,      /* struct cpa_mark */
	CPA_TABLE_SERIES,     /* struct cpa_slot_series */
	CPA_TABLE_BASES,      /* struct cpa_base */
	CPA_TABLE_POINTS,     /* struct cpa_thread_series */
	CPA_TABLE_PROCESSES,  /* struct cpa_process_row */
	CPA_TABLE_PATHS,      /* struct cpa_path, of objects: internal */
	CPA_TABLE_STREAMS,    /* struct cpa_stream */
	CPA_TABLE_CONTEXTS,   /* struct cpa_context */
	CPA_TABLE_STACKS,     /* struct cpa_stack */
	CPA_TABLE_USES,	      /* struct cpa_use */
	CPA_TABLES
};

struct cpa_table {
	uint32_t row_size;
	uint32_t first_rows; /* rows of chunk 0, a power of two */
	uint32_t used;	     /* atomic: rows handed out so far */
	uint32_t refused;    /* atomic: requests for a row that found no space */
	uint32_t usable;     /* atomic: rows for which the file has space, used or not */
	uint32_t pad;
	uint64_t chunk[CPA_CHUNKS];
	/*
	 * The index by key, internal: level k has (64 << 2k) lines of CPA_INDEX_LINE words
	 * {hash:32, row:32}; see shadow/store/table.h.
	 */
	uint64_t index[CPA_INDEX_LEVELS];
};

/* Counters of lost or unseen events; all atomic. The report uses the same names. */
enum cpa_diagnostic {
	CPA_DIAG_SAMPLES,	   /* program counter samples taken */
	CPA_DIAG_SAMPLES_LOST,	   /* dropped by the kernel or for lack of space */
	CPA_DIAG_OBJECTS_REFUSED,  /* operations on objects without space for a row or path */
	CPA_DIAG_EDGES_REFUSED,	   /* operations that found no space for rows of the PAG summary */
	CPA_DIAG_THREADS_REFUSED,  /* threads that run unprofiled */
	CPA_DIAG_VERSIONS_REFUSED, /* paths that could not be extended: no memory */
	CPA_DIAG_TOKENS_REFUSED,   /* signals and posts that found no token */
	CPA_DIAG_UNMATCHED_WAKES,  /* waits that returned without a release that cpa saw */
	CPA_DIAG_NESTED,	   /* operations in signal handlers that interrupted cpa */
	CPA_DIAG_FOREIGN_UNLOCKS,  /* unlocks by a thread that does not hold the lock */
	CPA_DIAG_FORKS,		   /* children of fork that could not join */
	CPA_DIAG_FUTEX_CALLS,	   /* futex waits and wakes through syscall() */
	CPA_DIAG_CLOCK_SLOW,	   /* re-bases of the CPU clock */
	CPA_DIAG_HELD_OVERFLOW,	   /* locks held beyond CPA_HELD_MAX by one thread */
	CPA_DIAG_SAMPLERS_REFUSED, /* threads without a sampler */
	CPA_DIAG_ALIASED_CLASSES,  /* lock classes or functions that share a slot */
	CPA_DIAG_ITEMS_REFUSED,	   /* enqueued items that found no space: their edges are missing */
	CPA_DIAG_ITEMS_UNMATCHED,  /* dequeues of items that were never enqueued */
	CPA_DIAG_ITEMS_TWICE,	   /* items enqueued while they were in the queue already */
	CPA_DIAG_ITEMS_UNBALANCED, /* CPA_ITEM_DONE without a dequeue, too many items at once */
	CPA_DIAG_REGIONS_UNBALANCED, /* region ends alone, begins alone, or nested too deep */
	CPA_DIAG_MARKS_REFUSED,	     /* calls of CPA_MARK beyond CPA_MARKS_MAX */
	CPA_DIAG_UNTIMED,	     /* uses of locks that were counted but not timed */
	CPA_DIAG_UNTIMED_HANDOFFS,   /* first uses of such a lock by another thread */
	CPA_DIAG_UNTIMED_TICKS,	     /* ticks that the edges of those hand-offs may lack */
	CPA_DIAG_CALLS_UNBALANCED,   /* instrumented functions left without their exit call */
	CPA_DIAG_SEARCH_STEPS,	     /* steps of the search for the top components */
	CPA_DIAG_SEARCH_WAITS,	     /* heavy buckets that found no slot to split into */
	CPA_DIAG_PART_LATE,	     /* threads that met a stop after the next part had begun */
	CPA_DIAG_PART_LATE_TICKS,    /* ticks of these that the other threads' paths missed */
	CPA_DIAG_PART_BLOCKED_TICKS, /* of threads blocked at a start, in a wait of unknown kind */
	CPA_DIAG_PART_ITEMS,	     /* items in queues at a stop, which are forgotten */
	CPA_DIAG_PART_UNLOCKS,	     /* unlocks of locks that were taken while profiling was off */
	CPA_DIAG_PART_FORGOTTEN,     /* borders no longer kept when a thread met them */
	CPA_DIAG_PROCESSES_REFUSED,  /* children that found no row */
	CPA_DIAG_UNSEEN_CHILDREN,    /* children that were waited for and had not joined */
	CPA_DIAG_PROCESSES_LOST,     /* processes that ended without reporting it */
	CPA_DIAG_INTERRUPTS,	     /* interrupts for samples of perf events */
	CPA_DIAG_ROUNDS,	     /* sleeps of threads that do little but sleep */
	CPA_DIAG_OMP_UNSEEN,	     /* constructs of OpenMP whose edges are not recorded */
	CPA_DIAG_STREAMS_REFUSED,    /* pipes and sockets that found no row */
	CPA_DIAG_NAMED_LATE,	     /* locks named by CPA_LOCK_NAME() after their first use */
	CPA_DIAG_STACKS,	     /* stacks taken */
	CPA_DIAG_STACKS_CUT,	     /* of these: not followed to the thread's start */
	CPA_DIAG_STACKS_REFUSED,     /* stacks that found no space */
	CPA_DIAG_DELAYS_UNKNOWN,     /* threads whose run-queue delay the kernel does not show */
	CPA_DIAG_STACK_TICKS,	     /* ticks of CPU time that all stacks took */
	CPA_DIAG_OTHER_USERS,	     /* children that became another user, and left the session */
	CPA_DIAG_USED,
	CPA_DIAG_COUNT = 48
};

enum cpa_clock_kind { CPA_CLOCK_RSEQ = 1, CPA_CLOCK_PERF = 2, CPA_CLOCK_SYSCALL = 3 };
enum cpa_sampler_kind { CPA_SAMPLER_NONE = 0, CPA_SAMPLER_PERF = 1, CPA_SAMPLER_TIMER = 2 };
enum cpa_session_state { CPA_RUNNING = 0, CPA_COMPLETE = 1, CPA_EXECED = 2 };

/*
 * State of the thread rows in a copy taken while the process ran. CPA_COPY_STATE: rows need no
 * checkpoints and have none.
 */
enum cpa_copy { CPA_COPY_NONE = 0, CPA_COPY_ROWS = 1, CPA_COPY_STATE = 2 };

/*
 * A change of the epoch: profiling is switched on or off (Online CP 2.3). Everything that happens
 * while it is off counts as cut out of the run.
 */
struct cpa_border {
	uint64_t ticks;
	uint64_t on; /* ticks of all earlier parts, during which profiling was on */
};

#include "shadow/format/layout_stream.h"

struct cpa_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t format;
	uint32_t header_size;
	uint32_t tables; /* CPA_TABLES of the writer */
	uint64_t used;	 /* atomic: bytes handed out */
	/* atomic: bytes of `used` with file space, or that a table allocates it for */
	uint64_t reserved;
	uint64_t limit; /* bytes of address space mapped */
	uint32_t state; /* enum cpa_session_state; set once, at the end */
	uint32_t pid;
	uint32_t cores;	  /* processors the process could run on at its start */
	uint32_t clock;	  /* enum cpa_clock_kind */
	uint32_t sampler; /* enum cpa_sampler_kind of the first thread */
	uint32_t sample_hz;
	uint32_t slots;	      /* component slots, including the fixed ones */
	uint32_t exit_thread; /* row of the thread that called exit, 0 if none did */
	uint64_t start_ticks; /* start of the observed path: cpa's constructor */
	uint64_t start_ns;    /* CLOCK_MONOTONIC at start_ticks */
	uint64_t last_ticks;  /* latest pair of both clocks, written at re-bases of the CPU clock */
	uint64_t last_ns;
	uint64_t end_ticks;  /* 0 while running */
	uint64_t cpu_end_ns; /* CLOCK_PROCESS_CPUTIME_ID at the end, including cpa's own time */
	uint64_t started;    /* atomic: threads profiled over the run */
	uint64_t done;	     /* atomic: stack of DONE thread rows, see shadow/edge/thread.h */
	uint64_t diag[CPA_DIAG_COUNT];
	/* Internal: items in queues, see shadow/edge/item.h. */
	uint64_t items;			       /* atomic: number of items in queues */
	uint64_t item_index[CPA_INDEX_LEVELS]; /* offsets of the levels */
	char exe[256];			       /* NUL-terminated path, cut on the left if longer */
	char host[64];
	struct cpa_table table[24];
	/*
	 * Boundary n is at clock n * period; period is a power of two. Every (1 << series_level)-th
	 * boundary from `first_period` on has a sample in `series`, a struct cpa_program_series.
	 */
	uint64_t period, first_period;
	uint64_t passed;       /* atomic: latest boundary that any thread has passed */
	uint64_t series;       /* offset; 0: there is none */
	uint32_t series_level; /* atomic: only grows */
	uint32_t copied;       /* enum cpa_copy */
	/*
	 * Atomic: number of changes so far; odd while profiling is on. Starts at 1, or at 2 if the
	 * run begins with profiling off; 0 in sessions of versions without parts. Read at each
	 * event, so the fields in its cache line change rarely. Written by any thread or process
	 * that switches profiling: shadow/store/epoch.h.
	 */
	uint64_t epoch __attribute__((aligned(CPA_CACHE_LINE)));
	uint64_t first_epoch; /* 1 or 2 */
	/*
	 * search_due, moves and slot_state are atomic and internal: see shadow/graph/component.h.
	 */
	uint64_t search_due;
	uint32_t moves;
	uint32_t note;	     /* ticks: see struct cpa_edge.slot; 0: each activity is noted */
	uint64_t slot_state; /* offset */
	uint64_t part;	     /* atomic, internal, as is `final`: see shadow/edge/part.h */
	uint64_t final; /* atomic: a cell with the join of the threads' paths at the latest stop */
	struct cpa_border border[CPA_BORDERS]; /* border of epoch e is at e % CPA_BORDERS */
	uint64_t journal;		       /* offset of a struct cpa_journal_pool; 0: none */
	uint64_t secret;      /* internal: a child shows it in order to join the session */
	uint64_t process_ids; /* atomic: number of processes so far */
	uint64_t running;     /* atomic: processes that have not ended */
	/* Internal, all atomic: tops of stacks (shadow/store/stack.h). */
	uint64_t tokens;		 /* stack of free token rows */
	uint64_t free_processes;	 /* stack of free process rows */
	uint64_t heap[CPA_HEAP_CLASSES]; /* free blocks, see shadow/store/heap.h */
	uint32_t heap_made[CPA_HEAP_CLASSES];
	uint64_t placed[CPA_PLACED]; /* items put so far, by hash: see shadow/edge/item.h */
	uint64_t note_most;	     /* atomic: largest `note` that any thread has reached */
	struct cpa_machine machine;  /* all 0 in sessions of earlier versions */
	uint64_t start_real_ns;	     /* CLOCK_REALTIME at about start_ticks */
	uint64_t end_threads;	     /* of the first process when it ended; 0: not known */
	struct cpa_load load;
	uint64_t windows; /* atomic: offset of a struct cpa_window_series; 0: none */
	uint64_t strays; /* internal, atomic: 1: descriptors may be uncounted: preload/stream/holders.h */
	/* Functions are divided by so many of their innermost callers, CPA_BY_CALLERS; 0: they are whole. */
	uint32_t by_callers;
	uint32_t subcommands; /* internal, atomic: see preload/process/process.c */
	struct cpa_closed_streams closed;
};

/* Kinds of time on the observed path; they add up to the wall time. */
enum cpa_time_kind {
	CPA_TIME_PROCESS,  /* CPU time of the program */
	CPA_TIME_EXTERNAL, /* of a kind in enum cpa_external; O of its slots divides it further */
	CPA_TIME_RUNQUEUE, /* ready to run, waiting for a processor */
	CPA_TIME_HANDOFF,  /* from a release to the return of its acquire, except run-queue time */
	CPA_TIME_PROBE,	   /* inside cpa */
	CPA_TIME_KINDS
};

/* Ticks to add to a path's S, H and O in one slot, beyond its versions. */
struct cpa_delta {
	uint32_t slot; /* 0: this delta and all behind it are unused */
	int32_t s, h, o;
};

/*
 * A path (design 3): the longest inherent path up to an event, and the observed chain of
 * activities. S, H and O of a component are the values in the versions plus the deltas.
 */
struct cpa_path {
	uint64_t len;	   /* L, ticks of process and service time */
	uint64_t released; /* clock of the release that published it, ticks */
	uint64_t version;  /* offset of a struct cpa_version with S and H; 0: all zero */
	uint32_t owner;	   /* id of the thread that published it; 0: never published */
	uint32_t node;	   /* PAG node of that release */
	uint64_t observed[CPA_TIME_KINDS]; /* ticks of the observed path, by kind */
	/* Journal event of that release; 0: none; CPA_JOURNAL_PENDING. See layout_journal.h. */
	uint64_t event;
	uint64_t observed_version; /* of O, as `version` is of S and H */
	uint32_t most;		   /* internal: upper bound of all deltas, ticks */
	uint32_t stack; /* row of the latest stack on the path: layout_stack.h; 0: none */
	struct cpa_delta delta[CPA_PATH_DELTAS]; /* each at a multiple of 16 bytes */
} __attribute__((aligned(CPA_CACHE_LINE)));

#define CPA_VERSION_BLOCK 8u

/*
 * Vectors that paths share, in ticks. Immutable once a second path names the version. A version of
 * S and H holds S[slots], then H[slots], then (internal) the maximum of each CPA_VERSION_BLOCK
 * values of S. A version of O holds O[slots].
 */
struct cpa_version {
	uint32_t refs; /* atomic: number of paths that name it */
	uint32_t slots;
	/* internal: versions with equal `slack` have equal S; 0 is the `slack` of no version */
	uint64_t slack;
	uint64_t max_slack; /* upper bound of all S */
	uint64_t value[];
};

enum cpa_slot {
	CPA_SLOT_NONE,
	CPA_SLOT_UNSAMPLED, /* function time without a sample that names the function */
	CPA_SLOT_FIRST
};

enum cpa_component_kind {
	CPA_FUNCTION = 1,
	CPA_LOCK = 2,
	CPA_REGION = 3,
	CPA_THREAD = 4,
	CPA_QUEUE = 5,
	CPA_EXTERNAL = 6,
	CPA_ACTIVITY = 7 /* an activity edge of the PAG summary; not listed among components */
};

/* How to read the address of a component or a lock class. */
enum cpa_class_by {
	CPA_BY_ADDRESS = 0,    /* function start, start routine */
	CPA_BY_VARIABLE = 1,   /* a lock in static storage: the variable's address */
	CPA_BY_INIT_SITE = 2,  /* return address of the *_init call */
	CPA_BY_FIRST_SITE = 3, /* return address of the first operation seen */
	CPA_BY_EXTERNAL = 4,   /* address is an enum cpa_external */
	CPA_BY_NAME = 5,       /* address is a row of the names table */
	CPA_BY_CALL = 6,       /* a function including its callees, in instrumented builds */
	/*
	 * address is {component row of the start routine:24, row of the names table:24}: threads of
	 * that routine with that name, see shadow/graph/role.h
	 */
	CPA_BY_ROLE = 7,
	CPA_BY_CALLERS = 8 /* a function where certain ones called it: `context` of its component */
};

#define CPA_ROLE_BITS 24

/*
 * key: {kind:4, by:4, layer:8, address:48}; `layer` is that of the module. With CPA_BY_CALLERS: {kind:4,
 * by:4, context:56}. Written by the creating thread before the row is indexed; slot is atomic.
 */
struct cpa_component {
	uint64_t key;
	uint32_t kind; /* enum cpa_component_kind */
	uint32_t by;   /* enum cpa_class_by */
	uint64_t address;
	uint32_t module;      /* row of the module that contains the address; 0: none */
	uint32_t slot;	      /* shared by several components of a kind when slots ran out */
	uint32_t shared;      /* 1: other components may use the same slot */
	uint32_t object_kind; /* of a lock class: enum cpa_object_kind */
	/* Of a lock class: counters of its destroyed objects (atomic adds). */
	uint64_t retired_objects, retired_acquisitions, retired_contended, retired_handoffs;
	uint64_t retired_wait, retired_hold;
	/*
	 * Of a function in an instrumented build, by address (atomic adds); calls is 0 otherwise.
	 */
	uint64_t calls;
	uint64_t inclusive; /* ticks of process and service time, including callees */
	/*
	 * Of a function outside all modules, which is a page of code: bit i is set if a sample fell
	 * into the i-th 64 bytes of it (atomic or).
	 */
	uint64_t blocks;
	/*
	 * For a component that the search moved (shadow/graph/search.h): its slot holds its time
	 * from clock `since` on, when the longest path was `since_len` ticks long. Its earlier time
	 * is in the slots `earlier`; slots beyond CPA_EARLIER are not recorded.
	 */
	uint64_t since, since_len;
	uint32_t first;		/* slot at first use; never changes */
	uint32_t among;		/* number of components in the slot that it left first */
	uint32_t earlier_count; /* slots that it left; may exceed CPA_EARLIER */
	uint32_t used;		/* internal, atomic: 1: its first use was seen, by a stack */
	uint16_t earlier[CPA_EARLIER];
	/*
	 * With CPA_BY_CALLERS: row of the function in the table of contexts, below its header.by_callers
	 * innermost callers. There are fewer where a thread starts, or where the others are not known.
	 */
	uint32_t context;
	uint32_t pad;
};

/*
 * Contents of a slot when the search reassigned it, on the path that was longest at that time; key:
 * the slot. `most` bounds the share that any path had in the slot. Written by the search before it
 * gives the slot to a component.
 */
struct cpa_base {
	uint64_t key;
	uint64_t slack, share, observed; /* S, H, O */
	uint64_t total;			 /* sum of all threads' totals */
	uint64_t most;			 /* ticks charged to the slot in all threads */
};

/*
 * A work queue, key: its address. All counters are atomic; times in ticks. Mean depth follows from
 * Little's law: (left - entered + depth * end) / run time.
 */
struct cpa_queue {
	uint64_t key;
	uint32_t component; /* component row, kind CPA_QUEUE: the queue's class */
	uint32_t done_used; /* 1: the program calls CPA_ITEM_DONE */
	/* max_depth is updated before a dequeue; at the end compare depth */
	uint64_t depth, max_depth;
	uint64_t twice, unmatched; /* see CPA_DIAG_ITEMS_TWICE, CPA_DIAG_ITEMS_UNMATCHED */
	uint64_t pad[2];
	/* Written by producers. */
	uint64_t enqueued;
	uint64_t entered; /* sum of enqueue clocks since header.start_ticks, if there was space */
	uint64_t producers[CPA_ROLE_WORDS]; /* bit i: thread row i modulo the bitmap's size */
	/* Written by consumers. */
	uint64_t dequeued; /* matched dequeues */
	uint64_t left;	   /* sum of their dequeue clocks since header.start_ticks */
	uint64_t waited;   /* sum of the ticks that items spent in the queue */
	uint64_t services; /* items whose processing has ended */
	uint64_t service;  /* ticks of process and external time spent processing items */
	uint64_t consumers[CPA_ROLE_WORDS];
	uint32_t histogram[CPA_HISTOGRAM]; /* of ticks in the queue; halved when a bucket is full */
} __attribute__((aligned(CPA_CACHE_LINE)));

/* A moment that the program marked; key: 1, 2, 3 ... */
struct cpa_mark {
	uint64_t key;
	uint64_t ticks;
	uint64_t len;	 /* L of the thread's path, ticks */
	uint32_t name;	 /* row of the names table */
	uint32_t thread; /* thread id */
};

#include "shadow/format/layout_module.h"
#include "shadow/format/layout_object.h"
#include "shadow/format/layout_event.h"

/* PAG summary, node: key {kind:8, class:24, site:32}, each a row number. */
struct cpa_node {
	uint64_t key;
	uint32_t kind; /* enum cpa_event_kind */
	uint32_t site;
	uint32_t class;
	uint32_t pad;
};

#define CPA_EDGE_SLOTLESS 1u /* slot of an edge when no slot was free */

/*
 * PAG summary, edge: key {dependency:1, from:31, to:32}. An activity leads from one event of a
 * thread to its next; weight is process and external ticks. A dependency leads from a release to an
 * acquire; weight is the ticks that the acquirer waited. Counts not yet added here are in the
 * threads' edge caches.
 */
struct cpa_edge {
	uint64_t key;
	uint32_t from, to;
	uint32_t dependency;
	/*
	 * Atomic: component slot of the edge; 0: none yet. H and O of the slot (S is not used) hold
	 * the path's part of `noted`. Of activities shorter than header.note ticks, one is noted
	 * per so many ticks of a thread; longer ones are all noted.
	 */
	uint32_t slot;
	uint64_t count;		  /* atomic */
	uint64_t weight;	  /* atomic, ticks */
	uint64_t followed;	  /* atomic: times that the longer path came this way */
	uint64_t followed_weight; /* atomic: `weight` of those times, ticks */
	uint64_t mix[CPA_MIX];	  /* atomic: {function:32, credit:18, signed, samples:14}: mix.h */
	uint64_t noted; /* atomic: ticks that the noted activities stand for, on any path */
	uint64_t mixes; /* atomic, internal: offset of struct cpa_mixes, of all threads; 0: none */
};

/* Internal: functions of an edge's activities by class of duration, words as in `mix`. */
struct cpa_mixes {
	uint64_t mix[CPA_MIX_CLASSES][CPA_MIX];
	uint32_t whole; /* atomic: samples of activities that took the edge, */
	uint32_t cut; /* atomic: and of those that would have, but were cut short: shadow/path/span.h */
};

/* A thread's own sums for one edge, added to the edge's row when another edge takes the cache entry. */
struct cpa_edge_cache {
	uint32_t edge;
	uint32_t count;
	uint64_t weight;
	uint64_t followed;
	uint64_t followed_weight;
	uint64_t mix[CPA_MIX];
};

/* What cpa_thread.edges refers to. */
struct cpa_edge_caches {
	struct cpa_edge_cache edge[CPA_EDGE_CACHE];
	uint64_t mixes[CPA_EDGE_CACHE]; /* internal: offset of struct cpa_mixes of each; 0: none */
};

/* The path of a release until its acquirers have read it: fifo.h, merge.h, item.h, cell.h, stream.h */
struct cpa_token {
	uint64_t key; /* atomic: barriers: round + 1; items: the item */
	uint64_t next; /* atomic: tagged row number of the next queue node; of nothing else: fifo.c */
	uint64_t payload; /* atomic: queue nodes: row of the token brought; items: item.h */
	uint64_t left;	  /* atomic: barriers: acquirers done; cells: pins; items: item.h */
	void *free_next;  /* next in the thread's free list; a pointer in the target */
	uint32_t row;	  /* number of this row */
	uint32_t below;	  /* row below this one on header.tokens */
	uint64_t source;  /* atomic: streams: where the bytes come from; connections: message.h */
	struct cpa_path path;
} __attribute__((aligned(CPA_CACHE_LINE)));

#include "shadow/format/layout_series.h"
#include "shadow/format/layout_process.h"
#include "shadow/format/layout_stack.h"
#include "shadow/format/layout_windows.h"

enum cpa_thread_state {
	CPA_THREAD_FREE = 0,
	CPA_THREAD_RUNNING = 1,
	CPA_THREAD_EXITED = 2,	 /* not joined yet: its path is still needed */
	CPA_THREAD_DETACHED = 3, /* running, and will not be joined */
	CPA_THREAD_DONE = 4	 /* joined, or exited after it was detached */
};

/*
 * A thread; key: its id, never 0. Written by the thread itself; `state` is atomic. Once
 * CPA_THREADS_KEPT rows exist (CPA_TREE_KEPT in sessions of many processes), new threads use the
 * rows of DONE threads again, first those of threads with the same start routine: the sums continue, `earlier` counts
 * the previous threads that were in a part of the run, and `retired` is the join of their last paths.
 */
struct cpa_thread {
	uint64_t key;
	uint32_t state;
	uint32_t next_done; /* row below this one on header.done */
	uint32_t tid;
	uint32_t component;   /* row of its component, kind CPA_THREAD */
	uint32_t thread_slot; /* slot of that component */
	uint32_t writing; /* atomic: odd while paths and sums change, see shadow/graph/checkpoint.h */
	uint64_t handle; /* pthread_t */
	uint64_t start_ticks, end_ticks;
	/*
	 * Sums up to the last event, ticks. The thread's CPU clock is before + process + wait_cpu +
	 * probe + off, but for the latest guesses of brief waits: preload/clock/brief.h.
	 */
	uint64_t before; /* CPU time before the first activity: the loader and cpa's constructor */
	uint64_t process;
	uint64_t external;
	uint64_t runqueue;
	uint64_t wait;	   /* blocked in synchronization */
	uint64_t wait_cpu; /* CPU time inside such waits: spinning and system calls */
	uint64_t probe;
	uint64_t events;
	uint64_t off;		/* CPU time while profiling was off */
	uint32_t node;		/* PAG node of its last event */
	uint32_t last_function; /* function of its last sample, see shadow/graph/component.h */
	uint32_t held_count;
	uint32_t held_slot[CPA_HELD_MAX];  /* slots of the classes of the locks that it holds */
	uint32_t held_times[CPA_HELD_MAX]; /* number of held locks of each class */
	uint32_t earlier; /* threads that used the row before; the sums include theirs */
	uint64_t left;	  /* atomic: latest epoch whose stop has joined this path: part.h */
	char name[16];
	/*
	 * offset of uint64_t[totals_slots]: process ticks by slot, on any path; external ticks for
	 * slots of kind CPA_EXTERNAL
	 */
	uint64_t totals;
	uint64_t totals_slots;
	/*
	 * Latest boundary passed, and the one passed when the row was new:
	 * shadow/graph/checkpoint.h.
	 */
	uint64_t period, first_period; /* atomic */
	uint64_t checkpoint[2];	       /* atomic: offsets of struct cpa_checkpoint; 0: none */
	/* as `totals`: external ticks in slots of held locks; 0: none so far */
	uint64_t held_external;
	struct cpa_path path;	 /* the thread's own; `released` is the clock of its last event */
	struct cpa_path retired; /* join of the last paths of earlier threads in this row */
	uint64_t edges;		 /* offset of struct cpa_edge_caches while it runs; 0: none */
	uint64_t bytes_read, bytes_written; /* by its own calls, see preload/sync/external.c */
	/*
	 * Process of the thread, or of its last one; `given` holds the sums when the thread began,
	 * or when they were last added to the process.
	 */
	uint32_t process_row;
	uint32_t role; /* atomic: row of its new name, as shadow/graph/role.h says; 0: taken up */
	uint64_t process_key;
	struct cpa_process_sums given;
	/* Atomic: journal event of the thread of whose path another thread has a copy: part.h; 0: none. */
	uint64_t copied;
	/* `component` of all threads that had the row before; 0: none had; UINT32_MAX: they differ. */
	uint32_t was, was_routine; /* and the component of their start routines */
	uint64_t gathered; /* internal, atomic: latest epoch with which its paths were collected: part.h */
} __attribute__((aligned(CPA_CACHE_LINE)));

#endif
