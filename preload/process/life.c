/* SPDX-License-Identifier: MIT */
#include "preload/process/life.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/core/alive.h"
#include "preload/core/callers.h"
#include "preload/process/attach.h"
#include "preload/process/end_key.h"
#include "preload/code/module.h"
#include "preload/libc/log.h"
#include "preload/libc/memory.h"
#include "preload/core/computes.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/private_fds.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"
#include "preload/core/region.h"
#include "preload/libc/settings.h"
#include "preload/core/track.h"
#include "preload/stream/holders.h"
#include "preload/stream/stdio.h"
#include "shadow/graph/component.h"
#include "shadow/store/epoch.h"
#include "shadow/journal/journal.h"
#include "shadow/store/kernel.h"
#include "shadow/edge/process.h"
#include "shadow/graph/series.h"
#include "shadow/store/table.h"
#include "shadow/edge/thread.h"
#include "shadow/store/timespec.h"

#define SESSION_LIMIT (UINT64_C(1) << 30)
#define MOST_IMAGES   100 /* programs of one process, by exec, with profiles of one name */

/*
 * Around a fork: signal handlers stay out, until in_child() has given the thread a worker of the
 * child's own.
 */
static void stay_out(void)
{
	if (cpa_tls.forks++ == 0)
		cpa_tls.inside_before = cpa_tls.inside;
	cpa_tls.inside = true;
}

static void come_in(void)
{
	if (--cpa_tls.forks == 0)
		cpa_tls.inside = cpa_tls.inside_before;
}

/* Atomic. 1: profiling has begun, and the fork handlers have work to do. */
static uint32_t forks_seen;

static void before_fork(void)
{
	/* ACQUIRE pairs with the RELEASE in begin(). */
	if (!__atomic_load_n(&forks_seen, __ATOMIC_ACQUIRE))
		return;
	cpa_alive_forking();
	cpa_process_forking();
	cpa_holders_forking(cpa_tls.child);
	if (*cpa_alive && !cpa_tls.child)
		cpa_diag(CPA_DIAG_FORKS);
	stay_out();
	cpa_fd_guard_place(); /* no descriptor of ours may be open in the child */
}

/* Fork handler in the parent. It does nothing if before_fork() did nothing. */
static void in_parent(void)
{
	if (!cpa_tls.forks)
		return;
	cpa_fd_guard_placed();
	cpa_holders_forked(false);
	come_in();
	if (cpa_tls.ends)
		cpa_life_end();
}

static void in_child(void)
{
	if (!cpa_tls.forks)
		return;
	come_in();
	cpa_fd_guard_forked();
	cpa_holders_forked(true);
	cpa_private_fds_forked();
	cpa_kernel_forked();
	/* Another thread may have ended the profile after this one began to fork. */
	if (!cpa_kernel_is_closed() && cpa_process_forked())
		cpa_alive_begin();
	else
		cpa_alive_leave(false);
}

/* The C library's function behind pthread_atfork(). */
CPA_EXPORT int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
				 void *library);

extern CPA_HIDDEN void *__dso_handle;

/*
 * Register our fork handlers before all others. So they run last before a fork and first after it:
 * handlers of the program find cpa as usual, in the parent and in the child, and may lock, wait for
 * threads and fork.
 */
static void register_first(void)
{
	static uint32_t registered;

	/* Relaxed: constructors of the libraries loaded with the program run one after another. */
	if (!__atomic_exchange_n(&registered, 1, __ATOMIC_RELAXED))
		REAL(__register_atfork)(before_fork, in_parent, in_child, &__dso_handle);
}

int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
		      void *library)
{
	register_first();
	return REAL(__register_atfork)(before, parent, child, library);
}

static void fill_header(void)
{
	struct cpa_header *h = cpa_header();
	cpu_set_t set;

	h->pid = (uint32_t)getpid();
	h->cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
	cpa_settings_executable(h->exe, sizeof(h->exe));
	gethostname(h->host, sizeof(h->host) - 1);
}

/* Whether the file @path is a session. *@h: its header. */
static bool is_session(const char *path, struct cpa_header *h)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool full;

	if (fd < 0)
		return false;
	full = syscall(SYS_read, fd, h, sizeof(*h)) == sizeof(*h);
	syscall(SYS_close, fd);
	return full && !memcmp(h->magic, CPA_MAGIC, sizeof(h->magic));
}

/*
 * Whether a running process writes @path. If CPA_OUTPUT is a fixed name, that is the process which
 * started this one, and a message from each child would be noise.
 */
static bool is_our_familys(const char *path)
{
	struct cpa_header h;

	return is_session(path, &h) && h.state == CPA_RUNNING && h.pid != (uint32_t)getpid() &&
	       !syscall(SYS_kill, h.pid, 0);
}

