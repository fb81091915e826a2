/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/cond_signal.c - ping-pong by a condition variable, signalled late
 *
 * Each player works, hands over the turn, works on (late) and only then signals. Path: main before
 * + work and late part of both, every round + main after. It runs along the signals: the mutex
 * alone would leave the late parts out.
 */
#include "tests/programs/known_path.h"

#define MAIN_US (250 * KP_MS)
#define PING_US (20 * KP_MS)
#define PONG_US (25 * KP_MS)
#define LATE_US (8 * KP_MS)
#define ROUNDS	20

enum player { PING, PONG };

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_cond = PTHREAD_COND_INITIALIZER;
static struct kp_mutex turn_mutex = { .mutex = &turn_lock, .name = "turn_lock" };
static struct kp_cond turn_changed = { .cond = &turn_cond };
static enum player turn = PING;
static int unwaited; /* guarded by turn_lock: turns that came before they were waited for */

static void await_turn(enum player me)
{
	kp_lock(&turn_mutex);
	unwaited += turn == me;
	while (turn != me)
		kp_wait(&turn_changed, &turn_mutex);
	kp_unlock(&turn_mutex);
}

/* The other one waits until the signal, although the mutex is free long before. */
static void give_turn(enum player other)
{
	kp_lock(&turn_mutex);
	turn = other;
	kp_unlock(&turn_mutex);
	work_c(LATE_US);
	kp_signal(&turn_changed);
}

static void *ping(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		work_a(PING_US);
		give_turn(PONG);
		await_turn(PING);
	}
	return kp_leave();
}

static void *pong(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		await_turn(PONG);
		work_b(PONG_US);
		give_turn(PING);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *player[2];

	kp_begin();
	work_main(MAIN_US);
	player[0] = kp_create(ping, NULL);
	player[1] = kp_create(pong, NULL);
	kp_join(player[0]);
	kp_join(player[1]);
	work_main(MAIN_US);

	if (!unwaited) {
		kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * (PING_US + PONG_US + 2 * LATE_US));
		kp_claim(KP_SHARE, "work_c", ROUNDS * 2 * LATE_US);
		kp_claim(KP_SAVED, "ping", ROUNDS * (PING_US + LATE_US));
	}
	return kp_finish();
}
