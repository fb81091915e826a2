/* SPDX-License-Identifier: MIT */
/*
 * preload/process/spawn.c - children that are not made by fork()
 *
 * posix_spawn(), system() and popen() make a child that uses our memory until it calls exec(), and
 * run no fork handlers. The parent offers a token with its path, and the new program looks for it
 * when it begins. When the parent knows the pid, it gives the token to that child; until then, if
 * several threads do this at once, a child takes the oldest token. The child of vfork() calls the
 * wrappers of preload/process/exec.c in its parent's memory, while the thread that made it is
 * stopped: they claim a process row for it.
 */
#include "preload/process/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/process/life.h"
#include "preload/libc/pid.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/process/wait.h"
#include "preload/stream/holders.h"
#include "shadow/arch/arch.h"
#include "shadow/journal/journal.h"
#include "shadow/edge/offer.h"
#include "shadow/path/token.h"

#define STREAMS 64u

struct offer {
	struct cpa_worker *w;
	uint64_t now, now_ns; /* @now_ns is a time like a process's seen_ns */
	uint32_t token, place;
};

/* Inside our code, at an event; token 0: none. */
static uint32_t release(struct cpa_worker *w)
{
	cpa_process_has_children = true;
	cpa_journal_release(&w->self, NULL, 0, 1);
	return cpa_token_new(&w->self, &w->self.row->path);
}

/*
 * Offer the calling thread's path to a child to come. If o.w is set, the thread is inside our code.
 */
static struct offer offer(uint64_t caller)
{
	struct offer o = { .w = cpa_process_number ? cpa_enter() : NULL,
			   .now = cpa_clock_now(),
			   .place = CPA_OFFERS };

	if (!o.w)
		return o;
	o.now = cpa_event(o.w, CPA_EV_FORK, caller, 0);
	o.now_ns = cpa_pid_now_ns();
	o.token = release(o.w);
	if (o.token)
		o.place = cpa_offer(cpa_process_number, o.token);
	if (o.place == CPA_OFFERS && o.token) {
		cpa_token_free(&o.w->self, o.token);
		o.token = 0;
	}
	return o;
}

/* Withdraw the offer. Return whether no child has taken the token. */
static bool withdraw(uint32_t place, uint32_t token)
{
	struct cpa_worker *w;

	if (!token || !cpa_offer_take_back(cpa_process_number, place, token))
		return false;
	w = cpa_enter_any();
	if (w) {
		cpa_token_free(&w->self, token);
		cpa_leave();
	}
	return true;
}

/*
 * The child of row @number is that of offer @o. It may run before we know its row, and have noted a later clock as its
 * begin, as it did not know who had made it.
 */
static void know(uint32_t number, const struct offer *o)
{
	uint64_t *begin = &cpa_process(number)->start_ticks;
	/* Relaxed, both: a clock. If the child notes its own at this moment, that is what it was without us. */
	uint64_t noted = __atomic_load_n(begin, __ATOMIC_RELAXED);

	if (!noted || noted > o->now + 1)
		__atomic_store_n(begin, o->now + 1, __ATOMIC_RELAXED);
	cpa_process_tell(number);
}

/* The child that is to have the token is @pid. */
static void bind(const struct offer *o, uint32_t pid)
{
	uint32_t number = cpa_process_find(pid, cpa_process_number, UINT64_MAX), surplus, own;
	struct cpa_process_row *p;

	if (number && cpa_process(number)->seen_ns >= o->now_ns) {
		know(number, o);
		return; /* it has a row already, and may be its second program by now */
	}
	number = cpa_process_claim(cpa_process_number);
	if (!number) {
		withdraw(o->place, o->token);
		return;
	}
	p = cpa_process(number);
	p->epoch = o->w->window.epoch;
	p->name = 0;
	know(number, o); /* nobody else knows the row yet */
	cpa_process_seen(number, pid);
	cpa_process_adopt(number, o->now_ns); /* its own children may have taken it first */
	surplus = cpa_offer_bind(number, o->now_ns, o->place, o->token);
	if (surplus)
		cpa_token_free(&o->w->self, surplus);
	/* The child may have a row that it made itself. */
	own = cpa_process_find(pid, cpa_process_number, UINT64_MAX);
	if (own && own != number)
		know(own, o);
}

static int spawned(struct offer *o, int ret, const pid_t *pid)
{
	if (!o->w || !o->token)
		return ret;
	if (ret) {
		withdraw(o->place, o->token);
	} else if (*pid > 0) {
		cpa_reenter();
		bind(o, (uint32_t)*pid);
		cpa_leave();
	}
	return ret;
}

/* The time in the call is the program's. */
static struct offer offer_and_go_on(uint64_t caller)
{
	struct offer o = offer(caller);

	if (o.w)
		cpa_done(o.w);
	return o;
}

