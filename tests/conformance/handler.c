/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/handler.c - signal handlers: set, asked for, run, and left by longjmp
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <ucontext.h>

#include "tests/conformance/case.h"

static volatile int caught, caught_code, caught_value, masked;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sigjmp_buf jump;
static sem_t s;

static void handler(int sig)
{
	caught += sig;
}

static void handler_info(int sig, siginfo_t *info, void *context)
{
	sigset_t now;

	(void)context;
	caught += sig;
	caught_code = info->si_code;
	caught_value = info->si_value.sival_int;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	masked = sigismember(&now, SIGUSR2) * 2 + sigismember(&now, sig);
}

static const char *handler_name(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == handler_info ? "info" : "other" :
	       a->sa_handler == SIG_DFL ? "default" :
	       a->sa_handler == SIG_IGN ? "ignore" :
	       a->sa_handler == handler ? "handler" :
					  "other";
}

static void add_action(int sig)
{
	struct sigaction a;
	int ret = sigaction(sig, NULL, &a);

	add(" [%d %s flags %#x mask %d%d]", ret, handler_name(&a),
	    (unsigned)a.sa_flags & ~0x04000000u, sigismember(&a.sa_mask, SIGUSR2),
	    sigismember(&a.sa_mask, sig));
}

/* Work for @ms of CPU time. */
static void work(int ms)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	for (long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	     now.tv_sec * 1000 + now.tv_nsec / 1000000 < until;)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

/*
 * The settings of a signal, one after the other: each begins with what the one before has left. The
 * profiler uses SIGSTKFLT itself; nothing of that may show.
 */

static void ignored(int sig, const char *name)
{
	struct sigaction a = { .sa_handler = SIG_IGN }, old;

	begin("%s: ignored", name);
	DO("set", sigaction(sig, &a, &old));
	add(" was %s", handler_name(&old));
	add_action(sig);
	DO("raise", raise(sig));
	end();
}

static void by_signal(int sig, const char *name)
{
	sighandler_t before;

	begin("%s: signal()", name);
	caught = 0;
	before = signal(sig, handler);
	add(" was ignored=%d", before == SIG_IGN);
	add_action(sig);
	DO("raise", raise(sig));
	add(" caught=%d", caught == sig);
	before = signal(sig, SIG_IGN);
	add(" was handler=%d", before == handler);
	DO("raise", raise(sig));
	add(" caught=%d", caught == sig);
	end();
}

static void with_information(int sig, const char *name)
{
	struct sigaction a = { .sa_sigaction = handler_info, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction old;

	begin("%s: with information", name);
	sigaddset(&a.sa_mask, SIGUSR2);
	caught = 0;
	DO("set", sigaction(sig, &a, &old));
	add(" was %s", handler_name(&old));
	add_action(sig);
	DO("queue", sigqueue(getpid(), sig, (union sigval){ .sival_int = 77 }));
	add(" caught=%d code=%d value=%d masked=%d", caught == sig, caught_code, caught_value,
	    masked);
	DO("raise", raise(sig));
	add(" caught=%d code=%d", caught == 2 * sig, caught_code);
	end();
}

static void not_deferred(int sig, const char *name)
{
	struct sigaction a = { .sa_sigaction = handler_info, .sa_flags = SA_SIGINFO | SA_NODEFER };

	begin("%s: not deferred, not masked", name);
	sigaction(sig, &a, NULL);
	raise(sig);
	add(" masked=%d", masked);
	a.sa_flags = SA_SIGINFO;
	sigaction(sig, &a, NULL);
	raise(sig);
	add(" masked=%d", masked);
	end();
}

static void once(int sig, const char *name)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESETHAND };

	begin("%s: once", name);
	caught = 0;
	sigaction(sig, &a, NULL);
	DO("raise", raise(sig));
	add(" caught=%d", caught == sig);
	add_action(sig);
	end();
}

