/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/brief.c - the CPU time of calls in which a thread is often without a processor for microseconds
 */
#include "preload/clock/brief.h"
#include "preload/clock/ready.h"
#include "shadow/store/kernel.h"

#define GUESSES 29u /* odd with the two that are measured: they fall on each kind of call */
#define LEARN	8u  /* weight of the mean of earlier calls, to one that is measured */
#define FEW	8u  /* calls; of more not all were guessed much too high: most_less() */

/*
 * Guess the CPU time of a call up to now, and arm the detector. False: it may not be guessed. What a
 * hypervisor took before the call, and time on the run queue, are not guessed. Armed first: a switch behind
 * that is seen by the next stamp, and lies before *@now or is not in the call.
 */
static bool guess(struct cpa_clock *c, uint64_t begun, enum cpa_brief kind, uint64_t *now,
		  uint64_t *cpu)
{
	if (!c->usual[kind] || !c->guesses || c->ahead || begun - c->last > cpa_clock_long_ticks ||
	    !cpa_ready_is_brief(c, cpa_ready_brief))
		return false;
	*c->detector = cpa_clock_armed;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the clock is read when it is armed */
	*now = cpa_clock_now();
	if (unlikely(*now - begun >= cpa_ready_brief || *now - c->rebased > cpa_clock_rebase_ticks))
		return false;
	*cpu = c->usual[kind] < *now - begun ? c->usual[kind] : *now - begun;
	c->guesses--;
	c->guessed = true;
	if (kind == CPA_BRIEF_WAIT) {
		c->guessed_waits.calls++;
		c->guessed_waits.ticks += *cpu;
	} else {
		c->guessed_waits.others += *cpu;
	}
	c->tick++;
	return true;
}

/* A call of @kind had @cpu ticks of CPU time. */
static void learn(struct cpa_clock *c, enum cpa_brief kind, uint64_t cpu)
{
	uint32_t usual = c->usual[kind];

	usual = usual ? (uint32_t)((usual * (LEARN - 1) + cpu) / LEARN) : (uint32_t)cpu;
	c->usual[kind] = usual ? usual : 1;
}

/*
 * The kernel was asked about a call of @kind that took @wall ticks: @cpu of CPU time, if none before it
 * was @guessed. Else this one has what those took more or less, and the next one is measured.
 */
static void measured(struct cpa_clock *c, enum cpa_brief kind, uint64_t wall, uint64_t cpu,
		     bool guessed)
{
	c->guesses = guessed ? 0 : GUESSES;
	if (!guessed && cpa_clock_detects(c) && wall < cpa_ready_brief && cpu <= wall)
		learn(c, kind, cpu);
}

/* The waits had @rest ticks more than guessed. Return false, and do nothing, if it is less than they can have had. */
static bool give(struct cpa_clock *c, int64_t rest)
{
	if (rest + (int64_t)c->guessed_waits.ticks < 0)
		return false;
	c->unsettled += rest;
	c->cpu += (uint64_t)rest;
	return true;
}

/* Ticks by which all calls together may have been guessed too high: all that was guessed, of many a half. */
static uint64_t most_less(const struct cpa_clock *c)
{
	uint64_t all = c->guessed_waits.ticks + c->guessed_waits.others;

	return c->guessed_waits.calls > FEW ? all / 2 : all;
}

void cpa_brief_settle(struct cpa_clock *c, uint64_t cpu, uint64_t ran)
{
	uint64_t ticks = c->guessed_waits.ticks, others = c->guessed_waits.others, mean;
	int64_t rest = (int64_t)(cpu - c->cpu - ran);

	/* Far less: a hypervisor had the processor. Far more: the calls were too short for that. */
	if (!ticks || rest + (int64_t)most_less(c) < 0 ||
	    rest > (int64_t)(GUESSES * cpa_ready_brief))
		return;
	/* Other calls are part of their activity, and so is what they had more or less. */
	rest = rest * (int64_t)ticks / (int64_t)(ticks + others);
	if (!give(c, rest) || others)
		return;
	mean = (ticks + (uint64_t)rest) / c->guessed_waits.calls;
	learn(c, CPA_BRIEF_WAIT, mean < cpa_ready_brief ? mean : cpa_ready_brief);
}

void cpa_brief_return(struct cpa_clock *c, uint64_t cpu)
{
	if (!c->guessed_waits.others)
		give(c, (int64_t)(cpu - c->cpu));
}

uint64_t cpa_clock_stamp_call(struct cpa_clock *c, struct cpa_elapsed *e, uint64_t begun,
			      enum cpa_brief kind)
{
	bool guessed = c->guessed;
	uint64_t before = begun - c->last, now, cpu;

	if (!guess(c, begun, kind, &now, &cpu)) {
		now = cpa_clock_stamp_slow(c, e, true, cpa_clock_now());
		cpu = e->process > before ? e->process - before : 0;
		if (!c->ahead)
			measured(c, kind, now - begun, cpu, guessed);
		return now;
	}
	e->process = before + cpu;
	e->runqueue = 0;
	e->external = now - c->last - e->process;
	e->device = false;
	c->cpu += e->process;
	c->unread += e->external;
	c->waited = true;
	c->lead = 0;
	c->last = c->resumed = now;
	return now;
}

bool cpa_clock_preempted(struct cpa_clock *c, enum cpa_brief kind)
{
	bool guessed = c->guessed, switched;
	uint64_t begun = c->last, now = cpa_clock_now(), cpu, lost;

	if (!cpa_clock_detects(c) || now - begun >= cpa_ready_brief || c->ahead ||
	    !cpa_ready_is_brief(c, cpa_ready_brief))
		return false;
	if (!guess(c, begun, kind, &now, &cpu)) {
		if (unlikely(!cpa_kernel_begin()))
			return false;
		cpu = cpa_clock_ticks(cpa_clock_ask(c, &now, &switched));
		cpa_kernel_end();
		cpu = cpu > c->cpu ? cpu - c->cpu : 0;
		c->guessed = false;
		cpa_brief_forget(c); /* `ahead` has what they were guessed wrong */
		c->tick++;
		measured(c, kind, now - begun, cpu, guessed);
	}
	lost = now - begun > cpu ? now - begun - cpu : 0;
	c->ahead = lost; /* taken from the time up to the next stamp */
	cpa_ready_taken(c, lost);
	c->counts.taken++;
	return true;
}
