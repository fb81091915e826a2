/* SPDX-License-Identifier: MIT */
#include "analysis/exact/teams.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exact/exact.h"
#include "analysis/exact/stints.h"
#include "analysis/symbols/names.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"
#include "analysis/profile/threads.h"

#define NO_ROW UINT32_MAX

/* A region or a construct: sums in ticks. */
struct row {
	uint32_t region, node; /* node 0: all of the region */
	bool last;	       /* the construct that the region's end ends */
	double most, even;
	uint64_t balanced; /* the critical path with this balanced; 0: not known */
	uint64_t chain;
};

struct balancing {
	const struct cpa_profile *profile;
	struct cpa_journal_file file;
	struct cpa_stints *stints;
	struct cpa_exact *exact;
	struct cpa_names names;
	double *mean;		      /* by stint */
	uint32_t *region, *construct; /* by stint: its rows; NO_ROW: none */
	struct row *row;
	size_t rows, room;
	struct cpa_stint_finder finder;
	uint32_t *barrier; /* by node: the first one at the same place; 0: not known yet */
	uint32_t *same; /* by component row: the first region of the same name; 0: not known yet */
	size_t first;	/* row of the second lane */
	struct cpa_teams *out;
	const struct cpa_stint **order; /* cpa_stints_by_round() */
};

/*
 * What the lanes compute: the critical path as recorded; with all regions balanced; then two for
 * each row: the path with that row balanced, and the longest chain of the row's work alone.
 */
#define LANE_ALL    1u
#define LANE_FIRST  2u
#define ROWS_A_PASS ((CPA_LANES - LANE_FIRST) / 2)

static uint32_t row_of(struct balancing *b, uint32_t region, uint32_t node, bool last)
{
	for (size_t i = 0; i < b->rows; i++)
		if (b->row[i].region == region && b->row[i].node == node && b->row[i].last == last)
			return (uint32_t)i;
	if (b->rows == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->row = XRESIZEVEC(struct row, b->row, b->room);
	}
	b->row[b->rows] = (struct row){ .region = region, .node = node, .last = last };
	return (uint32_t)b->rows++;
}

/* The first region with the name of @region: a compiler may repeat a region's code. */
static uint32_t region_at(struct balancing *b, uint32_t region)
{
	const struct cpa_place *place, *at;

	if (!region || region > b->names.components)
		return region;
	if (b->same[region])
		return b->same[region];
	b->same[region] = region;
	place = cpa_names_component(&b->names, region);
	for (uint32_t i = 1; place->name && i <= b->names.components; i++) {
		if (b->same[i] != i || i == region)
			continue;
		at = cpa_names_component(&b->names, i);
		if (at->name && strcmp(at->name, place->name) == 0)
			return b->same[region] = i;
	}
	return region;
}

/* The first node of a barrier at the same place as @node: a compiler may repeat the call. */
static uint32_t barrier_at(struct balancing *b, uint32_t node)
{
	struct cpa_node row, other;
	const struct cpa_place *place, *at;

	if (!node || b->barrier[node])
		return node ? b->barrier[node] : 0;
	b->barrier[node] = node;
	if (!cpa_dump_row(b->file.dump, CPA_TABLE_NODES, node, &row, sizeof(row)))
		return node;
	place = cpa_names_site(&b->names, row.site, true);
	for (uint32_t i = 1; place->location && i <= b->file.dump->rows[CPA_TABLE_NODES]; i++) {
		if (b->barrier[i] != i || i == node ||
		    !cpa_dump_row(b->file.dump, CPA_TABLE_NODES, i, &other, sizeof(other)) ||
		    region_at(b, other.class) != region_at(b, row.class))
			continue;
		at = cpa_names_site(&b->names, other.site, true);
		if (at->location && strcmp(at->location, place->location) == 0)
			return b->barrier[node] = i;
	}
	return node;
}

/* Find the rows, and their sums over rounds. */
static void find_rows(struct balancing *b)
{
	const struct cpa_stints *all = b->stints;

	b->region = XNEWVEC(uint32_t, all->stints + 1);
	b->construct = XNEWVEC(uint32_t, all->stints + 1);
	for (size_t i = 0, n; i < all->stints; i += n) {
		const struct cpa_stint **round = &b->order[i];
		uint32_t place = region_at(b, round[0]->region);
		uint32_t region = row_of(b, place, 0, false);
		uint32_t construct =
			row_of(b, place, barrier_at(b, round[0]->node), !round[0]->node);
		double mean = b->mean[round[0] - all->stint], most = 0;

		n = cpa_stint_round(round, all->stints - i);
		for (size_t k = 0; k < n; k++) {
			b->region[round[k] - all->stint] = region;
			b->construct[round[k] - all->stint] = construct;
			if ((double)round[k]->work > most)
				most = (double)round[k]->work;
		}
		b->row[region].most += most;
		b->row[region].even += mean;
		b->row[construct].most += most;
		b->row[construct].even += mean;
	}
}

