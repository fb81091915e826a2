/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/tsp.c [exact] - a traveling salesman, by one manager and eight workers
 *
 * Branch and bound (Online CP, Fig. 8). The manager branches: it extends partial tours city by
 * city, bounds each one (minimum spanning trees with penalties, Held and Karp 1970), and puts those
 * that may be shorter than a first, greedy tour into the task queue. The workers search below them,
 * with a cheaper bound, and send the better tours that they find. They burn most of the CPU time;
 * but there are eight of them, and all work goes through the one manager.
 *
 * Prints the length of the shortest tour; "exact": found by dynamic programming instead.
 */
#include "preload/cpa.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CITIES	18
#define SIDE	10000
#define WORKERS 8
#define GIVEN	5  /* cities of a partial tour that goes to a worker */
#define ROUNDS	30 /* of the manager's bound */
#define EVERY	((1U << CITIES) - 1)

struct tour {
	struct tour *next;
	int length;
	int count; /* of the cities; 0: there is no more to do */
	int city[CITIES];
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct tour *first, *last;
};

static struct queue tasks = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL };
static struct queue tours = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL };
static int distance[CITIES][CITIES], nearest[CITIES];
static atomic_int best;

static void put(struct queue *queue, const struct tour *tour)
{
	struct tour *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *tour;
	copy->next = NULL;
	pthread_mutex_lock(&queue->lock);
	CPA_ENQUEUE(queue, copy);
	if (queue->first)
		queue->last->next = copy;
	else
		queue->first = copy;
	queue->last = copy;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

static struct tour take(struct queue *queue)
{
	struct tour *first, tour;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->lock);
	first = queue->first;
	queue->first = first->next;
	CPA_DEQUEUE(queue, first);
	pthread_mutex_unlock(&queue->lock);
	tour = *first;
	free(first);
	return tour;
}

static void make_map(void)
{
	uint32_t random = 1998;
	int x[CITIES], y[CITIES];

	for (int i = 0; i < CITIES; i++) {
		random = random * 1664525U + 1013904223U;
		x[i] = (int)(random >> 16) % SIDE;
		random = random * 1664525U + 1013904223U;
		y[i] = (int)(random >> 16) % SIDE;
	}
	for (int i = 0; i < CITIES; i++) {
		nearest[i] = INT_MAX;
		for (int j = 0; j < CITIES; j++) {
			distance[i][j] = (int)lround(hypot(x[i] - x[j], y[i] - y[j]));
			if (j != i && distance[i][j] < nearest[i])
				nearest[i] = distance[i][j];
		}
	}
}

/* A first tour: always to the nearest city that is left. */
static int greedy(void)
{
	unsigned left = EVERY & ~1U;
	int at = 0, length = 0;

	while (left) {
		int to = -1;

		for (int i = 0; i < CITIES; i++) {
			if (left >> i & 1 && (to < 0 || distance[at][i] < distance[at][to]))
				to = i;
		}
		length += distance[at][to];
		left &= ~(1U << to);
		at = to;
	}
	return length + distance[at][0];
}

static unsigned left_by(const struct tour *tour)
{
	unsigned left = EVERY;

	for (int i = 0; i < tour->count; i++)
		left &= ~(1U << tour->city[i]);
	return left;
}

/* Penalized distance of @city to whichever of @left is nearest; that one's degree grows. */
static int attach(int city, unsigned left, const int penalty[], int degree[])
{
	int least = INT_MAX, to = 0;

	for (int i = 0; i < CITIES; i++) {
		if (left >> i & 1 && distance[city][i] + penalty[i] < least) {
			least = distance[city][i] + penalty[i];
			to = i;
		}
	}
	degree[to]++;
	return least;
}

/* The minimum spanning tree of @left under @penalty, and the degrees in it. */
static int spanning_tree(unsigned left, const int penalty[], int degree[])
{
	int from[CITIES], cost[CITIES], length = 0;
	int root = __builtin_ctz(left);

	left &= ~(1U << root);
	for (int i = 0; i < CITIES; i++) {
		from[i] = root;
		cost[i] = distance[root][i] + penalty[root] + penalty[i];
	}
	while (left) {
		int to = -1;

		for (int i = 0; i < CITIES; i++) {
			if (left >> i & 1 && (to < 0 || cost[i] < cost[to]))
				to = i;
		}
		length += cost[to];
		degree[to]++;
		degree[from[to]]++;
		left &= ~(1U << to);
		for (int i = 0; i < CITIES; i++) {
			int through = distance[to][i] + penalty[to] + penalty[i];

			if (through < cost[i]) {
				cost[i] = through;
				from[i] = to;
			}
		}
	}
	return length;
}

