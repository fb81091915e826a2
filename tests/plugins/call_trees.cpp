// SPDX-License-Identifier: MIT
/*
 * tests/plugins/call_trees.cpp - a function that waits, called in each way that tests/e2e/call_trees.py
 * knows
 *
 * Arguments: the library to load, which is this file with -DPLUGIN; rounds. Each way has a thread of its own,
 * whose first wait is in the function. With rounds the main thread goes all ways in each round, and the function
 * computes instead, (2 i + 3) ms for way i: for tests/accuracy/callers.py. Not by a handler on a stack of its
 * own, where the sampler's signal would wait. Built in several ways.
 * Names are exported, so that a stripped program has them.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/programs/burn.h"

#define FUNCTION extern "C" __attribute__((noinline, used, visibility("default")))
// No tail calls: each frame stays.
#define STAYS() __asm__ volatile("" ::: "memory")

#ifdef PLUGIN

FUNCTION void in_plugin(void (*callback)())
{
	callback();
	STAYS();
}

#else

#define WAIT_NS 3000000
#define STACK	(256u << 10)
#define DEPTH	10

static void *plugin;
static int burnt_ms; // 0: wait

// Nobody posts the semaphore: the wait lasts.
FUNCTION void leaf()
{
	timespec until;
	sem_t never;

	if (burnt_ms) {
		burn_ms(burnt_ms);
		STAYS();
		return;
	}
	sem_init(&never, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	sem_timedwait(&never, &until);
	sem_destroy(&never);
	STAYS();
}

FUNCTION void pointed_to()
{
	leaf();
	STAYS();
}

static void (*volatile pointer)() = pointed_to;

FUNCTION void by_pointer()
{
	pointer();
	STAYS();
}

FUNCTION void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		leaf();
	STAYS();
}

FUNCTION void by_recursion()
{
	recurse(DEPTH);
	STAYS();
}

#define CALLS(name, next)    \
	FUNCTION void name() \
	{                    \
		next();      \
		STAYS();     \
	}
#define CALLS_10(name, next)                                                            \
	CALLS(name##0, next)                                                            \
	CALLS(name##1, name##0)                                                         \
	CALLS(name##2, name##1) CALLS(name##3, name##2) CALLS(name##4, name##3)         \
		CALLS(name##5, name##4) CALLS(name##6, name##5) CALLS(name##7, name##6) \
			CALLS(name##8, name##7) CALLS(name##9, name##8)
CALLS_10(chain_a, leaf)
CALLS_10(chain_b, chain_a9)
CALLS_10(chain_c, chain_b9)
CALLS_10(chain_d, chain_c9)
CALLS(by_chain, chain_d9)

FUNCTION void on_signal(int)
{
	leaf();
	STAYS();
}

FUNCTION void by_signal()
{
	raise(SIGUSR1);
	STAYS();
}

FUNCTION void on_own_stack(int)
{
	leaf();
	STAYS();
}

FUNCTION void by_signal_stack()
{
	stack_t stack = {};

	stack.ss_size = STACK;
	stack.ss_sp =
		mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, nullptr);
	raise(SIGUSR2);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, nullptr);
}

FUNCTION void destroyed()
{
	leaf();
	STAYS();
}

namespace
{
struct guard {
	~guard()
	{
		destroyed();
	}
};
} // namespace

FUNCTION void throws()
{
	throw 1;
}

FUNCTION void unwound()
{
	guard of_frame;

	throws();
	STAYS();
}

FUNCTION void by_unwinding()
{
	try {
		unwound();
	} catch (int) {
		STAYS();
	}
}

FUNCTION void by_catch()
{
	try {
		throws();
	} catch (int) {
		leaf();
		STAYS();
	}
}

static thread_local ucontext_t here, there;

FUNCTION void in_context()
{
	leaf();
	STAYS();
}

FUNCTION void by_context()
{
	getcontext(&there);
	there.uc_stack.ss_size = STACK;
	there.uc_stack.ss_sp =
		mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	there.uc_link = &here;
	makecontext(&there, in_context, 0);
	swapcontext(&here, &there);
	STAYS();
}

FUNCTION void on_made_stack()
{
	leaf();
	STAYS();
}

// Calls on_made_stack() on the stack that ends at the argument; of this no table tells.
extern "C" void switch_to(void *stack);
__asm__(".text\n"
	".globl switch_to\n"
	".type switch_to, @function\n"
	"switch_to:\n\t"
	"push %rbx\n\t"
	"push %rbp\n\t"
	"mov %rsp, %rbx\n\t"
	"mov %rdi, %rsp\n\t"
	"xor %ebp, %ebp\n\t"
	"call on_made_stack@PLT\n\t"
	"mov %rbx, %rsp\n\t"
	"pop %rbp\n\t"
	"pop %rbx\n\t"
	"ret\n\t"
	".size switch_to, . - switch_to\n");

FUNCTION void by_hand()
{
	void *stack =
		mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	switch_to(static_cast<char *>(stack) + STACK);
	STAYS();
}

FUNCTION void called_back()
{
	leaf();
	STAYS();
}

FUNCTION void by_plugin()
{
	void *found = dlsym(plugin, "in_plugin");

	reinterpret_cast<void (*)(void (*)())>(found)(called_back);
	STAYS();
}

FUNCTION void *run(void *way)
{
	reinterpret_cast<void (*)()>(way)();
	STAYS();
	return nullptr;
}

static void (*const ways[])() = { by_pointer,	by_recursion, by_chain, by_signal,  by_signal_stack,
				  by_unwinding, by_catch,     by_context, by_hand,    by_plugin };

static void in_threads()
{
	for (auto way : ways) {
		pthread_t thread;

		pthread_create(&thread, nullptr, run, reinterpret_cast<void *>(way));
		pthread_join(thread, nullptr);
	}
}

static void in_rounds(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		burnt_ms = 1;
		for (auto way : ways) {
			burnt_ms += 2;
			if (way != by_signal_stack)
				run(reinterpret_cast<void *>(way));
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {};

	plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
	if (!plugin)
		return 1;
	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, nullptr);
	action.sa_handler = on_own_stack;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, nullptr);
	if (argc > 2)
		in_rounds(atoi(argv[2]));
	else
		in_threads();
	puts("done");
	return 0;
}

#endif
