/* SPDX-License-Identifier: MIT */
/* analysis/profile/streams.c - pipes and sockets between threads, by who writes and who reads */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/streams.h"
#include "analysis/util/printable.h"
#include "shadow/edge/queue.h"

#define ONE_SIDE 1.1 /* a side limits if the other one waits so many times longer than it does */

/* Streams with the same key; counters are ticks or numbers, as in struct cpa_stream. */
struct sum {
	struct cpa_stream all;
	uint64_t streams, histogram[CPA_HISTOGRAM];
};

const char *cpa_stream_word(enum cpa_stream_kind kind)
{
	static const char *const words[CPA_STREAM_KINDS] = {
		[CPA_STREAM_PIPE] = "pipe",
		[CPA_STREAM_UNIX] = "unix socket",
		[CPA_STREAM_TCP] = "TCP",
		[CPA_STREAM_EVENTFD] = "eventfd",
		[CPA_STREAM_PACKET] = "unix packets",
		[CPA_STREAM_DATAGRAM] = "unix datagrams",
		[CPA_STREAM_UDP] = "UDP",
		[CPA_STREAM_CONNECTION] = "connections",
		[CPA_STREAM_TERMINAL] = "terminal",
		[CPA_STREAM_OTHER] = "other socket",
		[CPA_STREAM_TIMER] = "timerfd",
		[CPA_STREAM_SIGNALS] = "signalfd",
		[CPA_STREAM_FILES] = "inotify",
		[CPA_STREAM_RING] = "io_uring",
		[CPA_STREAM_DEVICE] = "device",
		[CPA_STREAM_UNKNOWN] = "other descriptor",
	};

	return kind < CPA_STREAM_KINDS && words[kind] ? words[kind] : "stream";
}

const char *cpa_stream_short(enum cpa_stream_kind kind)
{
	switch (kind) {
	case CPA_STREAM_UNIX:
		return "unix";
	case CPA_STREAM_PACKET:
		return "packet";
	case CPA_STREAM_DATAGRAM:
		return "dgram";
	case CPA_STREAM_CONNECTION:
		return "connect";
	case CPA_STREAM_TERMINAL:
		return "tty";
	case CPA_STREAM_OTHER:
		return "socket";
	case CPA_STREAM_UNKNOWN:
		return "other";
	default:
		return cpa_stream_word(kind);
	}
}

const char *cpa_stream_limit(const struct cpa_stream_figures *stream)
{
	if (stream->waited_s > ONE_SIDE * stream->blocked_s)
		return "writer";
	return stream->blocked_s > ONE_SIDE * stream->waited_s ? "reader" : "neither";
}

static bool same_ends(const struct cpa_stream *a, const struct cpa_stream *b)
{
	return a->kind == b->kind && !memcmp(a->writer, b->writer, sizeof(a->writer)) &&
	       !memcmp(a->reader, b->reader, sizeof(a->reader));
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	/* Those in use first: 0 is none. */
	return x - 1 < y - 1 ? -1 : x != y;
}

static void add(struct sum *sum, const struct cpa_stream *row)
{
	struct cpa_stream *all = &sum->all;

	sum->streams++;
	/* A write of an eventfd has eight bytes, whatever it adds to the counter. */
	all->written += row->kind == CPA_STREAM_EVENTFD ? sizeof(uint64_t) * row->records :
							  row->written & CPA_STREAM_BYTES;
	all->records += row->records;
	all->blocked += row->blocked;
	all->blocking += row->blocking;
	all->reads += row->reads;
	all->waits += row->waits;
	all->waiting += row->waiting;
	all->stayed += row->stayed;
	all->unmatched += row->unmatched;
	all->uncertain += row->uncertain;
	for (unsigned i = 0; i < CPA_HISTOGRAM; i++)
		sum->histogram[i] += row->histogram[i];
}

/*
 * The sums of all streams that carried bytes, and their number in *@count. stream_of of the profile
 * then has the index of each row's sum + 1.
 */
static struct sum *sum_streams(const struct cpa_build *build, size_t *count)
{
	struct cpa_stream *row = xmalloc(sizeof(*row));
	struct sum *sums = NULL;

