/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/pipe_read.c - a thread that waits in read() on a pipe for another one
 *
 * A read depends on the write of its bytes. Path: main before + all of the writer + what the reader
 * does with the last message + main after.
 */
#include "tests/programs/known_path.h"

#include <unistd.h>

#define MAIN_US	  (250 * KP_MS)
#define WRITER_US (40 * KP_MS)
#define READER_US (12 * KP_MS)
#define LAST_US	  (500 * KP_MS)
#define MESSAGES  24

static int ends[2];

static void *pipe_writer(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < MESSAGES; i++) {
		work_a(WRITER_US);
		kp_put(ends[1]);
	}
	return kp_leave();
}

static void *pipe_reader(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < MESSAGES; i++) {
		kp_get(ends[0]);
		work_b(READER_US);
	}
	work_b(LAST_US);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	if (pipe(ends))
		return 2;
	work_main(MAIN_US);
	thread[0] = kp_create(pipe_writer, NULL);
	thread[1] = kp_create(pipe_reader, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_SHARE, "work_b", READER_US + LAST_US);
	kp_claim(KP_SHARE, "pipe_writer", MESSAGES * WRITER_US);
	kp_claim(KP_SAVED, "work_a", MESSAGES * (WRITER_US - READER_US) + READER_US);
	return kp_finish();
}
