/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/snapshot.c - cuts at boundaries while all threads continue
 *
 * Workers take locks from each other, with the processor's clock; boundaries are at most a
 * millisecond apart. One thread reads cut after cut, and each worker takes samples when it passes a
 * boundary. All time is process time of one function, so in a cut the shares of all functions add
 * up to the path, and their totals to all work, to the tick.
 */
#include "tests/torture/torture.h"

#include <unistd.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/edge/release.h"
#include "shadow/graph/series.h"

#define LOCKS	  3u
#define FUNCTIONS 40u

static struct {
	pthread_mutex_t mutex;
	struct cpa_object *object;
} lock[LOCKS];

static uint64_t cuts, samples, failures; /* atomic */
static unsigned writers;		 /* atomic: workers still running */

static void check(const struct cpa_cut *cut)
{
	uint64_t len = cut->field[CPA_SERIES_LEN], work = cut->field[CPA_SERIES_PROCESS];
	uint64_t share = 0, total = 0;

	EXPECT(len <= work);
	for (uint32_t slot = 1; slot < cut->slots; slot++) {
		EXPECT(cut->share[slot] <= cut->total[slot]);
		EXPECT(cut->slack[slot] <= len);
		share += cut->share[slot];
		total += cut->total[slot];
	}
	EXPECT(share == len);
	EXPECT(total == work);
}

static void check_order(const struct cpa_cut *now, const struct cpa_cut *before)
{
	EXPECT(now->field[CPA_SERIES_LEN] >= before->field[CPA_SERIES_LEN]);
	for (unsigned f = CPA_SERIES_BEFORE; f < CPA_SERIES_FIELDS; f++)
		EXPECT(now->field[f] >= before->field[f]);
	for (uint32_t slot = 1; slot < before->slots; slot++)
		EXPECT(now->total[slot] >= before->total[slot]);
}

static void check_sample(struct cpa_self *self, const struct cpa_cut *now,
			 const struct cpa_cut *before)
{
	(void)self;
	__atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
	check(now);
	check_order(now, before);
}

/*
 * End the thread's activity at an event; all time since the last event was work. Return the clock.
 */
static uint64_t event(struct worker *w)
{
	uint64_t now = cpa_checkpoint(&w->self, __builtin_ia32_rdtsc());
	uint64_t since = w->self.row->path.released;
	const struct cpa_sampled sample = { (uint32_t)(2 + rnd_below(&w->r, FUNCTIONS)), 1 };
	struct cpa_span span = { .process = now > since ? now - since : 0,
				 .sampled = 1,
				 .sample = &sample };

	cpa_activity_end(&w->self, &span, 0);
	w->self.row->path.released = now;
	w->self.row->path.owner = w->self.id;
	return now;
}

static void take_turns(struct worker *w)
{
	unsigned n = torture_work(600000);

	for (unsigned i = 0; i < n; i++) {
		unsigned k = (unsigned)rnd_below(&w->r, LOCKS);
		struct cpa_wait wait = { 0 };

		pthread_mutex_lock(&lock[k].mutex);
		wait.arrived = wait.now = event(w);
		cpa_lock_acquired(&w->self, lock[k].object, &wait);
		event(w);
		cpa_lock_release(&w->self, lock[k].object);
		pthread_mutex_unlock(&lock[k].mutex);
	}
}

static void read_cuts(void)
{
	struct cpa_cut now, before = { 0 };

	while (__atomic_load_n(&writers, __ATOMIC_RELAXED)) {
		uint64_t passed = __atomic_load_n(&cpa_header()->passed, __ATOMIC_RELAXED);

		usleep(100);
		if (passed < 2 || !cpa_cut_init(&now, cpa_component_slots()))
			continue;
		if (passed == before.boundary || !cpa_cut_read(&now, passed)) {
			failures++;
			cpa_cut_free(&now);
			continue;
		}
		cuts++;
		check(&now);
		if (before.share)
			check_order(&now, &before);
		cpa_cut_free(&before);
		before = now;
	}
	cpa_cut_free(&before);
}

static void body(struct worker *w)
{
	/* The harness began all threads at clock 1. */
	w->self.row->path.released = __builtin_ia32_rdtsc();
	if (w->index == 0) {
		read_cuts();
		return;
	}
	take_turns(w);
	__atomic_fetch_sub(&writers, 1, __ATOMIC_RELAXED);
}

static void run(void)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		struct cpa_component_name name = { .kind = CPA_FUNCTION, .address = 16 * (i + 1) };

		cpa_component_slot(cpa_component_intern(&name));
	}
	for (unsigned i = 0; i < LOCKS; i++) {
		pthread_mutex_init(&lock[i].mutex, NULL);
		lock[i].object = torture_object();
	}
	cpa_header()->period = UINT64_C(1) << 20;
	cpa_series_init(__builtin_ia32_rdtsc());
	cpa_series_hook = check_sample;
	cuts = samples = failures = 0;
	writers = WORKERS - 1;
	torture_threads(WORKERS, body);
	printf("# %llu cuts, %llu not to be had or old; %llu samples\n", (unsigned long long)cuts,
	       (unsigned long long)failures, (unsigned long long)samples);
	EXPECT(cuts > 10);
	EXPECT(samples > 10);
	for (unsigned i = 0; i < LOCKS; i++)
		cpa_object_clear(&main_self, lock[i].object);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("a cut is one state, and none is before an earlier one", seed, run);
	return torture_end();
}
