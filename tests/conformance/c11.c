/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/c11.c - threads.h
 */
#include <threads.h>

#include "tests/conformance/case.h"

static mtx_t m;
static cnd_t c;
static volatile int phase, arrived, calls, destroyed;

static int timed(int when)
{
	struct timespec t = at(when, CLOCK_REALTIME);

	return mtx_timedlock(&m, &t);
}

static int others(void *argument)
{
	(void)argument;
	DO("try", mtx_trylock(&m));
	for (int when = 0; when < WHENS; when++)
		if (when != FAR)
			DO(when_names[when], timed(when));
	return 0;
}

static int locks(void *argument)
{
	set(&arrived, 1);
	mtx_lock(&m);
	mtx_unlock(&m);
	return argument ? timed(FAR) * 10 + mtx_unlock(&m) : 0;
}

static int run(thrd_start_t f, void *argument)
{
	int result = -1;
	thrd_t t;

	must(thrd_create(&t, f, argument) == thrd_success, "thrd_create");
	must(thrd_join(t, &result) == thrd_success, "thrd_join");
	return result;
}

static void mutexes(const char *name, int type)
{
	thrd_t t;
	int result;

	begin("%s: alone", name);
	DO("init", mtx_init(&m, type));
	DO("lock", mtx_lock(&m));
	DO("try", mtx_trylock(&m));
	if (type & mtx_recursive) {
		DO("lock", mtx_lock(&m));
		DO("timed", timed(PAST));
		for (int i = 0; i < 3; i++)
			DO("unlock", mtx_unlock(&m));
	} else {
		DO("soon", timed(SOON));
	}
	DO("unlock", mtx_unlock(&m));
	for (int when = 0; when < WHENS; when++) {
		int ret = timed(when);

		add(" %d", ret);
		if (ret == thrd_success)
			mtx_unlock(&m);
	}
	end();
	begin("%s: contended", name);
	mtx_lock(&m);
	run(others, NULL);
	arrived = 0;
	must(thrd_create(&t, locks, &m) == thrd_success, "thrd_create");
	await(&arrived, 1);
	sleep_ms(2);
	DO("unlock", mtx_unlock(&m));
	DO("join", thrd_join(t, &result));
	add(" result=%d", result);
	mtx_destroy(&m);
	end();
}

static int waits(void *argument)
{
	struct timespec far = at(FAR, CLOCK_REALTIME);
	int ret = 0;

	mtx_lock(&m);
	arrived++;
	while (phase == 0 && ret == thrd_success)
		ret = argument ? cnd_timedwait(&c, &m, &far) : cnd_wait(&c, &m);
	phase = phase > 1 ? phase - 1 : phase;
	mtx_unlock(&m);
	return ret;
}

static void conditions(void)
{
	thrd_t t[6];

	mtx_init(&m, mtx_plain);
	begin("condition: time-outs");
	DO("init", cnd_init(&c));
	DO("lock", mtx_lock(&m));
	for (int when = 0; when < WHENS; when++) {
		struct timespec soon = at(when, CLOCK_REALTIME);

		if (when != FAR)
			DO(when_names[when], cnd_timedwait(&c, &m, &soon));
	}
	DO("unlock", mtx_unlock(&m));
	DO("signal", cnd_signal(&c));
	DO("broadcast", cnd_broadcast(&c));
	end();
	for (int signals = 0; signals < 2; signals++) {
		begin("condition: %s", signals ? "signals" : "broadcast");
		phase = 0;
		arrived = 0;
		for (int i = 0; i < 6; i++)
			must(thrd_create(&t[i], waits, i % 2 ? &c : NULL) == thrd_success,
			     "create");
		await(&arrived, 6);
		mtx_lock(&m);
		phase = 7;
		mtx_unlock(&m);
		for (int i = 0; i < (signals ? 6 : 0); i++)
			DO("signal", cnd_signal(&c));
		if (!signals)
			DO("broadcast", cnd_broadcast(&c));
		for (int i = 0; i < 6; i++) {
			int result = -1;

			thrd_join(t[i], &result);
			add(" %d", result);
		}
		end();
	}
	cnd_destroy(&c);
	mtx_destroy(&m);
}

static int returns(void *argument)
{
	return (int)(intptr_t)argument;
}

static int exits(void *argument)
{
	(void)argument;
	thrd_exit(-77);
}

static int sets_phase(void *argument)
{
	(void)argument;
	set(&phase, 99);
	return 0;
}

static once_flag flag = ONCE_FLAG_INIT, outer = ONCE_FLAG_INIT;

static void once(void)
{
	sleep_ms(5);
	calls++;
}

static void nested(void)
{
	call_once(&flag, once);
	calls += 10;
}

static int calls_once(void *argument)
{
	(void)argument;
	call_once(&outer, nested);
	call_once(&flag, once);
	return calls;
}

static tss_t key;

static void destructor(void *value)
{
	destroyed++;
	mtx_lock(&m);
	mtx_unlock(&m);
	if (destroyed < 3)
		tss_set(key, value);
}

static int uses_key(void *argument)
{
	return tss_set(key, &key) * 10 + (tss_get(key) != argument);
}

int main(void)
{
	struct timespec t = { 0, 1000000 }, bad = { 0, -1 };
	thrd_t threads[5];
	int result;

	mutexes("plain", mtx_plain);
	mutexes("timed", mtx_timed);
	mutexes("recursive", mtx_plain | mtx_recursive);
	mutexes("timed recursive", mtx_timed | mtx_recursive);
	CASE("bad type", mtx_init(&m, 99));
	conditions();
	begin("threads");
	add(" %d", run(returns, (void *)5));
	add(" %d", run(returns, (void *)-1));
	add(" %d", run(exits, NULL));
	DO("create", thrd_create(&threads[0], sets_phase, NULL));
	DO("detach", thrd_detach(threads[0]));
	await(&phase, 99);
	DO("self", thrd_join(thrd_current(), &result));
	DO("equal", !!thrd_equal(thrd_current(), thrd_current()));
	DO("sleep", thrd_sleep(&t, NULL));
	DO("bad sleep", thrd_sleep(&bad, NULL));
	thrd_yield();
	end();
	begin("once");
	for (int i = 0; i < 5; i++)
		must(thrd_create(&threads[i], calls_once, NULL) == thrd_success, "thrd_create");
	for (int i = 0; i < 5; i++) {
		thrd_join(threads[i], &result);
		add(" %d", result);
	}
	end();
	begin("specific");
	mtx_init(&m, mtx_plain);
	DO("create", tss_create(&key, destructor));
	add(" %d", run(uses_key, &key));
	add(" destroyed=%d", destroyed);
	tss_delete(key);
	end();
	return 0;
}
