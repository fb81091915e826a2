/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/profile.h - everything a report shows, computed from a session file
 *
 * Times are seconds. All texts are printable and belong to the profile; a location may be NULL.
 */
#ifndef CPA_ANALYSIS_PROFILE_PROFILE_H
#define CPA_ANALYSIS_PROFILE_PROFILE_H

#include <time.h>

#include "analysis/input/load.h"

struct cpa_contexts;
struct cpa_histogram;
struct cpa_intervals;
struct cpa_lock_arrays;
struct cpa_metrics;
struct cpa_names;
struct cpa_phases;
struct cpa_teams;

struct cpa_program_figures {
	char *exe, *host;
	char *name;	   /* what it was called, which a link or a script may say */
	time_t started_at; /* date and time of the start; 0: not known */
	uint32_t pid;
	enum cpa_session_state state;
	bool complete; /* it ran to its end */
	bool journal;  /* the dump has one: predictions are possible */
	bool copied;   /* by cpa ctl snapshot, while it ran */
	bool running;  /* its process has not ended: set by callers that look for it */
	/*
	 * A signal handler interrupted cpa's own code and called something, and the end was not
	 * recorded: so the handler jumped out, or ended the program, which ends the profile of its
	 * thread.
	 */
	bool left_by_handler;
	bool waited;  /* its parent waited for its end, so status is known */
	int status;   /* wait status */
	double end_s; /* from its start; 0: not known */
	uint32_t cores;
	uint32_t format;	/* version of the session file */
	uint32_t sample_hz;	/* samples a second of CPU time that were asked for */
	uint32_t by_callers;	/* callers by which functions are divided; 0: functions are whole */
	size_t threads;		/* rows with figures */
	double wall_s;		/* profiled time; an unfinished run ends at the last event seen */
	double run_s;		/* from start to end, profiled or not */
	uint64_t earlier_parts; /* number of profiled parts before the oldest one in `part` */
	uint64_t windows;	/* windows of a budget; 0: the run had no budget */
	bool sampled;		/* windows of a budget were profiled, and not the whole run */
	size_t batches;		/* batches of windows; 0: too few, and the margins below are NAN */
	/* see margins.h */
	double wait_margin_s, parallelism_margin, max_parallelism_margin;
	double cpu_margin_s, critical_path_margin_s, utilization_margin;
	double blocked_margin_s[CPA_EXT_CLASSES]; /* of blocked_s; NAN for CPA_EXT_WAIT */
	double wait_s;				  /* of all threads, in synchronization */
	double cpu_s;				  /* of all threads: work, waiting and probes */
	double work_s;				  /* the activities' part of cpu_s */
	double external_s;
	double blocked_s[CPA_EXT_CLASSES]; /* external_s by class */
	double critical_path_s;		   /* inherent: L */
	double idle_path_s; /* critical path if idle time weighs; 0: not known (no journal) */
	double observed_path_s;
	uint32_t observed_thread; /* id of the thread at the end of the observed path; 0: none */
	double segment_s[CPA_TIME_KINDS];	   /* of the observed path */
	double segment_blocked_s[CPA_EXT_CLASSES]; /* of its external time */
	/*
	 * Time of waits across the begin or end of a profiled part, for which no kind is known: of
	 * all threads (not in external_s if the wait began before the part), and on the observed
	 * path.
	 */
	double border_s, segment_border_s;
	double parallelism;	/* work / wall */
	double max_parallelism; /* (work + service) / critical path */
	double utilization;	/* cpu of the run / (wall * cores) */
};

/* How a process ended. */
enum cpa_ending {
	CPA_ENDING_NONE, /* it ran to the end of what was read */
	CPA_ENDING_SEEN,
	CPA_ENDING_KILLED, /* by a signal, without a word */
	CPA_ENDING_UNSEEN, /* otherwise without a word */
	CPA_ENDING_EXECED, /* it became a program that did not join, or is about to */
	CPA_ENDINGS
};

