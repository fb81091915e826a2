/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/failing.c - run a program in which system calls that libcpa.so makes fail
 *
 *	failing list PROGRAM ARGUMENT...		print each place: CALL OFFSET TIMES
 *	failing CALL OFFSET ERRNO once|always PROGRAM ARGUMENT...
 *
 * A place is the number of a system call and the offset in libcpa.so that it returns to; offset 0
 * stands for all places. close() does its work before it fails, as the kernel's does. Calls that
 * the program makes through a wrapper of ours are its own: they return into an exported function.
 * What the program prints goes through; the places go to descriptor 3. Ends as the program does.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY	 "/libcpa.so"
#define PLACES	 512u
#define WRAPPERS 512u
#define STACK	 64u /* words in which the return address of a system call is looked for */
#define THREADS	 4096u
#define EVERY	 UINT64_MAX
#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

struct range {
	uint64_t start, end;
};

struct wrapper {
	struct range range; /* offsets */
	bool is_syscall;    /* syscall(), by which we make calls of our own, too */
};

struct place {
	uint64_t call, offset, times;
};

static struct place places[PLACES], wanted;
static unsigned place_count;
static long error;
static bool always, spent;

/* Of the process: where libcpa.so and the kernel's own functions are, and all other code. */
static uint64_t base;
static struct range ours, vdso, code[64];
static unsigned code_count;
static char library[4096];

/* Exported functions, by offset. */
static struct wrapper wrapper[WRAPPERS];
static unsigned wrapper_count;

/* Threads whose system call fails when it returns. */
static pid_t failing[THREADS];
static unsigned failing_count;

static void __attribute__((noreturn)) give_up(const char *what)
{
	dprintf(STDERR_FILENO, "failing: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static bool inside(const struct range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

static void add_wrappers(const Elf64_Sym *symbol, size_t count, const char *names)
{
	for (; count-- && wrapper_count < WRAPPERS; symbol++)
		if (symbol->st_shndx && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
			wrapper[wrapper_count++] = (struct wrapper){
				{ symbol->st_value, symbol->st_value + symbol->st_size },
				!strcmp(names + symbol->st_name, "syscall"),
			};
}

/* The exported functions of the file @library. */
static void read_wrappers(void)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *section;
	const char *file;

	if (fd < 0 || fstat(fd, &st))
		give_up(library);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		give_up(library);
	head = (const Elf64_Ehdr *)file;
	section = (const Elf64_Shdr *)(file + head->e_shoff);
	for (unsigned i = 0; i < head->e_shnum; i++)
		if (section[i].sh_type == SHT_DYNSYM)
			add_wrappers((const Elf64_Sym *)(file + section[i].sh_offset),
				     section[i].sh_size / sizeof(Elf64_Sym),
				     file + section[section[i].sh_link].sh_offset);
	munmap((void *)(uintptr_t)file, (size_t)st.st_size);
}

/* Find the library in the process; its code may be there before the rest of it. */
static void read_maps(pid_t pid)
{
	char name[64], line[4400], rights[8], path[4096];
	struct range range;
	uint64_t offset;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	code_count = 0;
	base = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &range.start, &range.end, rights,
			   &offset, path) < 4)
			continue;
		if (strstr(path, LIBRARY) && offset == 0)
			base = range.start;
		if (rights[2] != 'x')
			continue;
		if (strstr(path, LIBRARY)) {
			ours = range;
			strcpy(library, path);
		} else if (!strcmp(path, "[vdso]")) {
			vdso = range;
		} else if (code_count < 64) {
			code[code_count++] = range;
		}
	}
	if (maps)
		fclose(maps);
}

