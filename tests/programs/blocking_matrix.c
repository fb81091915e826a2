/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocking_matrix.c - each operation that blocks, in each way that it can go on
 *
 *	blocking_matrix SCENARIO [FAMILY/VARIANT]
 *
 * Runs all operations of blocking_ops.h, or one, one after another. Each has two threads: the waiter
 * works, blocks, and works; the releaser works while the waiter is blocked, and releases it. For each
 * a line of JSON tells what the program knows: results, CPU time by the threads' own clocks, and
 * how long the waiter was blocked. tests/e2e/blocking_matrix.py compares that with the profile.
 * Scenarios that switch parts of the run are for CPA_START=off.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/cpa.h"
#include "tests/programs/blocking_ops.h"
#include "tests/programs/burn.h"

#define WORK_MS	    2
#define PATIENCE_NS 20000000
#define FAR_S	    100
#define SPIN_NS	    1000000 /* of CPU time, by when who waits for a spin lock spins */
#define POLL_US	    200
#define SENTINEL    77 /* errno before the call */

/* How the operation goes on. */
static const struct scenario {
	const char *name;
	bool begins; /* the part begins before the threads are made */
	bool starts; /* a part begins while the waiter is blocked */
	bool stops;  /* a part ends while the waiter is blocked; before the other begins */
	bool ends;   /* the part ends behind the operation */
	int signal;  /* that the blocked waiter gets */
	bool cancels, expires;
} scenarios[] = {
	{ .name = "on" },
	{ .name = "off" },
	{ .name = "start", .starts = true, .ends = true },
	{ .name = "stop", .begins = true, .stops = true },
	{ .name = "restart", .begins = true, .stops = true, .starts = true, .ends = true },
	{ .name = "cancelled", .cancels = true },
	{ .name = "timeout", .expires = true },
	{ .name = "jump", .signal = SIGUSR1 },
	{ .name = "fork", .signal = SIGUSR2 },
};

static __thread struct cell *current; /* of a waiter */

/* The cell of each thread, for who reads its clock when nothing of the program follows. */
static pthread_key_t ending;
static __thread unsigned endings;

static bool disturbs(const struct scenario *s)
{
	return s->signal || s->cancels;
}

