/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/single.c - a process with one thread finds that it has one thread
 *
 * Sandboxes look before they close themselves in, and unshare(CLONE_NEWUSER) fails with EINVAL in
 * a process that has others. The profiler must not be seen as one, not even for a moment. Nor may a
 * thread of its own leave a trace: the kernel gives threads one list for SEM_UNDO, and kcmp() sees it.
 */
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 60
#define WORK_MS	 25

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A folder has a link for each folder in it, and two of its own. */
static int has_one_thread(void)
{
	struct stat task;

	return stat("/proc/self/task", &task) || task.st_nlink == 3;
}

/*
 * Neither this process nor its parent has a list for SEM_UNDO. Kernels and sandboxes without kcmp()
 * do not tell.
 */
static int never_had_threads(void)
{
	return syscall(SYS_kcmp, getpid(), getppid(), KCMP_SYSVSEM, 0, 0) <= 0;
}

/* Work and lock, so that the profiler does whatever it does after a while; look all the time. */
static int child(void)
{
	int good = 1;

	while (good && cpu_ms() < WORK_MS) {
		pthread_mutex_lock(&mutex);
		good = has_one_thread();
		pthread_mutex_unlock(&mutex);
		good &= has_one_thread();
	}
	return good && never_had_threads();
}

int main(void)
{
	int bad = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0)
			_exit(child() ? 0 : 1);
		if (wait(&status) < 0 || status)
			bad++;
	}
	printf("%d of %d processes found another thread, or its trace\n", bad, CHILDREN);
	return bad != 0;
}
