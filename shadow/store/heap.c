/* SPDX-License-Identifier: MIT */
#include "shadow/store/heap.h"

#include <string.h>

#include "shadow/store/stack.h"

#define LEAST	  64u
#define LEAST_LOG 6u
#define STEPS	  4u		 /* sizes per power of two */
#define SMALL	  UINT64_C(2048) /* blocks up to this size are made several at once */
#define BATCH	  UINT64_C(8192)

/* Stored in the cache line before each block. */
struct head {
	uint32_t below; /* of a free block: number of the next one on the stack */
	uint32_t class;
};

_Static_assert(LEAST_LOG + CPA_HEAP_CLASSES / STEPS <= 32, "a size fits a word");

static uint64_t *stack_of(uint32_t class)
{
	return &cpa_header()->heap[class];
}

/* Blocks are numbered by cache line; 2^32 lines are more than any session has. */
static struct head *head_of(uint32_t number)
{
	return cpa_at((uint64_t)number * CPA_CACHE_LINE);
}

static uint32_t *below(uint32_t number)
{
	return &head_of(number)->below;
}

static uint32_t number_of(uint64_t at)
{
	return (uint32_t)(at / CPA_CACHE_LINE);
}

/* Usable bytes of a block of @class: 64, 128, 192, 256, 320, 384, 448, 512, 640 ... */
static uint64_t size_of(uint32_t class)
{
	uint32_t power = class / STEPS;

	if (power == 0)
		return (class + 1) * (uint64_t)LEAST;
	return (STEPS + class % STEPS + 1) * (uint64_t)LEAST << (power - 1);
}

static uint32_t class_of(uint64_t size)
{
	uint32_t low = 0, high = CPA_HEAP_CLASSES;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (size_of(middle) < size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the number of a new block; for small sizes push more of them. 0: no space. */
static uint32_t make(uint32_t class)
{
	uint64_t each = size_of(class) + CPA_CACHE_LINE;
	uint64_t n = size_of(class) <= SMALL ? BATCH / each : 1;
	uint64_t at = cpa_session_alloc(n * each, CPA_CACHE_LINE);

	if (!at)
		return 0;
	/* Relaxed: a statistic. */
	__atomic_fetch_add(&cpa_header()->heap_made[class], (uint32_t)n, __ATOMIC_RELAXED);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t number = number_of(at + i * each);

		head_of(number)->class = class;
		if (i > 0)
			cpa_stack_push(stack_of(class), number, below);
	}
	return number_of(at);
}

void *cpa_heap_take(size_t size)
{
	uint32_t class = class_of(size), number;

	if (class >= CPA_HEAP_CLASSES)
		return NULL;
	number = cpa_stack_pop(stack_of(class), below);
	if (!number)
		number = make(class);
	if (!number)
		return NULL;
	return (char *)head_of(number) + CPA_CACHE_LINE;
}

void *cpa_heap_alloc(size_t size)
{
	void *block = cpa_heap_take(size);

	if (block)
		memset(block, 0, size);
	return block;
}

void cpa_heap_free(void *p)
{
	uint64_t at = cpa_offset(p) - CPA_CACHE_LINE;

	cpa_stack_push(stack_of(head_of(number_of(at))->class), number_of(at), below);
}

uint64_t cpa_heap_live(void)
{
	uint64_t live = 0;

	for (uint32_t class = 0; class < CPA_HEAP_CLASSES; class ++) {
		uint64_t blocks = cpa_header()->heap_made[class];

		for (uint32_t n = (uint32_t)*stack_of(class); n; n = *below(n))
			blocks--;
		live += blocks * size_of(class);
	}
	return live;
}
