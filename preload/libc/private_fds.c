/* SPDX-License-Identifier: MIT */
#include "preload/libc/private_fds.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <unistd.h>

#include "shadow/store/kernel.h"

#ifndef __x86_64__
#error "cpa needs x86-64: preload/libc/private_fds.c is one more place to add a processor"
#endif

#define STACK 2048u

/*
 * As vfork(): the caller goes on when the thread has ended. It has the caller's thread-local
 * memory, which nobody else uses meanwhile.
 */
#define FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

/* Return what clone() does. */
static __attribute__((noinline)) long run(char *top, void (*function)(void *), void *argument)
{
	register long child __asm__("r10") = 0;
	register long tls __asm__("r8") = 0;
	long ret;

	__asm__ volatile(
		"syscall\n\t"
		"test %%rax, %%rax\n\t"
		"jnz 1f\n\t"
		"mov %[argument], %%rdi\n\t" /* it may be in rbp */
		"xor %%ebp, %%ebp\n\t"	     /* there are no frames above */
		"call *%[function]\n\t"
		"xor %%edi, %%edi\n\t"
		"mov %[exit], %%eax\n\t"
		"syscall\n\t"
		"hlt\n"
		"1:"
		: "=a"(ret)
		: "0"((long)SYS_clone), "D"((long)FLAGS), "S"(top), "d"(0L), "r"(child),
		  "r"(tls), [function] "b"(function), [argument] "r"(argument), [exit] "i"(SYS_exit)
		: "rcx", "r11", "cc", "memory");
	return ret;
}

/*
 * Whether Valgrind runs the program: it ends a program that makes such a thread. It knows this
 * sequence, a no-operation for a processor, as a question (valgrind.h: RUNNING_ON_VALGRIND).
 */
static bool in_valgrind(void)
{
	uint64_t question[6] = { 0x1001 }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer != 0;
}

bool cpa_apart(void (*function)(void *), void *argument)
{
	_Alignas(16) char stack[STACK];
	uint64_t all = UINT64_MAX, before;
	long ret;

	if (in_valgrind() || !cpa_kernel_begin()) {
		errno = ENOSYS;
		return false;
	}
	/*
	 * No handler runs there, not that of a fault either: it would be on this little stack, and
	 * by another thread's name.
	 */
	syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof(all));
	ret = run(stack + sizeof(stack), function, argument);
	syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof(before));
	cpa_kernel_end();
	if (ret < 0)
		errno = (int)-ret;
	return ret >= 0;
}
