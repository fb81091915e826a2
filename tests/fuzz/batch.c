/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/batch.c - run cpa-report on many files in few processes
 *
 *	batch FOLDER <ARGUMENTS    one run of cpa-report a line, its arguments separated by tabs
 *
 * Run n, from 0, leaves its standard output in FOLDER/n.out, its standard error in FOLDER/n.err, and
 * prints "n STATUS", with the exit status, or the negative number of the signal that ended it.
 * BATCH runs share one process, in which cpa-report's main() is called for each. If a run ends that
 * process, the next run begins in a new one; so no run can harm another's result. The end of each
 * process is printed as "end STATUS": a leak that AddressSanitizer finds then is that of one of its runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_MAX 10000u
#define BATCH	 50u
#define WORDS	 16
#define HANGS_S	 60 /* not a limit on speed */

/* analysis/report/report.c, compiled with -Dmain=cpa_report_main */
int cpa_report_main(int argc, char **argv);

static char *line[RUNS_MAX];
static size_t runs;

/* Shared: written by the process of a batch only, read by us once that has ended. */
struct progress {
	size_t begun, ended; /* runs */
	int status[RUNS_MAX];
};
static struct progress *progress;

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(2);
}

static void read_runs(void)
{
	size_t room = 0;

	while (runs < RUNS_MAX && getline(&line[runs], &room, stdin) > 0) {
		line[runs][strcspn(line[runs], "\n")] = '\0';
		runs++;
		room = 0;
	}
	if (!feof(stdin))
		die("too many runs");
}

/* Let descriptor @fd be a new file. */
static void redirect(int fd, const char *folder, size_t run, const char *suffix)
{
	char name[4096];
	int file;

	snprintf(name, sizeof(name), "%s/%zu.%s", folder, run, suffix);
	file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || dup2(file, fd) < 0)
		die(name);
	close(file);
}

static int report(char *arguments)
{
	char *argv[WORDS] = { "cpa-report" }, *word;
	int argc = 1, status;

	while (argc < WORDS - 1 && (word = strsep(&arguments, "\t")))
		argv[argc++] = word;
	optind = 0; /* glibc: parse from the beginning */
	status = cpa_report_main(argc, argv);
	fflush(stdout);
	return status;
}

/* In the process of a batch. */
static void do_runs(const char *folder, size_t from, size_t to)
{
	for (size_t run = from; run < to; run++) {
		redirect(STDOUT_FILENO, folder, run, "out");
		redirect(STDERR_FILENO, folder, run, "err");
		progress->begun = run + 1;
		alarm(HANGS_S);
		progress->status[run] = report(line[run]);
		alarm(0);
		progress->ended = run + 1;
	}
	exit(0);
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	size_t from = 0;

	if (argc != 2)
		return 2;
	read_runs();
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED)
		die("mmap");
	while (from < runs) {
		pid_t child = fork();
		int status;

		if (child < 0)
			die("fork");
		if (child == 0)
			do_runs(argv[1], from, from + BATCH < runs ? from + BATCH : runs);
		status = wait_for(child);
		if (progress->begun == from)
			return 2;
		for (; from < progress->ended; from++)
			printf("%zu %d\n", from, progress->status[from]);
		/* The run that ended the process. */
		if (from < progress->begun)
			printf("%zu %d\n", from++, status);
		else
			printf("end %d\n", status);
		fflush(stdout);
	}
	return 0;
}
