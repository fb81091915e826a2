/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/hostile_names.c - names that would break a careless writer of reports
 *
 * Two threads hand items through queues and work in regions; every thread, queue, region and mark
 * has a name with quotes, markup, separators of formats, control characters or bad UTF-8, and the
 * function's file has one. Scripts among them set window.hostile. The function and the lock have
 * symbols, so that a test can rename them with objcopy.
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
	("</script><script>window.hostile=1</script>"),
	"<img src=x onerror=\"window.hostile=1\">",
	"\"'><svg onload=window.hostile=1>",
	"javascript:window.hostile=1",
	"constructor",
	"\x1b[2J\x1b]0;hostile\a\x7f",
	"",
};

pthread_mutex_t hostile_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[COUNT(names)], ready;

static void *take(void *argument)
{
	pthread_setname_np(pthread_self(), "<b>\";'\\\n,\xff");
	for (size_t i = 0; i < COUNT(names); i++) {
		pthread_mutex_lock(&hostile_lock);
		while (ready <= (int)i)
			pthread_cond_wait(&filled, &hostile_lock);
		CPA_DEQUEUE(&queue[i], i + 1);
		pthread_mutex_unlock(&hostile_lock);
		burn_ms(2);
		CPA_ITEM_DONE(&queue[i], i + 1);
	}
	return argument;
}

void hostile_burn(void);

#line 1 "</script><script>window.hostile=1</script>.c"
__attribute__((noinline)) void hostile_burn(void)
{
	burn_ms(4);
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
		hostile_burn();
		CPA_REGION_END();
		pthread_mutex_lock(&hostile_lock);
		CPA_ENQUEUE(&queue[i], i + 1);
		ready++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&hostile_lock);
	}
	return pthread_join(thread, NULL);
}
