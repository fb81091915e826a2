/* SPDX-License-Identifier: MIT */
/* analysis/render/streams_text.c - pipes and sockets, as text */
#include "analysis/render/streams_text.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/profile/streams.h"

/*
 * The figure of the side that the other one waits for: @writer's or @reader's; NAN: neither waits.
 */
static double at_limit(const struct cpa_stream_figures *stream, double writer, double reader)
{
	const char *limit = cpa_stream_limit(stream);

	if (strcmp(limit, "writer") == 0)
		return writer;
	return strcmp(limit, "reader") == 0 ? reader : NAN;
}

/* Whether it is known of some what they cost. */
static bool are_predicted(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->streams; i++)
		if (!isnan(profile->stream[i].saved_s))
			return true;
	return false;
}

static void put_waits(struct cpa_table_text *table, const struct cpa_profile *profile,
		      const struct cpa_stream_figures *stream)
{
	const struct cpa_program_figures *program = &profile->program;
	double path_s =
		at_limit(stream, stream->writer.critical_path_s, stream->reader.critical_path_s);
	double margin_s = at_limit(stream, stream->writer.critical_path_margin_s,
				   stream->reader.critical_path_margin_s);
	struct cpa_figure margin = cpa_text_margin_percent(margin_s, program->critical_path_s);
	struct cpa_figure path = isnan(path_s) ?
					 (struct cpa_figure){ "-" } :
					 cpa_format_percent(path_s, program->critical_path_s);
	struct cpa_figure waited = cpa_format_seconds(stream->waited_s);
	struct cpa_figure blocked = cpa_format_seconds(stream->blocked_s);
	struct cpa_figure saves = isnan(stream->saved_s) ? (struct cpa_figure){ "-" } :
							   cpa_format_seconds(stream->saved_s);
	struct cpa_figure waited_margin =
		cpa_text_margin(stream->waited_margin_s, cpa_format_seconds);
	struct cpa_figure blocked_margin =
		cpa_text_margin(stream->blocked_margin_s, cpa_format_seconds);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = waited.text;
	if (program->batches)
		cells[count++] = waited_margin.text;
	cells[count++] = blocked.text;
	if (program->batches)
		cells[count++] = blocked_margin.text;
	cells[count++] = cpa_stream_limit(stream);
	cells[count++] = path.text;
	if (program->batches)
		cells[count++] = margin.text;
	if (are_predicted(profile))
		cells[count++] = saves.text;
	cells[count++] = cpa_stream_short(stream->kind);
	cells[count++] = stream->name;
	cpa_table_row(table, cells);
}

static void put_traffic(struct cpa_table_text *table, const struct cpa_profile *profile,
			const struct cpa_stream_figures *stream)
{
	struct cpa_figure streams = cpa_format_count(stream->streams);
	struct cpa_figure bytes = cpa_format_count(stream->bytes);
	struct cpa_figure writes = cpa_format_count(stream->writes);
	bool any = stream->messages; /* not of terminals */
	struct cpa_figure mean = any ? cpa_format_seconds(stream->stay_s) :
				       (struct cpa_figure){ "-" };
	struct cpa_figure most = any ? cpa_format_seconds(stream->stay_p99_s) :
				       (struct cpa_figure){ "-" };

	(void)profile;
	cpa_table_row(table, (const char *const[]){ streams.text, bytes.text, writes.text,
						    mean.text, most.text,
						    cpa_stream_short(stream->kind), stream->name });
}

static void put_rows(const struct cpa_page *page, struct cpa_table_text *table,
		     const struct cpa_profile *profile, size_t top,
		     void (*put)(struct cpa_table_text *table, const struct cpa_profile *profile,
				 const struct cpa_stream_figures *stream))
{
	cpa_table_column(table, "kind", true);
	cpa_table_column(table, "writer -> reader", true);
	for (size_t i = 0, rows = 0; i < profile->streams && rows < top; i++) {
		if (!cpa_stream_is_inside(&profile->stream[i]))
			continue;
		put(table, profile, &profile->stream[i]);
		rows++;
	}
	cpa_table_end(table, page);
}

static size_t count_inside(const struct cpa_profile *profile)
{
	size_t inside = 0;

	for (size_t i = 0; i < profile->streams; i++)
		inside += cpa_stream_is_inside(&profile->stream[i]);
	return inside;
}

/*
 * " Of sort it is that of its 2 processes." for the classes of threads at the sides that others wait for; "" if none
 * of them has several. The caller frees it.
 */
static char *share_paths(const struct cpa_profile *profile)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < profile->streams; i++) {
		const struct cpa_stream_figures *stream = &profile->stream[i];
		bool writer = strcmp(cpa_stream_limit(stream), "writer") == 0;
		const char *name = writer ? stream->from : stream->to;
		struct cpa_processes_of of;
		char *said;

		if (!cpa_stream_is_inside(stream) ||
		    strcmp(cpa_stream_limit(stream), "neither") == 0)
			continue;
		of = cpa_find_processes(profile,
					writer ? stream->writer.slot : stream->reader.slot);
		said = cpa_format_text(" Of %s it is that of its %zu processes.", name, of.n);
		if (of.n > 1 && !strstr(text, said))
			text = reconcat(text, text, said, NULL);
		free(said);
	}
	return text;
}

static void put_foot(const struct cpa_page *page, const struct cpa_profile *profile, size_t shown,
		     size_t top)
{
	size_t outside = profile->streams - shown;
	char *more = outside ? cpa_format_text(" %s more stream%s an end that cpa does not know.",
					       cpa_format_count(outside).text,
					       outside == 1 ? " has" : "s have") :
			       xstrdup("");
	char *shares = share_paths(profile);
	char *note = concat("starved: how long readers waited for data; blocked: writers for "
			    "room; limit: the side that the other one waits for; path: its "
			    "threads' share of the critical path.",
			    shares,
			    are_predicted(profile) ? " saves: of the run, replayed, if messages "
						     "took no time and found room." :
						     "",
			    more, NULL);

	cpa_page_foot(page, shown, top, note);
	free(note);
	free(shares);
	free(more);
}

void cpa_text_streams(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_table_text table = { 0 };
	size_t shown = count_inside(profile);

	if (shown == 0)
		return;
	cpa_page_heading(page, "Streams: who writes, who reads");
	cpa_table_column(&table, "starved", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "blocked", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "limit", true);
	cpa_table_column(&table, "path", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	if (are_predicted(profile))
		cpa_table_column(&table, "saves", false);
	put_rows(page, &table, profile, top, put_waits);
	put_foot(page, profile, shown, top);
}

void cpa_text_traffic(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_table_text table = { 0 };
	size_t shown = count_inside(profile);

	if (shown == 0)
		return;
	cpa_page_heading(page, "Streams: what they carry");
	cpa_table_column(&table, "streams", false);
	cpa_table_column(&table, "bytes", false);
	cpa_table_column(&table, "writes", false);
	cpa_table_column(&table, "mean", false);
	cpa_table_column(&table, "p99", false);
	put_rows(page, &table, profile, top, put_traffic);
	cpa_page_foot(page, shown, top,
		      "mean, p99: time from a write to the read of its last byte; p99 is exact to "
		      "12 %.");
}
