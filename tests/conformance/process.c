/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/process.c - children of a program with threads: fork, vfork, clone, spawn
 *
 * While other threads hold and hand over locks, children of every kind are made; each uses what
 * it may, and its exit status says what it found.
 */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

extern char **environ;

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
/* Of main alone: in a child that libc knows nothing of, another may be in the midst of a wait. */
static pthread_cond_t mains = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static volatile int stop, noisy, prepared, in_parent, in_child;
static sem_t s;

static void *make_noise(void *argument)
{
	struct timespec t;
	sigset_t alarms;

	/* The child of a thread that makes noise would do so for ever: fork_in_wait() is main's. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	for (bool first = true; !stop; first = false) {
		pthread_mutex_lock(&busy);
		t = in_ms(CLOCK_REALTIME, 1);
		pthread_cond_timedwait(&c, &busy, &t);
		pthread_mutex_unlock(&busy);
		pthread_rwlock_rdlock(&rw);
		pthread_rwlock_unlock(&rw);
		sem_post(&s);
		sem_wait(&s);
		free(malloc(1000));
		if (first)
			__atomic_fetch_add(&noisy, 1, __ATOMIC_RELEASE);
	}
	return argument;
}

static void *use_locks(void *argument)
{
	intptr_t failed = 0;

	for (int i = 0; i < 100; i++)
		failed += pthread_mutex_lock(&own) + pthread_mutex_unlock(&own);
	return (void *)(failed + (intptr_t)argument);
}

/* What a child does; its result is 42 if all is well. */
static int work(void)
{
	pthread_t t[3];
	void *result;
	sem_t mine;
	int failed = 0;
	struct timespec past = at(PAST, CLOCK_REALTIME);
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
	pthread_barrier_t b;

	failed += pthread_mutex_lock(&own);
	failed += pthread_mutex_trylock(&own) != EBUSY;
	failed += pthread_cond_timedwait(&fresh, &own, &past) != ETIMEDOUT;
	failed += pthread_mutex_unlock(&own);
	failed += sem_init(&mine, 0, 1) + sem_wait(&mine) + sem_post(&mine);
	failed += pthread_barrier_init(&b, NULL, 1);
	failed += pthread_barrier_wait(&b) != PTHREAD_BARRIER_SERIAL_THREAD;
	failed += pthread_once(&once, tzset);
	for (intptr_t i = 0; i < 3; i++)
		failed += pthread_create(&t[i], NULL, use_locks, (void *)i);
	for (intptr_t i = 0; i < 3; i++)
		failed += pthread_join(t[i], &result) + (result != (void *)i);
	return failed ? 1 : 42;
}

static void add_status(pid_t child)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child)
		add(" no child");
	else if (WIFSIGNALED(status))
		add(" signal %d", WTERMSIG(status));
	else
		add(" exit %d", WEXITSTATUS(status));
}

static void fork_exit(void)
{
	pid_t child = fork();

	if (!child)
		_exit(work());
	add_status(child);
}

static void fork_return(void)
{
	pid_t child = fork();

	if (!child)
		exit(work());
	add_status(child);
}

static void fork_twice(void)
{
	pid_t child = fork(), grandchild;
	int status;

	if (!child) {
		if (work() != 42)
			_exit(1);
		grandchild = fork();
		if (!grandchild)
			_exit(work());
		_exit(waitpid(grandchild, &status, 0) == grandchild ? WEXITSTATUS(status) : 2);
	}
	add_status(child);
}

static void fork_killed(void)
{
	pid_t child = fork();

	if (!child) {
		work();
		raise(SIGKILL);
	}
	add_status(child);
}

static void fork_thread_exits(void)
{
	pid_t child = fork();

	if (!child) {
		pthread_t t;

		pthread_create(&t, NULL, use_locks, NULL);
		pthread_exit(NULL); /* status 0 when the other has ended, too */
	}
	add_status(child);
}

static void raw_fork(void)
{
	pid_t child = (pid_t)syscall(SYS_fork);

	if (!child) {
		/* libc does not know that this is another process: only calls that need not. */
		int failed = pthread_mutex_lock(&own) + pthread_mutex_unlock(&own) +
			     pthread_cond_signal(&mains) + sem_post(&s);

		_exit(failed ? 1 : 42);
	}
	add_status(child);
}

static void raw_clone(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	if (!child) {
		int failed = pthread_mutex_lock(&own) + pthread_mutex_unlock(&own) + sem_post(&s) +
			     sem_wait(&s);

		syscall(SYS_exit_group, failed ? 1 : 42);
	}
	add_status(child);
}

