/* SPDX-License-Identifier: MIT */
/* tests/known/uv_plugin.c - what the wrapped functions of libuv return, case by case */
#include <uv.h>

#include "tests/conformance/case.h"

#define LOOPS	2
#define REPEATS 20

struct job {
	uv_work_t request;
	long left, sum;
	bool on_worker, on_loop;
	pthread_t thread;
};

static void work(uv_work_t *request)
{
	struct job *job = request->data;

	job->on_worker = !pthread_equal(pthread_self(), job->thread);
	job->sum += job->left;
}

static void after(uv_work_t *request, int status)
{
	struct job *job = request->data;

	job->on_loop = pthread_equal(pthread_self(), job->thread) && !status;
	if (--job->left)
		uv_queue_work(request->loop, request, work, after);
}

static void free_it(uv_work_t *request, int status)
{
	(void)status;
	free(request);
}

static void nothing(uv_work_t *request)
{
	(void)request;
}

static void block(uv_work_t *request)
{
	while (!__atomic_load_n((int *)request->data, __ATOMIC_ACQUIRE))
		sleep_ms(1);
}

static void note_status(uv_work_t *request, int status)
{
	*(int *)request->data = status;
}

static void *loop_thread(void *argument)
{
	struct job *job = argument;
	uv_loop_t loop;

	job->thread = pthread_self();
	job->left = REPEATS;
	job->request.data = job;
	uv_loop_init(&loop);
	uv_queue_work(&loop, &job->request, work, after);
	uv_run(&loop, UV_RUN_DEFAULT);
	return (void *)(long)uv_loop_close(&loop);
}

static void loops(void)
{
	struct job job[LOOPS] = { 0 };
	pthread_t t[LOOPS];
	void *ret;

	begin("two loops, requests used again");
	for (int i = 0; i < LOOPS; i++)
		must(!pthread_create(&t[i], NULL, loop_thread, &job[i]), "pthread_create");
	for (int i = 0; i < LOOPS; i++) {
		pthread_join(t[i], &ret);
		add(" close=%ld sum=%ld worker=%d loop=%d", (long)ret, job[i].sum, job[i].on_worker,
		    job[i].on_loop);
	}
	end();
}

static void requests(void)
{
	uv_work_t *own = malloc(sizeof(*own)), blocker[4], late, quiet;
	int go = 0, status = 1;
	uv_loop_t loop;

	uv_loop_init(&loop);
	begin("requests");
	DO("no work", uv_queue_work(&loop, &late, NULL, NULL));
	DO("freed by itself", uv_queue_work(&loop, own, nothing, free_it));
	DO("nothing after", uv_queue_work(&loop, &quiet, nothing, NULL));
	DO("run", uv_run(&loop, UV_RUN_DEFAULT));
	for (int i = 0; i < 4; i++) {
		blocker[i].data = &go;
		uv_queue_work(&loop, &blocker[i], block, NULL);
	}
	late.data = &status;
	DO("behind others", uv_queue_work(&loop, &late, nothing, note_status));
	DO("cancel", uv_cancel((uv_req_t *)&late));
	set(&go, 1);
	DO("run", uv_run(&loop, UV_RUN_DEFAULT));
	DO("status", status);
	DO("close", uv_loop_close(&loop));
	end();
}

int plugin_main(void);
int plugin_main(void)
{
	loops();
	requests();
	return 0;
}