static void set_lanes(const struct balancing *b, uint32_t row, uint64_t chain, uint64_t balanced,
		      uint64_t *lanes)
{
	size_t lane = LANE_FIRST + 2 * (row - b->first);

	if (row < b->first || row >= b->first + ROWS_A_PASS)
		return;
	lanes[lane] = balanced;
	lanes[lane + 1] = chain;
}

static void weigh(void *argument, size_t strand, uint32_t number, uint64_t weight, uint64_t *lanes)
{
	struct balancing *b = argument;
	const struct cpa_stints_at *at = cpa_stints_of(&b->finder, strand, number);

	for (unsigned k = LANE_FIRST + 1; k < b->exact->lanes; k += 2)
		lanes[k] = 0;
	for (unsigned i = 0; i < at->open; i++) {
		size_t which = at->stint[i];
		uint64_t balanced = cpa_stint_balanced(&b->stints->stint[which], b->mean[which],
						       number, weight);

		lanes[LANE_ALL] = balanced;
		set_lanes(b, b->region[which], weight, balanced, lanes);
		set_lanes(b, b->construct[which], weight, balanced, lanes);
	}
}

/* Compute the paths, some rows at a time. */
static void find_paths(struct balancing *b)
{
	struct cpa_exact *x = b->exact;

	x->weigh = weigh;
	x->weigh_argument = b;
	for (b->first = 0; b->first < b->rows; b->first += ROWS_A_PASS) {
		size_t rows = b->rows - b->first < ROWS_A_PASS ? b->rows - b->first : ROWS_A_PASS;

		x->lanes = LANE_FIRST + 2 * (unsigned)rows;
		cpa_exact_run(x);
		for (size_t i = 0; i < rows; i++) {
			b->row[b->first + i].balanced = x->result[LANE_FIRST + 2 * i];
			b->row[b->first + i].chain = x->result[LANE_FIRST + 2 * i + 1];
		}
	}
	if (!b->rows)
		cpa_exact_run(x);
}

static bool has_gap(const struct balancing *b)
{
	bool gap = b->file.overwritten || b->file.refused || b->exact->broken || b->exact->missing;

	for (size_t i = 0; i < b->file.strands; i++)
		gap |= b->file.strand[i].dropped != 0;
	return gap;
}

static double seconds(const struct balancing *b, double ticks)
{
	return ticks * b->profile->tick_s;
}

static double saved(const struct balancing *b, uint64_t path)
{
	uint64_t len = b->exact->result[0];

	return len > path ? seconds(b, (double)(len - path)) : 0;
}

