/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/child.c - run a program in place of the launcher
 *
 * The launcher handles no signal: it blocks the signals that it passes on and takes them one by one
 * from sigwaitinfo(), together with SIGCHLD. The program starts with the signal mask and
 * dispositions that the launcher was given.
 */

#include "analysis/launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shadow/store/timespec.h"

static const int passed_on[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH };

/*
 * Whether the terminal sent the signal; it then reaches the whole foreground group, including the
 * program.
 */
static bool from_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL && info->si_signo != SIGALRM;
}

/* In the new process: execute the program, or write errno to @report. */
static _Noreturn void become(const struct cpa_child *child, const struct sigaction *old_chld,
			     pid_t launcher, int report, const char *path, char **argv)
{
	int error;

	/* SIGKILL sent to the launcher is meant for the program. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != launcher)
		_exit(128 + SIGKILL);
	sigaction(SIGCHLD, old_chld, NULL);
	sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
	execv(path, argv);
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}

int cpa_child_start(struct cpa_child *child, const char *path, char **argv)
{
	struct sigaction old_chld, chld = { .sa_handler = SIG_DFL };
	pid_t launcher = getpid();
	sigset_t blocked;
	int report[2], error = 0;
	ssize_t len;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&blocked, passed_on[i]);
	sigprocmask(SIG_BLOCK, &blocked, &child->old_mask);
	/* An inherited SIG_IGN would hide the exit status. */
	sigaction(SIGCHLD, &chld, &old_chld);

	child->started_ns = cpa_timespec_now_ns(CLOCK_MONOTONIC);
	child->pid = fork();
	if (child->pid < 0) {
		error = errno;
		close(report[0]);
		close(report[1]);
		return -error;
	}
	if (child->pid == 0)
		become(child, &old_chld, launcher, report[1], path, argv);

	close(report[1]);
	do
		len = read(report[0], &error, sizeof(error));
	while (len < 0 && errno == EINTR);
	close(report[0]);
	if (len == sizeof(error)) {
		waitpid(child->pid, NULL, 0);
		return -error;
	}
	return 0;
}

/* The program stopped for job control: stop too, so that the shell takes the terminal back. */
static void stop_alike(int status)
{
	int sig = WSTOPSIG(status);

	/* Not for SIGSTOP: it was sent to the program's pid, and so will be SIGCONT. */
	if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
		raise(SIGSTOP);
}

/* Wait for one of the signals @awaited, doing what is due meanwhile. Return it; -1: none. */
static int next_signal(const struct cpa_child *child, const sigset_t *awaited, siginfo_t *info,
		       struct cpa_parts *parts)
{
	uint64_t next = cpa_parts_next(parts),
		 now = cpa_timespec_now_ns(CLOCK_MONOTONIC) - child->started_ns;
	struct timespec left;

	if (next == UINT64_MAX)
		return sigwaitinfo(awaited, info);
	if (next <= now) {
		cpa_parts_act(parts, child->started_ns);
		return -1;
	}
	left = cpa_timespec_of(next - now);
	return sigtimedwait(awaited, info, &left);
}

int cpa_child_wait(const struct cpa_child *child, struct cpa_parts *parts)
{
	sigset_t awaited;
	siginfo_t info;
	int status;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&awaited, passed_on[i]);

	for (;;) {
		pid_t pid = waitpid(child->pid, &status, WNOHANG | WUNTRACED);

		if (pid == child->pid && WIFSTOPPED(status)) {
			stop_alike(status);
			continue;
		}
		if (pid == child->pid || (pid < 0 && errno != EINTR))
			return pid < 0 ? 0 : status;
		if (next_signal(child, &awaited, &info, parts) < 0 || info.si_signo == SIGCHLD)
			continue;
		/*
		 * A signal sent to the group by kill(-pgid) arrives twice: the launcher cannot
		 * tell.
		 */
		if (!from_terminal(&info))
			kill(child->pid, info.si_signo);
	}
}

void cpa_child_end_alike(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t one;
	int sig;

	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	/* The program wrote a core already; a pipe in core_pattern ignores the limit. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal(sig, SIG_DFL);
	raise(sig);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	exit(128 + sig);
}
