/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/steps.c - instructions of synchronization operations, one by one
 *
 *	steps                          list the operations
 *	steps NAME [ROUNDS [BUDGET]]   step through operation NAME, ROUNDS times, and print how many instructions
 *				       a round took, as a line of JSON
 *
 * The processor's single-step flag stops the thread after every instruction; a signal handler looks
 * where it stands. What it counts does not depend on what else the machine does. Callgrind cannot
 * do it: without rseq, which valgrind does not have, cpa asks the kernel for the time at each event
 * and never gets to its fast path.
 *
 * BUDGET is a number of instructions of libcpa.so. Stepping ends early once ENOUGH rounds were within it: the shortest
 * of all ROUNDS would be within it, too.
 *
 * Stepping must not be seen. A signal looks like a switch to cpa's clock, so the handler puts the
 * word that tells back to what it was; it also does what rdtsc would, with a counter that goes on
 * by one an instruction. Samples: set CPA_SAMPLE_HZ to 20 or 0. Without any, cpa times each use of
 * a lock; the usual ones would come in every round, which takes a millisecond in such steps.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "benchmarks/steps_operations.h"
#include "shadow/format/layout.h"

#define TRAP_FLAG  0x100
#define WARM	   300	     /* uses until a lock is left untimed, and more */
#define WARM_NS	   120000000 /* CPU time until the first samples at 20 a second */
#define MOST_CALLS 16
#define ENOUGH	   10

struct range {
	uint64_t start, end;
};

/* Of libcpa.so, empty if it is not there; of this program. */
static struct range library, program;

static struct {
	unsigned long all, ours;
	bool was_library;
	int calls;
	uint64_t call[MOST_CALLS]; /* functions elsewhere that libcpa.so called */
} count;

static __thread bool stepping;
static volatile uint64_t *detector;
static uint64_t armed, clock_now;

static bool inside(const struct range *r, uint64_t address)
{
	return address >= r->start && address < r->end;
}

static void note_call(uint64_t address)
{
	for (int i = 0; i < count.calls; i++)
		if (count.call[i] == address)
			return;
	if (count.calls < MOST_CALLS)
		count.call[count.calls++] = address;
}

/* After an instruction; the next one is at the address in @context. */
static void stepped(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t next = (uint64_t)regs[REG_RIP];
	bool in_library = inside(&library, next);

	(void)signal;
	(void)info;
	if (!stepping) { /* a thread that was created by one that is stepped */
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	count.all++;
	count.ours += in_library;
	if (count.was_library && !in_library && !inside(&program, next))
		note_call(next);
	count.was_library = in_library;
	clock_now++;
	if (in_library && !memcmp((void *)next, "\x0f\x31", 2)) { /* rdtsc */
		regs[REG_RAX] = (greg_t)(clock_now & UINT32_MAX);
		regs[REG_RDX] = (greg_t)(clock_now >> 32);
		regs[REG_RIP] += 2;
	}
	if (armed)
		*detector = armed;
}

/* 128: what the compiler may keep below the stack pointer. */
#define SET_FLAGS(change)                                                                    \
	__asm__ volatile("subq $128, %%rsp\n\tpushfq\n\t" change "popfq\n\taddq $128, %%rsp" \
			 :                                                                   \
			 :                                                                   \
			 : "memory", "cc")

static void step_begin(void)
{
	memset(&count, 0, sizeof(count));
	armed = __rseq_size ? *detector : 0;
	clock_now = __builtin_ia32_rdtsc();
	stepping = true;
	SET_FLAGS("orl $0x100, (%%rsp)\n\t");
}

static void step_end(void)
{
	SET_FLAGS("andl $~0x100, (%%rsp)\n\t");
	stepping = false;
}

static const struct operation *chosen;
static unsigned long budget;	 /* 0: none */
static unsigned asked, answered; /* atomic: rounds the other thread is to do, and has done */

/* Not by syscall(): cpa would see it, and make edges of its own. */
static void futex(unsigned *word, int operation, unsigned value)
{
	register uint64_t timeout __asm__("r10") = 0;
	uint64_t ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_futex), "D"(word), "S"(operation), "d"(value), "r"(timeout)
			 : "rcx", "r11", "memory");
}

static void set(unsigned *word, unsigned value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	futex(word, FUTEX_WAKE_PRIVATE, 1);
}

static void await(unsigned *word, unsigned value)
{
	unsigned seen;

	while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != value)
		futex(word, FUTEX_WAIT_PRIVATE, seen);
}

static void *other_thread(void *argument)
{
	(void)argument;
	for (unsigned n = 1;; n++) {
		await(&asked, n);
		chosen->once();
		set(&answered, n);
	}
	return NULL;
}

static void ask_other(void)
{
	unsigned n = asked + 1;

	set(&asked, n);
	await(&answered, n);
}

