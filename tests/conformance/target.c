/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/target.c - what runs in the surroundings of tests/e2e/surroundings.py
 *
 *	target work [N]		some of everything, N times in each thread; ends with 5
 *	target cpu		three threads of unequal CPU time, which it prints
 *	target fill N [ROUNDS]	uses N mutexes, starts N/100 threads, ends with 6
 *	target halves N		as fill N, waits for a line, as fill N, children, work; ends with 5
 *	target loop		says "ready", then works until it is killed
 *	target exec PROGRAM ARGUMENT...
 *	target daemon FILE	goes to the background, works, leaves its word in FILE
 *	target quiet		closes its standard error, works, ends with 5
 *	target child		what a child that becomes another user has of its parent's memory
 *	target after CHANGE	changes what is around it, works, ends with 5; see change()
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int sum, begun, rounds = 300;
static bool mute;

/* Infinite if the clock cannot be read, so that burn() ends. */
static double cpu_s(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return INFINITY;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double end_s = cpu_s() + seconds;

	while (cpu_s() < end_s)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void *worker(void *argument)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&m);
		sum++;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m);
		if (argument && i % 100 == 0)
			burn(0.005);
	}
	return argument;
}

static int work(void)
{
	pthread_t t[4];
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	sem_t s;
	int failed = 0;

	sem_init(&s, 0, 1);
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&t[i], NULL, worker, &s), "pthread_create");
	pthread_mutex_lock(&m);
	while (sum < 2 * rounds)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	failed +=
		sem_wait(&s) + sem_post(&s) + pthread_rwlock_wrlock(&l) + pthread_rwlock_unlock(&l);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	poll(NULL, 0, 0);
	if (mute)
		return failed ? 1 : 5;
	begin("work");
	add(" sum=%d failed=%d", sum, failed);
	end();
	for (int i = 0; i < 3; i++) {
		begin("descriptor");
		DO("is", open("/dev/null", O_RDONLY));
		end();
	}
	return 5;
}

static double used_s[3];

static void *unequal(void *argument)
{
	int me = (int)(intptr_t)argument;

	for (int i = 0; i < 40; i++) {
		burn(0.001 * (me + 1));
		pthread_mutex_lock(&m);
		sum++;
		pthread_mutex_unlock(&m);
	}
	used_s[me] = cpu_s();
	return NULL;
}

static void *unequal_0(void *argument)
{
	return unequal(argument);
}

static void *unequal_1(void *argument)
{
	return unequal(argument);
}

static void *unequal_2(void *argument)
{
	return unequal(argument);
}

static int unequal_threads(void)
{
	static void *(*const routines[3])(void *) = { unequal_0, unequal_1, unequal_2 };
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t[i], NULL, routines[i], (void *)(intptr_t)i), "create");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%.6f %.6f %.6f\n", used_s[0], used_s[1], used_s[2]);
	return 0;
}

static int fill(int n)
{
	pthread_mutex_t *all = calloc((size_t)n, sizeof(*all));
	long failed = 0;

	must(all, "calloc");
	for (int i = 0; i < n; i++) {
		pthread_t t;

		failed += pthread_mutex_init(&all[i], NULL);
		failed += pthread_mutex_lock(&all[i]);
		failed += pthread_mutex_trylock(&all[i]) != EBUSY;
		failed += pthread_mutex_unlock(&all[i]);
		if (i % 100)
			continue;
		failed += pthread_create(&t, NULL, worker, NULL);
		failed += pthread_join(t, NULL);
		sum %= 1000;
	}
	begin("fill");
	add(" failed=%ld sum=%d", failed, sum);
	end();
	return 6;
}

/* What is around it may change in between. */
static int halves(int n)
{
	int status = 0;
	pid_t child;
	char go;

	fill(n);
	if (read(STDIN_FILENO, &go, 1) != 1)
		return 1;
	errno = UNTOUCHED;
	fill(n);
	begin("errno");
	add(" %d", errno);
	end();
	begin("child");
	DO("system", system("exit 3"));
	end();
	begin("fork");
	child = fork();
	if (!child) {
		fill(1);
		_exit(4);
	}
	DO("waitpid", waitpid(child, &status, 0) == child ? status : -1);
	end();
	sum = 0;
	return work();
}

