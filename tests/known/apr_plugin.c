/* SPDX-License-Identifier: MIT */
/* tests/known/apr_plugin.c - what the wrapped functions of APR return, case by case */
#include <apr_general.h>
#include <apr_queue.h>

#include "tests/conformance/asleep.h"
#include "tests/conformance/case.h"

static apr_queue_t *queue;
static void *got;

static volatile int popping;

static void *popper(void *unused)
{
	(void)unused;
	set(&popping, gettid());
	return (void *)(long)apr_queue_pop(queue, &got);
}

/* A thread that waits for an item, or will in a moment. */
static pthread_t start_popper(void)
{
	pthread_t t;

	popping = 0;
	must(!pthread_create(&t, NULL, popper, NULL), "pthread_create");
	await_asleep(&popping);
	return t;
}

static void cancelled(apr_pool_t *memory)
{
	pthread_t t;
	void *result;

	/* The thread leaves the queue locked, with or without us: it is not used again. */
	apr_queue_create(&queue, 1, memory);
	t = start_popper();
	pthread_cancel(t);
	pthread_join(t, &result);
	CASE("cancelled in pop", result == PTHREAD_CANCELED);
}

int plugin_main(void);
int plugin_main(void)
{
	apr_pool_t *memory;
	int items[3];
	void *result;
	pthread_t t;

	apr_initialize();
	apr_pool_create(&memory, NULL);
	begin("create");
	DO("create", apr_queue_create(&queue, 2, memory));
	DO("pop of none", apr_queue_trypop(queue, &got));
	end();

	begin("push and pop");
	DO("push", apr_queue_push(queue, &items[0]));
	DO("push NULL", apr_queue_trypush(queue, NULL));
	DO("full", apr_queue_trypush(queue, &items[2]));
	DO("size", apr_queue_size(queue));
	DO("pop", apr_queue_pop(queue, &got));
	DO("is first", got == &items[0]);
	DO("pop", apr_queue_trypop(queue, &got));
	DO("is NULL", got == NULL);
	end();

	begin("interrupt and terminate");
	t = start_popper();
	DO("interrupt", apr_queue_interrupt_all(queue));
	while (pthread_tryjoin_np(t, &result)) /* who did not wait yet has missed it */
		apr_queue_interrupt_all(queue);
	DO("pop", (long)result);
	DO("terminate", apr_queue_term(queue));
	DO("push", apr_queue_push(queue, &items[0]));
	DO("pop", apr_queue_pop(queue, &got));
	end();

	cancelled(memory);
	/* Nothing is freed: a queue that is locked for ever cannot be destroyed. */
	return 0;
}
