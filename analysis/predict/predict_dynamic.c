/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/predict_dynamic.c - chunks of loops go to the thread of the team that is free
 * first
 */
#include "analysis/predict/predict_state.h"
#include "analysis/derived/find.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define ALONE 0.95 /* of the work of a round: then it is one thread's, and nothing to divide */

bool predict_loops(struct inquiry *q, const struct cpa_change *change)
{
	bool any = false;

	for (uint32_t i = 1; i <= q->dump->rows[CPA_TABLE_NODES]; i++) {
		struct cpa_node row;
		const struct cpa_place *place;

		if (!cpa_dump_row(q->dump, CPA_TABLE_NODES, i, &row, sizeof(row)) ||
		    (row.kind != CPA_EV_CHUNK && row.kind != CPA_EV_TEAM_ARRIVE))
			continue;
		place = cpa_names_site(&q->names, row.site, true);
		if (place->location &&
		    cpa_is_named(q->profile, CPA_REGION, 0, cpa_printable_base(place->location),
				 change->name))
			q->divided_at[i] = q->divides = any = true;
	}
	return any;
}

void predict_dynamic_begin(struct predict_dynamic *d, const struct cpa_journal_file *file,
			   const struct cpa_stints *stints)
{
	*d = (struct predict_dynamic){ .chunks = cpa_chunks_read(file, stints),
				       .pieces = cpa_pieces_read(file, stints) };
}

void predict_dynamic_end(struct predict_dynamic *d)
{
	cpa_chunks_free(d->chunks);
	cpa_pieces_free(d->pieces);
}

static bool is_dynamic(const struct inquiry *q, const struct cpa_stint *const *round, size_t n,
		       const struct cpa_chunk *chunk, size_t count)
{
	uint32_t region = round[0]->region;

	if (region <= q->names.components && q->divided[region] == CPA_CHANGE_DYNAMIC)
		return true;
	for (size_t i = 0; i < n; i++)
		if (q->divided_at[round[i]->node])
			return true;
	for (size_t i = 0; i < count; i++)
		if (q->divided_at[chunk[i].node])
			return true;
	return false;
}

static void deal_evenly(double sum, size_t n, double *work)
{
	for (size_t i = 0; i < n; i++)
		work[i] = sum / (double)n;
}

static bool is_ordered(const struct predict_dynamic *d, const struct cpa_stints *stints,
		       const struct cpa_stint *const *round, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (d->chunks->ordered[round[i] - stints->stint])
			return true;
	return false;
}

static void leave(const struct cpa_stint *const *round, size_t n, double *work)
{
	for (size_t i = 0; i < n; i++)
		work[i] = (double)round[i]->work;
}

bool predict_dynamic_round(struct inquiry *q, struct predict_dynamic *d,
			   const struct cpa_stints *stints, const struct cpa_stint *const *round,
			   size_t n, double *work)
{
	const struct cpa_chunk *chunk = &d->chunks->chunk[d->chunk];
	size_t count = cpa_chunks_of(d->chunks, stints, d->chunk, round[0]);
	const struct cpa_round *all = &d->pieces->round[d->round++];
	bool alone = n > 1 && (double)all->busiest >= ALONE * (double)all->work;

	d->chunk += count;
	if (!is_dynamic(q, round, n, chunk, count))
		return false;
	if (all->tasks || is_ordered(d, stints, round, n)) {
		leave(round, n, work);
		q->dealt.left += all->work;
	} else if (count && !(count == n && cpa_chunks_are_shares(chunk, count))) {
		cpa_chunks_deal(stints, round, n, chunk, count, work);
		q->dealt.chunks += count;
		q->dealt.ticks += all->work;
	} else if (alone) {
		leave(round, n, work);
		q->dealt.left += all->work;
	} else {
		deal_evenly((double)all->work, n, work);
		q->dealt.even += all->work;
	}
	return true;
}

void predict_note_dealt(struct inquiry *q)
{
	const struct predict_dealt *dealt = &q->dealt;

	if (dealt->chunks)
		predict_note(
			q->answer,
			"Dynamic: chunks of loops (%s, %s of work with what is around them) go to the "
			"thread that is free first. What it costs to take one is not in it.",
			cpa_format_count(dealt->chunks).text,
			cpa_format_seconds(predict_seconds(q, dealt->ticks)).text);
	if (dealt->even)
		predict_note(
			q->answer,
			"Dynamic: of %s of work the chunks are not known, as those of a static "
			"schedule. It is divided evenly here: no schedule does better, and large "
			"chunks do worse. To know, build the loop with schedule(runtime), and record "
			"it with OMP_SCHEDULE=dynamic,N.",
			cpa_format_seconds(predict_seconds(q, dealt->even)).text);
	if (dealt->left)
		predict_note(
			q->answer,
			"Dynamic: %s of work stays as it was: one thread had nearly all of it, its "
			"iterations are ordered, or it is tasks, which go to a free thread already.",
			cpa_format_seconds(predict_seconds(q, dealt->left)).text);
}
