/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/lock_array.c - locks in arrays, used more or less often
 *
 * bank[i].m is locked 10 + i times, grid[i][j] once, alone[3] twice. tests/e2e/lock_arrays.py counts.
 */
#include <pthread.h>

#define ACCOUNTS 8
#define ROWS	 3
#define COLUMNS	 2

static struct {
	pthread_mutex_t m;
	int balance;
} bank[ACCOUNTS];
static pthread_mutex_t grid[ROWS][COLUMNS], alone[5];
static pthread_rwlock_t kinds[2];

static void use(pthread_mutex_t *mutex, int times)
{
	while (times--) {
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
	}
}

int main(void)
{
	for (int i = 0; i < ACCOUNTS; i++)
		use(&bank[i].m, 10 + i);
	for (int i = 1; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			use(&grid[i][j], 1);
	use(&alone[3], 2);
	for (int i = 0; i < 2; i++) {
		pthread_rwlock_rdlock(&kinds[i]);
		pthread_rwlock_unlock(&kinds[i]);
	}
	return 0;
}
