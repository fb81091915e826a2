/* SPDX-License-Identifier: MIT */
/*
 * examples/serial.c - a part that one thread does alone
 *
 * main() does 150 units in load(), then four threads do 15 units each in search().
 *
 * Critical path: 150 + 15 = 165 units, of 210 units of work. Without load() the path is 15 units.
 * With any number of processors and threads the run takes 150 units (Amdahl's law).
 */
#include "examples/work.h"

#include <pthread.h>

#define THREADS 4

__attribute__((noinline)) static void load(void)
{
	work(150);
}

static void *search(void *unused)
{
	work(15);
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];

	load();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, search, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
