/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/semaphore.c - sem_*, named and not, with signals
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/conformance/case.h"

static sem_t s;
static volatile int handled;

static int value_of(sem_t *sem)
{
	int value = -99;

	sem_getvalue(sem, &value);
	return value;
}

static int timed(int when)
{
	struct timespec t = at(when, CLOCK_REALTIME);

	return sem_timedwait(&s, &t);
}

static void counting(int shared)
{
	begin("counting%s", shared ? ", shared" : "");
	DO("init", sem_init(&s, shared, 3));
	DO("wait", sem_wait(&s));
	DO("try", sem_trywait(&s));
	DO("timed", timed(PAST));
	add(" value=%d", value_of(&s));
	DO("try", sem_trywait(&s));
	DO("timed", timed(PAST));
	DO("post", sem_post(&s));
	DO("post", sem_post(&s));
	add(" value=%d", value_of(&s));
	DO("wait", sem_wait(&s));
	DO("wait", sem_wait(&s));
	DO("destroy", sem_destroy(&s));
	end();
}

static void times(unsigned value)
{
	for (int when = 0; when < WHENS; when++) {
		if (when == FAR && !value)
			continue;
		begin("value %u, %s", value, when_names[when]);
		sem_init(&s, 0, value);
		DO("timed", timed(when));
		for (int i = 0; i < (int)CLOCKS; i++) {
			struct timespec t = at(when, clocks[i].id);

			sem_init(&s, 0, value);
			DO(clocks[i].name, sem_clockwait(&s, clocks[i].id, &t));
			add(" left=%d", value_of(&s));
		}
		end();
	}
}

static bool posts;
static volatile int over;

static void handler(int sig)
{
	(void)sig;
	if (++handled == 3 && posts)
		sem_post(&s);
}

static void *nag(void *argument)
{
	while (!over) {
		sleep_ms(3);
		pthread_kill(*(pthread_t *)argument, SIGUSR1);
	}
	return NULL;
}

/* Signals interrupt the wait; without SA_RESTART that ends it, with it the post does. */
static void interrupted(int flags, const char *name, int how)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct timespec real = at(FAR, CLOCK_REALTIME), mono = at(FAR, CLOCK_MONOTONIC);
	pthread_t self = pthread_self(), t;

	begin("%s, %s", how == 0 ? "wait" : how == 1 ? "timed wait" : "clock wait", name);
	sem_init(&s, 0, 0);
	handled = over = 0;
	posts = (flags & SA_RESTART) && how == 0; /* timed waits are not restarted */
	sigaction(SIGUSR1, &action, NULL);
	must(!pthread_create(&t, NULL, nag, &self), "pthread_create");
	DO("interrupted", how == 0 ? sem_wait(&s) :
			  how == 1 ? sem_timedwait(&s, &real) :
				     sem_clockwait(&s, CLOCK_MONOTONIC, &mono));
	add(" handled=%d", posts ? handled >= 3 : handled >= 1);
	over = 1;
	pthread_join(t, NULL);
	end();
}

static void post_in_handler(int sig)
{
	(void)sig;
	sem_post(&s);
}

/* Signals to this thread post while it is about everywhere in the code of semaphores. */
static void posts_from_handlers(void)
{
	struct sigaction action = { .sa_handler = post_in_handler };
	long failed = 0;
	sem_t mine;

	sigaction(SIGUSR1, &action, NULL);
	sem_init(&s, 0, 0);
	sem_init(&mine, 0, 0);
	for (int i = 0; i < 5000; i++) {
		failed += raise(SIGUSR1);
		failed += sem_post(&mine) + sem_wait(&mine);
	}
	begin("posts from a signal handler");
	add(" failed=%ld value=%d", failed, value_of(&s));
	for (int i = 0; i < 5000; i++)
		failed += sem_trywait(&s);
	DO("try", sem_trywait(&s));
	add(" failed=%ld", failed);
	end();
}

static void *signaller(void *argument)
{
	for (int i = 0; i < 3000; i++)
		pthread_kill(*(pthread_t *)argument, SIGUSR1);
	return NULL;
}

