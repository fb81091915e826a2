/* SPDX-License-Identifier: MIT */
#include "preload/process/process.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/process/attach.h"
#include "preload/process/life.h"
#include "preload/core/dlopen.h"
#include "preload/core/object.h"
#include "preload/libc/pid.h"
#include "preload/libc/pool.h"
#include "preload/libc/settings.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/process/wait.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/store/epoch.h"
#include "shadow/journal/journal.h"
#include "shadow/store/name.h"
#include "shadow/edge/offer.h"
#include "shadow/graph/search.h"
#include "shadow/edge/thread.h"
#include "shadow/path/token.h"
#include "shadow/store/timespec.h"

#define VARIABLE  "CPA_SESSION"
#define DIGITS	  16u /* hexadecimal digits of a number */
#define ANCESTORS 16u /* that are looked at for a program that runs itself */
#define COMMANDS  32u /* of such programs that are components of their own */

static char announcement[sizeof(VARIABLE) + 2 * (DIGITS + 1) + PATH_MAX];

/*
 * Clock when the process, or the program after an exec, began for us, and the CPU time of its
 * thread at that moment.
 */
static struct {
	uint64_t ticks, cpu_ns;
} born;

/* Of the program that runs: cpa_settings_argument(). */
static char argument[CPA_ARGUMENT];

void cpa_process_called(char *const *arguments)
{
	cpa_settings_argument(argument, sizeof(argument), arguments);
}

void cpa_process_born(void)
{
	born.cpu_ns = cpa_timespec_now_ns(CLOCK_THREAD_CPUTIME_ID);
	born.ticks = cpa_clock_now();
}

static void become(uint32_t number)
{
	cpa_process_number = number;
	cpa_process_pid = (uint32_t)getpid();
	cpa_object_space = (uint64_t)(number - 1) << CPA_SPACE_SHIFT;
}

/* Note in @p the running program's command and argument. */
static void set_command(struct cpa_process_row *p)
{
	char name[CPA_COMMAND];

	cpa_settings_command(name);
	p->name = cpa_name(name);
	memcpy(p->argument, argument, sizeof(argument));
}

/*
 * Note that the parent knows the process of row @p as @pid; 0: unknown. The parent and the process
 * itself may both call this.
 */