static bool is_our_own(const char *path)
{
	struct cpa_header h;

	return is_session(path, &h) && h.state == CPA_EXECED && h.pid == (uint32_t)getpid();
}

static int open_session(struct cpa_settings *s)
{
	char wanted[PATH_MAX];
	const uint64_t limit = SESSION_LIMIT + s->journal;
	int ret = cpa_session_create(s->output, limit, s->components);

	/*
	 * Programs that this process was before an exec() have written the name: number this one.
	 */
	strcpy(wanted, s->output);
	for (unsigned n = 2; ret == -EEXIST && n < MOST_IMAGES && is_our_own(s->output); n++) {
		cpa_settings_number(s->output, wanted, n);
		ret = cpa_session_create(s->output, limit, s->components);
	}
	if (ret == -EEXIST && is_our_familys(s->output))
		return ret;
	if (ret) {
		cpa_warn("cannot write %s: %s; not profiled (set CPA_OUTPUT)", s->output,
			 strerrordesc_np(-ret));
		return ret;
	}
	fill_header();
	ret = cpa_component_init();
	if (ret) {
		cpa_warn("no memory for the profile: %s; not profiled", strerrordesc_np(-ret));
		unlink(s->output);
	}
	return ret;
}

/* Create a session, or join that of a parent process. False: neither. */
static bool make_session(void)
{
	const char *budget = getenv("CPA_BUDGET");
	struct cpa_settings s;
	bool joined;

	cpa_settings_read(&s);
	cpa_callers_init(s.stacks);
	if (cpa_process_join(&joined)) {
		if (!joined)
			return false;
		cpa_module_init();
		cpa_clock_join();
		cpa_sampler_init(cpa_header()->sample_hz, cpa_header()->by_callers);
		cpa_looks_on_init(s.look_on);
		return true;
	}
	if (open_session(&s))
		return false;
	if (s.journal && !cpa_journal_init(s.journal))
		cpa_warn("no space for a journal; profiled without (make CPA_JOURNAL smaller)");
	cpa_module_init();
	cpa_clock_init();
	cpa_series_init(cpa_header()->start_ticks);
	cpa_sampler_init(s.sample_hz, s.by_callers);
	cpa_looks_on_init(s.look_on);
	cpa_epoch_begin(cpa_header(), s.on);
	if (budget && *budget && s.on)
		cpa_warn(
			"CPA_BUDGET=%s: only a process outside keeps a budget (cpa run, or cpa ctl "
			"PID budget after CPA_START=off); all is profiled",
			budget);
	cpa_table_prepare(CPA_TABLE_NAMES);
	cpa_table_prepare(CPA_TABLE_MARKS);
	cpa_table_prepare(CPA_TABLE_PATHS);
	cpa_process_first(s.output);
	return true;
}

static bool begin_memory(void)
{
	if (cpa_memory_init())
		return true;
	cpa_warn("no memory for the profile: %s; not profiled", strerrordesc_np(ENOMEM));
	return false;
}

/* The arguments are those of main(). */
__attribute__((constructor)) static void begin(int n __attribute__((unused)), char **arguments)
{
	bool goes_on = false;
	int err = errno;

	/* The loader ignores LD_PRELOAD for set-uid programs, but not /etc/ld.so.preload. */
	if (getauxval(AT_SECURE))
		return;
	cpa_clock_begin();
	cpa_process_born();
	cpa_process_called(arguments);
	cpa_tls.inside = true; /* the functions called here are not profiled */
	if (cpa_alive_init() && begin_memory() && make_session()) {
		cpa_end_key_init(cpa_thread_ends);
		register_first();
		/* RELEASE: all that the handlers use is set up. Pairs with before_fork(). */
		__atomic_store_n(&forks_seen, 1, __ATOMIC_RELEASE);
		cpa_alive_begin();
		if (cpa_process_number == 0)
			goes_on = cpa_process_begin();
		else
			cpa_worker_attach(0, 0, NULL);
		cpa_descriptor_begin(goes_on);
		cpa_stdio_begin();
	}
	cpa_tls.inside = false;
	errno = err;
}

/* The threads of the process, whether they are profiled or not; 0: not known. */
static uint64_t count_threads(void)
{
	struct stat folder;

	if (cpa_kernel(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &folder, 0) ||
	    folder.st_nlink < 2)
		return 0;
	return folder.st_nlink - 2;
}

/*
 * End the observed path of the run with that of thread row @thread, at clock @now. Only the first
 * call counts: return whether it is this one.
 */