static int get(const int *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void set(int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void must(bool good, const char *text)
{
	if (!good) {
		perror(text);
		exit(3);
	}
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t elapsed_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

/* The CPU time of @thread, of this process. */
static int64_t cpu_ns_of(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) ? 0 : ns_of(clock);
}

/* No cancellation point, and no event. */
static void pause_us(unsigned us)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	usleep(us);
	pthread_setcancelstate(state, &state);
}

static void await(const int *word)
{
	while (!get(word))
		pause_us(POLL_US);
}

/* Work of WORK_MS and @more_ns, in a function of its own; return how long it was. */
static __attribute__((noinline)) int64_t work(int64_t more_ns)
{
	int64_t from = burn_clock_ns();

	burn_ms(WORK_MS + (int)(more_ns / 1000000));
	return burn_clock_ns() - from;
}

static const struct timespec *after(struct cell *c, clockid_t clock)
{
	int64_t wait = c->scenario->expires ? PATIENCE_NS : FAR_S * INT64_C(1000000000);
	int64_t at = (clock < 0 ? 0 : ns_of(clock)) + wait;

	c->due_at = elapsed_ns() + wait;
	c->due.tv_sec = at / 1000000000;
	c->due.tv_nsec = at % 1000000000;
	return &c->due;
}

static const struct timespec *due(struct cell *c, clockid_t clock)
{
	return after(c, clock);
}

static const struct timespec *patience(struct cell *c)
{
	return after(c, -1);
}

static int64_t patience_us(struct cell *c)
{
	const struct timespec *t = after(c, -1);

	return t->tv_sec * 1000000 + t->tv_nsec / 1000;
}

/* Whether thread @c->tid sleeps. Not by stdio: no locks, and no events. */
static bool sleeps(const struct cell *c)
{
	char path[64], text[256] = "";
	const char *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)c->pid, get(&c->tid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* The waiter is blocked, or has tried in vain; or it is over already. */
static void await_blocked(struct cell *c)
{
	await(&c->tid);
	if (c->op->properties & TRIES)
		while (!get(&c->tries) && !get(&c->gone))
			pause_us(POLL_US);
	else if (c->op->properties & SPINS)
		while (cpu_ns_of(c->waiting) < c->arrived_ns + SPIN_NS && !get(&c->gone))
			pause_us(POLL_US);
	else
		while (!sleeps(c) && !get(&c->gone))
			pause_us(POLL_US);
	c->blocked_at = elapsed_ns();
}

/*
 * Work of the releaser: longer than all that the others may have done since it began to hold, with
 * the elapsed time of a handler, which waits for a child that is in no profile, and with what a
 * child's parent did to find the waiter blocked. That of a child is a region, as no row of the
 * report is its thread's alone.
 */
static void work_longer(struct cell *c)
{
	int64_t from, others = c->arrived_ns + c->handled_ns;
	bool child = c->op->properties & CHILD;

	await(&c->created);
	if (child && disturbs(c->scenario)) {
		await(&c->disturbed);
		others += c->disturber_ns;
	}
	from = burn_clock_ns();
	if (child)
		CPA_REGION_BEGIN(c->op->name);
	c->last_ns = work(c->creator_ns + others + 1000000);
	c->released_ns += c->last_ns;
	if (child) {
		CPA_REGION_END();
		c->released_most_ns += burn_clock_ns() - from;
	}
}

/*
 * End the part, or begin one, or both. What the releaser does before it begins one may be cut in
 * proportion, if it loses its processor just then.
 */
static void switch_parts(struct cell *c)
{
	const struct scenario *s = c->scenario;
	bool child = c->op->properties & CHILD;
	int64_t from = elapsed_ns();

	if (s->stops) {
		CPA_STOP();
		if (!child && !s->starts)
			c->released_most_ns = burn_clock_ns();
		work(0);
	}
	if (s->starts)
		CPA_START();
	c->off_ns = elapsed_ns() - from;
}

/* A child, which may be in no part at all, lets its parent switch. */
static void let_switch(struct cell *c)
{
	set(&c->asked, 1);
	await(&c->switched);
}

static void keep(struct cell *c)
{
	const struct scenario *s = c->scenario;

	await_blocked(c);
	if (s->cancels && c->op->properties & CHILD)
		await(&c->disturbed);
	if (s->expires || s->signal == SIGUSR1 || (s->cancels && c->op->properties & CANCELS)) {
		await(&c->gone);
		return;
	}
	if (s->signal)
		await(&c->handled);
	if (s->stops)
		work_longer(c);
	if (s->stops || s->starts)
		(c->op->properties & CHILD ? let_switch : switch_parts)(c);
	if (s->starts || !s->stops)
		work_longer(c);
	c->blocked_until = elapsed_ns();
}

/* What another thread does to the waiter; the parent, where a child keeps it waiting. */
static void disturb(struct cell *c)
{
	const struct scenario *s = c->scenario;

	if (c->op->properties & CHILD && (s->stops || s->starts)) {
		await(&c->asked);
		switch_parts(c);
		set(&c->switched, 1);
	}
	if (!disturbs(s))
		return;
	await_blocked(c);
	if (s->signal)
		pthread_kill(c->waiting, s->signal);
	else
		pthread_cancel(c->waiting);
	c->disturber_ns = burn_clock_ns();
	set(&c->disturbed, 1);
}

static void body(struct cell *c)
{
	sem_post(&c->held);
	disturb(c);
	keep(c);
}

static void on_jump(int sig)
{
	(void)sig;
	siglongjmp(current->target, 1);
}

/* Ends a sigsuspend(), which alone lets the signal through. */
static void on_awaited(int sig)
{
	(void)sig;
	set(&current->word, 1);
}

/* The child takes a lock, works, and ends; the handler waits for it. */
static void on_fork(int sig)
{
	struct cell *c = current;
	int64_t from = elapsed_ns();
	int err = errno;
	pid_t pid = fork();

	(void)sig;
	if (!pid) {
		pthread_mutex_lock(&c->own);
		work(0);
		pthread_mutex_unlock(&c->own);
		_exit(7);
	}
	while (waitpid(pid, &c->handler_status, 0) < 0 && errno == EINTR)
		;
	c->handled_ns = elapsed_ns() - from;
	set(&c->handled, 1);
	errno = err;
}

/*
 * Called in each round of the thread's destructors; in the last one little is left that a profiler can count. A thread
 * may take long from its last statement to there, as where it is the first that is cancelled.
 */
static void at_end(void *cell)
{
	struct cell *c = cell;

	if (++endings < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(ending, c);
	} else if (pthread_equal(pthread_self(), c->waiting)) {
		c->ended_ns = burn_clock_ns();
	} else {
		if (!(c->op->properties & CHILD) && (c->scenario->starts || !c->scenario->stops))
			c->released_most_ns = burn_clock_ns();
		set(&c->released, 1);
	}
}

/* What the waiter does behind the operation. */
static void go_on(struct cell *c, bool has)
{
	c->to = elapsed_ns();
	c->back_ns = burn_clock_ns();
	c->after_ns = work(0);
	if (has && c->op->finish)
		c->op->finish(c);
	pthread_mutex_lock(&c->own);
	pthread_mutex_unlock(&c->own);
	set(&c->gone, 1);
}

static void unwound(void *cell)
{
	struct cell *c = cell;

	c->cancelled = 1;
	if (!c->after_ns)
		go_on(c, c->op->properties & REACQUIRES);
}

static int try(struct cell *c)
{
	int ret;

	while ((ret = c->op->block(c)) == EBUSY || ret == EAGAIN) {
		set(&c->tries, c->tries + 1);
		if (c->scenario->expires)
			break;
		pause_us(POLL_US);
	}
	return ret;
}

static void wait_in(struct cell *c)
{
	bool tries = c->op->properties & TRIES;

	current = c;
	pthread_setspecific(ending, c);
	c->begun_ns = burn_clock_ns();
	c->before_ns = work(0);
	c->from = elapsed_ns();
	c->arrived_ns = burn_clock_ns();
	pthread_cleanup_push(unwound, c);
	if (!sigsetjmp(c->target, 1)) {
		set(&c->tid, (int)syscall(SYS_gettid));
		errno = SENTINEL;
		c->result = tries ? try(c) : c->op->block(c);
		c->error = tries ? 0 : errno;
		c->has = !c->result;
	} else {
		c->jumped = 1;
	}
	go_on(c, c->has || c->op->properties & REACQUIRES);
	pthread_testcancel();
	pthread_cleanup_pop(0);
}

static void release_in(struct cell *c)
{
	pthread_setspecific(ending, c);
	c->op->hold(c);
	c->released_at = elapsed_ns();
}

#define CELL_FUNCTIONS(family, variant, kin, finish, properties, call) \
	static int block_##family##_##variant(struct cell *c)          \
	{                                                              \
		(void)c;                                               \
		return (call);                                         \
	}                                                              \
	static void *waiter_##family##_##variant(void *cell)           \
	{                                                              \
		wait_in(cell);                                         \
		return cell;                                           \
	}                                                              \
	static void *releaser_##family##_##variant(void *cell)         \
	{                                                              \
		release_in(cell);                                      \
		return cell;                                           \
	}
OPERATIONS(CELL_FUNCTIONS)

#define ROW(family, variant, kin, finish, properties, call) \
	{ #family "_" #variant,                             \
	  properties,                                       \
	  block_##family##_##variant,                       \
	  kin##_prepare,                                    \
	  kin##_hold,                                       \
	  finish,                                           \
	  waiter_##family##_##variant,                      \
	  releaser_##family##_##variant },
static const struct operation operations[] = { OPERATIONS(ROW) };

static void print(const struct cell *c)
{
	printf("{\"operation\": \"%s\", \"properties\": %u, \"result\": %d, \"errno\": %d, "
	       "\"jumped\": %d, \"cancelled\": %d, \"handler_status\": %d, \"tried\": %d",
	       c->op->name, c->op->properties, c->result, c->error, c->jumped, c->cancelled,
	       c->handler_status, c->tries > 0);
#define TELL(what) printf(", \"%s\": %lld", #what, (long long)c->what)
	TELL(begun_ns), TELL(arrived_ns), TELL(back_ns), TELL(ended_ns);
	TELL(before_ns), TELL(after_ns), TELL(handled_ns);
	TELL(released_ns), TELL(released_most_ns), TELL(last_ns), TELL(off_ns);
	TELL(blocked_at), TELL(blocked_until), TELL(released_at), TELL(from), TELL(to);
	TELL(due_at), TELL(life), TELL(child);
	puts("}");
}

static void run(const struct operation *op, const struct scenario *s)
{
	/* Never given back: what a jump or a time-out leaves may not be destroyed. */
	struct cell *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t from = burn_clock_ns();

	must(c != MAP_FAILED, "mmap");
	c->op = op;
	c->scenario = s;
	c->pid = getpid();
	sem_init(&c->held, 0, 0);
	pthread_mutex_init(&c->own, NULL);
	op->prepare(c);
	if (s->begins)
		CPA_START();
	must(!pthread_create(&c->releasing, NULL, op->releaser, c), "pthread_create");
	while (sem_wait(&c->held))
		;
	c->life = elapsed_ns();
	must(!pthread_create(&c->waiting, NULL, op->waiter, c), "pthread_create");
	c->creator_ns = burn_clock_ns() - from;
	set(&c->created, 1);
	must(!pthread_join(c->waiting, NULL), "pthread_join");
	c->life = elapsed_ns() - c->life;
	/* After a jump out of a join nobody else may join. */
	if (!(op->properties & JOINS) || (!c->jumped && !c->has))
		must(!pthread_join(c->releasing, NULL), "pthread_join");
	if (op->properties & CHILD && !c->has)
		must(waitpid(c->child, NULL, 0) == c->child, "waitpid");
	await(&c->released);
	if (s->ends)
		CPA_STOP();
	print(c);
}

/* An operation that never blocks, or spins, or has no deadline, has nothing to meet. */
static bool applies(const struct operation *op, const struct scenario *s)
{
	if (op->properties & INNER && (s->cancels || s->signal == SIGUSR1))
		return false;
	if (s->expires)
		return op->properties & (EXPIRES | TRIES);
	return !s->signal || !(op->properties & TRIES);
}

int main(int argc, char **argv)
{
	const struct scenario *s = NULL;
	struct sigaction jump = { .sa_handler = on_jump }, forks = { .sa_handler = on_fork };
	struct sigaction wakes = { .sa_handler = on_awaited };

	for (unsigned i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(scenarios[i].name, argv[1]))
			s = &scenarios[i];
	if (!s)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(!pthread_key_create(&ending, at_end), "pthread_key_create");
	forks.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &jump, NULL);
	sigaction(SIGUSR2, &forks, NULL);
	sigaction(AWAITED, &wakes, NULL);
	pthread_sigmask(SIG_BLOCK, awaited(), NULL);
	for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if ((argc < 3 || !strcmp(operations[i].name, argv[2])) &&
		    applies(&operations[i], s))
			run(&operations[i], s);
	if (!strcmp(s->name, "off")) {
		CPA_START();
		work(0);
		CPA_STOP();
	}
	return 0;
}
