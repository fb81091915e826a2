/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/confined.c - a filter of system calls for all threads, which are anywhere
 *
 * Sandboxes install it when their threads are there. What it forbids, the program itself does not
 * do; the profiler does, if it goes on.
 */
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define RACES	8
#define BURN	20000000 /* some CPU timers of the profiler pass meanwhile */
#define TIMEOUT 300000	 /* ms; they are woken before */

static volatile int arrived, trapped, go, stop;
static int ends[2];
static uint32_t word;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t joined;
static sem_t sem;

static void wait_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void wait_cond(void)
{
	pthread_mutex_lock(&cond_mutex);
	while (!go)
		pthread_cond_wait(&cond, &cond_mutex);
	pthread_mutex_unlock(&cond_mutex);
}

static void wait_cond_timed(void)
{
	struct timespec t = at(FAR, CLOCK_REALTIME);

	pthread_mutex_lock(&cond_mutex);
	while (!go)
		pthread_cond_timedwait(&cond, &cond_mutex, &t);
	pthread_mutex_unlock(&cond_mutex);
}

static void wait_read(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void wait_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void wait_sem(void)
{
	while (sem_wait(&sem))
		;
}

static void wait_barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void wait_futex(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_join(void)
{
	pthread_join(joined, NULL);
}

static void wait_pipe(void)
{
	char c;

	while (read(ends[0], &c, 1) < 0)
		;
}

static void wait_poll(void)
{
	struct pollfd fd = { .fd = ends[0], .events = POLLIN };

	while (poll(&fd, 1, TIMEOUT) < 0)
		;
}

static void wait_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event);
	while (epoll_wait(fd, &event, 1, TIMEOUT) < 0)
		;
}

static void wait_sleep(void)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sleep_ms(5);
}

static void wait_signal(void)
{
	struct timespec t = { 0, 5000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sigtimedwait(&set, NULL, &t);
}

static void (*const waits[])(void) = { wait_mutex, wait_cond,  wait_cond_timed, wait_read,
				       wait_write, wait_sem,   wait_barrier,	wait_futex,
				       wait_join,  wait_pipe,  wait_poll,	wait_epoll,
				       wait_sleep, wait_signal };
#define WAITS (sizeof(waits) / sizeof(waits[0]))

static void burn(void)
{
	for (volatile int i = 0; i < BURN; i++)
		;
}

static void *waiter(void *argument)
{
	void (*const *wait)(void) = argument;

	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
	if (wait)
		(*wait)();
	burn();
	wait_mutex();
	return NULL;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	trapped = info->si_syscall;
}

/*
 * System calls that the program does not make: of one that it does, with this value of this
 * argument.
 */
static const struct {
	unsigned call;
	int argument;
	unsigned value;
} forbidden[] = {
	{ SYS_timer_create, -1, 0 },
	{ SYS_timer_settime, -1, 0 },
	{ SYS_timer_delete, -1, 0 },
	{ SYS_timer_gettime, -1, 0 },
	{ SYS_timer_getoverrun, -1, 0 },
	{ SYS_perf_event_open, -1, 0 },
	{ SYS_open, -1, 0 },
	{ SYS_openat, -1, 0 },
	{ SYS_fstat, -1, 0 },
	{ SYS_statx, -1, 0 },
	{ SYS_readlink, -1, 0 },
	{ SYS_unlink, -1, 0 },
	{ SYS_ftruncate, -1, 0 },
	{ SYS_fallocate, -1, 0 },
	{ SYS_fcntl, -1, 0 },
	{ SYS_dup2, -1, 0 },
	{ SYS_dup3, -1, 0 },
	{ SYS_pread64, -1, 0 },
	{ SYS_pwrite64, -1, 0 },
	{ SYS_process_vm_readv, -1, 0 },
	{ SYS_getrusage, -1, 0 },
	{ SYS_sched_getaffinity, -1, 0 },
	{ SYS_rt_sigpending, -1, 0 },
	{ SYS_sigaltstack, -1, 0 },
	{ SYS_tgkill, -1, 0 },
	{ SYS_kill, -1, 0 },
	{ SYS_getpid, -1, 0 },
	{ SYS_getppid, -1, 0 },
	{ SYS_gettid, -1, 0 },
	{ SYS_nanosleep, -1, 0 },
	{ SYS_mremap, -1, 0 },
	{ SYS_membarrier, -1, 0 },
	{ SYS_madvise, 2, 23 /* MADV_POPULATE_WRITE */ },
	{ SYS_clock_gettime, 0, CLOCK_THREAD_CPUTIME_ID },
};
#define FORBIDDEN (sizeof(forbidden) / sizeof(forbidden[0]))

static int install(unsigned action)
{
	const unsigned number = BPF_LD | BPF_W | BPF_ABS, same = BPF_JMP | BPF_JEQ | BPF_K;
	struct sock_filter code[5 * FORBIDDEN + 1];
	struct sock_fprog program = { 0, code };

	for (size_t i = 0; i < FORBIDDEN; i++) {
		const size_t nr = offsetof(struct seccomp_data, nr);
		size_t what = nr;
		unsigned value = forbidden[i].call;

		if (forbidden[i].argument >= 0) {
			what = offsetof(struct seccomp_data, args[forbidden[i].argument]);
			value = forbidden[i].value;
		}
		code[program.len++] = (struct sock_filter)BPF_STMT(number, nr);
		code[program.len++] = (struct sock_filter)BPF_JUMP(same, forbidden[i].call, 0, 3);
		code[program.len++] = (struct sock_filter)BPF_STMT(number, what);
		code[program.len++] = (struct sock_filter)BPF_JUMP(same, value, 0, 1);
		code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &program);
}

static void wake_all(void)
{
	pthread_mutex_lock(&cond_mutex);
	go = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&cond_mutex);
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_unlock(&rwlock);
	sem_post(&sem);
	pthread_barrier_wait(&barrier);
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	must(write(ends[1], "abc", 3) == 3, "write");
}