/* Have @sig come each @ms milliseconds from now on. */
static void start_timer(int sig, timer_t *timer, int ms)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	struct itimerspec every = { { 0, ms * 1000000 }, { 0, ms * 1000000 } };

	DO("timer", timer_create(CLOCK_MONOTONIC, &event, timer));
	DO("start", timer_settime(*timer, 0, &every, NULL));
}

static void interrupts(int sig, const char *name)
{
	struct sigaction a = { .sa_handler = handler };
	struct timespec t = { 300, 0 }, left;
	timer_t timer;

	begin("%s: interrupts", name);
	sigaction(sig, &a, NULL);
	start_timer(sig, &timer, 20);
	DO("sleep", nanosleep(&t, &left));
	sem_init(&s, 0, 0);
	DO("wait", sem_wait(&s));
	timer_delete(timer);
	end();
}

static void while_ignored(int sig, const char *name)
{
	struct timespec t = { 0, 60000000 }, left;
	timer_t timer;

	begin("%s: while ignored", name);
	signal(sig, SIG_IGN);
	start_timer(sig, &timer, 5);
	DO("sleep", nanosleep(&t, &left));
	timer_delete(timer);
	end();
}

static void waited_for(int sig, const char *name)
{
	struct sigaction a = { .sa_handler = handler };
	struct timespec zero = { 0, 0 };
	sigset_t set, pending;
	int got = 0;

	begin("%s: blocked, pending, waited for", name);
	sigaction(sig, &a, NULL);
	caught = 0;
	sigemptyset(&set);
	sigaddset(&set, sig);
	DO("block", pthread_sigmask(SIG_BLOCK, &set, NULL));
	work(20); /* a sampler's signal of the same number may be pending */
	raise(sig);
	sigpending(&pending);
	add(" caught=%d pending=%d", caught, sigismember(&pending, sig));
	DO("wait", sigwait(&set, &got));
	add(" got=%d", got == sig);
	DO("timed", sigtimedwait(&set, NULL, &zero));
	raise(sig);
	DO("info", sigwaitinfo(&set, NULL) == sig);
	kill(getpid(), sig); /* pending for the process: the thread's is another one */
	raise(sig);
	DO("first", sigtimedwait(&set, NULL, &zero));
	DO("second", sigtimedwait(&set, NULL, &zero));
	DO("unblock", pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	add(" caught=%d", caught);
	end();
}

static void settings(int sig)
{
	const char *name = sigabbrev_np(sig);

	begin("%s: asked for", name);
	add_action(sig);
	end();
	ignored(sig, name);
	by_signal(sig, name);
	with_information(sig, name);
	not_deferred(sig, name);
	once(sig, name);
	interrupts(sig, name);
	while_ignored(sig, name);
	waited_for(sig, name);
	begin("%s: default again", name);
	add(" %d", signal(sig, SIG_DFL) == handler);
	add_action(sig);
	end();
}

/* No signal of @set is pending, by either way to ask. */
static void find_none(const sigset_t *set)
{
	struct signalfd_siginfo info;
	sigset_t pending;
	int fd, found = 0;

	work(20);
	DO("pending", sigpending(&pending));
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		found += sigismember(&pending, sig) > 0;
	fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	add(" %d, descriptor=%zd", found, read(fd, &info, sizeof(info)));
	close(fd);
}

/* A program that waits for every signal, as servers do, gets those that were sent to it. */
static void waits_for_all(void)
{
	struct timespec t = { 0, 1000000 };
	sigset_t set, before;
	int sig = 0;

	begin("every signal blocked and waited for");
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, &before);
	for (int round = 0; round < 3; round++) {
		work(600);
		if (round == 0) {
			DO("timed", sigtimedwait(&set, NULL, &t));
			find_none(&set);
			continue;
		}
		raise(SIGUSR2);
		DO("wait", round == 1 ? sigwait(&set, &sig) : sigwaitinfo(&set, NULL) != SIGUSR2);
		add(" %s", sigabbrev_np(sig));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	end();
}

static void refused(void)
{
	struct sigaction a = { .sa_handler = handler };

	begin("refused");
	DO("0", sigaction(0, &a, NULL));
	DO("65", sigaction(65, &a, NULL));
	DO("kill", sigaction(SIGKILL, &a, NULL));
	DO("kill", signal(SIGKILL, handler) == SIG_ERR);
	DO("stop", sigaction(SIGSTOP, NULL, &a));
	DO("32", sigaction(32, &a, NULL));
	DO("raise", raise(0));
	DO("raise", raise(-1));
	DO("kill -1", kill(getpid(), 99));
	DO("pthread_kill", pthread_kill(pthread_self(), 99));
	DO("pthread_kill", pthread_kill(pthread_self(), 0));
	end();
}

/* A handler for every signal there is, as crash reporters set. */
static void all_signals(void)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int done = 0, same = 0;

	begin("a handler for every signal");
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction got;

		if (sigaction(sig, &a, NULL))
			continue;
		done++;
		same += !sigaction(sig, NULL, &got) && got.sa_handler == handler;
	}
	add(" set=%d kept=%d", done, same);
	caught = 0;
	for (int sig = 1; sig < 65; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sig != 32 && sig != 33)
			raise(sig);
	add(" sum=%d", caught);
	a.sa_handler = SIG_DFL;
	for (int sig = 1; sig < 65; sig++)
		sigaction(sig, &a, NULL);
	end();
}

