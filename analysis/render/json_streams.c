/* SPDX-License-Identifier: MIT */
/* analysis/render/json_streams.c - pipes and sockets as JSON */
#include "analysis/render/json_put.h"
#include "analysis/profile/streams.h"

static json_t *stream_json(const struct cpa_stream_figures *stream)
{
	json_t *object = json_object();

	put_text(object, "kind", cpa_stream_word(stream->kind));
	put_text(object, "from", stream->from);
	put_text(object, "to", stream->to);
	put_count(object, "streams", stream->streams);
	put_count(object, "bytes", stream->bytes);
	put_count(object, "writes", stream->writes);
	put_count(object, "reads", stream->reads);
	put_count(object, "messages", stream->messages);
	put_real(object, "stay_s", stream->stay_s);
	put_real(object, "stay_p99_s", stream->stay_p99_s);
	put_count(object, "reader_waits", stream->waits);
	put_real(object, "reader_wait_s", stream->waited_s);
	put_count(object, "writer_waits", stream->blocks);
	put_real(object, "writer_wait_s", stream->blocked_s);
	put_count(object, "unmatched", stream->unmatched);
	put_count(object, "uncertain", stream->uncertain);
	put_real(object, "from_critical_path_s", stream->writer.critical_path_s);
	put_real(object, "to_critical_path_s", stream->reader.critical_path_s);
	put_margin(object, "reader_wait_margin_s", stream->waited_margin_s);
	put_margin(object, "writer_wait_margin_s", stream->blocked_margin_s);
	put_margin(object, "from_critical_path_margin_s", stream->writer.critical_path_margin_s);
	put_margin(object, "to_critical_path_margin_s", stream->reader.critical_path_margin_s);
	put_real(object, "from_observed_path_s", stream->writer.observed_path_s);
	put_real(object, "to_observed_path_s", stream->reader.observed_path_s);
	put_known(object, "saved_s", !isnan(stream->saved_s), stream->saved_s);
	put_text(object, "limit", cpa_stream_limit(stream));
	return object;
}

json_t *cpa_json_streams(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->streams; i++)
		json_array_append_new(array, stream_json(&profile->stream[i]));
	return array;
}