static int compare_begins(const void *a, const void *b)
{
	const struct cpa_team_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Count the instances of @region, or of all if it is NULL, and the time in at least one of them. */
static double elapsed(struct balancing *b, const struct cpa_team_span *by_time,
		      const uint32_t *region, uint64_t *instances)
{
	uint64_t sum = 0, end = 0;

	*instances = 0;
	for (size_t i = 0; i < b->stints->teams; i++) {
		const struct cpa_team_span *t = &by_time[i];
		uint64_t from = t->from > end ? t->from : end;

		if (region && region_at(b, t->region) != *region)
			continue;
		++*instances;
		if (t->to == UINT64_MAX || t->to <= from)
			continue;
		sum += t->to - from;
		end = t->to;
	}
	return seconds(b, (double)sum);
}

static int compare_threads(const void *a, const void *b)
{
	const struct cpa_team_thread *x = a, *y = b;

	if (x->work_s != y->work_s)
		return x->work_s > y->work_s ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void set_thread(const struct balancing *b, struct cpa_team_thread *thread, size_t strand)
{
	thread->id = b->file.strand[strand].id;
	for (size_t i = 0; i < b->profile->threads; i++)
		if (b->profile->thread[i].id == thread->id)
			thread->tid = b->profile->thread[i].tid;
}

/* Sum up the stints of row @which by thread. */
static void add_threads(const struct balancing *b, uint32_t which, struct cpa_team_figures *to)
{
	const struct cpa_stints *all = b->stints;
	const uint32_t *row = to->construct ? b->construct : b->region;
	size_t rounds = 0;

	to->thread = XCNEWVEC(struct cpa_team_thread, b->file.strands + 1);
	for (size_t i = 0; i < b->file.strands; i++) {
		struct cpa_team_thread *t = &to->thread[to->threads];
		bool any = false;

		for (size_t k = all->first[i]; k < all->first[i + 1]; k++) {
			if (row[k] != which)
				continue;
			any = true;
			t->work_s += seconds(b, (double)all->stint[k].work);
			t->wait_s += seconds(b, (double)all->stint[k].wait);
			rounds += all->stint[k].team >> 32 == b->file.strand[i].id;
		}
		if (!any)
			continue;
		set_thread(b, t, i);
		to->work_s += t->work_s;
		to->wait_s += t->wait_s;
		to->threads++;
	}
	if (to->construct)
		to->instances = rounds; /* the master is in each */
	qsort(to->thread, to->threads, sizeof(*to->thread), compare_threads);
}

/* A barrier that is the last thing in its function is called by what called that, it seems: the runtime, or us. */
static bool is_last_call(const struct balancing *b, uint32_t site)
{
	static const char *const callers[] = { "libcpa", "libgomp", "libomp", "libiomp" };
	uint32_t row = site && site <= b->names.sites ? b->names.site[site - 1].module : 0;
	struct cpa_module module;

	if (!row || !cpa_dump_row(b->file.dump, CPA_TABLE_MODULES, row, &module, sizeof(module)))
		return false;
	module.path[sizeof(module.path) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		if (strncmp(cpa_printable_base(module.path), callers[i], strlen(callers[i])) == 0)
			return true;
	return false;
}

static void name_row(struct balancing *b, const struct row *row, struct cpa_team_figures *to)
{
	const struct cpa_place *place = cpa_names_component(&b->names, row->region);
	bool placed = !row->last;
	struct cpa_node node;

	if (!to->construct) {
		to->name = xstrdup(place->name ? place->name : "a region");
	} else if (row->last) {
		to->name = xstrdup("up to its end");
	} else if (cpa_dump_row(b->file.dump, CPA_TABLE_NODES, row->node, &node, sizeof(node))) {
		place = cpa_names_site(&b->names, node.site, true);
		placed = !is_last_call(b, node.site);
		to->name = xstrdup(placed ? "up to a barrier" : "up to its last barrier");
	}
	if (place->location && placed && (!to->construct || strchr(place->location, ':')))
		to->location = xstrdup(place->location);
}

static bool is_repeated(const struct balancing *b, uint32_t region)
{
	for (uint32_t i = 1; i <= b->names.components; i++)
		if (i != region && b->same[i] == region)
			return true;
	return false;
}

static void set_row(struct balancing *b, const struct cpa_team_span *by_time, uint32_t which,
		    struct cpa_team_figures *to)
{
	const struct row *row = &b->row[which];
	const struct cpa_component *component = cpa_names_row(&b->names, row->region);
	const struct cpa_component_figures *figures;

	to->construct = row->node || row->last;
	to->slot = component ? component->slot : 0;
	to->chain_s = seconds(b, (double)row->chain);
	to->most_s = seconds(b, row->most);
	to->even_s = seconds(b, row->even);
	to->balanced_saved_s = saved(b, row->balanced);
	name_row(b, row, to);
	add_threads(b, which, to);
	figures = to->slot ? cpa_profile_component(b->profile, to->slot, CPA_REGION) : NULL;
	if (!to->construct) {
		to->has_saved = figures && !is_repeated(b, row->region);
		to->saved_s = to->has_saved ? figures->saved_s : 0;
		to->elapsed_s = elapsed(b, by_time, &row->region, &to->instances);
	}
	if (to->threads)
		to->efficiency = cpa_efficiency_of(to->work_s / to->threads, to->thread[0].work_s,
						   to->chain_s, to->elapsed_s);
}

/* Regions by what balance saves, then by work, the constructs of each behind it. */
struct rank {
	double key, work, own;
	uint32_t region, which;
	bool construct;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	if (x->work != y->work)
		return x->work > y->work ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	if (x->construct != y->construct)
		return x->construct ? 1 : -1;
	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	return x->which < y->which ? -1 : x->which > y->which;
}

/*
 * The rows in the order of the table. If a region has only one construct, that is left out: it is
 * the region once more. The caller frees the result.
 */
static struct rank *rank_rows(const struct balancing *b, size_t *count)
{
	struct rank *rank = XNEWVEC(struct rank, b->rows + 1);

	*count = 0;
	for (size_t i = 0; i < b->rows; i++) {
		const struct row *row = &b->row[i], *whole = row;
		size_t constructs = 0;

		for (size_t k = 0; k < b->rows; k++) {
			if (b->row[k].region != row->region)
				continue;
			if (b->row[k].node || b->row[k].last)
				constructs++;
			else
				whole = &b->row[k];
		}
		if (row != whole && constructs == 1)
			continue;
		rank[(*count)++] = (struct rank){ .key = saved(b, whole->balanced),
						  .work = whole->even,
						  .own = saved(b, row->balanced),
						  .region = row->region,
						  .which = (uint32_t)i,
						  .construct = row != whole };
	}
	qsort(rank, *count, sizeof(*rank), compare_ranks);
	return rank;
}

/* The program's figures, of the threads that have stints. */
static void set_program(struct balancing *b, const struct cpa_team_span *by_time)
{
	struct cpa_teams *out = b->out;
	uint64_t instances, most = 0;
	double sum = 0;

	for (size_t i = 0; i < b->file.strands; i++) {
		if (b->stints->first[i] == b->stints->first[i + 1])
			continue;
		out->threads++;
		sum += (double)b->stints->work[i];
		if (b->stints->work[i] > most)
			most = b->stints->work[i];
	}
	out->parallel_s = elapsed(b, by_time, NULL, &instances);
	out->serial_s = b->profile->program.wall_s - out->parallel_s;
	if (out->serial_s < 0)
		out->serial_s = 0;
	out->balanced_saved_s = saved(b, b->exact->result[LANE_ALL]);
	if (out->threads)
		out->efficiency = cpa_efficiency_of(seconds(b, sum / out->threads),
						    seconds(b, (double)most),
						    seconds(b, (double)b->exact->result[0]),
						    b->profile->program.wall_s);
}

static void set_rows(struct balancing *b)
{
	struct cpa_team_span *by_time = XNEWVEC(struct cpa_team_span, b->stints->teams + 1);
	struct rank *rank = rank_rows(b, &b->out->rows);

	if (b->stints->teams)
		memcpy(by_time, b->stints->team, b->stints->teams * sizeof(*by_time));
	qsort(by_time, b->stints->teams, sizeof(*by_time), compare_begins);
	set_program(b, by_time);
	b->out->row = XCNEWVEC(struct cpa_team_figures, b->out->rows + 1);
	for (size_t i = 0; i < b->out->rows; i++)
		set_row(b, by_time, rank[i].which, &b->out->row[i]);
	free(rank);
	free(by_time);
}

static void read_teams(struct balancing *b)
{
	b->stints = cpa_stints_read(&b->file);
	b->exact = cpa_exact_new(&b->file);
	b->mean = cpa_stint_means(b->stints);
	b->order = cpa_stints_by_round(b->stints);
	cpa_stint_finder_init(&b->finder, b->stints, b->file.strands);
	cpa_names_init(&b->names, b->file.dump);
	b->barrier = XCNEWVEC(uint32_t, b->file.dump->rows[CPA_TABLE_NODES] + 1);
	b->same = XCNEWVEC(uint32_t, b->names.components + 1);
	find_rows(b);
	find_paths(b);
	if (has_gap(b))
		b->out->trouble = cpa_format_text("Events of the run are missing in its journal "
						  "(cpa run --journal=SIZE, larger).");
	else
		set_rows(b);
	cpa_names_fini(&b->names);
	free(b->barrier);
	free(b->same);
	cpa_stint_finder_fini(&b->finder);
	cpa_exact_free(b->exact);
	cpa_stints_free(b->stints);
	free(b->order);
	free(b->mean);
	free(b->region);
	free(b->construct);
	free(b->row);
}

struct cpa_teams *cpa_teams_read(struct cpa_dump *dump, const struct cpa_profile *profile)
{
	struct balancing b = { .profile = profile };
	char *error = NULL;

	if (!cpa_teams_any(profile) || !cpa_journal_open(&b.file, dump, &error)) {
		free(error);
		return NULL;
	}
	b.out = XCNEW(struct cpa_teams);
	read_teams(&b);
	cpa_journal_close(&b.file);
	return b.out;
}