static void seen_as(struct cpa_process_row *p, uint32_t pid)
{
	uint32_t unknown = 0;
	uint64_t not_yet = 0;

	/* Relaxed: both write the same, except for the time. */
	__atomic_compare_exchange_n(&p->seen_ns, &not_yet, cpa_pid_now_ns(), false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	/*
	 * RELEASE: a reader of the pid finds the time and the token. Pairs with cpa_process_self().
	 */
	__atomic_compare_exchange_n(&p->pid, &unknown, pid, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

void cpa_process_seen(uint32_t number, uint32_t pid)
{
	seen_as(cpa_process(number), pid);
}

void cpa_process_told(uint32_t number, uint32_t pid)
{
	struct cpa_process_row *p = cpa_process(number);
	bool is_inside = getppid() != 0;

	/*
	 * The first process of a pid namespace, or one that entered it: its parent knows it by
	 * another pid.
	 */
	if (!is_inside)
		p->space = cpa_pid_space();
	seen_as(p, is_inside ? pid : 0);
	cpa_process_call(number, pid);
}

/* The process of row @p, which began at clock @begun, runs a program. */
static void run(struct cpa_process_row *p, uint64_t begun)
{
	if (!p->start_ticks)
		p->start_ticks = begun;
	/* Relaxed: a count. */
	if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) == CPA_PROCESS_CLAIMED)
		__atomic_fetch_add(&cpa_header()->running, 1, __ATOMIC_RELAXED);
	/* RELEASE: a reader that finds it running finds the rest. */
	__atomic_store_n(&p->state, CPA_PROCESS_RUNNING, __ATOMIC_RELEASE);
}

void cpa_process_first(const char *path)
{
	uint32_t number = cpa_process_claim(0);

	if (!number)
		return;
	if (getrandom(&cpa_header()->secret, sizeof(cpa_header()->secret), GRND_NONBLOCK) !=
	    sizeof(cpa_header()->secret))
		cpa_header()->secret = 0; /* 0: nobody joins by the environment */
	become(number);
	set_command(cpa_process(number));
	cpa_process(number)->space = cpa_pid_space();
	cpa_process_seen(number, cpa_process_pid);
	run(cpa_process(number), cpa_header()->start_ticks);
	if (cpa_header()->secret)
		cpa_process_announce(path);
}

static char *put_number(char *to, uint64_t n)
{
	for (unsigned i = DIGITS; i-- > 0; n >>= 4)
		to[i] = "0123456789abcdef"[n & 15];
	return to + DIGITS;
}

/* Read the hexadecimal number *@to from *@text up to a ':', and skip that. */
static bool get_number(const char **text, uint64_t *to)
{
	const char *p = *text;

	*to = 0;
	for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
		*to = *to << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	*text = p + 1;
	return *p == ':';
}

/*
 * A copy of the environment with @variable at its end. Code that looks for the auxiliary vector
 * behind it still finds it.
 */
static char **environment_with(char *variable)
{
	const ElfW(auxv_t) * aux;
	size_t n = 0, more = 1;
	char **copy;

	while (environ[n])
		n++;
	aux = (const void *)(environ + n + 1);
	while (aux[more - 1].a_type != AT_NULL)
		more++;
	copy = mmap(NULL, (n + 2) * sizeof(*copy) + more * sizeof(*aux), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return NULL;
	memcpy(copy, environ, n * sizeof(*copy));
	copy[n] = variable;
	memcpy(copy + n + 2, aux, more * sizeof(*aux));
	return copy;
}

void cpa_process_announce(const char *path)
{
	char *to = announcement;
	char **copy;
	struct stat s;

	if (stat(path, &s) || getenv(VARIABLE))
		return;
	to = stpcpy(to, VARIABLE "=");
	to = put_number(to, cpa_header()->secret);
	*to++ = ':';
	to = put_number(to, s.st_ino);
	*to++ = ':';
	if (*path != '/') {
		if (!getcwd(to, PATH_MAX) || strlen(to) + strlen(path) + 2 > PATH_MAX)
			return;
		to += strlen(to);
		*to++ = '/';
	}
	strcpy(to, path);
	copy = environment_with(announcement);
	if (copy)
		environ = copy;
}

bool cpa_process_join(bool *joined)
{
	const char *text = getenv(VARIABLE);
	uint64_t secret, inode;

	*joined = false;
	if (!text || !*text)
		return false;
	if (get_number(&text, &secret) && get_number(&text, &inode))
		*joined = !cpa_session_join(text, inode, secret);
	return true;
}

/* The row that this process had before exec(), or that its parent made for it. 0: none. */
static uint32_t given_row(uint32_t pid, uint32_t space)
{
	uint32_t number = cpa_process_self(pid, space);
	const struct cpa_process_row *p = number ? cpa_process(number) : NULL;

	if (!p || (p->state != CPA_PROCESS_EXECED && p->state != CPA_PROCESS_CLAIMED) ||
	    !cpa_pid_is_since(p->seen_ns)) /* of an earlier process, as are all before */
		return 0;
	return cpa_process_occupy(number, pid) ? number : 0;
}

/* Get a row for this process. 0: no space. */
static uint32_t own_row(void)
{
	const uint32_t pid = (uint32_t)getpid(), space = cpa_pid_space();
	uint32_t number = given_row(pid, space);
	struct cpa_process_row *p;

	if (number)
		return number;
	number = cpa_process_claim(0);
	if (!number)
		return 0;
	p = cpa_process(number);
	p->space = space;
	p->token = CPA_TOKEN_NONE;
	cpa_process_seen(number, pid);
	if (!cpa_process_of_parent(number, (uint32_t)getppid()))
		return number;
	p->epoch = cpa_epoch(cpa_header());
	return cpa_offer_row(number, pid, cpa_pid_is_since);
}

/* Forks from the process that began with the program, to this one. */
static uint32_t forks;

/*
 * Whether process @p runs a command of a program that runs its own commands, as git does: one of those that it
 * descends from is the same program with another argument.
 */
static bool is_subcommand(const struct cpa_process_row *p)
{
	const struct cpa_process_row *child = p;

	if (!*p->argument)
		return false;
	for (unsigned i = 0; i < ANCESTORS && child->parent; i++) {
		const struct cpa_process_row *parent = cpa_process(child->parent);

		/* Relaxed: both are numbers. Another process may have the row by now. */
		if (__atomic_load_n(&parent->key, __ATOMIC_RELAXED) !=
		    __atomic_load_n(&child->parent_key, __ATOMIC_RELAXED))
			return false;
		if (parent->name == p->name &&
		    memcmp(parent->argument, p->argument, CPA_ARGUMENT) != 0)
			return true;
		child = parent;
	}
	return false;
}

/*
 * The same, if @text, its name as a class, is one of the first COMMANDS of the session: a driver of tests would take
 * all component slots.
 */
static bool is_named(const struct cpa_process_row *p, const char *text)
{
	struct cpa_component_name name = { .kind = CPA_THREAD, .by = CPA_BY_NAME };
	uint32_t *count = &cpa_header()->subcommands;

	if (!is_subcommand(p))
		return false;
	name.address = cpa_name_seen(text);
	if (name.address && cpa_table_find(CPA_TABLE_COMPONENTS, cpa_component_key(&name)))
		return true;
	/* Relaxed, both: a number. */
	return __atomic_load_n(count, __ATOMIC_RELAXED) < COMMANDS &&
	       __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < COMMANDS;
}

/* The class of the first thread of @p: "sort"; "sort, forked"; or "git index-pack", which see above. */
static uint32_t component_of(const struct cpa_process_row *p, bool forked)
{
	const char *text = ((struct cpa_name *)cpa_row(CPA_TABLE_NAMES, p->name))->text;
	struct cpa_component_name name = { .kind = CPA_THREAD, .by = CPA_BY_NAME };
	static const char addition[] = ", forked", further[] = " again";
	char whole[CPA_NAME_SIZE + 1 + CPA_ARGUMENT + sizeof(addition) + sizeof(further)];
	char *end = stpcpy(whole, text);

	stpcpy(stpcpy(end, " "), p->argument);
	if (is_named(p, whole))
		end += strlen(end);
	*end = '\0';
	if (forked)
		strcpy(stpcpy(end, addition), forks > 1 ? further : "");
	name.address = cpa_name(whole);
	return cpa_component_intern(&name);
}

/*
 * CPU time of the thread before our code ran, in ticks: the loader, or the end of fork(). It counts
 * as work of the program.
 */
static uint64_t done_before(const struct cpa_process_row *p, uint64_t released)
{
	uint64_t cpu = cpa_clock_ticks(born.cpu_ns);
	uint64_t done = cpu > p->exec_cpu ? cpu - p->exec_cpu : 0;
	uint64_t most = born.ticks > released ? born.ticks - released : 0;

	return done < most ? done : most;
}

/*
 * Clock at which the process began. @token: with the path of the thread that made it, behind whose event that was; 0:
 * it is not certain which thread did. Then it is the latest clock at which the process can have begun, with the CPU
 * time that it has had.
 */
static uint64_t begin_of(const struct cpa_process_row *p, uint32_t token)
{
	uint64_t made = token ? cpa_token(token)->path.released + 1 : 0;
	uint64_t latest = born.ticks - done_before(p, made);

	return made && made < latest ? made : latest;
}

/* Put the CPU time @done at the begin of the thread's path. */
static void add_before(struct cpa_worker *w, uint64_t done)
{
	struct cpa_elapsed e = { .process = done };

	cpa_event_cut(w, CPA_EV_START, &e, CPA_EXT_OTHER, cpa_checkpoint(&w->self, born.ticks));
	w->clock.last = w->self.row->path.released;
	w->clock.cpu = cpa_clock_ticks(born.cpu_ns);
	w->clock.rebased = 0; /* it may have been switched out since then */
	cpa_force_slow(w);
}

/* Begin the first thread of process @p after the path of @token. */
static void begin_thread(struct cpa_process_row *p, uint32_t token, bool forked)
{
	struct cpa_thread_start start = { 0 };
	struct cpa_wait wait = { 0 };
	struct cpa_worker *w;
	uint64_t done;

	/* It is in no part of the run: it begins in the next one. */
	if (!token || !cpa_epoch_is_on(p->epoch)) {
		cpa_worker_attach(0, 0, NULL);
		return;
	}
	done = done_before(p, cpa_token(token)->path.released);
	wait.now = born.ticks - done;
	start.component = p->name ? component_of(p, forked) : 0;
	start.from = &cpa_token(token)->path;
	start.created = start.from->released;
	w = cpa_worker_begin(&start, &wait);
	if (!w)
		return;
	cpa_thread_register(pthread_self(), w->self.number);
	w->window.epoch = p->epoch;
	w->self.row->node = cpa_track_node(w, CPA_EV_START, 0, 0);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - cpa_header()->start_ticks);
	add_before(w, done);
	cpa_object_forget_all(w);
	cpa_done(w);
}

bool cpa_process_begin(void)
{
	uint32_t number = own_row();
	struct cpa_process_row *p = number ? cpa_process(number) : NULL;
	struct cpa_header *h = cpa_header();
	uint32_t execed = CPA_EXECED, token;
	uint64_t begun;
	bool goes_on = p && p->state == CPA_PROCESS_EXECED;

	if (!p)
		return false;
	become(number);
	cpa_search_leave();
	set_command(p);
	/* ACQUIRE pairs with cpa_offer_bind(). Another token may be that of a child which another thread makes. */
	token = __atomic_load_n(&p->token, __ATOMIC_ACQUIRE);
	begun = begin_of(p, token == CPA_TOKEN_NONE ? 0 : token);
	token = goes_on ? p->token : cpa_offer_token(number);
	if (goes_on)
		p->images++;
	/* Relaxed: readers do not use the end time of a running process. */
	if (number == 1 && __atomic_compare_exchange_n(&h->state, &execed, CPA_RUNNING, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		h->end_ticks = 0;
	run(p, begun);
	begin_thread(p, token, false);
	return goes_on && p->epoch;
}

/*
 * Whether a signal handler is running. It may have interrupted a wait of ours, in which the child
 * would go on with pointers into its parent's session. Frames that cannot be unwound tell nothing,
 * but a thread in a wait can fork only in a handler.
 */
static bool is_in_handler(void)
{
	bool found = cpa_tls.inside || (cpa_tls.worker && cpa_tls.worker->between);

	if (!found) {
		cpa_reenter();
		found = cpa_callers_in_handler();
		cpa_leave();
	}
	return found;
}

void cpa_process_forking(void)
{
	struct cpa_worker *w;
	uint32_t number;
	bool in;

	cpa_tls.child = 0;
	if (!cpa_process_number || !*cpa_alive || is_in_handler())
		return;
	w = cpa_enter_any();
	if (!w)
		return;
	in = cpa_window_is_in(w);
	cpa_process_has_children = true;
	if (in) {
		cpa_event(w, CPA_EV_FORK, 0, 0);
		cpa_journal_release(&w->self, NULL, 0, 1);
	}
	number = cpa_process_claim(cpa_process_number);
	if (number) {
		struct cpa_process_row *p = cpa_process(number);

		/* While profiling is off: the child begins in the next part. */
		p->token = in ? cpa_token_new(&w->self, &w->self.row->path) : 0;
		p->epoch = in ? w->window.epoch : 0;
		/* The child may be killed before it can note that. */
		p->start_ticks = in ? w->self.row->path.released + 1 : cpa_clock_now();
		p->name = cpa_process(cpa_process_number)->name;
		cpa_process_tell(number);
		memcpy(p->argument, argument, sizeof(argument));
		cpa_tls.child = number;
	}
	if (in)
		cpa_done(w);
	else
		cpa_leave();
}

bool cpa_process_forked(void)
{
	struct cpa_worker *parents = cpa_tls.worker;
	const uint32_t number = cpa_tls.child;
	struct cpa_process_row *p;
	struct cpa_clock clock;

	cpa_dlopen_forked();
	if (!number || cpa_tls.inside)
		return false;
	if (parents) {
		clock = parents->clock;
		cpa_clock_stop(&clock);
	}
	cpa_tls = (struct cpa_tls){ .inside = true,
				    .unloads = cpa_tls.unloads,
				    .stack = cpa_tls.stack };
	cpa_process_born();
	forks++;
	cpa_process_has_children = false;
	cpa_pool_forked();
	cpa_child_forked();
	cpa_sampler_forked();
	cpa_search_leave();
	cpa_tables_joined();
	cpa_object_inherit(cpa_object_space);
	become(number);
	p = cpa_process(cpa_process_number);
	cpa_process_told(cpa_process_number, cpa_process_pid);
	run(p, begin_of(p, p->token));
	begin_thread(p, p->token, true);
	cpa_tls.inside = false;
	return true;
}

bool cpa_process_end(uint32_t thread, uint64_t now)
{
	struct cpa_process_row *p;
	uint64_t not_yet = 0;

	if (!cpa_process_number)
		return false;
	p = cpa_process(cpa_process_number);
	/* Relaxed: one of several threads that exit is the first; it writes the rest. */
	if (!__atomic_compare_exchange_n(&p->end_ticks, &not_yet, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	p->cpu_ns = cpa_timespec_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	p->exit_thread = thread;
	/* Relaxed: a count. */
	__atomic_fetch_sub(&cpa_header()->running, 1, __ATOMIC_RELAXED);
	/* RELEASE: a reader that finds the state finds the rest. */
	__atomic_store_n(&p->state, CPA_PROCESS_ENDED, __ATOMIC_RELEASE);
	return true;
}

void cpa_process_exec(struct cpa_worker *w, uint64_t cpu)
{
	struct cpa_process_row *p = cpa_process(cpa_process_number);

	if (!cpa_process_number)
		return;
	cpa_journal_release(&w->self, NULL, 0, 1);
	cpa_process_drop_token(&w->self, cpa_process_number);
	p->token = cpa_token_new(&w->self, &w->self.row->path);
	p->epoch = w->window.epoch;
	p->exec_cpu = cpu;
	/* RELEASE: pairs with given_row(). */
	__atomic_store_n(&p->state, CPA_PROCESS_EXECED, __ATOMIC_RELEASE);
}

void cpa_process_exec_off(void)
{
	struct cpa_process_row *p = cpa_process(cpa_process_number);

	if (!cpa_process_number)
		return;
	p->epoch = 0;
	/* RELEASE: as in cpa_process_exec(). */
	__atomic_store_n(&p->state, CPA_PROCESS_EXECED, __ATOMIC_RELEASE);
}

void cpa_process_not_exec(void)
{
	if (cpa_process_number)
		/* RELEASE: a reader that finds it running finds the rest. */
		__atomic_store_n(&cpa_process(cpa_process_number)->state, CPA_PROCESS_RUNNING,
				 __ATOMIC_RELEASE);
}