static void prepare(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	must(!pipe(ends), "pipe");
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
}

/* Threads wait in every way when the filter comes, and go on; others begin. */
static int waiting(unsigned action)
{
	pthread_t threads[WAITS + 1];
	int ret;

	prepare();
	must(!pthread_create(&joined, NULL, waiter, (void *)&waits[0]), "pthread_create");
	for (size_t i = 0; i < WAITS; i++)
		must(!pthread_create(&threads[i], NULL, waiter, (void *)&waits[i]),
		     "pthread_create");
	await(&arrived, WAITS + 1);
	sleep_ms(50); /* nothing hangs on it, but that they do wait by then */
	ret = install(action);
	wake_all();
	for (size_t i = 0; i < WAITS; i++)
		pthread_join(threads[i], NULL);
	ret |= install(action); /* once more */
	for (size_t i = 0; i < WAITS; i++)
		must(!pthread_create(&threads[i], NULL, waiter, NULL), "pthread_create");
	for (size_t i = 0; i < WAITS; i++)
		pthread_join(threads[i], NULL);
	return ret ? 77 : 0;
}

/* Waits that are short, so that threads come back from one all the time. */
static void *hurry(void *argument)
{
	struct timespec t = { 0, 1000 };

	(void)argument;
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&mutex);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
		pthread_mutex_unlock(&mutex);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
	return NULL;
}

/* It comes at any instruction of other threads. */
static int racing(unsigned action)
{
	pthread_t threads[4];
	int ret;

	for (size_t i = 0; i < 4; i++)
		must(!pthread_create(&threads[i], NULL, hurry, NULL), "pthread_create");
	await(&arrived, 4);
	sleep_ms(10);
	ret = install(action);
	sleep_ms(10);
	set(&stop, 1);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return ret ? 77 : 0;
}

static void on_request(int sig)
{
	(void)sig;
	set(&go, install(SECCOMP_RET_KILL_PROCESS) ? 77 : 1);
}

/* From a handler, of a thread that is in its calls all the time. */
static int handled(unsigned action)
{
	struct sigaction handler = { .sa_handler = on_request };
	pthread_t thread;

	(void)action;
	sigaction(SIGUSR1, &handler, NULL);
	must(!pthread_create(&thread, NULL, hurry, NULL), "pthread_create");
	await(&arrived, 1);
	sleep_ms(5);
	pthread_kill(thread, SIGUSR1);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	sleep_ms(10);
	set(&stop, 1);
	pthread_join(thread, NULL);
	return go == 77 ? 77 : 0;
}

static void *suspends(void *nothing)
{
	sigset_t others;

	(void)nothing;
	sigfillset(&others);
	sigdelset(&others, SIGUSR2);
	set(&arrived, 1);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		sigsuspend(&others);
	return NULL;
}

static void on_end(int sig)
{
	if (sig == SIGUSR1)
		set(&go, prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) ? 77 : 1);
}

/*
 * No clock for a thread any more, from a handler that interrupts the call which sent the signal, in a
 * program with threads that wait for signals.
 */
static int without_clock(unsigned action)
{
	struct sigaction handler = { .sa_handler = on_end };
	pthread_t thread;
	sigset_t waited;

	(void)action;
	sigaction(SIGUSR1, &handler, NULL);
	sigaction(SIGUSR2, &handler, NULL);
	sigemptyset(&waited);
	sigaddset(&waited, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &waited, NULL);
	must(!pthread_create(&thread, NULL, suspends, NULL), "pthread_create");
	await(&arrived, 1);
	sleep_ms(10);
	set(&stop, 1);
	pthread_kill(thread, SIGUSR2);
	pthread_join(thread, NULL);
	kill(getpid(), SIGUSR1); /* the only thread that lets it through */
	return go == 77 ? 77 : 0;
}

/* How it ends in a process of its own: the status, and which call was trapped at last. */
static void confined(const char *name, int (*f)(unsigned action), unsigned action)
{
	int status;
	pid_t pid;

	begin("%s", name);
	pid = fork();
	if (!pid) {
		status = f(action);
		_exit(status ? status : trapped ? 200 : 0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid, "child");
	if (WIFSIGNALED(status))
		add(" killed by %s", sigabbrev_np(WTERMSIG(status)));
	else
		add(" ends with %d", WEXITSTATUS(status));
	end();
}

int main(void)
{
	confined("fails", waiting, SECCOMP_RET_ERRNO | EPERM);
	confined("traps", waiting, SECCOMP_RET_TRAP);
	confined("kills the thread", waiting, SECCOMP_RET_KILL_THREAD);
	confined("kills", waiting, SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < RACES; i++) {
		confined("race, traps", racing, SECCOMP_RET_TRAP);
		confined("race, kills", racing, SECCOMP_RET_KILL_PROCESS);
		confined("from a handler", handled, 0);
	}
	confined("no clock, from a handler", without_clock, 0);
	CASE("the first process, kills", waiting(SECCOMP_RET_KILL_PROCESS));
	return 0;
}
