/* SPDX-License-Identifier: MIT */
/*
 * tests/known/fake_glib.c - a library with a few of GLib's names; COPY tells its copies apart
 *
 * What was pushed to one copy can only be popped from it.
 */
#include <stddef.h>

#ifndef COPY
#define COPY 1
#endif

static void *stack[100];
static int count;

void g_async_queue_push(void *queue, void *data);
void g_async_queue_push(void *queue, void *data)
{
	*(int *)queue = COPY;
	stack[count++] = data;
}

void *g_async_queue_try_pop(void *queue);
void *g_async_queue_try_pop(void *queue)
{
	*(int *)queue = -COPY;
	return count ? stack[--count] : NULL;
}
