/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/thread_roles.c - threads of one start routine that have different names, late names,
 * several names, or none; prints the CPU time of each, ns, as "name ns"
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "tests/programs/burn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whose clock runs, and since when, ns of the thread's CPU time. */
struct role {
	const char *name;
	int64_t since;
};

static void event(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

/* What was done since the last call is of @role, and @next is to follow. */
static void turn(struct role *role, const char *next)
{
	int64_t now = burn_clock_ns();

	flockfile(stdout);
	if (role->name)
		printf("%s %lld\n", role->name, (long long)(now - role->since));
	funlockfile(stdout);
	*role = (struct role){ next, burn_clock_ns() };
}

static void *routine(void *argument)
{
	const char *name = argument;
	struct role role = { 0 };

	turn(&role, name ? name : "routine");
	if (name)
		pthread_setname_np(pthread_self(), name);
	burn_ms(60);
	event();
	turn(&role, NULL);
	return NULL;
}

/* Takes another name without any other event, and at last an earlier one again. */
static void *changing(void *argument)
{
	struct role role = { 0 };

	turn(&role, "first");
	burn_ms(40); /* before it has a name: its first one's */
	prctl(PR_SET_NAME, "first");
	burn_ms(40);
	turn(&role, "second");
	prctl(PR_SET_NAME, "second");
	burn_ms(60);
	turn(&role, "first");
	prctl(PR_SET_NAME, "first");
	prctl(PR_SET_NAME, "first");
	burn_ms(20);
	turn(&role, NULL);
	return argument;
}

/* Named by its creator while it waits for the lock. */
static void *late(void *argument)
{
	struct role role = { 0 };

	event();
	turn(&role, "by another");
	burn_ms(60);
	event();
	turn(&role, NULL);
	return argument;
}

/* Each item has a name of its own. */
static void *many(void *argument)
{
	char name[16];

	for (unsigned i = 0; i < 6000; i++) {
		snprintf(name, sizeof(name), "%c%c%c item %u", 'a' + i % 26, 'a' + i / 26 % 26,
			 'a' + i / 676, i);
		pthread_setname_np(pthread_self(), name);
	}
	return argument;
}

int main(void)
{
	static const char *const names[] = { "worker-1", "worker-2", "worker 3", "reader", NULL };
	pthread_t thread[sizeof(names) / sizeof(names[0])], other;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (pthread_create(&thread[i], NULL, routine, (void *)names[i]))
			return 1;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		pthread_join(thread[i], NULL);
	if (pthread_create(&other, NULL, changing, NULL) || pthread_join(other, NULL))
		return 1;
	pthread_mutex_lock(&lock);
	if (pthread_create(&other, NULL, late, NULL) || pthread_setname_np(other, "by another"))
		return 1;
	pthread_mutex_unlock(&lock);
	pthread_join(other, NULL);
	if (pthread_create(&other, NULL, many, NULL) || pthread_join(other, NULL))
		return 1;
	return 0;
}
