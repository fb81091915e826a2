/* SPDX-License-Identifier: MIT */
/*
 * examples/handoffs.c - two threads that wake each other for next to no work
 *
 * 20000 times main() posts a semaphore for the other thread and waits for its answer. A turn is
 * a few additions.
 *
 * Critical path: some milliseconds of calls. The run takes many times as long: 40000 times a thread
 * has to wake up.
 */
#include <pthread.h>
#include <semaphore.h>

#define TURNS 20000

static sem_t question, answer;
static unsigned long sum;

static void *answerer(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(&question);
		sum += (unsigned long)i;
		sem_post(&answer);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	sem_init(&question, 0, 0);
	sem_init(&answer, 0, 0);
	pthread_create(&thread, NULL, answerer, NULL);
	for (int i = 0; i < TURNS; i++) {
		sem_post(&question);
		sem_wait(&answer);
	}
	pthread_join(thread, NULL);
	return sum == 0;
}
