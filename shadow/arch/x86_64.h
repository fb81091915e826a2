/* SPDX-License-Identifier: MIT */
/*
 * shadow/arch/x86_64.h - x86-64: registers, instructions, calling convention, glibc's versions
 *
 * Included through shadow/arch/arch.h only. The functions neither lock nor allocate, and keep errno;
 * all are safe in a signal handler.
 */
#ifndef CPA_SHADOW_ARCH_X86_64_H
#define CPA_SHADOW_ARCH_X86_64_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Bytes of a cache line. The session file is laid out in such lines. */
#define CPA_CACHE_LINE 64u

/* The time stamp counter, in ticks. Kills the program after prctl(PR_SET_TSC, PR_TSC_SIGSEGV). */
static inline uint64_t cpa_arch_counter(void)
{
	return __builtin_ia32_rdtsc();
}

/* Let the core's other hardware thread run, in a loop that waits for a store of another thread. */
static inline void cpa_arch_pause(void)
{
	__builtin_ia32_pause();
}

/* Store the stack pointer, which is never 0, in the 8-byte variable @word. One instruction. */
#define CPA_ARCH_STORE_STACK_POINTER(word) __asm__ volatile("mov %%rsp, %0" : "=m"(word))

/* Address of the instruction that a signal interrupted. @context: argument of the handler. */
static inline uint64_t cpa_arch_program_counter(const void *context)
{
	return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* The stack pointer of what a signal interrupted. */
static inline uint64_t cpa_arch_stack_pointer(const void *context)
{
	return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

/* Bytes of @context up to the last register that the two above read. */
#define CPA_ARCH_CONTEXT offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])

/* Registers of a frame, by their numbers in unwind tables (x86-64 psABI, fig. 3.36). */
#define CPA_ARCH_REGISTERS	17u
#define CPA_ARCH_FRAME_POINTER	6u
#define CPA_ARCH_STACK_POINTER	7u
#define CPA_ARCH_RETURN_ADDRESS 16u
/* The return address, and the registers that a called function leaves as they were. */
#define CPA_ARCH_SAVED 7u
#define CPA_ARCH_SAVED_REGISTERS         \
	{                                \
		16, 3, 6, 12, 13, 14, 15 \
	}
/* Those and the stack pointer, bit by bit. */
#define CPA_ARCH_KEPT 0x1f0c8u

/* The registers that a signal interrupted, in that order. @context: argument of the handler. */
static inline void cpa_arch_registers(const void *context, uint64_t to[CPA_ARCH_REGISTERS])
{
	static const uint8_t from[CPA_ARCH_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,	 REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;

	for (unsigned i = 0; i < CPA_ARCH_REGISTERS; i++)
		to[i] = (uint64_t)registers[from[i]];
}

#define CPA_ARCH_KERNEL_CALL 2u /* bytes of the instruction that calls the kernel */

/* Whether the CPA_ARCH_KERNEL_CALL bytes before @address, which can be read, call the kernel (Intel SDM, SYSCALL). */
static inline bool cpa_arch_is_behind_kernel_call(uint64_t address)
{
	const uint8_t *end = (const uint8_t *)address;

	return end[-2] == 0x0f && end[-1] == 0x05;
}

/*
 * Whether the instruction before @address is a call. @most: bytes in front of it that may be read (Intel SDM,
 * volume 2, CALL).
 */
static inline bool cpa_arch_is_behind_call(uint64_t address, uint64_t most)
{
	const uint8_t *end = (const uint8_t *)address;
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };

	if (most >= 5 && end[-5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof(lengths); i++) {
		const uint8_t *at = end - lengths[i];
		uint8_t mod, base, length = 2;

		if (most < lengths[i] || at[0] != 0xff || (at[1] >> 3 & 7) != 2)
			continue;
		mod = at[1] >> 6;
		base = at[1] & 7;
		if (mod != 3 && base == 4) { /* with a SIB byte */
			length++;
			base = lengths[i] > 2 ? at[2] & 7 : 0;
		}
		length += mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
		if (length == lengths[i])
			return true;
	}
	return false;
}

/* Of the calling function: the registers of CPA_ARCH_KEPT, stored where cpa_arch_registers() does. */
static inline __attribute__((always_inline)) void
cpa_arch_registers_here(uint64_t to[CPA_ARCH_REGISTERS])
{
	__asm__ volatile("mov %%rbx, 24(%0)\n\t"
			 "mov %%rbp, 48(%0)\n\t"
			 "mov %%rsp, 56(%0)\n\t"
			 "mov %%r12, 96(%0)\n\t"
			 "mov %%r13, 104(%0)\n\t"
			 "mov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)\n\t"
			 "lea 0(%%rip), %%rcx\n\t"
			 "mov %%rcx, 128(%0)"
			 :
			 : "a"(to)
			 : "rcx", "memory");
}

/*
 * Stack pointer that a jump to @buffer restores. glibc keeps it as word 6 (JB_RSP), exclusive-or'ed
 * with the thread's pointer guard, then rotated left by 17 bits.
 */
static inline uint64_t cpa_arch_jump_target(const struct __jmp_buf_tag *buffer)
{
	uint64_t mixed = (uint64_t)buffer->__jmpbuf[6], guard;

	mixed = mixed >> 17 | mixed << (64 - 17);
	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return mixed ^ guard;
}

/*
 * Body of a function with __attribute__((naked)) and at most three arguments. Calls @choose with
 * the same arguments, then jumps to the function that it returned, again with the same arguments:
 * that one finds the return address and stack of the first caller.
 */
#define CPA_ARCH_JUMP_TO_CHOICE_OF(choose)      \
	__asm__("push %rdi\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"push %rsi\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"push %rdx\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"call " #choose "\n\t"          \
		"pop %rdx\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"pop %rsi\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"pop %rdi\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"jmp *%rax")

/*
 * A signal handler with this attribute aligns its stack itself. QEMU before 8.1, as an emulator of
 * x86-64, calls handlers with a stack that is 8 bytes off, and the first aligned store to it would
 * end the program.
 */
#define CPA_ARCH_SIGNAL_HANDLER __attribute__((force_align_arg_pointer))

/*
 * Call clone() with @flags, without thread-local memory or thread numbers to store. The new thread
 * calls @function with @argument on the stack that ends at @top (16-byte aligned), then exits.
 * Return what the system call returns: thread number, or -error. errno stays.
 */
__attribute__((visibility("hidden"))) long cpa_arch_clone(unsigned long flags, char *top,
							  void (*function)(void *), void *argument);

/* Whether Valgrind runs the program. */
__attribute__((visibility("hidden"))) bool cpa_arch_in_valgrind(void);

/*
 * Versions under which glibc for x86-64 has functions that changed later. A program linked before
 * the change finds the older version: CPA_OLDER() in preload/libc/real.h. For a processor whose
 * glibc has no older versions CPA_ARCH_GLIBC_OLDER is not defined, and the others are NULL.
 */
#define CPA_ARCH_GLIBC_OLDER
#define CPA_ARCH_GLIBC_FIRST	  "GLIBC_2.2.5"
#define CPA_ARCH_GLIBC_COND	  "GLIBC_2.3.2" /* pthread_cond_*, today's */
#define CPA_ARCH_GLIBC_SPAWN	  "GLIBC_2.15"	/* posix_spawn(), today's */
#define CPA_ARCH_GLIBC_QUICK_EXIT "GLIBC_2.10"	/* quick_exit(), the older one */

#endif