	*count = 0;
	for (uint32_t i = 1; i <= build->dump->rows[CPA_TABLE_STREAMS]; i++) {
		size_t at = 0;

		if (!cpa_dump_row(build->dump, CPA_TABLE_STREAMS, i, row, sizeof(*row)))
			continue;
		if (!row->records && !row->reads && !row->unmatched)
			continue;
		qsort(row->writer, CPA_STREAM_ENDS, sizeof(row->writer[0]), compare_rows);
		qsort(row->reader, CPA_STREAM_ENDS, sizeof(row->reader[0]), compare_rows);
		while (at < *count && !same_ends(&sums[at].all, row))
			at++;
		if (at == *count) {
			sums = xrealloc(sums, ++*count * sizeof(*sums));
			memset(&sums[at], 0, sizeof(*sums));
			sums[at].all.kind = row->kind;
			memcpy(sums[at].all.writer, row->writer, sizeof(row->writer));
			memcpy(sums[at].all.reader, row->reader, sizeof(row->reader));
		}
		add(&sums[at], row);
		build->profile->stream_of[i - 1] = (uint32_t)at + 1;
	}
	free(row);
	return sums;
}

/* Whether a class of threads is of a command that the first process runs of itself: "git index-pack". */
static bool has_subcommands(const struct cpa_profile *profile)
{
	const char *name = profile->processes ? profile->process[0].name : "";
	size_t n = strlen(name);

	for (size_t i = 0; n && i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];

		if (each->kind == CPA_THREAD && each->by == CPA_BY_NAME &&
		    strncmp(each->name, name, n) == 0 && each->name[n] == ' ')
			return true;
	}
	return false;
}

/* The name of a class of threads; the first thread's is that of the program. The caller frees it. */
static char *class_name(const struct cpa_build *build, uint32_t row)
{
	const struct cpa_component *class = cpa_names_row(build->names, row);
	const struct cpa_profile *profile = build->profile;
	const struct cpa_place *place;

	if (!class || class->kind != CPA_THREAD)
		return xstrdup("?");
	if (class->by == CPA_BY_ADDRESS && !class->address)
		return has_subcommands(profile) ? cpa_process_title(profile->process) :
						  xstrdup(cpa_printable_base(profile->program.exe));
	place = cpa_names_component(build->names, row);
	return xstrdup(place->name ? place->name : "?");
}

/* "a", or "a and b", or "a and b, ..." if there may be more; a name may have a comma: "sh, forked". */
static char *end_name(const struct cpa_build *build, const uint32_t rows[])
{
	char *all = NULL;
	unsigned i = 0;

	for (; i < CPA_STREAM_ENDS && rows[i]; i++) {
		char *name = class_name(build, rows[i]);

		all = all ? reconcat(all, all, " and ", name, NULL) : xstrdup(name);
		free(name);
	}
	if (i == CPA_STREAM_ENDS)
		all = reconcat(all, all, ", ...", NULL);
	return all;
}

/* What the classes @rows of threads have of both paths. */
static struct cpa_stream_end end_of(const struct cpa_build *build, const uint32_t rows[])
{
	uint64_t critical = 0, observed = 0;
	struct cpa_stream_end end = { 0 };

	for (unsigned i = 0; i < CPA_STREAM_ENDS && rows[i]; i++) {
		const struct cpa_component *class = cpa_names_row(build->names, rows[i]);

		if (!class || class->kind != CPA_THREAD || class->slot < CPA_SLOT_FIRST)
			continue;
		end.path_slot[i] = class->slot;
		critical += build->program.share[class->slot];
		observed += build->program.observed[class->slot];
		end.slot = !class->shared && !rows[1] ? class->slot : 0;
	}
	end.critical_path_s = cpa_build_seconds(build, critical);
	end.observed_path_s = cpa_build_seconds(build, observed);
	return end;
}

/* A mean time; none was longer than the run. */
static double mean_s(const struct cpa_build *build, uint64_t ticks, uint64_t count)
{
	double seconds = count ? cpa_build_seconds(build, ticks) / (double)count : 0;

	return fmin(seconds, build->profile->program.wall_s);
}

static void fill(const struct cpa_build *build, const struct sum *sum,
		 struct cpa_stream_figures *figures)
{
	const struct cpa_stream *all = &sum->all;
	uint64_t messages = 0;

