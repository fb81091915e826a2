/* SPDX-License-Identifier: MIT */
#include "analysis/exact/stints.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

struct node {
	uint8_t kind; /* enum cpa_event_kind */
	uint32_t class, site;
};

/*
 * The work of a thread in a team, from its start until the thread leaves the team's last barrier.
 */
struct part {
	struct cpa_stint stint;
	bool arrived;  /* the thread is at a barrier */
	uint64_t busy; /* ticks of activities since it arrived */
};

struct reading {
	const struct cpa_journal_file *file;
	struct cpa_stints *out;
	struct node *node;
	uint32_t nodes;
	size_t stint_room, team_room;
	/* Of the strand that is read: */
	uint32_t strand;
	unsigned parts, forks;
	struct part part[CPA_STINTS_OPEN];
	size_t fork[CPA_STINTS_OPEN]; /* its teams that have not ended: index in out->team */
	cpa_event_name last_fork;
	uint32_t last_region;
	cpa_event_name cause; /* of its last acquire, since its last activity; 0: none */
	uint32_t event;	      /* with which its last activity ended */
	uint64_t processor; /* ticks that it waited for one, in its last activity and the acquires behind it */
	unsigned tasks;			   /* that it runs, in each other */
	struct node task[CPA_STINTS_OPEN]; /* their starts; not of those that are deeper */
	uint64_t clock;
};

static void *grown(void *p, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	return xrealloc(p, *room * size);
}

static void read_nodes(struct reading *in)
{
	struct cpa_node row;

	in->nodes = in->file->dump->rows[CPA_TABLE_NODES] + 1;
	in->node = xcalloc(in->nodes, sizeof(*in->node));
	for (uint32_t i = 1; i < in->nodes; i++)
		if (cpa_dump_row(in->file->dump, CPA_TABLE_NODES, i, &row, sizeof(row)) &&
		    row.kind < CPA_EV_KINDS)
			in->node[i] = (struct node){ (uint8_t)row.kind, row.class, row.site };
}

static struct node node_of(const struct reading *in, uint32_t row)
{
	return row < in->nodes ? in->node[row] : (struct node){ 0 };
}

static void fork_team(struct reading *in, const struct cpa_entry *e, uint32_t region)
{
	struct cpa_stints *out = in->out;
	uint32_t thread = in->file->strand[in->strand].id;

	in->last_fork = cpa_event_of(thread, e->number);
	in->last_region = region;
	if (in->forks == CPA_STINTS_OPEN)
		return;
	out->team = grown(out->team, out->teams, &in->team_room, sizeof(*out->team));
	in->fork[in->forks++] = out->teams;
	out->team[out->teams++] =
		(struct cpa_team_span){ in->last_fork, region, e->clock, UINT64_MAX };
}

static void add_stint(struct reading *in, struct part *p, uint64_t left)
{
	struct cpa_stints *out = in->out;
	struct cpa_stint *stint;

	out->stint = grown(out->stint, out->stints, &in->stint_room, sizeof(*out->stint));
	stint = &out->stint[out->stints++];
	*stint = p->stint;
	if (!p->arrived)
		stint->arrived = in->clock;
	/* Of the last round: add_waits(). */
	stint->wait = left ? left - stint->arrived - p->busy : p->busy;
	if (left && (int64_t)stint->wait < 0)
		stint->wait = 0;
}

/* The thread begins its part of the team that @team names. */
static void begin_part(struct reading *in, cpa_event_name team, uint32_t region)
{
	/* How long a new thread waits for its first processor is not known. */
	bool is_new = !in->parts && in->out->stints == in->out->first[in->strand];

	if (in->parts == CPA_STINTS_OPEN || !team)
		return;
	in->part[in->parts++] =
		(struct part){ .stint = { .team = team,
					  .strand = in->strand,
					  .region = region,
					  .begun = in->clock,
					  .unready = is_new ? UINT64_MAX : in->processor,
					  .after = in->event,
					  .last = in->event } };
}

static void end_part(struct reading *in)
{
	struct part *p = &in->part[--in->parts];

	p->stint.node = 0;
	add_stint(in, p, 0);
}

static void leave_barrier(struct reading *in)
{
	struct part *p = in->parts ? &in->part[in->parts - 1] : NULL;

	if (!p || !p->arrived)
		return;
	add_stint(in, p, in->clock);
	p->arrived = false;
	p->busy = p->stint.work = 0;
	p->stint.round++;
	p->stint.begun = in->clock;
	p->stint.unready = in->processor;
	p->stint.after = p->stint.last = in->event;
}

static void end_team(struct reading *in)
{
	struct cpa_team_span *team;

	if (!in->forks)
		return;
	team = &in->out->team[in->fork[--in->forks]];
	team->to = in->clock;
	if (in->parts && in->part[in->parts - 1].stint.team == team->team)
		end_part(in);
}

