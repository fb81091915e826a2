/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_walk.c - preload/unwind/ finds the callers that libgcc's unwinder finds
 *
 * A timer interrupts code of the C library and of the test at any instruction; both unwinders then
 * begin at the same registers. Damaged tables must lead to nothing worse than an end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unwind.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static functions are tested. */
#include "preload/unwind/walk.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/unwind/frame_rule.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/unwind/frame_table.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/unwind/stack.c"

#define DEPTH  200u
#define WANTED 400u
#define STACK  (256u << 10) /* bytes of a thread's stack at least */

static const struct cpa_stack_own nothing;

struct other {
	struct cpa_walk_frame frame[DEPTH];
	unsigned frames;
	bool behind; /* of the frame of the signal handler's call */
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *argument)
{
	struct other *o = argument;
	int before = 0;

	uint64_t address = (uint64_t)_Unwind_GetIPInfo(context, &before);

	if (!address) /* beyond the last */
		return _URC_NO_REASON;
	if (before) {
		/* The interrupted frame; earlier ones are the handler's. */
		o->frames = 0;
		o->behind = true;
	}
	if (o->behind && o->frames < DEPTH)
		o->frame[o->frames++] = (struct cpa_walk_frame){
			.function = (uint64_t)_Unwind_GetRegionStart(context),
			.call = before ? 0 : address - 1,
		};
	return _URC_NO_REASON;
}

static _Thread_local struct cpa_walk walk;
static _Thread_local struct cpa_stack_own own; /* zeros: the stack is copied */
static struct {
	unsigned walks, complete;
	uint64_t frames, ns, other_ns;
	char first[400]; /* what the first difference was */
} found;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* libgcc does not know where a function without a table begins. */
static bool is_same(const struct cpa_walk_frame *frame, const struct cpa_walk_frame *other)
{
	return !other->function ||
	       (frame->function == other->function && frame->call == other->call);
}

static void compare(const struct other *o)
{
	for (unsigned i = 0; i < o->frames && i < CPA_WALK_FRAMES; i++) {
		if (i < walk.frames && is_same(&walk.frame[i], &o->frame[i]))
			continue;
		if (!*found.first)
			snprintf(found.first, sizeof(found.first),
				 "frame %u of %u, %u: %#lx, expected %#lx", i, o->frames,
				 walk.frames, i < walk.frames ? walk.frame[i].function : 0,
				 o->frame[i].function);
		return;
	}
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	int err = errno;
	struct other o = { .frames = 0 };
	uint64_t begun;

	(void)number;
	(void)info;
	cpa_arch_registers(context, r.value);
	begun = now();
	cpa_walk_from(&walk, own, &r);
	found.ns += now() - begun;
	found.frames += walk.frames;
	begun = now();
	_Unwind_Backtrace(note_frame, &o);
	found.other_ns += now() - begun;
	compare(&o);
	found.walks++;
	found.complete += walk.complete;
	errno = err;
}

static int by_text(const void *a, const void *b)
{
	char x[32], y[32];

	snprintf(x, sizeof(x), "%d", *(const int *)a);
	snprintf(y, sizeof(y), "%08.3f", *(const int *)b / 1000.0);
	return strcmp(x, y);
}

/* A frame of a size that is known at run time only. */
static __attribute__((noinline)) int of_any_size(unsigned n)
{
	volatile char *room = __builtin_alloca(n % 64 + 1);

	room[n % 64] = (char)n;
	return n ? of_any_size(n - 1) + room[n % 64] : 0;
}

/* A frame that is aligned more than the stack is. */
static __attribute__((noinline)) int aligned(unsigned n)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[n % 128] = (char)n;
	return n ? aligned(n - 1) + room[n % 128] : of_any_size(n + 8);
}

static __attribute__((noinline)) void work(void)
{
	int number[256];
	char *text;

	for (unsigned i = 0; i < 256; i++)
		number[i] = (int)(i * 7919 % 1000);
	qsort(number, 256, sizeof(*number), by_text);
	text = malloc(4096);
	memset(text, number[0], 4096);
	free(text);
	aligned(20);
}