static void locking_handler(int sig)
{
	struct timespec t = at(PAST, CLOCK_REALTIME);
	static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

	(void)sig;
	/* Not promised to work by POSIX; programs do it where the signal cannot meet the lock. */
	if (!pthread_mutex_trylock(&other))
		pthread_mutex_unlock(&other);
	sem_post(&s);
	if (sem_timedwait(&s, &t))
		caught += 1000000;
	caught++; /* no pthread_cond_signal(): the signal may have met the condition's own lock */
}

static volatile int over;

static void *shoot(void *argument)
{
	for (int i = 0; !over; i++) {
		int before = caught;

		pthread_kill(*(pthread_t *)argument, SIGUSR1);
		while (caught == before && !over)
			sched_yield();
		/* What is interrupted must get on, however slow its calls are. */
		for (volatile int pause = 0; pause < 20000 + i * 37 % 5000; pause++)
			;
	}
	return NULL;
}

static void locks_in_handlers(void)
{
	struct sigaction a = { .sa_handler = locking_handler, .sa_flags = SA_RESTART };
	pthread_t self = pthread_self(), t;
	long failed = 0;

	begin("handlers that lock and post interrupt locks");
	sem_init(&s, 0, 0);
	sigaction(SIGUSR1, &a, NULL);
	caught = 0;
	must(!pthread_create(&t, NULL, shoot, &self), "pthread_create");
	for (int i = 0; i < 20000 || caught < 100; i++) {
		struct timespec soon = at(PAST, CLOCK_REALTIME);

		failed += pthread_mutex_lock(&m);
		failed += i % 7 ? 0 : pthread_cond_timedwait(&c, &m, &soon) % ETIMEDOUT;
		failed += pthread_mutex_unlock(&m);
	}
	over = 1;
	pthread_join(t, NULL);
	add(" failed=%ld errors=%d", failed, caught >= 1000000);
	end();
}

static void jumping_handler(int sig)
{
	siglongjmp(jump, sig);
}

/* Out of calls that wait, by longjmp: what was waited for still works. */
static void jumps(int what)
{
	static const char *const names[] = { "sem_wait", "nanosleep", "read", "poll", "user code" };
	struct sigaction a = { .sa_handler = jumping_handler };
	struct itimerval soon = { { 0, 0 }, { 0, 10000 } };
	volatile int jumped = 0;
	int fds[2];

	begin("longjmp out of %s", names[what]);
	must(!pipe(fds), "pipe");
	sem_init(&s, 0, 0);
	sigaction(SIGALRM, &a, NULL);
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(jump, 1)) {
			jumped++;
			continue;
		}
		setitimer(ITIMER_REAL, &soon, NULL);
		if (what == 0)
			sem_wait(&s);
		else if (what == 1)
			sleep_ms(300000);
		else if (what == 2)
			add(" %zd", read(fds[0], &a, 1));
		else if (what == 3)
			pselect(0, NULL, NULL, NULL, NULL, NULL);
		else
			for (;;)
				;
	}
	add(" jumped=%d", jumped);
	DO("post", sem_post(&s));
	DO("wait", sem_wait(&s));
	DO("lock", pthread_mutex_lock(&m));
	DO("unlock", pthread_mutex_unlock(&m));
	close(fds[0]);
	close(fds[1]);
	end();
}