/* Whether a call instruction ends at @address: a word on the stack may be anything. */
static bool behind_call(pid_t tid, uint64_t address)
{
	unsigned char bytes[7];
	struct iovec here = { bytes, sizeof(bytes) };
	struct iovec there = { (void *)(address - sizeof(bytes)), sizeof(bytes) };

	if (process_vm_readv(tid, &here, 1, &there, 1, 0) != sizeof(bytes))
		return false;
	if (bytes[2] == 0xe8)
		return true;
	for (unsigned i = 0; i < 6; i++)
		if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

static const struct wrapper *wrapper_of(uint64_t offset)
{
	for (unsigned k = 0; k < wrapper_count; k++)
		if (inside(&wrapper[k].range, offset - 1))
			return &wrapper[k];
	return NULL;
}

static bool is_code(uint64_t address)
{
	for (unsigned k = 0; k < code_count; k++)
		if (inside(&code[k], address))
			return true;
	return inside(&ours, address);
}

/*
 * Whether @call is part of what a function of libc does for the program, as pthread_create: words
 * further up the stack are older than the call. Of those that we make, too, @depth is 0: libc's
 * function for such a call has no frame.
 */
static bool is_libcs(uint64_t call, unsigned depth)
{
	switch (call) {
	case SYS_futex:
	case SYS_clone:
	case SYS_clone3:
	case SYS_rt_sigprocmask:
	case SYS_exit:
	case SYS_exit_group:
		return true;
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_munmap:
	case SYS_madvise:
		return depth > 0;
	default:
		return false;
	}
}

/* The offset in libcpa.so that the call returns to, 0 if it is not libcpa.so's own. */
static uint64_t caller(pid_t tid, const struct user_regs_struct *regs)
{
	uint64_t words[STACK];
	struct iovec here = { words, sizeof(words) }, there = { (void *)regs->rsp, sizeof(words) };
	unsigned skip = inside(&vdso, regs->rip); /* libc's function in front of the kernel's */
	const struct wrapper *through = NULL;

	/* What lies on the stack then is the code that a signal interrupted. It cannot fail. */
	if (regs->orig_rax == SYS_rt_sigreturn)
		return 0;
	if (process_vm_readv(tid, &here, 1, &there, 1, 0) < (ssize_t)sizeof(words[0]))
		return 0;
	for (unsigned i = 0; i < STACK; i++) {
		uint64_t offset = words[i] - base;

		if (!is_code(words[i]) || !behind_call(tid, words[i]))
			continue;
		if (!inside(&ours, words[i])) {
			if (!skip--)
				return 0;
			continue;
		}
		if (!wrapper_of(offset))
			return through || !is_libcs(regs->orig_rax, i) ? offset : 0;
		if (through || !wrapper_of(offset)->is_syscall)
			return 0;
		through = wrapper_of(offset);
		i += 16; /* its frame: what it saved of its caller's registers */
	}
	return 0;
}

static struct place *find_place(uint64_t call, uint64_t offset)
{
	unsigned i = 0;

	while (i < place_count && (places[i].call != call || places[i].offset != offset))
		i++;
	if (i == PLACES)
		give_up("too many places");
	if (i == place_count)
		places[place_count++] = (struct place){ .call = call, .offset = offset };
	return &places[i];
}

static void enters(pid_t tid)
{
	struct user_regs_struct regs;
	uint64_t offset;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return;
	/* Until the library is there, and whenever something else may be. */
	if (!base || !ours.start || !wrapper_count) {
		read_maps(tid);
		if (!base || !ours.start)
			return;
		read_wrappers();
	}
	if (!vdso.start || !code_count)
		read_maps(tid);
	offset = caller(tid, &regs);
	if (!offset)
		return;
	find_place(regs.orig_rax, offset)->times++;
	if (regs.orig_rax != wanted.call || (wanted.offset && offset != wanted.offset) ||
	    (spent && !always))
		return;
	spent = true;
	if (regs.orig_rax != SYS_close) {
		regs.orig_rax = (unsigned long long)-1;
		ptrace(PTRACE_SETREGS, tid, NULL, &regs);
	}
	if (failing_count < THREADS)
		failing[failing_count++] = tid;
}

static void returns(pid_t tid)
{
	struct user_regs_struct regs;

	for (unsigned i = 0; i < failing_count; i++) {
		if (failing[i] != tid)
			continue;
		failing[i] = failing[--failing_count];
		if (!ptrace(PTRACE_GETREGS, tid, NULL, &regs)) {
			regs.rax = (unsigned long long)-error;
			ptrace(PTRACE_SETREGS, tid, NULL, &regs);
		}
		return;
	}
}

/* What is to be done with thread @tid, which stopped with @status. Return the signal to give it. */
static int stopped(pid_t tid, int status)
{
	struct __ptrace_syscall_info info;
	int number = WSTOPSIG(status);

	if (number == (SIGTRAP | 0x80)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0) {
			if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
				returns(tid);
			else if (wanted.call == EVERY || wanted.call == info.entry.nr)
				enters(tid); /* who makes the others is not asked: it takes long */
		}
		return 0;
	}
	if (status >> 16 == PTRACE_EVENT_EXEC)
		ours.start = base = vdso.start = code_count = 0;
	/* A new thread stops before it begins. */
	return status >> 16 || number == SIGSTOP || number == SIGTRAP ? 0 : number;
}

static int follow(pid_t program)
{
	int result = 99, status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (tid < 0)
			continue;
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, tid, NULL, (long)stopped(tid, status));
		else if (tid == program)
			result = status;
	}
	return result;
}

static pid_t start(char **argv)
{
	pid_t program = fork();
	int status;

	if (program == 0) {
		close(3);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		give_up(argv[0]);
	}
	if (program < 0 || waitpid(program, &status, 0) != program || !WIFSTOPPED(status))
		give_up("cannot trace");
	if (ptrace(PTRACE_SETOPTIONS, program, NULL, OPTIONS) ||
	    ptrace(PTRACE_SYSCALL, program, NULL, NULL))
		give_up("cannot trace");
	return program;
}

int main(int argc, char **argv)
{
	bool list = argc > 2 && !strcmp(argv[1], "list");
	int status;

	if (!list && argc < 6) {
		errno = EINVAL;
		give_up("usage: failing list|CALL OFFSET ERRNO once|always PROGRAM ARGUMENT...");
	}
	wanted.call = EVERY;
	if (!list) {
		wanted.call = strtoull(argv[1], NULL, 0);
		wanted.offset = strtoull(argv[2], NULL, 0);
		error = strtol(argv[3], NULL, 0);
		always = !strcmp(argv[4], "always");
	}
	status = follow(start(argv + (list ? 2 : 5)));
	for (unsigned i = 0; i < place_count; i++)
		dprintf(3, "%lu %#lx %lu\n", places[i].call, places[i].offset, places[i].times);
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 99;
}