/* Call @original, a version of posix_spawn() or posix_spawnp(). */
static int spawn_by(int (*original)(pid_t *, const char *, const posix_spawn_file_actions_t *,
				    const posix_spawnattr_t *, char *const *, char *const *),
		    pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		    const posix_spawnattr_t *attributes, char *const argv[], char *const envp[],
		    uint64_t caller)
{
	struct offer o = offer_and_go_on(caller);
	pid_t own, *told = pid ? pid : &own;
	int ret;

	cpa_holders_forking(false);
	if (o.token)
		cpa_offer_spawning(cpa_process_number, 1);
	ret = spawned(&o, original(told, file, actions, attributes, argv, envp), told);
	if (o.token)
		cpa_offer_spawning(cpa_process_number, -1);
	cpa_holders_forked(false);
	return ret;
}

/* The older versions give a file that is no executable to a shell. */
#define SPAWN(name, function, version)                                                           \
	CPA_EXPORT int name(pid_t *pid, const char *file,                                        \
			    const posix_spawn_file_actions_t *actions,                           \
			    const posix_spawnattr_t *attributes, char *const argv[],             \
			    char *const envp[])                                                  \
	{                                                                                        \
		return spawn_by(REAL_VERSION(function, version), pid, file, actions, attributes, \
				argv, envp, CPA_CALLER());                                       \
	}

SPAWN(posix_spawn, posix_spawn, CPA_ARCH_GLIBC_SPAWN)
CPA_OLDER(posix_spawn, CPA_ARCH_GLIBC_FIRST);
SPAWN(posix_spawn_older, posix_spawn, CPA_ARCH_GLIBC_FIRST)
SPAWN(posix_spawnp, posix_spawnp, CPA_ARCH_GLIBC_SPAWN)
CPA_OLDER(posix_spawnp, CPA_ARCH_GLIBC_FIRST);
SPAWN(posix_spawnp_older, posix_spawnp, CPA_ARCH_GLIBC_FIRST)

/* The child with @token, which began after tick @since, was waited for in @op. */
static void waited(struct cpa_op *op, uint32_t token, uint32_t place, uint64_t since, int status)
{
	struct cpa_child child = { .token = withdraw(place, token) ? 0 : token, .since = since };

	cpa_child_waited(op, status == -1 ? NULL : &child, status);
}

struct system_call {
	struct cpa_op op;
	struct offer offer;
};

/* The C library has killed the child of a call that was cancelled, and waited for it. */
static void cancelled(void *argument)
{
	struct system_call *c = argument;
	struct cpa_child child = { .since = c->offer.now, .cancelled = true };

	child.token = withdraw(c->offer.place, c->offer.token) ? 0 : c->offer.token;
	cpa_child_waited(&c->op, &child, SIGKILL);
}

CPA_EXPORT int system(const char *command)
{
	struct system_call c = { .op = CPA_OP(NULL, CPA_CALLER()) };
	int ret;

	if (!command)
		return REAL(system)(command);
	cpa_holders_astray();
	c.offer = offer(CPA_CALLER());
	if (c.offer.w) {
		c.op.w = c.offer.w;
		c.op.arrived = c.offer.now;
		cpa_op_block(&c.op);
	}
	pthread_cleanup_push(cancelled, &c);
	ret = REAL(system)(command);
	pthread_cleanup_pop(0);
	waited(&c.op, c.offer.token, c.offer.place, c.offer.now, ret);
	return ret;
}

/*
 * Streams of popen(), and the children that pclose() will wait for. stream 0: free, 1: being set.
 */
static struct stream {
	uint64_t stream, since; /* tick before the child began */
	uint32_t token, place;
} streams[STREAMS];

/* Take a place whose stream is @key. NULL: there is none. */
static struct stream *take_place(uint64_t key)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		/* Relaxed: looked at again when it is taken. */
		uint64_t found = __atomic_load_n(&streams[i].stream, __ATOMIC_RELAXED);

		/* ACQUIRE: the last user of the place has finished. Pairs with RELEASE in note_stream(), forget_stream(). */
		if (found == key &&
		    __atomic_compare_exchange_n(&streams[i].stream, &found, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &streams[i];
	}
	return NULL;
}

/* Note that the child of @o is behind @stream. A stream of before at that address was closed unseen. */
static void note_stream(const FILE *stream, const struct offer *o)
{
	struct stream *s = take_place((uint64_t)stream);

	if (!s)
		s = take_place(0);
	if (!s)
		return;
	s->since = o->now;
	s->token = o->token;
	s->place = o->place;
	/* RELEASE: pairs with take_place(). */
	__atomic_store_n(&s->stream, (uint64_t)stream, __ATOMIC_RELEASE);
}

CPA_EXPORT FILE *popen(const char *command, const char *mode)
{
	struct offer o = offer_and_go_on(CPA_CALLER());
	FILE *ret;

	cpa_holders_forking(false);
	ret = REAL(popen)(command, mode);
	cpa_holders_forked(false);
	if (o.token && !ret)
		withdraw(o.place, o.token);
	if (ret)
		note_stream(ret, &o);
	return ret;
}