static bool finish(uint32_t thread, uint64_t now, enum cpa_session_state state)
{
	struct cpa_header *h = cpa_header();
	uint64_t not_yet = 0;

	if (state == CPA_COMPLETE && !cpa_process_end(thread, now) && cpa_process_is_child())
		return false;
	if (cpa_process_is_child())
		return true;
	/* Relaxed: one of several threads that exit is the first; it writes the rest. */
	if (!__atomic_compare_exchange_n(&h->end_ticks, &not_yet, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED)) {
		/*
		 * ACQUIRE: pairs with the RELEASE below, of a thread that calls exec() and may
		 * still fail.
		 */
		if (state != CPA_COMPLETE ||
		    __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) != CPA_EXECED)
			return false;
		h->end_ticks = now;
	}
	h->exit_thread = thread;
	if (state == CPA_COMPLETE)
		h->end_threads = count_threads();
	h->cpu_end_ns = cpa_timespec_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	cpa_clock_note(now, true);
	/* RELEASE: a reader that finds the state finds the values above. */
	__atomic_store_n(&h->state, state, __ATOMIC_RELEASE);
	return true;
}

/* The process ends, after the path of thread row @thread, at clock @now. */
static void finish_all(uint32_t thread, uint64_t now)
{
	if (finish(thread, now, CPA_COMPLETE))
		cpa_alive_end();
}

/* False in a child of vfork(), which runs in our memory: its end is not the end of this process. */
static bool is_ours(void)
{
	return *cpa_alive && cpa_process_is_this();
}

/* Whether cpa_enter() failed because profiling is off. */
static bool is_off(void)
{
	return !cpa_tls.inside && !cpa_epoch_is_on(cpa_epoch(cpa_header()));
}

void cpa_life_end(void)
{
	struct cpa_worker *w;
	uint64_t now;

	if (!is_ours())
		return;
	w = cpa_enter();
	if (!w) /* nobody counts what the process closes */
		cpa_holders_astray();
	if (w) {
		cpa_region_leave(w);
		now = cpa_event(w, CPA_EV_EXIT, CPA_CALLER(), 0);
		cpa_descriptor_end(w, false);
		if (cpa_process_is_child())
			cpa_thread_forget(&w->self);
		finish_all(w->self.number, now);
		/* The thread's work from here on, as it leaves, is not part of the run. */
		cpa_tls.left = true;
		cpa_tls.worker = NULL;
		cpa_leave();
	} else if (is_off()) {
		finish_all(0, cpa_clock_now());
	} else if (cpa_tls.row) {
		/* The last thread had ended for the profile, as main before it. */
		const struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, cpa_tls.row);

		finish_all(cpa_tls.row, row->path.released);
	} else if (!cpa_tls.inside) { /* there was no memory for a row of the thread */
		finish_all(0, cpa_clock_now());
	}
}

bool cpa_life_replaced(void)
{
	struct cpa_worker *w = is_ours() ? cpa_enter() : NULL;
	uint64_t now;
	bool first;

	if (!w) {
		cpa_holders_astray(); /* as in cpa_life_end() */
		/* Also if a part has begun that the thread is not in yet. */
		if (!is_ours() || cpa_tls.inside)
			return false;
		cpa_process_exec_off();
		return finish(0, cpa_clock_now(), CPA_EXECED);
	}
	now = cpa_event(w, CPA_EV_EXEC, CPA_CALLER(), 0);
	cpa_descriptor_end(w, true);
	cpa_process_exec(w, w->clock.cpu);
	first = finish(w->self.number, now, CPA_EXECED);
	cpa_done(w);
	/*
	 * Our own time is on the path and may be long: if no other thread ended the run, it ends
	 * after that.
	 */
	if (first)
		/* Relaxed: one of several threads that exit is the first. */
		__atomic_compare_exchange_n(&cpa_header()->end_ticks, &now, w->clock.last, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return first;
}

void cpa_life_not_replaced(void)
{
	struct cpa_header *h = cpa_header();
	uint32_t state = CPA_EXECED;

	cpa_process_not_exec();
	if (cpa_process_is_child())
		return;
	/* Relaxed: readers do not use the end time of a running process. It stays if that ended. */
	if (__atomic_compare_exchange_n(&h->state, &state, CPA_RUNNING, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		h->end_ticks = 0;
}

void cpa_life_leave(void)
{
	if (!is_ours() || !cpa_process_is_child())
		return;
	cpa_diag(CPA_DIAG_OTHER_USERS);
	cpa_life_end();
	cpa_reenter();
	cpa_alive_forking();
	cpa_alive_leave(true);
	cpa_leave();
}

__attribute__((destructor)) static void end(void)
{
	cpa_stdio_end();
	cpa_life_end();
}
