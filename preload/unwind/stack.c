/* SPDX-License-Identifier: MIT */
#include "preload/unwind/stack.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "shadow/store/kernel.h"

#define PAGE   4096u
#define DEEP   (UINT64_C(16) << 20) /* bytes: the thread's own stack is not looked at below */
#define AT_ONE 32u		    /* pages that one system call asks for */
#define OTHER  64u		    /* most pages of a stack that is not the thread's own */

/* End of the stack of the process's first thread: where the kernel put the program's arguments. */
extern void *__libc_stack_end;

void cpa_stack_begin(struct cpa_stack_bounds *bounds)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	/* The C library keeps the descriptor of a thread above its stack. */
	uint64_t self = (uint64_t)pthread_self(), first = (uint64_t)__libc_stack_end;

	*bounds = (struct cpa_stack_bounds){ 0 };
	if (self - here < DEEP)
		bounds->top = self;
	else if (first - here < DEEP)
		bounds->top = first;
}

/* Of the @count pages from @page on, the number of those at its begin that can be read. */
static uint64_t readable(uint64_t page, uint64_t count)
{
	struct iovec local, remote[AT_ONE];
	char byte[AT_ONE];
	uint64_t done = 0;

	while (done < count) {
		uint64_t n = count - done < AT_ONE ? count - done : AT_ONE;
		long got;

		for (uint64_t i = 0; i < n; i++)
			remote[i] = (struct iovec){ (void *)(page + (done + i) * PAGE), 1 };
		local = (struct iovec){ byte, n };
		got = cpa_kernel(SYS_process_vm_readv, cpa_kernel(SYS_getpid), &local, 1, remote, n,
				 0);
		if (got > 0)
			done += (uint64_t)got;
		if (got != (long)n)
			break;
	}
	return done;
}

struct cpa_stack_part cpa_stack_from(struct cpa_stack_bounds *b, uint64_t sp)
{
	struct cpa_stack_part part = { sp, sp };
	uint64_t page = sp / PAGE * PAGE;

	if (sp >= b->low && b->low && sp < b->top) {
		part.to = b->top;
		return part;
	}
	if (sp < b->top && b->top - sp < DEEP) {
		uint64_t end = b->low ? b->low : (b->top + PAGE - 1) / PAGE * PAGE;
		uint64_t pages = (end - page) / PAGE;

		if (readable(page, pages) == pages) {
			b->low = page;
			part.to = b->top;
			return part;
		}
	}
	part.to = page + readable(page, OTHER) * PAGE;
	if (part.to < sp)
		part.to = sp;
	return part;
}
