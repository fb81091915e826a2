/* SPDX-License-Identifier: MIT */
/* analysis/page/html.c - a profile as one page for a browser */
#include "analysis/page/html.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/page/html_lanes.h"
#include "analysis/page/html_replays.h"
#include "analysis/page/html_series.h"
#include "analysis/page/html_sums.h"
#include "analysis/render/json.h"

/* Enough for a chart, and for a time to 1 ns in a run of 10 s. */
#define DIGITS 10

/* Events of a journal that is replayed without being asked for: some seconds. */
#define REPLAYED_MOST 100000

/* The page around its data, and around its events: analysis/page/embed.S. */
extern const char cpa_page_head[], cpa_page_middle[], cpa_page_tail[];

/*
 * Write @size bytes of JSON so that they cannot end the script element around them. In JSON '<'
 * stands in strings alone, where this escape means the same.
 */
static int put_escaped(const char *text, size_t size, void *argument)
{
	FILE *out = argument;

	while (size) {
		const char *less = memchr(text, '<', size);
		size_t plain = less ? (size_t)(less - text) : size;

		if (fwrite(text, 1, plain, out) != plain)
			return -1;
		text += plain;
		size -= plain;
		if (!less)
			break;
		if (fputs("\\u003c", out) == EOF)
			return -1;
		text++;
		size--;
	}
	return 0;
}

int cpa_html_put(const json_t *data, const struct cpa_bytes *events, FILE *out)
{
	int ret = fputs(cpa_page_head, out) == EOF ? -1 : 0;

	if (ret == 0)
		ret = json_dump_callback(data, put_escaped, out,
					 JSON_COMPACT | JSON_ENSURE_ASCII |
						 JSON_REAL_PRECISION(DIGITS));
	if (ret == 0 && fputs(cpa_page_middle, out) == EOF)
		ret = -1;
	if (ret == 0 && events)
		ret = cpa_bytes_base64(events, out);
	if (ret == 0 && fputs(cpa_page_tail, out) == EOF)
		ret = -1;
	return ret;
}

/* What only a journal holds, if @dump has one: to @data and to @events. */
static void add_journal(json_t *data, struct cpa_dump *dump, const struct cpa_profile *profile,
			const uint32_t *core, size_t cores, struct cpa_bytes *events)
{
	char *error = NULL;
	struct cpa_lanes *lanes = cpa_lanes_build(dump, profile->program.observed_thread, &error);
	bool brief = lanes && lanes->run->events <= REPLAYED_MOST;
	json_t *replays;

	free(error);
	if (!lanes)
		return;
	json_object_set_new(data, "timeline", cpa_html_lanes(lanes, profile, events));
	json_object_set_new(data, "stacks", cpa_html_stacks(lanes, profile));
	json_object_set_new(data, "waits", cpa_html_waits(lanes, profile));
	json_object_set_new(data, "depths", cpa_html_depths(lanes, profile, dump));
	cpa_lanes_free(lanes);
	if (!cores && !brief)
		return;
	replays = cpa_html_replays(dump, profile, core, cores);
	if (json_array_size(replays))
		json_object_set(data, "replays", replays);
	json_decref(replays);
}

int cpa_html_write(struct cpa_dump *dump, const struct cpa_profile *profile, const uint32_t *core,
		   size_t cores, FILE *out)
{
	json_t *data = json_object(), *report = cpa_json_profile(profile);
	struct cpa_bytes events = { 0 };
	int ret;

	/* The series have those of the threads with most CPU time. */
	json_object_del(json_object_get(report, "intervals"), "threads");
	json_object_set_new(data, "version", json_string(CPA_VERSION));
	json_object_set_new(data, "report", report);
	json_object_set_new(data, "metrics", cpa_html_metrics());
	json_object_set_new(data, "series", cpa_html_series(profile));
	if (dump) {
		json_object_set_new(data, "dump", json_string(dump->file));
		add_journal(data, dump, profile, core, cores, &events);
	}
	ret = cpa_html_put(data, &events, out);
	free(events.at);
	json_decref(data);
	return ret;
}
