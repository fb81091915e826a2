/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/traced.c - a program that a debugger runs: each signal stops it
 *
 * The child computes for a while, which has samples elsewhere. Its tracer counts the signals that
 * it meets: the one of exec, and nothing of ours.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define CPU_MS 200

static int compute(void)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < CPU_MS * 1000000);
	return 42;
}

int main(int argc, char **argv)
{
	int status, signals = 0;
	pid_t child;

	if (argc > 1)
		return compute();
	child = fork();
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		execl("/proc/self/exe", argv[0], "traced", (char *)NULL);
		_exit(2);
	}
	begin("a traced program");
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

		/* Of many that are alike the first few do. */
		if (signals++ < 5)
			add(" %s", sigabbrev_np(WSTOPSIG(status)));
		ptrace(PTRACE_CONT, child, NULL, sig);
	}
	add(" %s %d", WIFEXITED(status) ? "exit" : "signal",
	    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	end();
	return 0;
}
