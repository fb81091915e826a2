/* SPDX-License-Identifier: MIT */
#include "preload/unwind/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "shadow/store/kernel.h"

#define PAGE  4096u
#define REACH (UINT64_C(16) << 20) /* bytes: farther up is another stack */
#define BEHIND \
	128u /* bytes in front of the word: a frame's registers lie below its return address */
#define NO_HOW (-1L)

/* End of the stack of the process's first thread: where the kernel put the program's arguments. */
extern void *__libc_stack_end;

/* Written before there are other threads. */
static bool can_ask, can_copy;
static uint64_t first_size; /* bytes that the kernel keeps for the first thread's stack */

/* Whether the word at @address can be read: a system call that reads it and then does nothing. */
static bool is_readable(uint64_t address)
{
	return cpa_kernel(SYS_rt_sigprocmask, NO_HOW, address, NULL, sizeof(address)) &&
	       errno == EINVAL;
}

bool cpa_stack_is_readable(uint64_t address)
{
	return can_ask && is_readable(address);
}

bool cpa_stack_can(struct cpa_stack_own own)
{
	return can_copy || (can_ask && own.top);
}

struct cpa_stack_own cpa_stack_own_at(uint64_t address, uint64_t size)
{
	/* The C library keeps the descriptor of a thread above its stack. */
	uint64_t self = (uint64_t)pthread_self(), first = (uint64_t)__libc_stack_end;

	if (first - address < first_size / 2)
		return (struct cpa_stack_own){ first - first_size / 2, first };
	if (self - address < size / 2)
		return (struct cpa_stack_own){ self - size / 2, self };
	return (struct cpa_stack_own){ 0, 0 };
}

/* Not inline: asking for its frame's address would give a caller a frame pointer. */
__attribute__((noinline)) struct cpa_stack_own cpa_stack_own(uint64_t size)
{
	return cpa_stack_own_at((uint64_t)__builtin_frame_address(0), size);
}

/* The window becomes the page of @address itself. */
static bool move_to_page(struct cpa_stack_view *s, uint64_t address)
{
	s->from = address / PAGE * PAGE;
	s->to = s->from + PAGE;
	s->at = (const char *)s->from;
	if (is_readable(address))
		return true;
	s->to = s->from;
	return false;
}

/* The window becomes a copy. */
static bool copy_from(struct cpa_stack_view *s, uint64_t address)
{
	uint64_t from = address - s->bottom > BEHIND ? address - BEHIND : s->bottom;
	uint64_t border = (from / PAGE + 1) * PAGE;
	struct iovec local = { s->copy, sizeof(s->copy) };
	struct iovec remote[] = { { (void *)from, border - from },
				  { (void *)border, sizeof(s->copy) - (border - from) } };
	/* It copies what lies in front of the first page that cannot be read. */
	long got = cpa_kernel(SYS_process_vm_readv, cpa_kernel(SYS_getpid), &local, 1L, remote, 2L,
			      0L);

	s->from = from;
	s->to = got > 0 ? from + (uint64_t)got : from;
	s->at = s->copy;
	return s->to >= address && s->to - address >= sizeof(uint64_t);
}

bool cpa_stack_read(void *to, uint64_t address, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)address, size };

	return can_copy && cpa_kernel(SYS_process_vm_readv, cpa_kernel(SYS_getpid), &local, 1L,
				      &remote, 1L, 0L) == (long)size;
}

void cpa_stack_init(bool copies)
{
	int err = errno;
	struct rlimit limit;
	struct cpa_stack_view s = { .bottom = (uint64_t)&err & ~UINT64_C(7) };

	if (!cpa_kernel(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit))
		first_size = limit.rlim_cur < REACH ? limit.rlim_cur : REACH;
	can_ask = is_readable((uint64_t)&err & ~UINT64_C(7)) && !is_readable(sizeof(uint64_t));
	can_copy = copies && copy_from(&s, s.bottom);
	errno = err;
}

bool cpa_stack_move(struct cpa_stack_view *s, uint64_t address)
{
	if (address - s->bottom >= REACH || !s->turns)
		return false;
	s->turns--;
	if (can_ask && s->bottom >= s->own.from && address < s->own.top)
		return move_to_page(s, address);
	return can_copy && copy_from(s, address);
}
