/* SPDX-License-Identifier: MIT */
#include "preload/clock/ready.h"

#include <errno.h>

#include "preload/clock/delay.h"

#define MS	  1000000u
#define SHORT_GAP 50000u /* ns: shorter gaps are not asked about one by one */
#define READINGS  3

/* The delay of the thread that runs our constructor, ns, when the path of the run began. */
static uint64_t begin_ns;
static bool begin_known;

uint64_t cpa_ready_brief, cpa_ready_unread, cpa_ready_switch;

void cpa_ready_init(void)
{
	cpa_ready_brief = cpa_clock_ticks(SHORT_GAP);
	cpa_ready_unread = cpa_clock_ticks(MS);
	cpa_ready_switch = cpa_clock_ticks(cpa_header()->machine.wake_ns);
}

void cpa_ready_begin(void)
{
	begin_known = cpa_delay_early(&begin_ns);
}

void cpa_ready_count(struct cpa_clock *c)
{
	c->counts = cpa_machine_counts();
	c->waited = false;
}

/*
 * How the thread lost its processor. EITHER: a wait came before, whose switches are in both counts.
 */
enum loss { GIVEN, TAKEN, EITHER };

static enum loss loss(struct cpa_clock *c)
{
	struct cpa_machine_counts before = c->counts;
	bool waited = c->waited;

	cpa_ready_count(c);
	if (c->counts.given == before.given && before.given >= 0)
		return TAKEN;
	return waited && c->counts.taken != before.taken ? EITHER : GIVEN;
}

void cpa_ready_taken(struct cpa_clock *c, uint64_t ticks)
{
	c->taken += ticks;
	c->delay_ns += cpa_clock_ns(ticks);
}

/*
 * Read the thread's delay. *@later: if it has lost its processor since @now, when the detector was armed,
 * the ticks since then, else 0: that will be the next gap. Read again if it loses it in between, as it is
 * not known whether the delay has that. The detector shows to the next stamp that it lost it, as before.
 */
static bool read_delay(struct cpa_clock *c, uint64_t now, uint64_t *delay, uint64_t *later)
{
	bool switched = false, known;
	int readings = 0;

	*later = 0;
	do {
		if (cpa_clock_switched(c)) {
			switched = cpa_clock_detects(c);
			/* Armed before the counter is read: a switch between the two is seen. */
			if (switched)
				*c->detector = cpa_clock_armed;
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			*later = cpa_clock_now() > now ? cpa_clock_now() - now : 0;
		}
		known = cpa_delay_read(c, delay);
	} while (known && cpa_clock_detects(c) && cpa_clock_switched(c) && ++readings < READINGS);
	if (switched)
		*c->detector = 0;
	return known;
}

uint64_t cpa_ready_part(struct cpa_clock *c, uint64_t gap, bool blocked, uint64_t now)
{
	uint64_t delay, ready, later;
	bool brief;
	enum loss how = GIVEN;

	c->unread += gap;
	brief = gap < cpa_ready_brief && cpa_ready_is_brief(c, 0);
	if (blocked && brief)
		c->waited = true;
	else if (blocked)
		cpa_ready_count(c);
	else
		how = loss(c);
	if (how == TAKEN && brief) {
		c->unread -= gap;
		cpa_ready_taken(c, gap);
		return gap;
	}
	if (how == GIVEN && brief)
		return 0;
	if (!read_delay(c, now, &delay, &later))
		return 0;
	ready = delay > c->delay_ns ? cpa_clock_ticks(delay - c->delay_ns) : 0;
	ready = ready > later ? ready - later : 0;
	if (c->unread > gap)
		ready = (uint64_t)((unsigned __int128)ready * gap / c->unread);
	if (how == EITHER && 2 * ready + cpa_ready_switch > gap)
		how = TAKEN;
	c->delay_ns = delay;
	c->unread = c->taken = 0;
	/* the thread slept while it read the file: that says nothing about the next gap */
	if (cpa_clock_switched(c))
		cpa_ready_count(c);
	return how == TAKEN || ready > gap ? gap : ready;
}

uint64_t cpa_ready_since_begin(struct cpa_clock *c)
{
	struct cpa_machine_counts before;
	int err = errno, readings = 0;
	uint64_t delay = 0;
	bool known;

	if (!begin_known || unlikely(!cpa_kernel_begin()))
		return 0;
	/* Again if it lost its processor in between: the delay has that, and the time up to `last` has not. */
	do {
		cpa_clock_settle(c);
		before = c->counts;
		known = cpa_delay_read(c, &delay);
		cpa_ready_count(c);
	} while (known && ++readings < READINGS &&
		 (c->counts.given != before.given || c->counts.taken != before.taken));
	if (known)
		c->delay_ns = delay;
	cpa_kernel_end();
	errno = err;
	return known && delay > begin_ns ? cpa_clock_ticks(delay - begin_ns) : 0;
}