struct cpa_process_figures {
	uint64_t id, parent; /* numbers in the session; parent 0: not known */
	uint32_t pid;	     /* 0: these are sums of several processes */
	uint64_t count;	     /* processes in these figures; above 1: all of one command */
	uint32_t threads;    /* profiled threads */
	uint32_t images;     /* programs that it ran, one after the other (exec) */
	char *name;	     /* the command */
	char *argument;	     /* the word behind the command, "clone" of "git clone"; or NULL */
	enum cpa_ending ending;
	bool waited; /* its parent waited for its end, and learnt its status */
	int status;  /* wait status */
	double start_s, end_s;
	double cpu_s, process_s, wait_s, external_s, runqueue_s, probe_s;
	double cpu_margin_s, wait_margin_s; /* see margins.h; NAN: not known */
	double kernel_cpu_s;		    /* CPU time by the kernel; 0: not known */
	bool has_rows; /* no other process used the thread rows that these sums are of */
};

/* "service" ... */
const char *cpa_blocked_word(enum cpa_external_class class);

/* "git", or "git clone" if other processes are called git. The caller frees it. */
char *cpa_process_title(const struct cpa_process_figures *process);

/* "running" ... */
const char *cpa_ending_word(enum cpa_ending ending);

/* A part of a function: where certain functions called it. */
struct cpa_part_of_function {
	uint32_t row;	/* of the components table */
	char *function; /* its name */
	size_t callers;
	char **caller; /* names, the innermost first; the last may be "(callers not found)" */
	bool unknown;  /* no caller was found: that text is the only one */
};

struct cpa_component_figures {
	enum cpa_component_kind kind;
	enum cpa_class_by by;
	char *name;			   /* of a part of a function, "compare <- mergelines" */
	struct cpa_part_of_function *part; /* NULL: it is none, or shared */
	char *location;
	char *callers; /* of a function: those with most of its path, "compare <- mergelines"; or NULL */
	enum cpa_external_class class; /* of an external */
	bool nameless; /* its name is an offset, because its module has no symbols */
	bool shared;   /* other components may use its slot: figures of all; `name` lists them */
	uint32_t slot;
	uint32_t module; /* of its code or variable: number in the profile, from 1; 0: none */
	uint64_t offset; /* of its code or variable in the module's file; no module: address */
	double total_s;	 /* process time of all threads; of an external, time blocked */
	double critical_path_s, observed_path_s; /* its share of either path */
	double saved_s;				 /* what zeroing it takes off the inherent path */
	/* see margins.h; NAN: not known */
	double total_margin_s, critical_path_margin_s, saved_margin_s;
	/*
	 * For a component that the search found in its bucket: its figures begin at since_s, and
	 * may be error_s too small or too large. It had at most before_s of the path before, which
	 * was since_path_s long.
	 */
	uint32_t among; /* 0: it was not found by the search */
	double since_s, since_path_s, before_s, error_s;
	/* Of a function of an instrumented build, exact; calls 0: it is none. */
	uint64_t calls;
	double inclusive_s; /* process and external time with what it called */
	bool has_whole;	    /* whole_*: the function together with what it called */
	double whole_saved_s, whole_critical_path_s;
	double whole_saved_margin_s, whole_critical_path_margin_s; /* NAN: not known */
	uint32_t whole_slot; /* slot of these figures; 0: not known */
};

#define CPA_SPENDS 12

/* A function in which a thread worked, or an external in which it was blocked. */
struct cpa_spend_figures {
	uint32_t slot;
	enum cpa_component_kind kind;
	double seconds;
};

struct cpa_thread_figures {
	uint64_t id; /* no other thread of the session ever has it */
	enum cpa_thread_state state;
	uint32_t row;
	uint32_t node; /* of its last event; 0: none */
	uint32_t tid;
	uint64_t process; /* its number in the session; 0: not known */
	uint32_t earlier; /* other threads whose sums are in this row */
	bool mixed;	  /* these threads were of several classes: the row has none */
	char *name;	  /* of several: what they all are called, "worker-*", or "" */
	char *start_routine;
	char *last_name, *last_routine; /* of the thread with @id, which had the row last */
	uint64_t events;
	double cpu_s, wait_s, external_s, runqueue_s, probe_s;
	double process_s;  /* the activities' part of cpu_s */
	double profiled_s; /* time since its start, in profiled parts of the run */
	uint64_t bytes_read, bytes_written;
	double cpu_margin_s, wait_margin_s; /* see margins.h; NAN: not known */
	double critical_path_s;	 /* length of the longest inherent path to its last event */
	uint32_t slot;		 /* of its class; 0: none */
	double begun_s, lived_s; /* since the program's start; up to its last event */
	uint32_t holds;		 /* classes of locks that it held at its last event */
	uint32_t held_slot[CPA_HELD_MAX]; /* [holds]: slots of these classes */
	uint32_t spends;		  /* what it spent most in, most first */
	struct cpa_spend_figures spend[CPA_SPENDS];
};

