/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/random_ends.c - who made the end of a pipe that processes copy and close at random
 *
 * `random_ends SEED`: a tree of processes that copy, close and hand on the pipe, by each way that is seen. With
 * an odd seed one of them makes an unseen one, which has the pipe until all others have ended. The last line
 * on standard error is "unseen N", with the number of unseen ones. tests/e2e/stream_ends.py reads it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/unseen.h"

#define DESCRIPTORS 40 /* below which the copies are */
#define PROCESSES   12

static struct {
	unsigned made;	    /* processes of the tree */
	unsigned strangers; /* that are still to be made */
} * tree;
static unsigned long state;
static int kept[DESCRIPTORS]; /* whether the number is the pipe */

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33) % n;
}

/* A number that is the pipe; -1: none is. */
static int any(void)
{
	int first = (int)below(DESCRIPTORS);

	for (int i = 0; i < DESCRIPTORS; i++)
		if (kept[(first + i) % DESCRIPTORS])
			return (first + i) % DESCRIPTORS;
	return -1;
}

/* Whether a program that is executed has the pipe. */
static int outlives_exec(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (kept[fd] && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			return 1;
	return 0;
}

static void make_stranger(void)
{
	if (tree && any() >= 0 && __atomic_exchange_n(&tree->strangers, 0, __ATOMIC_RELAXED))
		(below(2) || !outlives_exec() ? by_bare_fork : by_strange_output)();
}

static void grow(void);

/* Whether the process is to go on. */
static int step(void)
{
	int from = any(), to = 20 + (int)below(DESCRIPTORS - 20);
	char seed[32];

	if (from < 0)
		return 0;
	switch (below(tree ? 9 : 5)) {
	case 0:
		to = dup(from);
		break;
	case 1:
		to = fcntl(from, F_DUPFD_CLOEXEC, 20);
		break;
	case 2:
		must(dup2(from, to) == to);
		break;
	case 3:
		must(!close(from));
		kept[from] = 0;
		return 1;
	case 4:
		return 0;
	case 5:
		make_stranger();
		return 1;
	case 6: /* another program, which has it as its standard output only */
		must(dup2(from, STDOUT_FILENO) == STDOUT_FILENO);
		for (int fd = 3; fd < DESCRIPTORS; fd++)
			if (kept[fd])
				must(!fcntl(fd, F_SETFD, FD_CLOEXEC));
		snprintf(seed, sizeof(seed), "%lu", state);
		execl("/nowhere", own, "leaf", seed, NULL);
		if (below(2))
			execl(own, own, "leaf", seed, NULL);
		kept[STDOUT_FILENO] = 1;
		return 1;
	default:
		if (__atomic_fetch_add(&tree->made, 1, __ATOMIC_RELAXED) >= PROCESSES) {
			__atomic_fetch_sub(&tree->made, 1, __ATOMIC_RELAXED);
			return 1;
		}
		if (!fork()) {
			below(2);
			grow();
		}
		return 1;
	}
	must(to >= 0 && to < DESCRIPTORS);
	kept[to] = 1;
	return 1;
}

static void grow(void)
{
	while (step())
		;
	make_stranger();
	_exit(0);
}

static void leaf(const char *seed)
{
	state = strtoul(seed, NULL, 10);
	kept[STDOUT_FILENO] = 1;
	grow();
}

static int at_random(const char *seed)
{
	unsigned reaped = 0, odd = (unsigned)strtoul(seed, NULL, 10) % 2;
	int ready[2];
	pid_t reader = getpid();
	char byte;

	state = strtoul(seed, NULL, 10) * 1000003;
	tree = mmap(NULL, sizeof(*tree), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(tree != MAP_FAILED && !prctl(PR_SET_CHILD_SUBREAPER, 1));
	tree->strangers = odd;
	tree->made = 1;
	must(!pipe(go) && !pipe(ready));
	/* Who lets the unseen one go ends later, as a child that ends would be what the reader waited for. */
	CHILD(close(go[0]); close(ready[1]); must(read(ready[0], &byte, 1) == 1);
	      await_sleep(reader); close(go[1]); must(!read(ready[0], &byte, 1)));
	must(!pipe(the_pipe) && the_pipe[1] < DESCRIPTORS);
	if (!fork()) {
		close(ready[1]);
		kept[the_pipe[1]] = 1;
		grow();
	}
	close(go[0]);
	close(go[1]);
	close(the_pipe[1]);
	for (; odd && reaped < __atomic_load_n(&tree->made, __ATOMIC_RELAXED); reaped++) {
		int status;

		must(wait(&status) > 0 && !status);
	}
	must(write(ready[1], "", 1) == 1);
	get_end(the_pipe[0]);
	close(ready[1]);
	while (wait(NULL) > 0)
		;
	fprintf(stderr, "unseen %u\n", odd - tree->strangers);
	return 0;
}

int main(int argc, char **argv)
{
	own = argv[0];
	if (argc > 2)
		leaf(argv[2]);
	return argc == 2 ? at_random(argv[1]) : 2;
}
