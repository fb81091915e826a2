/* SPDX-License-Identifier: MIT */
/* analysis/top/top_stream.c - details page of the streams between two classes of threads */
#include <libiberty/libiberty.h>
#include <math.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/top/top_detail.h"
#include "analysis/top/top_views.h"
#include "analysis/profile/streams.h"

static void put_traffic(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i)
{
	const struct cpa_stream_figures *stream = &top->now.profile->stream[i];
	double lately = cpa_top_stream_rate(top, i);

	cpa_top_say(screen, "%s, %s of them: %s bytes in %s writes, taken by %s reads",
		    cpa_stream_word(stream->kind), cpa_format_count(stream->streams).text,
		    cpa_format_count(stream->bytes).text, cpa_format_count(stream->writes).text,
		    cpa_format_count(stream->reads).text);
	if (!isnan(lately))
		cpa_top_say(screen, "lately %s bytes a second", cpa_format_ratio(lately).text);
	if (stream->messages)
		cpa_top_say(screen,
			    "from a write to the read of its last byte: %s on average, more than "
			    "%s for 1%%",
			    cpa_format_seconds(stream->stay_s).text,
			    cpa_format_seconds(stream->stay_p99_s).text);
}

static void put_side(const struct cpa_top *top, struct cpa_top_screen *screen, const char *side,
		     const char *name, const struct cpa_stream_end *end)
{
	double all_s = top->now.profile->program.critical_path_s;
	struct cpa_figure margin = cpa_text_margin_percent(end->critical_path_margin_s, all_s);

	cpa_top_say(screen, "%s: %s, %s of the critical path (%s%s%s)", side,
		    name ? name : "outside the session",
		    cpa_format_seconds(end->critical_path_s).text,
		    cpa_format_percent(end->critical_path_s, all_s).text,
		    margin.text[0] ? " +- " : "", margin.text);
}

void cpa_top_put_stream(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			size_t below)
{
	const struct cpa_stream_figures *stream = &top->now.profile->stream[i];

	(void)below;
	cpa_top_put(screen, CPA_TOP_STRONG, cpa_format_text("stream %s", stream->name));
	put_traffic(top, screen, i);
	put_side(top, screen, "writer", stream->from, &stream->writer);
	put_side(top, screen, "reader", stream->to, &stream->reader);
	cpa_top_say(screen, "readers waited for data for %s, %s times; writers for room for %s, %s",
		    cpa_format_seconds(stream->waited_s).text, cpa_format_count(stream->waits).text,
		    cpa_format_seconds(stream->blocked_s).text,
		    cpa_format_count(stream->blocks).text);
	cpa_top_say(screen, "the side that limits: %s", cpa_stream_limit(stream));
	if (stream->unmatched)
		cpa_top_say(
			screen,
			"reads of bytes that no profiled thread was seen to write, or long before: %s",
			cpa_format_count(stream->unmatched).text);
}
