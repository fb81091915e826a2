/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/readers_writer.c - two readers and a writer that is let in first
 *
 * The writer holds the lock while the readers come, asks for it again while they read, and keeps
 * new readers out until it had it. Path: main before + writing and the longer reading, every round
 * + main after. The readings of a round depend on the writing before them, not on each other; the
 * writing depends on all of them. Who reads together is known from the log.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (250 * KP_MS)
#define WRITE_US   (30 * KP_MS)
#define LONG_US	   (24 * KP_MS)
#define SHORT_US   (14 * KP_MS)
#define BESIDE_US  (8 * KP_MS) /* the writer's work without the lock */
#define BETWEEN_US (6 * KP_MS) /* a reader's */
#define ROUNDS	   22

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct kp_rwlock table = { .lock = &table_lock, .name = "table_lock" };

static void *writer(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_wrlock(&table);
		work_a(WRITE_US);
		kp_wrunlock(&table);
		work_c(BESIDE_US);
	}
	return kp_leave();
}

static void *reader(void *kp)
{
	const long *us = kp_enter(kp);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		work_d(BETWEEN_US);
		kp_rdlock(&table);
		work_b(*us);
		kp_rdunlock(&table);
	}
	return kp_leave();
}

int main(void)
{
	static const long us[] = { LONG_US, SHORT_US };
	struct kp_thread *thread[3];
	int i;

	kp_begin();
	work_main(MAIN_US);
	thread[0] = kp_create(writer, NULL);
	for (i = 0; i < 2; i++)
		thread[i + 1] = kp_create(reader, (void *)&us[i]);
	for (i = 0; i < 3; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	kp_claim(KP_SHARE, "work_a", ROUNDS * WRITE_US);
	return kp_finish();
}
