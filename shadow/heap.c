/* SPDX-License-Identifier: MIT */
#include "shadow/heap.h"

#include <errno.h>

/* jemalloc's public interface under the names that scripts/private-jemalloc.sh gives it. */
struct extent_hooks {
	void *(*alloc)(struct extent_hooks *, void *, size_t, size_t, bool *, bool *, unsigned);
	bool (*dalloc)(struct extent_hooks *, void *, size_t, bool, unsigned);
	void (*destroy)(struct extent_hooks *, void *, size_t, bool, unsigned);
	bool (*commit)(struct extent_hooks *, void *, size_t, size_t, size_t, unsigned);
	bool (*decommit)(struct extent_hooks *, void *, size_t, size_t, size_t, unsigned);
	bool (*purge_lazy)(struct extent_hooks *, void *, size_t, size_t, size_t, unsigned);
	bool (*purge_forced)(struct extent_hooks *, void *, size_t, size_t, size_t, unsigned);
	bool (*split)(struct extent_hooks *, void *, size_t, size_t, size_t, bool, unsigned);
	bool (*merge)(struct extent_hooks *, void *, size_t, void *, size_t, bool, unsigned);
};
struct arena_config {
	struct extent_hooks *hooks;
	bool metadata_use_hooks;
};
void *cpa_je_mallocx(size_t size, int flags);
void cpa_je_dallocx(void *p, int flags);
int cpa_je_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
CPA_HIDDEN extern void (*cpa_je_malloc_message)(void *argument, const char *text);

/*
 * Read by jemalloc at its first call. retain: false keeps extents as small as what is asked for.
 * What was freed is merged with its neighbours and is never given back: without the last setting
 * jemalloc takes nothing out of an extent that has become 64 times as large as what is asked for,
 * and the session grows for as long as versions come and go.
 */
CPA_HIDDEN extern const char *cpa_je_malloc_conf;
const char *cpa_je_malloc_conf = "narenas:1,tcache:false,background_thread:false,retain:false,"
				 "dirty_decay_ms:-1,muzzy_decay_ms:-1,lg_extent_max_active_fit:64";

#define ARENA(a)    ((int)((a) + 1) << 20) /* MALLOCX_ARENA */
#define TCACHE_NONE (1 << 8)		   /* MALLOCX_TCACHE_NONE */
#define ZERO	    0x40		   /* MALLOCX_ZERO */

static int arena_flags; /* written once by cpa_heap_init() */

static void *extent_alloc(struct extent_hooks *hooks, void *want, size_t size, size_t align,
			  bool *zero, bool *commit, unsigned arena)
{
	uint64_t at;

	(void)hooks;
	(void)arena;
	if (want)
		return NULL;
	/* The session's base is page-aligned only: ask for more where jemalloc wants more. */
	at = cpa_session_alloc(align > 4096 ? size + align : size, 4096);
	if (!at)
		return NULL;
	*zero = true;
	*commit = true;
	return (void *)(((uintptr_t)cpa_at(at) + align - 1) & ~(uintptr_t)(align - 1));
}

static bool keep(struct extent_hooks *hooks, void *p, size_t size, bool committed, unsigned arena)
{
	(void)hooks, (void)p, (void)size, (void)committed, (void)arena;
	return true; /* "failed": jemalloc keeps the extent */
}

static bool can_split(struct extent_hooks *hooks, void *p, size_t size, size_t a, size_t b,
		      bool committed, unsigned arena)
{
	(void)hooks, (void)p, (void)size, (void)a, (void)b, (void)committed, (void)arena;
	return false;
}

static bool can_merge(struct extent_hooks *hooks, void *a, size_t size_a, void *b, size_t size_b,
		      bool committed, unsigned arena)
{
	(void)hooks, (void)a, (void)size_a, (void)b, (void)size_b, (void)committed, (void)arena;
	return false;
}

/* What fails is said by whoever asked for memory: stderr is the target's. */
static void say_nothing(void *argument, const char *text)
{
	(void)argument, (void)text;
}

int cpa_heap_init(void)
{
	static struct extent_hooks hooks = {
		.alloc = extent_alloc, .dalloc = keep, .split = can_split, .merge = can_merge
	};
	/* jemalloc's own bookkeeping stays in private memory: readers have no use for it. */
	struct arena_config config = { &hooks, false };
	void *also = &hooks;
	unsigned arena;
	size_t size = sizeof(arena);
	int err;

	cpa_je_malloc_message = say_nothing;
	err = cpa_je_mallctl("experimental.arenas_create_ext", &arena, &size, &config,
			     sizeof(config));
	/*
	 * In the last rounds of a thread's destructors jemalloc has put the thread's data away, and
	 * serves it from arena 0, whatever arena was asked for.
	 */
	if (!err)
		err = cpa_je_mallctl("arena.0.extent_hooks", NULL, NULL, &also, sizeof(also));
	if (err)
		return -err;
	arena_flags = ARENA(arena) | TCACHE_NONE;
	return 0;
}

void *cpa_heap_alloc(size_t size)
{
	int err = errno;
	void *p = cpa_je_mallocx(size, arena_flags | ZERO);

	errno = err;
	return p;
}

void cpa_heap_free(void *p)
{
	int err = errno;

	cpa_je_dallocx(p, TCACHE_NONE);
	errno = err;
}