/* The thread goes on from its arrival: it is elected, or the barrier is cancelled. */
static void give_up_barrier(struct reading *in)
{
	if (in->parts && !in->tasks)
		in->part[in->parts - 1].arrived = false;
}

/* The activity before an event of kind @to begins at a node of @from. */
static void begin_activity(struct reading *in, struct node from, uint8_t to)
{
	switch (from.kind) {
	case CPA_EV_TEAM_ARRIVE:
		if (to != CPA_EV_EXIT)
			give_up_barrier(in);
		break;
	case CPA_EV_PART:
		if (in->cause) { /* a worker is in one team at a time */
			while (in->parts)
				end_part(in);
			begin_part(in, in->cause, from.class);
		} else {
			begin_part(in, in->last_fork, in->last_region);
			in->last_fork = 0;
		}
		break;
	case CPA_EV_TEAM_LEAVE:
		leave_barrier(in);
		break;
	case CPA_EV_TEAM_END:
		end_team(in);
		break;
	case CPA_EV_TASK_START:
		if (in->tasks < CPA_STINTS_OPEN)
			in->task[in->tasks] = from;
		in->tasks++;
		break;
	default:
		break;
	}
}

static void work(struct reading *in, const struct cpa_entry *e)
{
	uint64_t weight = cpa_entry_weight(e);

	in->out->work[in->strand] += weight;
	for (unsigned i = 0; i < in->parts; i++) {
		struct part *p = &in->part[i];

		/* In the last barrier of a region it may also end. */
		if (p->arrived && !in->tasks && i + 1 == in->parts)
			continue;
		p->stint.work += weight;
		p->stint.last = e->number;
		if (p->arrived)
			p->busy += e->clock - in->clock;
	}
	in->event = e->number;
}

/*
 * Whether the event at @to ends the task that the thread runs; else it fulfills the event of
 * another one.
 */
static bool ends_task(const struct reading *in, struct node to)
{
	const struct node *task;

	if (to.kind != CPA_EV_TASK_END || !in->tasks)
		return false;
	if (in->tasks > CPA_STINTS_OPEN)
		return true;
	task = &in->task[in->tasks - 1];
	return to.class == task->class && to.site == task->site;
}

static void end_activity(struct reading *in, const struct cpa_entry *e)
{
	struct node to = node_of(in, e->node);
	struct part *p = in->parts ? &in->part[in->parts - 1] : NULL;

	if (ends_task(in, to))
		in->tasks--;
	if (to.kind == CPA_EV_TEAM) {
		fork_team(in, e, to.class);
	} else if (p && !p->arrived &&
		   (to.kind == CPA_EV_TEAM_ARRIVE || to.kind == CPA_EV_PART_END)) {
		p->arrived = true;
		p->stint.arrived = e->clock;
		p->stint.node = e->node;
	}
}

static void read_event(struct reading *in, const struct cpa_entry *e)
{
	/*
	 * A wait that nobody explains becomes an event of external time: part of the last
	 * operation.
	 */
	bool more = e->clock == in->clock && !e->process && e->external + e->runqueue;

	if (!more && e->edge < in->file->edges)
		begin_activity(in, node_of(in, in->file->edge[e->edge].from),
			       node_of(in, e->node).kind);
	work(in, e);
	if (more) {
		in->processor += e->runqueue;
		return;
	}
	end_activity(in, e);
	in->cause = 0;
	in->processor = e->runqueue;
}

static void read_acquire(struct reading *in, const struct cpa_entry *e)
{
	if (e->causes)
		in->cause = e->cause[0];
	in->processor += e->ready;
}

static void read_strand(struct reading *in, size_t which)
{
	const struct cpa_strand *s = &in->file->strand[which];
	struct cpa_cursor *c = xmalloc(sizeof(*c));
	struct cpa_entry e;

	in->out->first[which] = in->out->stints;
	in->strand = (uint32_t)which;
	in->parts = in->forks = in->tasks = 0;
	in->cause = in->last_fork = in->processor = 0;
	in->clock = s->begun;
	in->event = in->file->leaf[s->first].event;
	cpa_cursor_init(c, in->file, s, 0, s->leaves);
	while (cpa_cursor_next(c, &e)) {
		if (e.kind == CPA_ENTRY_MERGE)
			continue;
		if (e.kind == CPA_ENTRY_EVENT)
			read_event(in, &e);
		else if (e.kind == CPA_ENTRY_ACQUIRE)
			read_acquire(in, &e);
		in->clock = e.clock;
	}
	while (in->forks) /* the run ended there */
		end_team(in);
	while (in->parts)
		end_part(in);
	cpa_cursor_fini(c);
	free(c);
}

static int compare_teams(const void *a, const void *b)
{
	const struct cpa_team_span *x = a, *y = b;

	return x->team < y->team ? -1 : x->team > y->team;
}

/* By strand; and where a stint was read when it ended, by its begin. */
static int compare_stints(const void *a, const void *b)
{
	const struct cpa_stint *x = a, *y = b;

	if (x->strand != y->strand)
		return x->strand < y->strand ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return y->last < x->last ? -1 : y->last > x->last;
}