/* The same from outside: none is lost whatever code the signal meets. */
static void posts_from_anywhere(void)
{
	struct sigaction action = { .sa_handler = post_in_handler, .sa_flags = SA_RESTART };
	pthread_t self = pthread_self(), t;
	long got = 0, failed = 0;
	sem_t busy;

	sigaction(SIGUSR1, &action, NULL);
	sem_init(&s, 0, 0);
	sem_init(&busy, 0, 1);
	must(!pthread_create(&t, NULL, signaller, &self), "pthread_create");
	while (pthread_tryjoin_np(t, NULL) == EBUSY) {
		failed += sem_wait(&busy) + sem_post(&busy);
		got += !sem_trywait(&s);
	}
	while (!sem_trywait(&s))
		got++;
	begin("posts from handlers that interrupt other calls");
	add(" failed=%ld some=%d most=%d", failed, got > 0, got <= 3000);
	end();
}

static sem_t ping, pong;

static void *echo(void *argument)
{
	long failed = 0;

	(void)argument;
	for (int i = 0; i < 500; i++) {
		failed += sem_wait(&ping);
		failed += sem_post(&pong);
	}
	return (void *)failed;
}

static void hand_overs(int shared)
{
	long failed = 0;
	void *result;
	pthread_t t;

	sem_init(&ping, shared, 0);
	sem_init(&pong, shared, 0);
	must(!pthread_create(&t, NULL, echo, NULL), "pthread_create");
	for (int i = 0; i < 500; i++) {
		struct timespec real = at(FAR, CLOCK_REALTIME), mono = at(FAR, CLOCK_MONOTONIC);

		failed += sem_post(&ping);
		failed += i % 3 == 0 ? sem_wait(&pong) :
			  i % 3 == 1 ? sem_timedwait(&pong, &real) :
				       sem_clockwait(&pong, CLOCK_MONOTONIC, &mono);
	}
	pthread_join(t, &result);
	begin("ping-pong%s", shared ? ", shared" : "");
	add(" failed=%ld values %d %d", failed + (long)result, value_of(&ping), value_of(&pong));
	end();
}

static void named(void)
{
	char name[64];
	sem_t *a, *b;

	snprintf(name, sizeof(name), "/cpa-test-%d", (int)getpid());
	begin("named: open");
	DO("missing", sem_open(name, 0) == SEM_FAILED);
	a = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
	add(" created=%d", a != SEM_FAILED);
	DO("exclusive", sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED);
	b = sem_open(name, 0);
	add(" same=%d value=%d", a == b, value_of(a));
	DO("bad name", sem_open("/a/b", O_CREAT, 0600, 1) == SEM_FAILED);
	DO("bad value", sem_open("/cpa-bad", O_CREAT, 0600, UINT_MAX) == SEM_FAILED);
	end();
	begin("named: use");
	DO("wait", sem_wait(a));
	DO("try", sem_trywait(b));
	DO("try", sem_trywait(a));
	DO("post", sem_post(b));
	add(" value=%d", value_of(a));
	DO("close", sem_close(a));
	DO("still open", sem_trywait(b));
	DO("close", sem_close(b));
	b = sem_open(name, O_CREAT, 0600, 9);
	add(" kept=%d", value_of(b));
	DO("close", sem_close(b));
	DO("unlink", sem_unlink(name));
	DO("unlink", sem_unlink(name));
	end();
}

int main(void)
{
	counting(0);
	counting(1);
	times(0);
	times(1);
	begin("limits");
	DO("init", sem_init(&s, 0, UINT_MAX));
	DO("init", sem_init(&s, 0, SEM_VALUE_MAX));
	DO("post", sem_post(&s));
	DO("wait", sem_wait(&s));
	DO("post", sem_post(&s));
	DO("post", sem_post(&s));
	end();
	for (int how = 0; how < 3; how++) {
		interrupted(0, "interrupted", how);
		interrupted(SA_RESTART, "interrupted, SA_RESTART", how);
	}
	posts_from_handlers();
	posts_from_anywhere();
	hand_overs(0);
	hand_overs(1);
	named();
	return 0;
}