	for (unsigned i = 0; i < CPA_HISTOGRAM; i++)
		messages += sum->histogram[i];
	*figures = (struct cpa_stream_figures){
		.kind = all->kind,
		.from = end_name(build, all->writer),
		.to = end_name(build, all->reader),
		.streams = sum->streams,
		.bytes = all->written,
		.writes = all->records,
		.reads = all->reads,
		.messages = messages,
		.stay_s = mean_s(build, all->stayed, messages),
		.stay_p99_s = fmin(cpa_build_quantile(sum->histogram, 0.99) * build->tick_s,
				   build->profile->program.wall_s),
		.waits = all->waits,
		.blocks = all->blocked,
		.waited_s = cpa_build_seconds(build, all->waiting),
		.blocked_s = cpa_build_seconds(build, all->blocking),
		.saved_s = NAN,
		.unmatched = all->unmatched,
		.uncertain = all->uncertain,
	};
	figures->name = concat(figures->from ? figures->from : "(outside)", " -> ",
			       figures->to ? figures->to : "(outside)", NULL);
	figures->writer = end_of(build, all->writer);
	figures->reader = end_of(build, all->reader);
}

static int compare_streams(const void *a, const void *b)
{
	const struct cpa_stream_figures *x = a, *y = b;
	double most_x = fmax(x->waited_s, x->blocked_s), most_y = fmax(y->waited_s, y->blocked_s);

	if (most_x != most_y)
		return most_x > most_y ? -1 : 1;
	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : 0;
}

/* Sort the streams, and let stream_of follow. */
static void sort_streams(struct cpa_profile *profile)
{
	uint32_t *place = xcalloc(profile->streams + 1, sizeof(*place));

	for (size_t i = 0; i < profile->streams; i++)
		profile->stream[i].number = (uint32_t)i + 1;
	qsort(profile->stream, profile->streams, sizeof(*profile->stream), compare_streams);
	for (size_t i = 0; i < profile->streams; i++)
		place[profile->stream[i].number] = (uint32_t)i + 1;
	for (size_t i = 0; i < profile->streams; i++)
		profile->stream[i].number = (uint32_t)i + 1;
	for (size_t i = 0; i < profile->stream_rows; i++)
		profile->stream_of[i] = place[profile->stream_of[i]];
	free(place);
}

void cpa_build_streams(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct sum *sums;
	size_t count;

	profile->stream_rows = build->dump->rows[CPA_TABLE_STREAMS];
	profile->stream_of = xcalloc(profile->stream_rows + 1, sizeof(*profile->stream_of));
	sums = sum_streams(build, &count);
	profile->stream = xcalloc(count + 1, sizeof(*profile->stream));
	for (size_t i = 0; i < count; i++)
		fill(build, &sums[i], &profile->stream[profile->streams++]);
	sort_streams(profile);
	free(sums);
}

void cpa_build_stream_notes(struct cpa_build *build)
{
	uint64_t unmatched[CPA_STREAM_KINDS] = { 0 }, outside[CPA_STREAM_KINDS] = { 0 };
	uint64_t uncertain = 0; /* waits for terminals */

	for (size_t i = 0; i < build->profile->streams; i++) {
		const struct cpa_stream_figures *stream = &build->profile->stream[i];
		uint64_t *reads = stream->from ? unmatched : outside;

		if (stream->kind < CPA_STREAM_KINDS)
			reads[stream->kind] += stream->unmatched;
		if (stream->kind == CPA_STREAM_TERMINAL)
			uncertain += stream->uncertain;
	}
	for (unsigned kind = 0; kind < CPA_STREAM_KINDS; kind++)
		if (unmatched[kind])
			cpa_profile_note(
				build->profile,
				"Reads from streams (%s) of bytes that no profiled thread "
				"was seen to write, or more than %u writes before: %llu. They "
				"depend on nothing.",
				cpa_stream_word(kind), CPA_STREAM_RECORDS,
				(unsigned long long)unmatched[kind]);
	if (uncertain)
		cpa_profile_note(build->profile,
				 "Waits for terminals that are uncertain: %llu. Several threads "
				 "wrote, and the wait depends on each; or the terminal echoed, and "
				 "it depends on nothing.",
				 (unsigned long long)uncertain);
	/* Of others it is plain that the other end is outside: standard input, another machine. */
	outside[CPA_STREAM_UNIX] += outside[CPA_STREAM_PACKET];
	if (outside[CPA_STREAM_UNIX])
		cpa_profile_note(build->profile,
				 "Reads from unix sockets whose other end is not known, as that of "
				 "a program outside the session: %llu. They depend on nothing.",
				 (unsigned long long)outside[CPA_STREAM_UNIX]);
}

void cpa_streams_free(struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->streams; i++) {
		free(profile->stream[i].from);
		free(profile->stream[i].to);
		free(profile->stream[i].name);
	}
	free(profile->stream_of);
	free(profile->stream);
	profile->stream_of = NULL;
	profile->stream = NULL;
	profile->streams = profile->stream_rows = 0;
}