/* The executable or a library. */
struct cpa_module_figures {
	char *path;	     /* NULL: the row is unused */
	char *build_id;	     /* hexadecimal digits; NULL: it has none */
	uint64_t start, end; /* mapped range, as the file has addresses */
	uint64_t bias;	     /* address in the run minus address in the file */
};

/* One lock class. */
struct cpa_object_figures {
	uint32_t row;  /* of the class in the components table */
	uint32_t slot; /* 0: none */
	const char *kind;
	char *class;
	char *location;
	char *queue; /* the queue whose own lock it is, or NULL */
	enum cpa_class_by by;
	uint64_t objects; /* ever made */
	uint64_t acquisitions, contended, handoffs;
	double wait_s, hold_s;
	double wait_margin_s, hold_margin_s; /* see margins.h; NAN: not known */
	bool has_slot; /* the two below are known; with a shared slot, of all that share it */
	double saved_s, critical_path_s;
	double saved_margin_s, critical_path_margin_s; /* see margins.h; NAN: not known */
};

/* Two components of one kind whose savings the windows do not tell apart. */
struct cpa_rivals {
	const struct cpa_component_figures *first, *second; /* NULL: there are none */
	double windows;					    /* about so many more would tell */
};

/* Which side of a queue limits it; see balance.h. */
enum cpa_limit {
	CPA_LIMIT_UNKNOWN,
	CPA_LIMIT_CONSUMERS,
	CPA_LIMIT_PRODUCERS,
	CPA_LIMIT_PROCESSORS,
	CPA_LIMIT_ELSEWHERE,
	CPA_LIMIT_MIXED,
	CPA_LIMIT_BALANCED,
	CPA_LIMITS
};

/* One master and several workers; see balance.h. */
struct cpa_master_figures {
	const char *trouble; /* why the queue has no such shape; NULL: it has */
	uint32_t workers, best_workers;
	double master_s, workers_s; /* all work of the master, and all processing of items */
	double optimum;		    /* the best number of workers, not rounded */
	double path_s, best_path_s; /* the path as the model has it, with either number */
	bool fits;		    /* the model's path is near the measured one, of enough items */
};

/* Streams of one kind between the same classes of threads. */
struct cpa_stream_figures {
	enum cpa_stream_kind kind;
	char *from, *to; /* who writes, who reads; NULL: nobody in the session */
	char *name;	 /* "from -> to" */
	uint32_t number; /* its place in the profile, from 1 */
	struct cpa_stream_end {
		double critical_path_s, observed_path_s; /* of its threads' classes */
		double critical_path_margin_s;		 /* see margins.h; NAN: not known */
		uint32_t path_slot[CPA_STREAM_ENDS];	 /* of these classes; 0: none */
		uint32_t slot;				 /* of the class if it is one, or 0 */
	} writer, reader;
	uint64_t streams, bytes, writes, reads;
	uint64_t messages;	   /* writes that were read to their last byte */
	double stay_s, stay_p99_s; /* from a write to the read of its last byte */
	uint64_t waits, blocks;	   /* times that a reader waited for data, a writer for room */
	double waited_s, blocked_s;
	double waited_margin_s, blocked_margin_s; /* see margins.h; NAN: not known */
	double saved_s;				  /* see cpa_predict_streams(); NAN: not known */
	uint64_t unmatched;			  /* reads of bytes whose write is not known */
	uint64_t uncertain;			  /* reads of bytes that several wrote at once */
};

