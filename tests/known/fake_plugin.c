/* SPDX-License-Identifier: MIT */
/* tests/known/fake_plugin.c - which copy of the library are its calls? */
#include <stddef.h>

void g_async_queue_push(void *queue, void *data);
void *g_async_queue_try_pop(void *queue);

int plugin_main(void);
int plugin_main(void)
{
	int queue = 0, item = 0, copy;

	g_async_queue_push(&queue, &item);
	copy = queue;
	if (g_async_queue_try_pop(&queue) != &item)
		return -1;
	if (g_async_queue_try_pop(&queue))
		return -2;
	return queue == -copy ? copy : -3;
}