/* Work until WANTED walks are done. */
static void work_interrupted(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
	unsigned end = found.walks + WANTED;

	action.sa_sigaction = on_timer;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	while (found.walks < end) {
		own = found.walks % 2 ? cpa_stack_own(STACK) : nothing;
		work();
	}
	setitimer(ITIMER_PROF, &never, NULL);
}

static void *routine(void *argument)
{
	work_interrupted();
	return argument;
}

static void test_as_libgcc(void **state)
{
	pthread_t thread;

	(void)state;
	memset(&found, 0, sizeof(found));
	work_interrupted();
	print_message("%u walks, %u complete, %.1f frames, %.0f ns a frame; libgcc's: %.0f ns\n",
		      found.walks, found.complete, (double)found.frames / found.walks,
		      (double)found.ns / (double)found.frames,
		      (double)found.other_ns / (double)found.frames);
	assert_string_equal(found.first, "");
	assert_int_equal(found.complete, found.walks);
	memset(&found, 0, sizeof(found));
	assert_int_equal(pthread_create(&thread, NULL, routine, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(found.first, "");
	assert_int_equal(found.complete, found.walks);
}

static void *here(void *argument)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	ucontext_t context;

	getcontext(&context);
	cpa_arch_registers(&context, r.value);
	cpa_walk_from(&walk, own, &r);
	return argument;
}

/* What cannot be read is not, on whichever side of a word, and windows are counted. */
static void test_stack(void **state)
{
	const size_t size = 1 << 16;
	char *memory = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t from = (uint64_t)memory + size, to = from + size, word;
	struct cpa_stack_view stack;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + size, size, PROT_READ | PROT_WRITE), 0);
	for (uint64_t at = from; at < to; at += sizeof(at))
		*(uint64_t *)at = at;
	for (unsigned whose = 0; whose < 2; whose++) {
		cpa_stack_begin(&stack, whose ? (struct cpa_stack_own){ from, to } : nothing);
		cpa_stack_from(&stack, from + 24);
		for (uint64_t at = from + 24; at < to; at += sizeof(at)) {
			assert_true(cpa_stack_load(&stack, at, &word));
			assert_true(word == at);
		}
		assert_true(stack.turns >= CPA_STACK_TURNS - size / CPA_STACK_WINDOW - 1);
		assert_int_equal(stack.at == stack.copy, !whose);
		assert_false(
			cpa_stack_load(&stack, from + 16, &word)); /* below the stack pointer */
		assert_false(cpa_stack_load(&stack, from + 36, &word));
		assert_false(cpa_stack_load(&stack, to, &word));
		assert_false(cpa_stack_load(&stack, to - 4, &word));
		assert_false(cpa_stack_load(&stack, from + (1 << 30), &word));
		assert_true(cpa_stack_load(&stack, to - 8, &word) && word == to - 8);
		/* A top that is none. */
		cpa_stack_begin(&stack,
				whose ? (struct cpa_stack_own){ from, to + size } : nothing);
		cpa_stack_from(&stack, from);
		assert_true(cpa_stack_load(&stack, to - 8, &word) && word == to - 8);
		assert_false(cpa_stack_load(&stack, to + 8, &word));
		stack.turns = 0;
		assert_false(cpa_stack_load(&stack, from + 64, &word));
	}
	/* A stack below the thread's own, as coroutines have: others may unmap what lies between. */
	cpa_stack_begin(&stack, (struct cpa_stack_own){ to - PAGE, to });
	cpa_stack_from(&stack, to - PAGE - 8);
	assert_true(cpa_stack_load(&stack, to - 8, &word) && stack.at == stack.copy);
	cpa_stack_from(&stack, to - PAGE);
	assert_true(cpa_stack_load(&stack, to - PAGE, &word) && stack.at != stack.copy);
	munmap(memory, 3 * size);
	for (unsigned whose = 0; whose < 2; whose++) {
		cpa_stack_begin(&stack, whose ? (struct cpa_stack_own){ from, to } : nothing);
		cpa_stack_from(&stack, from);
		assert_false(cpa_stack_load(&stack, from + 64, &word));
	}
	/* Where no copies may be made the thread's own stack is read only. */
	cpa_stack_init(false);
	cpa_stack_begin(&stack, nothing);
	cpa_stack_from(&stack, (uint64_t)&word & ~UINT64_C(7));
	assert_false(cpa_stack_load(&stack, stack.bottom, &word));
	cpa_stack_begin(&stack, cpa_stack_own(STACK));
	cpa_stack_from(&stack, (uint64_t)&word & ~UINT64_C(7));
	assert_true(cpa_stack_load(&stack, stack.bottom, &word));
	cpa_stack_init(true);
}