/* "pipe" ... */
const char *cpa_stream_word(enum cpa_stream_kind kind);
/* In tables, of 7 characters at most: it leaves room for the names. */
const char *cpa_stream_short(enum cpa_stream_kind kind);

/* Both ends are in the session. */
static inline bool cpa_stream_is_inside(const struct cpa_stream_figures *stream)
{
	return stream->from && stream->to;
}

/* Which side the other one waits for: "writer", "reader", or "neither". */
const char *cpa_stream_limit(const struct cpa_stream_figures *stream);

/*
 * The queues of one class together. Shares and savings are of the processing of their items; with
 * a shared slot, of all that share it.
 */
struct cpa_queue_figures {
	uint32_t row;
	enum cpa_class_by by;
	char *name;
	char *location;
	uint64_t queues;
	uint64_t enqueued, dequeued, never_dequeued, twice, unmatched;
	uint64_t services, undone; /* undone: of them those whose end the program did not tell */
	uint64_t max_depth;	   /* of several queues: the sum of what each had at most */
	double mean_depth;
	double wait_s, wait_p50_s, wait_p99_s; /* of an item in the queue */
	double wait_margin_s;		       /* see margins.h; NAN: not known */
	double service_s, services_s;	       /* of an item, and of all */
	uint32_t producers, consumers;	       /* threads */
	double idle, starved; /* shares of the consumers' time: waiting, without a processor */
	double engaged;	      /* share of their work that was processing of these items */
	double producers_path_s, consumers_path_s; /* of the threads of their classes */
	uint32_t slot;				   /* 0: the three below are not known */
	double critical_path_s, observed_path_s, saved_s;
	double critical_path_margin_s, saved_margin_s; /* see margins.h; NAN: not known */
	enum cpa_limit limit;
	struct cpa_master_figures master;
};

struct cpa_mark_figures {
	uint32_t row;
	char *name;
	uint32_t tid; /* 0: of a thread that left no figures */
	double at_s, critical_path_s;
};

/* What was profiled of the run, by its own time. */
struct cpa_part_figures {
	double from_s, to_s;
};

struct cpa_node_figures {
	uint32_t id;
	const char *kind;
	char *site;	/* the function, or NULL */
	char *location; /* of the site, or NULL */
	char *class;	/* or NULL */
};

struct cpa_mix_figures {
	char *function;
	double share; /* of the samples seen in the activity */
};

struct cpa_edge_figures {
	uint32_t from, to; /* node ids */
	bool dependency;
	bool own_slot; /* observed_s is known, and on_path_s of an activity */
	uint64_t count, followed;
	double weight_s, on_path_s, observed_s;
	uint32_t functions;
	struct cpa_mix_figures function[CPA_MIX];
};

/* What operations take on the machine; 0: not known. */
struct cpa_machine_figures {
	double counter_s;   /* a look at the counter */
	double look_s;	    /* a look at the CPU clock of a thread */
	double wake_s;	    /* a sleep that ends at once, with both switches */
	double interrupt_s; /* for a sample of a perf event */
	double brief_s;	    /* sections that are shorter are told by draws, not by samples */
	const char *source; /* of all times: "counter", or "kernel" where that is no clock */
	uint64_t most_hz;   /* samples a second, where that was fewer than asked for; else 0 */
};

/* Who used the processors that the program could run on, while it ran; sums over them. */
struct cpa_processors_figures {
	double all_s;	 /* busy or not; 0: not known */
	double others_s; /* by other programs */
	double stolen_s; /* by a hypervisor */
};