static char alternate[65536];

static void on_alternate(int sig)
{
	char here;

	caught += (&here >= alternate && &here < alternate + sizeof(alternate)) ? sig : 1000;
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
}

static void alternate_stack(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) }, old;
	struct sigaction a = { .sa_handler = on_alternate, .sa_flags = SA_ONSTACK };

	begin("alternate stack");
	DO("set", sigaltstack(&stack, &old));
	add(" disabled=%d", old.ss_flags == SS_DISABLE);
	caught = 0;
	sigaction(SIGUSR1, &a, NULL);
	DO("raise", raise(SIGUSR1));
	add(" caught=%d", caught == SIGUSR1);
	caught = 0;
	sigaction(SIGSTKFLT, &a, NULL);
	DO("raise", raise(SIGSTKFLT));
	add(" caught=%d", caught == SIGSTKFLT);
	a.sa_flags = 0;
	caught = 0;
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	add(" own stack=%d", caught == 1000);
	signal(SIGSTKFLT, SIG_DFL);
	end();
}

static void long_on_alternate(int sig)
{
	struct timespec t;
	long end_ms;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end_ms = t.tv_sec * 1000 + t.tv_nsec / 1000000 + 12;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end_ms);
	caught += sig;
}

/* It has room for one signal and a little, and a page behind it that nobody may touch. */
static void small_alternate_stack(void)
{
	size_t page = 4096, size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1280;
	char *memory =
		mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory + page, .ss_size = size },
		none = { .ss_flags = SS_DISABLE };
	struct sigaction a = { .sa_handler = long_on_alternate, .sa_flags = SA_ONSTACK }, old;

	must(memory != MAP_FAILED && !mprotect(memory, page, PROT_NONE), "mmap");
	begin("small alternate stack");
	DO("set", sigaltstack(&stack, NULL));
	sigaction(SIGUSR1, &a, NULL);
	caught = 0;
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	add(" caught=%d masks", caught / SIGUSR1);
	sigaction(SIGUSR1, NULL, &old);
	add(" %d", sigismember(&old.sa_mask, SIGSTKFLT));
	sigaddset(&a.sa_mask, SIGSTKFLT);
	sigaction(SIGUSR1, &a, &old);
	add(" %d", sigismember(&old.sa_mask, SIGSTKFLT));
	sigaction(SIGUSR1, NULL, &old);
	add(" %d", sigismember(&old.sa_mask, SIGSTKFLT));
	signal(SIGUSR1, SIG_DFL);
	DO("unset", sigaltstack(&none, NULL));
	munmap(memory, 16 * page);
	end();
}

/* CPU-bound work while our sampler's signals arrive: the program's mask and errno are untouched. */
static void undisturbed(void)
{
	sigset_t set;
	long changed = 0;
	struct timespec t;

	begin("errno and mask while running");
	errno = UNTOUCHED;
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		changed += errno != UNTOUCHED;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 300000000);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	add(" changed=%ld", changed);
	for (int sig = 1; sig < 65; sig++)
		if (sigismember(&set, sig) > 0)
			add(" blocked %d", sig);
	end();
}

int main(void)
{
	undisturbed();
	waits_for_all();
	/* The program sends SIGSTKFLT: from then on sigpending() shows one that is pending. */
	settings(SIGSTKFLT);
	settings(SIGUSR1);
	refused();
	all_signals();
	locks_in_handlers();
	for (int what = 0; what < 5; what++)
		jumps(what);
	alternate_stack();
	small_alternate_stack();
	undisturbed();
	return 0;
}