/* Damage this module's own tables, in a copy, byte by byte: each walk of them ends. */
static void test_damaged(void **state)
{
	uint64_t seed = getenv("CPA_SEED") ? strtoull(getenv("CPA_SEED"), NULL, 0) : now();
	static struct cpa_frame_program program;
	struct cpa_frame_table t, damaged;
	struct cpa_frame_description d;
	size_t size;
	uint8_t *copy;

	(void)state;
	print_message("CPA_SEED=%#lx\n", seed);
	assert_true(cpa_frame_table_find((uint64_t)test_damaged, &t));
	size = (size_t)(t.to - t.from);
	copy = malloc(size); /* its own size: the sanitizers see each byte beyond */
	assert_non_null(copy);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t pc;

		memcpy(copy, t.from, size);
		damaged = t;
		damaged.from = copy;
		damaged.to = copy + size;
		damaged.header = copy + (t.header - t.from);
		damaged.entries = copy + (t.entries - t.from);
		for (unsigned k = 0; k < 200; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			copy[(t.header - t.from) +
			     (int64_t)((seed >> 33) % (size - (size_t)(t.header - t.from)))] =
				(uint8_t)(seed >> 25);
		}
		pc = (uint64_t)damaged.header +
		     (uint64_t)(int64_t)entry_word(&t, seed % t.count, 0);
		if (cpa_frame_description_find(&damaged, pc, &d) &&
		    cpa_frame_run(&program, &d, pc + seed % 64)) {
			struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };

			cpa_stack_begin(&walk.stack, nothing);
			if (d.return_column < CPA_ARCH_REGISTERS)
				cpa_frame_apply(&program.row, d.return_column, &walk.stack, &r);
		}
	}
	free(copy);
	here(NULL);
}

/* A walk from @pc, with the stack of this function. */
static void walk_at(uint64_t pc)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	ucontext_t context;

	getcontext(&context);
	cpa_arch_registers(&context, r.value);
	r.value[CPA_ARCH_RETURN_ADDRESS] = pc;
	cpa_walk_from(&walk, cpa_stack_own(STACK), &r);
}

/* Code without tables at the place of a module that has gone, and nobody told. */
static void test_unloaded(void **state)
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);
	uint64_t pc, page;

	(void)state;
	assert_non_null(library);
	pc = (uint64_t)dlsym(library, "ns_format_ttl") + 1;
	page = pc & ~PAGE_MASK;
	walk_at(pc);
	assert_true(walk.frame[0].function == pc - 1);
	assert_int_equal(dlclose(library), 0);
	assert_ptr_equal(mmap((void *)page, PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 page);
	pc = pc == page + 1 ? page + 2 : page + 1;
	walk_at(pc);
	assert_true(walk.frame[0].function == page);
	munmap((void *)page, PAGE);
}

/* Leaves by hand, without unwind tables: each is interrupted where it has pushed what it says. */
void leaf_plain(uint64_t word);
void leaf_pushed(uint64_t word);
void leaf_frame_pointer(uint64_t word);
void leaf_of_seven(uint64_t word);
__asm__(".text\n"
	"leaf_plain: int3; ret\n"
	"leaf_pushed: push %rbx; push %rdi; mov $1, %ebx; int3; pop %rdi; pop %rbx; ret\n"
	"leaf_frame_pointer: push %rbp; push %r12; mov %rdi, %rbp; int3; pop %r12; pop %rbp; ret\n"
	"leaf_of_seven: push %rdi; push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; int3\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; pop %rdi; ret\n");

static void on_trap(int number, siginfo_t *info, void *context)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	int err = errno;

	(void)number;
	(void)info;
	cpa_arch_registers(context, r.value);
	cpa_walk_from(&walk, own, &r);
	errno = err;
}

static __attribute__((noinline)) void calls_leaf(void (*leaf)(uint64_t), uint64_t word)
{
	leaf(word);
	__asm__ volatile(""); /* no jump in place of the call */
}