static int at_once(void *unused)
{
	(void)unused;
	_exit(42);
}

/* As Chromium's sandbox changes its root: a child in our memory, whose thread pointer is no thread. */
static void clone_without_thread(void)
{
	static _Alignas(16) char stack[64 << 10], tls[16 << 10];

	add_status(clone(at_once, stack + sizeof(stack),
			 CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, NULL, NULL,
			 tls + sizeof(tls) / 2));
}

static int jump_back(void *to)
{
	longjmp(*(jmp_buf *)to, 1);
}

static __attribute__((noinline)) pid_t clone_behind(jmp_buf *to)
{
	_Alignas(16) char stack[16 << 10];

	return clone(jump_back, stack + sizeof(stack), SIGCHLD, to);
}

/* As Chromium's zygote forks: the child jumps into the frame of its parent's caller. */
static void clone_and_jump(void)
{
	jmp_buf here;

	if (setjmp(here))
		_exit(work());
	add_status(clone_behind(&here));
}

static void no_fork(void)
{
	pid_t child = _Fork();

	if (!child)
		_exit(pthread_mutex_lock(&own) + pthread_mutex_unlock(&own) ? 1 : 42);
	add_status(child);
}

static volatile pid_t forked;
static sem_t wake;

static void forks(int sig)
{
	(void)sig;
	forked = fork();
	sem_post(&wake);
}

/* Parent and child both return to the wait that the handler interrupted. */
static void fork_in_wait(void)
{
	struct sigaction a = { .sa_handler = forks, .sa_flags = SA_RESTART };
	struct itimerval soon = { .it_value = { 0, 50000 } };

	sem_init(&wake, 0, 0);
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (sem_wait(&wake))
		;
	if (!forked)
		_exit(work());
	add_status(forked);
}

static void vfork_exit(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(43);
	add_status(child);
}

static void vfork_exec(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/bin/sh", "sh", "-c", "exit 44", (char *)NULL);
		_exit(1);
	}
	add_status(child);
}

static void vfork_no_exec(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/nowhere", "nowhere", (char *)NULL);
		_exit(127);
	}
	add_status(child);
}

static void fork_exec(void)
{
	pid_t child = fork();

	if (!child) {
		work();
		execl("/bin/sh", "sh", "-c", "exit 45", (char *)NULL);
		_exit(1);
	}
	add_status(child);
}

static void spawn(void)
{
	char *const arguments[] = { "sh", "-c", "exit 46", NULL };
	pid_t child = -1;
	int ret = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);

	add(" %d", ret);
	add_status(child);
	add(" %d", posix_spawn(&child, "/nowhere", NULL, NULL, arguments, environ));
}

static void by_system(void)
{
	add(" %d", WEXITSTATUS(system("exit 47")));
}