/* What ended with the region waits to its end, where the master goes on. */
static void add_waits(struct cpa_stints *out)
{
	for (size_t i = 0; i < out->stints; i++) {
		struct cpa_stint *s = &out->stint[i];
		struct cpa_team_span key = { .team = s->team };
		const struct cpa_team_span *team;
		uint64_t busy = s->wait;

		if (s->node)
			continue;
		s->wait = 0;
		if (!out->teams)
			continue;
		team = bsearch(&key, out->team, out->teams, sizeof(key), compare_teams);
		if (team && team->to != UINT64_MAX && team->to > s->arrived + busy)
			s->wait = team->to - s->arrived - busy;
	}
}

struct cpa_stints *cpa_stints_read(const struct cpa_journal_file *file)
{
	struct cpa_stints *out = xcalloc(1, sizeof(*out));
	struct reading in = { .file = file, .out = out };

	out->first = xcalloc(file->strands + 1, sizeof(*out->first));
	out->work = xcalloc(file->strands + 1, sizeof(*out->work));
	read_nodes(&in);
	for (size_t i = 0; i < file->strands; i++)
		read_strand(&in, i);
	out->first[file->strands] = out->stints;
	if (out->stints)
		qsort(out->stint, out->stints, sizeof(*out->stint), compare_stints);
	if (out->teams)
		qsort(out->team, out->teams, sizeof(*out->team), compare_teams);
	add_waits(out);
	free(in.node);
	return out;
}

void cpa_stints_free(struct cpa_stints *stints)
{
	free(stints->stint);
	free(stints->team);
	free(stints->first);
	free(stints->work);
	free(stints);
}

static int compare_rounds(const void *a, const void *b)
{
	const struct cpa_stint *x = *(const struct cpa_stint *const *)a;
	const struct cpa_stint *y = *(const struct cpa_stint *const *)b;

	if (x->team != y->team)
		return x->team < y->team ? -1 : 1;
	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	return x < y ? -1 : x > y;
}

const struct cpa_stint **cpa_stints_by_round(const struct cpa_stints *stints)
{
	const struct cpa_stint **order = XNEWVEC(const struct cpa_stint *, stints->stints + 1);

	for (size_t i = 0; i < stints->stints; i++)
		order[i] = &stints->stint[i];
	qsort(order, stints->stints, sizeof(void *), compare_rounds);
	return order;
}

size_t cpa_stint_round(const struct cpa_stint **order, size_t left)
{
	size_t n = 1;

	while (n < left && order[n]->team == order[0]->team && order[n]->round == order[0]->round)
		n++;
	return n;
}

static double mean_of(const struct cpa_stint **order, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)order[i]->work;
	return sum / (double)n;
}

double *cpa_stint_means(const struct cpa_stints *stints)
{
	const struct cpa_stint **order = cpa_stints_by_round(stints);
	double *mean = XNEWVEC(double, stints->stints + 1);

	for (size_t i = 0, n; i < stints->stints; i += n) {
		double value;

		n = cpa_stint_round(&order[i], stints->stints - i);
		value = mean_of(&order[i], n);
		for (size_t k = 0; k < n; k++)
			mean[order[i + k] - stints->stint] = value;
	}
	free(order);
	return mean;
}

uint64_t cpa_stint_balanced(const struct cpa_stint *stint, double mean, uint32_t number,
			    uint64_t ticks)
{
	double work = (double)stint->work;

	if (work > mean)
		return (uint64_t)((double)ticks * mean / work + 0.5);
	return ticks + (number == stint->last ? (uint64_t)(mean - work + 0.5) : 0);
}

void cpa_stint_finder_init(struct cpa_stint_finder *finder, const struct cpa_stints *stints,
			   size_t strands)
{
	finder->stints = stints;
	finder->at = xcalloc(strands + 1, sizeof(*finder->at));
	for (size_t i = 0; i < strands; i++)
		finder->at[i].next = stints->first[i];
}

void cpa_stint_finder_fini(struct cpa_stint_finder *finder)
{
	free(finder->at);
}

const struct cpa_stints_at *cpa_stints_of(struct cpa_stint_finder *finder, size_t strand,
					  uint32_t number)
{
	const struct cpa_stints *all = finder->stints;
	struct cpa_stints_at *at = &finder->at[strand];
	unsigned open = 0;

	if (number < at->number)
		*at = (struct cpa_stints_at){ .next = all->first[strand] };
	at->number = number;
	while (at->next < all->first[strand + 1] && all->stint[at->next].after < number) {
		if (at->open < CPA_STINTS_OPEN)
			at->stint[at->open++] = at->next;
		at->next++;
	}
	for (unsigned i = 0; i < at->open; i++)
		if (all->stint[at->stint[i]].last >= number)
			at->stint[open++] = at->stint[i];
	at->open = open;
	return at;
}