/* The same, with a frame that only the frame pointer finds. */
static __attribute__((noinline)) void calls_from_any_size(void (*leaf)(uint64_t), uint64_t word)
{
	volatile char *room = __builtin_alloca(word % 64 + 1);

	room[0] = 0;
	leaf(word);
	room[0] = 1;
}

static void test_leaves(void **state)
{
	static void (*const leaf[])(uint64_t) = { leaf_plain, leaf_pushed, leaf_frame_pointer,
						  leaf_of_seven };
	struct sigaction action = { .sa_flags = SA_SIGINFO }, before;
	/* Addresses of code that is behind no call, and of none. */
	const uint64_t word[] = { 0, 8, (uint64_t)test_leaves, (uint64_t)test_leaves + 1,
				  (uint64_t)&word };

	(void)state;
	action.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &action, &before);
	for (unsigned i = 0; i < 2 * 4 * 5; i++) {
		void (*one)(uint64_t) = leaf[i / 2 % 4];

		own = i % 2 ? cpa_stack_own(STACK) : nothing;
		calls_leaf(one, word[i / 8]);
		assert_true(walk.complete);
		assert_true(walk.frame[0].function == ((uint64_t)one & ~PAGE_MASK) ||
			    walk.frame[0].function == (((uint64_t)one + 64) & ~PAGE_MASK));
		assert_true(walk.frame[1].function == (uint64_t)calls_leaf);
		assert_true(walk.frame[2].function == (uint64_t)test_leaves);
		calls_from_any_size(one, word[i / 8]);
		/* Whose frame pointer is lost cannot be followed, and is not taken for another. */
		assert_true(one == leaf_frame_pointer ? !walk.complete : walk.complete);
		if (walk.complete)
			assert_true(walk.frame[1].function == (uint64_t)calls_from_any_size);
	}
	sigaction(SIGTRAP, &before, NULL);
}

/* What may be in front of a return address, by the processor's manual. */
static void test_calls(void **state)
{
	static const struct {
		uint8_t bytes[8], length;
		bool is_call;
	} code[] = {
		{ { 0xe8, 1, 2, 3, 4 }, 5, true },
		{ { 0xff, 0xd0 }, 2, true },		       /* call *%rax */
		{ { 0xff, 0x10 }, 2, true },		       /* call *(%rax) */
		{ { 0xff, 0x14, 0x24 }, 3, true },	       /* call *(%rsp) */
		{ { 0xff, 0x50, 8 }, 3, true },		       /* call *8(%rax) */
		{ { 0xff, 0x54, 0x24, 8 }, 4, true },	       /* call *8(%rsp) */
		{ { 0xff, 0x15, 1, 2, 3, 4 }, 6, true },       /* call *place(%rip) */
		{ { 0xff, 0x90, 1, 2, 3, 4 }, 6, true },       /* call *place(%rax) */
		{ { 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, 7, true }, /* call *place(,%rax,8) */
		{ { 0xff, 0x94, 0x24, 1, 2, 3, 4 }, 7, true }, /* call *place(%rsp) */
		{ { 0xe9, 1, 2, 3, 4 }, 5, false },	       /* a jump */
		{ { 0xff, 0xe0 }, 2, false },		       /* jmp *%rax */
		{ { 0xff, 0x14 }, 2, false },		       /* not all of one */
		{ { 0xe8, 1, 2, 3 }, 4, false },
		{ { 0x90, 0x90, 0x90 }, 3, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(code) / sizeof(*code); i++) {
		uint64_t end = (uint64_t)code[i].bytes + code[i].length;

		assert_int_equal(cpa_arch_is_behind_call(end, code[i].length), code[i].is_call);
		assert_false(cpa_arch_is_behind_call(end, 1));
	}
}

static void test_kernel_calls(void **state)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0x0f, 0x0b, 0x05, 0x0f };

	(void)state;
	for (unsigned end = 2; end <= sizeof(code); end++)
		assert_int_equal(cpa_arch_is_behind_kernel_call((uint64_t)&code[end]), end == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_calls), cmocka_unit_test(test_as_libgcc),
		cmocka_unit_test(test_stack),	     cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_unloaded),     cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_calls),
	};

	cpa_stack_init(true);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