struct cpa_diagnostics_figures {
	double probe_s;
	const char *clock;
	uint64_t samples, samples_lost, objects_untracked;
	double samples_s; /* that the samples' interrupts took */
	struct cpa_machine_figures machine;
	uint64_t deepbind,
		namespaced; /* libraries that were to be loaded so that they are not seen */
	/*
	 * Uses of locks that were not timed; those before another thread's; what these edges miss.
	 */
	uint64_t untimed, untimed_handoffs;
	double untimed_handoffs_s;
	uint64_t idle_sleeps; /* sleeps of threads that do little but sleep */
	/*
	 * CPU time that the kernel counted and no thread has; threads of the process, at its end,
	 * that cpa did not know.
	 */
	double missing_s;
	/*
	 * The process that was killed, or ended unseen, longest after its last event, and how long; 0: not longer
	 * than a tenth of the run. What it did then is in no figure.
	 */
	double lost_s;
	const struct cpa_process_figures *lost;
	uint64_t strangers;
	/*
	 * Rows of threads, components, objects, queues and streams, and paths, that are damaged or
	 * cut off.
	 */
	uint64_t lost_rows;
	struct cpa_processors_figures processors;
	size_t notes;
	char **note; /* sentences */
};

struct cpa_profile {
	char *file; /* the dump; NULL: not known */
	struct cpa_program_figures program;
	double tick_s; /* seconds of a tick */
	size_t components, processes, threads, objects, queues, streams, marks, parts, nodes, edges,
		modules;
	struct cpa_component_figures *component; /* by saved_s, most first */
	struct cpa_process_figures *process;	 /* by row */
	struct cpa_thread_figures *thread;	 /* by row */
	struct cpa_object_figures *object;	 /* by wait_s, most first */
	struct cpa_lock_arrays *lock_arrays;	 /* lock_arrays.h */
	struct cpa_rivals rivals;		 /* the first two, if they are */
	struct cpa_queue_figures *queue;	 /* by saved_s, most first */
	struct cpa_stream_figures *stream;	 /* by the longer of its waits, longest first */
	size_t stream_rows;			 /* of the streams table; */
	uint32_t *stream_of;	       /* [row - 1]: index in `stream` + 1; 0: it carried nothing */
	double queues_at_s;	       /* of CLOCK_MONOTONIC: when their counters were read */
	struct cpa_mark_figures *mark; /* by time */
	struct cpa_part_figures *part; /* by time; none if the whole run was profiled */
	struct cpa_node_figures *node; /* by id */
	struct cpa_edge_figures *edge;
	struct cpa_module_figures *module; /* by row - 1 */
	struct cpa_intervals *intervals;
	struct cpa_contexts *contexts; /* contexts.h; NULL: no stacks were taken */
	/* Of whoever wants them, who frees them: metrics.h, phases.h, teams.h. NULL: nobody. */
	struct cpa_teams *teams;
	struct cpa_metrics *metrics;
	struct cpa_histogram *histogram;
	struct cpa_phases *phases;
	struct cpa_diagnostics_figures diagnostics;
};

/* How much of the activity graph a profile has. */
enum cpa_graph {
	CPA_GRAPH_NODES,  /* no edges, which may be many, and no sites */
	CPA_GRAPH_EDGES,  /* no sites, which may be many to look up, */
	CPA_GRAPH_STACKS, /* but those on stacks */
	CPA_GRAPH_LINES, /* ditto; calling contexts are divided by lines: analysis/profile/contexts.h */
	CPA_GRAPH_ALL,
};

/* Compute the profile; broken rows are counted in @dump. The caller frees it. */
struct cpa_profile *cpa_profile_build(struct cpa_dump *dump, enum cpa_graph graph);

/* The same with @names, which are up to date and which the caller keeps for the next time. */
struct cpa_profile *cpa_profile_build_named(struct cpa_dump *dump, struct cpa_names *names,
					    enum cpa_graph graph);
void cpa_profile_free(struct cpa_profile *profile);

/* The node of @id, NULL if there is none. */
const struct cpa_node_figures *cpa_profile_node(const struct cpa_profile *profile, uint32_t id);

/* The component of @kind with slot @slot, NULL if there is none. */
const struct cpa_component_figures *cpa_profile_component(const struct cpa_profile *profile,
							  uint32_t slot,
							  enum cpa_component_kind kind);

/* Whether both are the same component, or parts of one function. NULL is allowed. */
bool cpa_is_same_function(const struct cpa_component_figures *a,
			  const struct cpa_component_figures *b);

/* Forget the streams of @profile, which is to go on without them. */
void cpa_streams_free(struct cpa_profile *profile);

/* Append a sentence to the diagnostics. */
void cpa_profile_note(struct cpa_profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