/* No tour that begins with @tour is shorter. */
static __attribute__((noinline)) int lower_bound(const struct tour *tour)
{
	int penalty[CITIES] = { 0 }, bound = 0;
	unsigned left = left_by(tour);

	for (int round = 0; left && round < ROUNDS; round++) {
		int degree[CITIES] = { 0 }, length = tour->length;

		length += spanning_tree(left, penalty, degree);
		length += attach(tour->city[tour->count - 1], left, penalty, degree);
		length += attach(tour->city[0], left, penalty, degree);
		for (int i = 0; i < CITIES; i++) {
			if (left >> i & 1) {
				length -= 2 * penalty[i];
				penalty[i] += (degree[i] - 2) * (SIDE / 4) / (round + 4);
			}
		}
		bound = length > bound ? length : bound;
	}
	return bound;
}

static struct tour extended(const struct tour *tour, int city)
{
	struct tour longer = *tour;

	longer.length += distance[tour->city[tour->count - 1]][city];
	longer.city[longer.count++] = city;
	return longer;
}

static void branch(const struct tour *tour, int limit)
{
	unsigned left = left_by(tour);

	if (tour->count == GIVEN) {
		put(&tasks, tour);
		return;
	}
	for (int i = 0; i < CITIES; i++) {
		if (left >> i & 1) {
			struct tour longer = extended(tour, i);

			if (lower_bound(&longer) < limit)
				branch(&longer, limit);
		}
	}
}

static void *manager(void *unused)
{
	struct tour tour = { .count = 1 }, end = { .count = 0 }, found;
	int working = WORKERS;

	branch(&tour, greedy() + 1);
	for (int i = 0; i < WORKERS; i++)
		put(&tasks, &end);
	while (working) {
		found = take(&tours);
		if (!found.count)
			working--;
	}
	return unused;
}

static void offer(const struct tour *tour, int length)
{
	int old = atomic_load(&best);

	while (length < old) {
		if (atomic_compare_exchange_weak(&best, &old, length)) {
			put(&tours, tour);
			return;
		}
	}
}

/* Search all tours that begin with @tour; @rest is what each way on from @left costs at least. */
static __attribute__((noinline)) void min_circuit(struct tour *tour, unsigned left, int rest)
{
	int at = tour->city[tour->count - 1], length = tour->length;

	if (!left) {
		offer(tour, length + distance[at][0]);
		return;
	}
	for (int i = 0; i < CITIES; i++) {
		if (!(left >> i & 1) || length + distance[at][i] + rest >= atomic_load(&best))
			continue;
		tour->city[tour->count++] = i;
		tour->length = length + distance[at][i];
		min_circuit(tour, left & ~(1U << i), rest - nearest[i]);
		tour->length = length;
		tour->count--;
	}
}

static void *worker(void *unused)
{
	struct tour tour;

	while ((tour = take(&tasks)).count) {
		unsigned left = left_by(&tour);
		int rest = 0;

		for (int i = 0; i < CITIES; i++)
			rest += left >> i & 1 ? nearest[i] : 0;
		min_circuit(&tour, left, rest);
	}
	put(&tours, &tour);
	return unused;
}

/* Held and Karp 1962: the shortest way through a set of cities, by their last one. */
static int exact(void)
{
	int(*way)[CITIES] = malloc((EVERY + 1UL) * sizeof(*way));
	int shortest = INT_MAX;

	if (!way)
		abort();
	for (unsigned set = 1; set <= EVERY; set += 2) {
		for (int to = 0; to < CITIES; to++) {
			unsigned before = set & ~(1U << to);

			way[set][to] = set == 1 && to == 0 ? 0 : INT_MAX / 2;
			for (int from = 0; to && set >> to & 1 && from < CITIES; from++) {
				int length = INT_MAX / 2;

				if (before >> from & 1)
					length = way[before][from] + distance[from][to];
				if (length < way[set][to])
					way[set][to] = length;
			}
		}
	}
	for (int last = 1; last < CITIES; last++) {
		if (way[EVERY][last] + distance[last][0] < shortest)
			shortest = way[EVERY][last] + distance[last][0];
	}
	free(way);
	return shortest;
}

int main(int argc, char **argv)
{
	pthread_t thread[WORKERS + 1];

	make_map();
	if (argc > 1 && !strcmp(argv[1], "exact")) {
		printf("%d\n", exact());
		return 0;
	}
	CPA_QUEUE_LOCK(&tasks, &tasks.lock);
	CPA_QUEUE_LOCK(&tours, &tours.lock);
	atomic_store(&best, greedy() + 1);
	for (int i = 0; i <= WORKERS; i++)
		pthread_create(&thread[i], NULL, i ? worker : manager, NULL);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", atomic_load(&best));
	return 0;
}
