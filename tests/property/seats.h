/* SPDX-License-Identifier: MIT */
/*
 * tests/property/seats.h - barriers whose threads meet by shadow/edge/seat.h
 *
 * Any threads may come to a round: the first takes the last seat, so that of equal paths the latest
 * release counts. A thread that is late reads its round while others are up to three rounds ahead.
 */
#ifndef CPA_TESTS_SEATS_H
#define CPA_TESTS_SEATS_H

#include "shadow/edge/seat.h"
#include "shadow/path/path.h"

#define SEATS_ROUNDS 8u

struct seats {
	struct cpa_seats round[SEATS_ROUNDS];
	uint64_t arrivals;
};

static uint32_t seats_number(uint32_t members, uint64_t n)
{
	return members - 1 - (uint32_t)(n % members);
}

/* Return the number of the arrival. */
static uint64_t seats_arrive(struct cpa_self *self, struct seats *s, uint32_t members)
{
	uint64_t n = s->arrivals++;

	if (members > 1)
		cpa_seat_release(self,
				 &s->round[n / members % SEATS_ROUNDS]
					  .seat[seats_number(members, n)][CPA_MEET_EVEN],
				 members - 1);
	return n;
}

/* The round of arrival @n is complete. */
static void seats_leave(struct cpa_self *self, const struct seats *s, uint32_t members, uint64_t n,
			struct cpa_wait *w)
{
	cpa_seats_acquired(self, &s->round[n / members % SEATS_ROUNDS], CPA_MEET_EVEN, members,
			   seats_number(members, n), w);
}

static void seats_clear(struct cpa_self *self, struct seats *s)
{
	for (unsigned i = 0; i < SEATS_ROUNDS; i++)
		for (unsigned k = 0; k < CPA_SEATS; k++)
			if (s->round[i].seat[k][CPA_MEET_EVEN])
				cpa_path_clear(self,
					       cpa_seat_path(s->round[i].seat[k][CPA_MEET_EVEN]));
	s->arrivals = 0;
}

#endif