static void *endless(void *argument)
{
	pthread_mutex_lock(&m);
	begun++;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	for (;;) {
		pthread_mutex_lock(&m);
		sum++;
		pthread_mutex_unlock(&m);
		sleep_ms(1);
	}
	return argument;
}

static int loop(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t, NULL, endless, NULL), "pthread_create");
	pthread_mutex_lock(&m);
	while (begun < 3)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	burn(0.05);
	begin("ready");
	end();
	endless(NULL);
	return 0;
}

static int background(const char *path)
{
	int fd;

	if (daemon(0, 0))
		return 1;
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	return work();
}

/* Become another user, @how: by libc, or by one of the calls as bare as syscall() has them. */
static int become(const char *how, long user)
{
	if (!strcmp(how, "setreuid"))
		return (int)syscall(SYS_setreuid, user, user);
	if (!strcmp(how, "setresuid"))
		return (int)syscall(SYS_setresuid, -1, user, -1);
	return strcmp(how, "setuid") ? setuid((uid_t)user) : (int)syscall(SYS_setuid, user);
}

/* How many files the child has mapped to write into for others to see, and whether it works. */
static int child(const char *how)
{
	char line_of_maps[4400];
	int shared = 0, status = 0;
	FILE *maps;

	in_thread(worker, &sum);
	if (fork() > 0) {
		wait(&status);
		sum = 0;
		return WEXITSTATUS(status) == 5 ? work() : 1;
	}
	must(!become(how, 65534), how);
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line_of_maps, sizeof(line_of_maps), maps))
		shared += strstr(line_of_maps, " rw-s ") != NULL;
	begin("child");
	add(" shared=%d", shared);
	end();
	sum = 0;
	return work();
}

/* From now on system calls that the program itself never makes end it, or (@fail) fail. */
static int filter(bool fail)
{
	static const unsigned calls[] = {
		SYS_perf_event_open, SYS_timer_create, SYS_timer_settime, SYS_timer_delete,
		SYS_getrusage,	     SYS_pread64,      SYS_fcntl
	};
	struct sock_filter code[2 * sizeof(calls) / sizeof(calls[0]) + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { 1, code };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		code[program.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		code[program.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K,
			fail ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Whatever is mapped from now on is locked, and counts against the limit. */
static int lock_memory(void)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17);
	return pthread_setattr_default_np(&small) || mlockall(MCL_FUTURE) ? -1 : 0;
}

/* 0; -1 if it cannot be done here. */
static int change(const char *what)
{
	in_thread(worker, &sum);
	sum = 0;
	if (!strcmp(what, "user"))
		return setuid(65534);
	if (!strcmp(what, "root"))
		return chroot("/proc/self/fdinfo") ? -1 : chdir("/");
	if (!strcmp(what, "descriptors"))
		return closefrom(3), 0;
	if (!strcmp(what, "streams")) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		mute = true;
		return 0;
	}
	if (!strcmp(what, "calls"))
		return filter(true);
	if (!strcmp(what, "calls, or die"))
		return filter(false);
	if (!strcmp(what, "memory"))
		return lock_memory();
	if (!strcmp(what, "counter"))
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return -1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "work") && argc > 2)
		rounds = atoi(argv[2]);
	if (!strcmp(what, "fill") && argc > 3)
		rounds = atoi(argv[3]);
	if (!strcmp(what, "work"))
		return work();
	if (!strcmp(what, "cpu"))
		return unequal_threads();
	if (!strcmp(what, "fill") && argc > 2)
		return fill(atoi(argv[2]));
	if (!strcmp(what, "halves") && argc > 2)
		return halves(atoi(argv[2]));
	if (!strcmp(what, "loop"))
		return loop();
	if (!strcmp(what, "exec") && argc > 2) {
		in_thread(worker, NULL);
		execv(argv[2], argv + 2);
		return 1;
	}
	if (!strcmp(what, "daemon") && argc > 2)
		return background(argv[2]);
	if (!strcmp(what, "child"))
		return child(argc > 2 ? argv[2] : "libc");
	if (!strcmp(what, "after") && argc > 2)
		return change(argv[2]) ? 77 : work();
	if (!strcmp(what, "quiet")) {
		close(STDERR_FILENO);
		return work();
	}
	return 2;
}
