/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/passing_threads.c - very many threads over a run, a few at a time
 *
 *	passing_threads COUNT
 *
 * Each adds one under a lock and ends; every fourth one is detached, and says by a semaphore that
 * it is done. Prints the sum, which is COUNT, and ends with 3.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static long sum;

static void *pass(void *detached)
{
	pthread_mutex_lock(&mutex);
	sum++;
	pthread_mutex_unlock(&mutex);
	if (detached)
		sem_post(&done);
	return NULL;
}

static void make(pthread_t *thread, pthread_attr_t *attributes, void *detached)
{
	if (pthread_create(thread, attributes, pass, detached)) {
		perror("pthread_create");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread[AT_ONCE];
	pthread_attr_t detached;

	sem_init(&done, 0, 0);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (long n = 0; n < count; n += AT_ONCE) {
		make(&thread[0], &detached, &done);
		for (int i = 1; i < AT_ONCE; i++)
			make(&thread[i], NULL, NULL);
		for (int i = 1; i < AT_ONCE; i++)
			pthread_join(thread[i], NULL);
		sem_wait(&done);
	}
	pthread_mutex_lock(&mutex);
	printf("%ld\n", sum);
	pthread_mutex_unlock(&mutex);
	return 3;
}
