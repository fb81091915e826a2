/* SPDX-License-Identifier: MIT */
#include "preload/core/alive.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/libc/log.h"
#include "preload/core/guard.h"
#include "shadow/store/copy_out.h"
#include "shadow/store/kernel.h"

/*
 * Sessions up to this size are always copied for a child; larger ones only if code of ours or
 * another thread may still use them: a signal handler that runs unseen may make events.
 */
#define COPIED (UINT64_C(64) << 20)

static const uint32_t dead;
const uint32_t *cpa_alive = &dead;

static const uint64_t not_begun;
const uint64_t *cpa_epoch_word = &not_begun;

/*
 * One page: `alive` is *cpa_alive once profiling has begun. `begun` is 1 from then on, also after
 * the profile has ended. Both read 0 in a child until it has joined the session.
 */
static struct {
	uint32_t alive;
	uint32_t begun;
} * page;

/* Bytes of the session that a child can read; the header's number may be larger by then. */
static uint64_t readable;

/*
 * By a system call: mmap() may be a function of the program, and take locks that nobody releases.
 */
static void *map(void *at, uint64_t size, int how)
{
	return (void *)syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0L);
}

/*
 * The page reads 0 in a child (MADV_WIPEONFORK). On older kernels the atfork handler sets it to 0,
 * except in children of a bare clone().
 */
bool cpa_alive_init(void)
{
	void *new = map(NULL, 4096, 0);

	if (new == MAP_FAILED) {
		cpa_warn("no memory for the profile: %s; not profiled", strerrordesc_np(errno));
		return false;
	}
	madvise(new, 4096, MADV_WIPEONFORK);
	page = new;
	/* Relaxed: it reads 0 as before. */
	__atomic_store_n(&cpa_alive, &page->alive, __ATOMIC_RELAXED);
	return true;
}

void cpa_alive_begin(void)
{
	/* Relaxed: a thread that finds the word looks at *cpa_alive next. */
	__atomic_store_n(&cpa_epoch_word, &cpa_header()->epoch, __ATOMIC_RELAXED);
	page->begun = 1;
	/* RELEASE: a thread that finds the process alive finds all that was set up before. */
	__atomic_store_n(&page->alive, 1, __ATOMIC_RELEASE);
}

void cpa_alive_end(void)
{
	/* Relaxed: events of other threads from now on, until the kernel ends them, may be lost. */
	__atomic_store_n(&page->alive, 0, __ATOMIC_RELAXED);
}

void cpa_alive_forking(void)
{
	/* Relaxed, all: what lies below `reserved` was made accessible before. */
	uint64_t reserved = __atomic_load_n(&cpa_header()->reserved, __ATOMIC_RELAXED);
	uint64_t mapped = cpa_session_mapped();

	__atomic_store_n(&readable, reserved < mapped ? reserved : mapped, __ATOMIC_RELAXED);
}

/*
 * Whether the calling thread, of worker @w (NULL: none), was interrupted in our code or in a wait.
 */
static bool is_interrupted(const struct cpa_worker *w)
{
	return cpa_tls.inside || (w && w->between);
}

void cpa_alive_leave(bool has_threads)
{
	struct cpa_worker *w = cpa_tls.worker;
	uint64_t limit = cpa_session_mapped(), size = readable;
	void *copy = MAP_FAILED;
	int err = errno;

	cpa_alive = &dead;
	cpa_tls.child = 0; /* a fork() that a handler interrupted makes no child in the session */
	if (!cpa_kernel_begin()) /* the session has ended, for its parent as well */
		return;
	if (w)
		cpa_sampler_leave(&w->sampler);
	if (size <= COPIED || has_threads || is_interrupted(w))
		copy = map(NULL, size, 0);
	if (copy != MAP_FAILED)
		cpa_session_copy_out(copy, size);
	if (copy == MAP_FAILED ||
	    mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, cpa_base) == MAP_FAILED)
		size = 0;
	map(cpa_base + size, limit - size, MAP_NORESERVE | MAP_FIXED);
	cpa_kernel_end();
	errno = err;
}

void cpa_alive_look(void)
{
	if (cpa_alive == &dead || page->begun)
		return;
	cpa_alive_forking();
	cpa_alive_leave(false);
}
