/* SPDX-License-Identifier: MIT */
#include "shadow/arch/arch.h"

#include <sys/syscall.h>

/* Not inline: the new thread has none of the frame that a caller would share with it. */
__attribute__((noinline)) long cpa_arch_clone(unsigned long flags, char *top,
					      void (*function)(void *), void *argument)
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
		: "0"((long)SYS_clone), "D"((long)flags), "S"(top), "d"(0L), "r"(child),
		  "r"(tls), [function] "b"(function), [argument] "r"(argument), [exit] "i"(SYS_exit)
		: "rcx", "r11", "cc", "memory");
	return ret;
}

/* The sequence does nothing on a processor; Valgrind knows it (valgrind.h: RUNNING_ON_VALGRIND). */
bool cpa_arch_in_valgrind(void)
{
	uint64_t question[6] = { 0x1001 }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer != 0;
}
