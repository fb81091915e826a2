/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_uv.c - chains of uv_queue_work: each piece of work is followed by some in
 * the loop, which starts the next piece
 *
 * The loop waits for nothing but work. One more request is cancelled before a worker takes it.
 */
#include <uv.h>

#include "tests/programs/known_items.h"

#define CHAINS	3
#define PIECES	5
#define WORKERS "2"

struct chain {
	uv_work_t request;
	struct ki_item item;
	int pieces;
};

static struct ki_queue work = { .name = "libuv work", .component = KI_FIRST };
static struct ki_queue done = { .name = "libuv done", .component = KI_SECOND };
static struct chain chains[CHAINS];
static uv_work_t extra;
static long sum, cancelled;

static void piece(uv_work_t *request)
{
	struct chain *chain = request->data;

	ki_pop(&work, &chain->item);
	ki_burn((15 + 5 * chain->item.number) * KI_MS);
	ki_done(&work);
	ki_push(&done, &chain->item);
}

static void follow(uv_work_t *request, int status);

static void submit(struct chain *chain)
{
	ki_push(&work, &chain->item);
	if (uv_queue_work(uv_default_loop(), &chain->request, piece, follow))
		exit(3);
}

static void follow(uv_work_t *request, int status)
{
	struct chain *chain = request->data;

	ki_pop(&done, &chain->item);
	sum += status + chain->item.number;
	ki_burn(10 * KI_MS);
	ki_done(&done);
	if (++chain->pieces < PIECES)
		submit(chain);
}

static void never(uv_work_t *request)
{
	(void)request;
	abort();
}

static void was_cancelled(uv_work_t *request, int status)
{
	cancelled += status == UV_ECANCELED && request == &extra;
}

int main(int argc, char **argv)
{
	FILE *f = ki_open(argv);

	(void)argc;
	ki_begin();
	setenv("UV_THREADPOOL_SIZE", WORKERS, 1);
	ki_burn(50 * KI_MS);
	for (int i = 0; i < CHAINS; i++) {
		chains[i].request.data = &chains[i];
		chains[i].item.number = i;
		submit(&chains[i]);
	}
	printf("no work: %d\n", uv_queue_work(uv_default_loop(), &extra, NULL, was_cancelled));
	if (uv_queue_work(uv_default_loop(), &extra, never, was_cancelled))
		exit(3);
	printf("cancel: %d\n", uv_cancel((uv_req_t *)&extra));
	printf("loop: %d\n", uv_run(uv_default_loop(), UV_RUN_DEFAULT));
	printf("sum %ld, cancelled %ld\n", sum, cancelled);
	return ki_finish(f, &work, &done);
}