/* As long as it takes until a lock's uses go untimed. */
static void warm_up(void)
{
	struct timespec t = { 0 };

	if (chosen->other > MEETS)
		ask_other();
	for (int i = 0; i < WARM || (chosen->other != EACH && !t.tv_sec && t.tv_nsec < WARM_NS);
	     i++) {
		place = i % PLACES;
		chosen->once();
		if (chosen->other == EACH)
			ask_other();
		else
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
}

static int find_module(struct dl_phdr_info *info, size_t size, void *none)
{
	const char *name = strrchr(info->dlpi_name, '/');
	struct range *r = name && !strcmp(name, "/libcpa.so") ? &library : NULL;

	(void)size;
	(void)none;
	if (!*info->dlpi_name && !program.start)
		r = &program;
	for (int i = 0; r && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			r->start = info->dlpi_addr + p->p_vaddr;
			r->end = r->start + p->p_memsz;
		}
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void print_call(uint64_t address, const char *before)
{
	static const char *const resolved[] = { "memcpy", "memmove", "memset", "memcmp" };
	const char *module;
	Dl_info info;

	for (size_t i = 0; i < sizeof(resolved) / sizeof(*resolved); i++) {
		if (dlsym(RTLD_DEFAULT, resolved[i]) == (void *)address) {
			printf("%s\"%s\"", before, resolved[i]);
			return;
		}
	}
	if (!dladdr((void *)address, &info)) {
		printf("%s\"?\"", before);
	} else if (info.dli_sname && (uint64_t)info.dli_saddr == address) {
		printf("%s\"%s\"", before, info.dli_sname);
	} else {
		module = strrchr(info.dli_fname, '/');
		printf("%s\"%s+%#lx\"", before, module ? module + 1 : info.dli_fname,
		       address - (uint64_t)info.dli_fbase);
	}
}

/* The thread may have been switched out: let cpa ask the kernel for the time before it counts. */
static void settle(void)
{
	static pthread_mutex_t scratch = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&scratch);
	pthread_mutex_unlock(&scratch);
	if (chosen->other != EACH)
		chosen->once();
}

/* The calls are those of the round that took the fewest instructions. */
static void measure(unsigned long most)
{
	unsigned long *all = calloc(most, sizeof(*all));
	unsigned long *own = calloc(most, sizeof(*own)), least = -1ul, rounds = 0;
	uint64_t call[MOST_CALLS];
	int calls = 0, good = 0;

	if (!all || !own)
		abort();
	for (unsigned long i = 0; i < most && good < ENOUGH; i++) {
		place = i % PLACES;
		if (chosen->other == EACH)
			ask_other();
		settle();
		step_begin();
		chosen->once();
		step_end();
		all[i] = count.all;
		own[i] = count.ours;
		good += budget && count.ours <= budget;
		rounds++;
		if (count.all < least) {
			least = count.all;
			calls = count.calls;
			memcpy(call, count.call, sizeof(call));
		}
	}
	qsort(all, rounds, sizeof(*all), compare);
	qsort(own, rounds, sizeof(*own), compare);
	printf("{\"least\": %lu, \"median\": %lu, \"library_least\": %lu, \"library_median\": %lu, "
	       "\"calls\": [",
	       all[0], all[rounds / 2], own[0], own[rounds / 2]);
	for (int i = 0; i < calls; i++)
		print_call(call[i], i ? ", " : "");
	printf("]}\n");
	free(all);
	free(own);
}

/*
 * While one thread is stepped an activity of the other takes so long that it is noted each time for
 * its edge (shadow/graph/summary.h), which then costs both more. Threads from now on note none.
 */
static void let_nothing_be_noted(void)
{
	const uint32_t never = UINT32_MAX;
	const char *dump = getenv("CPA_OUTPUT");
	int fd = dump ? open(dump, O_RDWR) : -1;

	if (fd < 0)
		return;
	if (pwrite(fd, &never, sizeof(never), offsetof(struct cpa_header, note)) < 0)
		perror(dump);
	close(fd);
}

static void run(unsigned long rounds)
{
	warm_up();
	measure(rounds);
}

/* Part of a region: that of the main thread is measured. */
static void part(void *rounds)
{
	static unsigned done;
	static unsigned long last; /* barrier; 0: not known yet */

	if (omp_get_thread_num()) {
		for (unsigned long n = 0; chosen->other == MEETS;) {
			GOMP_barrier();
			if (++n == __atomic_load_n(&last, __ATOMIC_RELAXED))
				break;
		}
		await(&done, 1);
		return;
	}
	run(*(unsigned long *)rounds);
	__atomic_store_n(&last, met + 1, __ATOMIC_RELAXED);
	if (chosen->other == MEETS)
		omp_barrier();
	set(&done, 1);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO | SA_RESTART };
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 40;
	pthread_t other;

	budget = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (argc < 2)
			puts(operations[i].name);
		else if (!strcmp(argv[1], operations[i].name))
			chosen = &operations[i];
	}
	if (!chosen || !rounds)
		return argc < 2 ? 0 : 2;
	detector = (uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset +
				offsetof(struct rseq, rseq_cs));
	dl_iterate_phdr(find_module, NULL);
	plain = open("/dev/null", O_RDONLY);
	for (int i = 0; i < PLACES; i++)
		if (pipe(pipe_ends[i]) || pipe(next_ends[i]))
			return 1;
	if (plain < 0 || syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, outside_ends))
		return 1;
	sigfillset(&action.sa_mask);
	sigaction(SIGTRAP, &action, NULL);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 0);
	let_nothing_be_noted();
	pthread_create(&other, NULL, other_thread, NULL);
	if (chosen->other == TEAM || chosen->other == MEETS)
		GOMP_parallel(part, &rounds, 2, 0);
	else
		run(rounds);
	return 0;
}