static void by_popen(void)
{
	char text[32] = "";
	FILE *f = popen("echo said; exit 48", "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	add(" %zu %d", n, f ? WEXITSTATUS(pclose(f)) : -1);
}

static const struct {
	const char *name;
	void (*make)(void);
} kinds[] = { { "fork, _exit", fork_exit },
	      { "fork, exit", fork_return },
	      { "fork in a child", fork_twice },
	      { "fork, killed", fork_killed },
	      { "fork, main thread exits", fork_thread_exits },
	      { "fork, exec", fork_exec },
	      { "fork in a handler, in a wait", fork_in_wait },
	      { "fork by system call", raw_fork },
	      { "clone by system call", raw_clone },
	      { "clone, no thread", clone_without_thread },
	      { "clone, jump", clone_and_jump },
	      { "_Fork", no_fork },
	      { "vfork, _exit", vfork_exit },
	      { "vfork, exec", vfork_exec },
	      { "vfork, exec fails", vfork_no_exec },
	      { "posix_spawn", spawn },
	      { "system", by_system },
	      { "popen", by_popen } };

static void before(void)
{
	prepared++;
	pthread_mutex_lock(&own);
}

static void after(void)
{
	in_parent++;
	pthread_mutex_unlock(&own);
}

static void after_in_child(void)
{
	in_child++;
	pthread_mutex_unlock(&own);
}

static void *child_of_thread(void *argument)
{
	pid_t child = fork();

	(void)argument;
	if (!child)
		_exit(work());
	add_status(child);
	return NULL;
}

/* A lock and a barrier in memory that two processes share. */
struct shared {
	pthread_mutex_t m;
	pthread_cond_t c;
	pthread_barrier_t b;
	sem_t ping, pong;
	int sum, turn;
};

static int play(struct shared *p, int me)
{
	int failed = 0;

	for (int i = 0; i < 50; i++) {
		failed += pthread_mutex_lock(&p->m);
		while (p->turn != me)
			failed += pthread_cond_wait(&p->c, &p->m);
		p->sum++;
		p->turn = !me;
		failed += pthread_cond_broadcast(&p->c) + pthread_mutex_unlock(&p->m);
		pthread_barrier_wait(&p->b);
		failed += me ? sem_wait(&p->ping) + sem_post(&p->pong) :
			       sem_post(&p->ping) + sem_wait(&p->pong);
	}
	return failed;
}

static void shared_memory(void)
{
	struct shared *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	pthread_barrierattr_t ba;
	pid_t child;

	pthread_mutexattr_init(&ma);
	pthread_condattr_init(&ca);
	pthread_barrierattr_init(&ba);
	pthread_mutexattr_setpshared(&ma, 1);
	pthread_mutexattr_setrobust(&ma, 1);
	pthread_condattr_setpshared(&ca, 1);
	pthread_barrierattr_setpshared(&ba, 1);
	pthread_mutex_init(&p->m, &ma);
	pthread_cond_init(&p->c, &ca);
	pthread_barrier_init(&p->b, &ba, 2);
	sem_init(&p->ping, 1, 0);
	sem_init(&p->pong, 1, 0);
	begin("two processes share objects");
	child = fork();
	if (!child)
		_exit(play(p, 1) ? 1 : 42);
	add(" failed=%d", play(p, 0));
	add_status(child);
	add(" sum=%d", p->sum);
	end();
	begin("the other process dies with the lock");
	child = fork();
	if (!child) {
		pthread_mutex_lock(&p->m);
		_exit(3);
	}
	add_status(child);
	DO("lock", pthread_mutex_lock(&p->m));
	DO("consistent", pthread_mutex_consistent(&p->m));
	DO("unlock", pthread_mutex_unlock(&p->m));
	end();
}

static volatile int reaped;

static void reap(int sig)
{
	int err = errno;

	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped++;
	errno = err;
}

/* As servers do: the signal may come inside the fork of the next child. */
static void reaped_in_a_handler(void)
{
	struct sigaction action = { .sa_handler = reap, .sa_flags = SA_RESTART };
	int failed = 0;

	begin("children that a handler waits for");
	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < 400; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		failed += child < 0;
		/* Time for a boundary to pass between two looks at the clock. */
		for (volatile int k = 0; k < 100000; k++)
			;
	}
	while (!waitpid(-1, NULL, WNOHANG))
		sched_yield();
	signal(SIGCHLD, SIG_DFL);
	add(" failed=%d", failed);
	end();
}

/* How many children did not end as they were to. */
static void *make_children(void *bad)
{
	for (int i = 0; i < 40; i++) {
		char read[8] = "";
		FILE *f;

		*(int *)bad += system("exit 3") != 3 << 8;
		f = popen("echo hi; exit 2", "r");
		must(f != NULL, "popen");
		*(int *)bad += !fgets(read, sizeof(read), f) || strcmp(read, "hi\n");
		*(int *)bad += pclose(f) != 2 << 8;
	}
	return NULL;
}

/* Which thread's a child is, its parent does not know while it makes it. */
static void of_several_threads(void)
{
	pthread_t thread[4];
	int bad[4] = { 0 };

	begin("system() and popen() in four threads");
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&thread[i], NULL, make_children, &bad[i]), "pthread_create");
	for (int i = 0; i < 4; i++) {
		must(!pthread_join(thread[i], NULL), "pthread_join");
		add(" bad=%d", bad[i]);
	}
	end();
}

int main(void)
{
	pthread_t noise[3];

	sem_init(&s, 0, 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		begin("%s, one thread", kinds[i].name);
		kinds[i].make();
		end();
	}
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&noise[i], NULL, make_noise, NULL), "pthread_create");
	/* What a thread does once is done: it holds no lock of malloc() when a child is made. */
	await(&noisy, 3);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		begin("%s, among threads", kinds[i].name);
		for (int n = 0; n < 5; n++)
			kinds[i].make();
		end();
	}
	begin("fork in a thread");
	in_thread(child_of_thread, NULL);
	end();
	of_several_threads();
	reaped_in_a_handler();
	pthread_atfork(before, after, after_in_child);
	begin("atfork handlers lock");
	fork_exit();
	fork_return();
	add(" prepared=%d parent=%d child=%d", prepared, in_parent, in_child);
	end();
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(noise[i], NULL);
	shared_memory();
	begin("after all that");
	DO("work", work());
	end();
	return 0;
}
