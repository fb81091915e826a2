/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_network.c - what the messages of each stream take after the changes */
#include <fnmatch.h>
#include <libiberty/libiberty.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/predict/predict_state.h"
#include "analysis/util/format.h"
#include "analysis/profile/streams.h"

/* The figures of the stream in row @row; NULL: it carried nothing. */
static const struct cpa_stream_figures *stream_of(const struct inquiry *q, uint32_t row)
{
	uint32_t at = q->profile->stream_of[row - 1];

	return at ? &q->profile->stream[at - 1] : NULL;
}

static bool is_named(const struct cpa_stream_figures *stream, const char *pattern)
{
	return strcmp(pattern, stream->name) == 0 || fnmatch(pattern, stream->name, 0) == 0;
}

/* Messages of streams of @kinds that @pattern names take @factor times as long. */
static bool scale(struct inquiry *q, unsigned kinds, const char *pattern, double factor)
{
	bool any = false;

	for (uint32_t i = 1; i <= q->cast.streams; i++) {
		const struct cpa_stream_figures *stream = stream_of(q, i);
		struct cpa_transfer *transfer = &q->transfer[i];

		if (!stream || !(kinds >> stream->kind & 1) || !is_named(stream, pattern))
			continue;
		transfer->fixed *= factor;
		transfer->recorded *= factor;
		transfer->per_byte *= factor;
		any = true;
	}
	return any;
}

/* A change of --what-if: a factor of 0 makes room, too. */
static bool change(struct inquiry *q, const struct cpa_change *change)
{
	bool any = scale(q, UINT_MAX, change->name, change->factor);

	for (uint32_t i = 1; i <= q->cast.streams && change->factor == 0; i++) {
		const struct cpa_stream_figures *stream = stream_of(q, i);

		if (stream && is_named(stream, change->name))
			q->transfer[i].roomy = true;
	}
	return any;
}

void predict_zero_stream(struct inquiry *q, uint32_t number, bool zero)
{
	for (uint32_t i = 1; i <= q->cast.streams; i++)
		if (q->profile->stream_of[i - 1] == number) {
			q->transfer[i].recorded = zero ? 0 : 1;
			q->transfer[i].roomy = zero;
		}
}

static void set_all(struct inquiry *q, const struct cpa_network *network)
{
	double tick_s = q->profile->tick_s;

	for (uint32_t i = 1; i <= q->cast.streams; i++) {
		const struct cpa_stream_figures *stream = stream_of(q, i);
		struct cpa_transfer *transfer = &q->transfer[i];

		*transfer = (struct cpa_transfer){ .recorded = 1 };
		if (stream && stream->kind == CPA_STREAM_TERMINAL) /* no messages are known */
			continue;
		transfer->fixed = network->latency_s / tick_s;
		/* The counter of an eventfd has no size. */
		if (stream && stream->kind != CPA_STREAM_EVENTFD)
			transfer->per_byte = network->second_per_byte / tick_s;
	}
}

/* A factor of a latency that is not known changes nothing. */
bool predict_scales_nothing(const struct inquiry *q)
{
	for (size_t i = 0; i < q->question->changes; i++)
		if (q->question->change[i].kind == CPA_CHANGE_TRANSFER && !q->answer->waits)
			return true;
	return q->question->network.factors && !q->answer->waits;
}

int predict_transfers(struct inquiry *q, char **error)
{
	const struct cpa_network *network = &q->question->network;

	q->cast.streams = (uint32_t)q->profile->stream_rows;
	q->transfer = XCNEWVEC(struct cpa_transfer, q->cast.streams + 1);
	set_all(q, network);
	if (network->asked && q->profile->streams == 0) {
		*error = xstrdup("--network: the run has no pipe or socket between its threads");
		return -1;
	}
	for (size_t i = 0; i < network->factors; i++) {
		const struct cpa_network_factor *f = &network->factor[i];

		if (scale(q, f->kinds, f->name, f->factor))
			continue;
		*error = cpa_format_text("--network: no stream of this kind has the name '%s' "
					 "(cpa-report --level stream lists them)",
					 f->name);
		return -1;
	}
	for (size_t i = 0; i < q->question->changes; i++) {
		const struct cpa_change *c = &q->question->change[i];

		if (c->kind != CPA_CHANGE_TRANSFER || change(q, c))
			continue;
		*error = cpa_format_text("--what-if: no stream has the name '%s' (cpa-report "
					 "--level stream lists them)",
					 c->name);
		return -1;
	}
	return 0;
}
