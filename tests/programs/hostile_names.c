/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/hostile_names.c - names that would break a careless writer of reports
 *
 * Two threads hand items through queues and work in regions; every thread, queue, region and mark
 * has a name with quotes, markup, separators of formats, control characters or bad UTF-8.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "preload/cpa.h"
#include "tests/programs/burn.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const names[] = {
	"</script><script>alert(1)</script>",
	"<!--<script>",
	"a;b;c 123",
	"quote\"back\\slash",
	"'); DROP TABLE components; --",
	"line\nfeed\ttab\rreturn",
	"bad \xff\xc0\x80 utf-8",
	"right\xe2\x80\xaeleft",
	"separator\xe2\x80\xa8line",
	"__proto__",
	"=1+1,\"comma\"",
	"%s%n%d",
	"",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[COUNT(names)], ready;

static void *take(void *argument)
{
	pthread_setname_np(pthread_self(), "<b>\";'\\\n,\xff");
	for (size_t i = 0; i < COUNT(names); i++) {
		pthread_mutex_lock(&lock);
		while (ready <= (int)i)
			pthread_cond_wait(&filled, &lock);
		CPA_DEQUEUE(&queue[i], i + 1);
		pthread_mutex_unlock(&lock);
		burn_ms(2);
		CPA_ITEM_DONE(&queue[i], i + 1);
	}
	return argument;
}

int main(void)
{
	pthread_t thread;

	for (size_t i = 0; i < COUNT(names); i++)
		CPA_QUEUE_NAME(&queue[i], names[i]);
	pthread_create(&thread, NULL, take, NULL);
	for (size_t i = 0; i < COUNT(names); i++) {
		CPA_MARK(names[i]);
		CPA_REGION_BEGIN(names[i]);
		burn_ms(4);
		CPA_REGION_END();
		pthread_mutex_lock(&lock);
		CPA_ENQUEUE(&queue[i], i + 1);
		ready++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	return pthread_join(thread, NULL);
}