/* The program is about to close @stream. Return true if popen() made it, with a copy of its entry in *@noted. */
static bool forget_stream(const FILE *stream, struct stream *noted)
{
	struct stream *s = take_place((uint64_t)stream);

	if (likely(!s))
		return false;
	*noted = *s;
	/* RELEASE: the place may be used again. Pairs with take_place(). */
	__atomic_store_n(&s->stream, 0, __ATOMIC_RELEASE);
	return true;
}

/* @original waits for the child of @stream. */
static int close_stream(FILE *stream, int (*original)(FILE *), const struct stream *noted,
			uint64_t caller)
{
	struct cpa_op op = cpa_child_wait(caller);
	int ret = original(stream);

	waited(&op, noted->token, noted->place, noted->since, ret);
	return ret;
}

CPA_EXPORT int pclose(FILE *stream)
{
	struct stream noted = { .since = cpa_clock_now() };

	forget_stream(stream, &noted);
	return close_stream(stream, REAL(pclose), &noted, CPA_CALLER());
}

/* It waits for the child, too, as pclose() is the same function. */
CPA_EXPORT int fclose(FILE *stream)
{
	struct stream noted;

	if (likely(!forget_stream(stream, &noted)))
		return REAL(fclose)(stream);
	return close_stream(stream, REAL(fclose), &noted, CPA_CALLER());
}

/* The last child of vfork() became no other program: what it would have begun after is not for the next one. */
static void forget_vforked(void)
{
	struct cpa_worker *w = cpa_tls.worker && cpa_tls.worker->vforked ? cpa_enter_any() : NULL;

	if (!w)
		return;
	cpa_token_free(&w->self, w->vforked);
	w->vforked = 0;
	cpa_leave();
}

/*
 * Called before vfork(). Return the original, to which the wrapper jumps: it returns twice, so it
 * must return to our caller.
 */
static __attribute__((used)) void *vforking(void)
{
	struct cpa_worker *w;

	forget_vforked();
	w = cpa_process_number ? cpa_enter() : NULL;
	if (w) {
		cpa_event(w, CPA_EV_FORK, 0, 0);
		w->vforked = release(w);
		cpa_done(w);
	}
	cpa_holders_astray();
	return (void *)REAL(vfork);
}

CPA_EXPORT __attribute__((naked)) pid_t vfork(void)
{
	CPA_ARCH_JUMP_TO_CHOICE_OF(vforking);
}

uint32_t cpa_spawn_exec(void)
{
	struct cpa_worker *w = cpa_tls.worker;
	uint32_t number;

	if (!*cpa_alive || cpa_tls.inside || !w || !w->vforked || cpa_process_is_this())
		return 0;
	number = cpa_process_claim(cpa_process_number);
	if (!number)
		return 0;
	cpa_process_tell(number);
	cpa_process(number)->token = w->vforked;
	cpa_process(number)->start_ticks = cpa_token(w->vforked)->path.released + 1;
	cpa_process(number)->epoch = w->window.epoch;
	cpa_process_told(number, (uint32_t)getpid());
	w->vforked = 0;
	return number;
}

void cpa_spawn_not_exec(uint32_t number)
{
	struct cpa_process_row *p = cpa_process(number);

	cpa_tls.worker->vforked = p->token;
	p->token = 0;
	cpa_process_free(number);
}

/* _Fork() runs no fork handlers: signal handlers of the program may call it. */
CPA_EXPORT pid_t _Fork(void)
{
	bool leaves = *cpa_alive;
	pid_t pid;

	cpa_holders_astray();
	if (leaves)
		cpa_alive_forking();
	pid = REAL(_Fork)();
	if (!pid && leaves)
		cpa_alive_leave(false);
	return pid;
}

/* A child that runs no fork handlers, or a thread. All arguments are passed on, whether or not there are. */
CPA_EXPORT int clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
	va_list list;
	void *more[3];

	va_start(list, argument);
	for (unsigned i = 0; i < 3; i++)
		more[i] = va_arg(list, void *);
	va_end(list);
	cpa_holders_astray();
	return REAL(clone)(run, stack, flags, argument, more[0], more[1], more[2]);
}

/* Fork handlers of the program in the parent may fork, and note a child of their own. */
CPA_EXPORT pid_t fork(void)
{
	const uint32_t outer = cpa_tls.child, moves = cpa_holders_moves();
	pid_t pid = REAL(fork)();
	int err = errno;
	uint32_t number = pid ? cpa_tls.child : 0;
	struct cpa_worker *w;

	if (pid)
		cpa_tls.child = outer;
	if (!number || number == outer)
		return pid;
	if (pid > 0) { /* the child notes it itself, unless it dies first or does not know */
		cpa_process_seen(number, (uint32_t)pid);
	} else {
		cpa_holders_not_forked(moves);
		w = cpa_enter();
		if (w) {
			if (cpa_process(number)->token)
				cpa_token_free(&w->self, cpa_process(number)->token);
			cpa_process_free(number);
			cpa_leave();
		}
	}
	errno = err;
	return pid;
}
