/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/pipe_read.c - a thread that blocks in read on a pipe
 *
 * Blocking in read is external time: no edge leads from the write. Path: main before + all of the
 * reader, blocked and working + main after. With reads at zero the writer's work, which goes on
 * beside the reader, may be what is longest.
 */
#include "tests/programs/known_path.h"

#include <stdlib.h>
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
		if (write(ends[1], &i, sizeof(i)) != sizeof(i))
			exit(2);
	}
	return kp_leave();
}

static void *pipe_reader(void *kp)
{
	int i, message;

	kp_enter(kp);
	for (i = 0; i < MESSAGES; i++) {
		if (kp_read(ends[0], &message, sizeof(message)) != sizeof(message))
			exit(2);
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

	kp_claim(KP_SHARE, "work_b", MESSAGES * READER_US + LAST_US);
	kp_claim(KP_SHARE, "pipe_writer", 0);
	return kp_finish();
}
