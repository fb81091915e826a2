/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_notes.c - the limits of a prediction, as sentences of its answer */
#include <libiberty/libiberty.h>
#include <stddef.h>

#include "analysis/predict/predict_state.h"
#include "analysis/util/format.h"

#define REORDERED 0.03 /* of the critical path: a smaller difference may be rounding */

void predict_note(struct cpa_answer *answer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	answer->note = XRESIZEVEC(char *, answer->note, answer->notes + 1);
	answer->note[answer->notes++] = cpa_format_args(format, args);
	va_end(args);
}

/* A sentence about a count of struct cpa_weakness, or none if that is 0. */
static const struct weakness_note {
	size_t count, ticks;	    /* offsets; ticks 0: the sentence has no time */
	const char *before, *after; /* the figures */
} weakness_notes[] = {
#define COUNT(member) offsetof(struct cpa_weakness, member), 0
#define TIMED(member, ticks) \
	offsetof(struct cpa_weakness, member), offsetof(struct cpa_weakness, ticks)
	{ COUNT(untimed), "Uses of locks that were not timed (",
	  ") do not exclude other threads in the replay." },
	{ COUNT(conditions), "Waits on conditions (",
	  ") keep the recorded order, because cpa does not know their predicate: the prediction is "
	  "weak where another order needs fewer or more of these waits." },
	{ COUNT(guessed), "Uses of conditions (",
	  ") are replayed as dequeues from a queue, first come first served: the recorded run is "
	  "consistent with that." },
	{ COUNT(polls), "Waits that timed out and were repeated until a signal came (",
	  ") are replayed as waits for the signal." },
	{ COUNT(timeouts), "Waits on conditions that time out (",
	  ") do so after the same time as in the recording." },
	{ COUNT(streams), "Reads of pipes and sockets, and writes that waited for room (",
	  "), wait for the same writes and reads as in the recording." },
	{ COUNT(ordered),
	  "Other waits (futexes, once, annotations: ", ") keep the recorded order." },
	{ COUNT(children), "Waits for processes to end (",
	  ") are for the same ones as in the recording." },
	{ COUNT(undealt), "Items that go to the same thread as in the recording: ", "." },
	{ TIMED(unexplained, unexplained_ticks), "Waits without a known release (",
	  " in all) last as long as in the recording." },
	{ TIMED(pauses, pause_ticks), "Blocking calls (",
	  " in all) last as long as in the recording." },
	{ COUNT(tries), "Failed attempts to take a lock (trylock: ", ") fail again." },
#undef COUNT
#undef TIMED
};

static uint64_t figure(const struct cpa_weakness *weakness, size_t offset)
{
	return *(const uint64_t *)((const char *)weakness + offset);
}

static void note_weakness(struct inquiry *q, const struct cpa_weakness *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(weakness_notes); i++) {
		const struct weakness_note *note = &weakness_notes[i];
		uint64_t ticks = note->ticks ? figure(w, note->ticks) : 0;

		if (!figure(w, note->count))
			continue;
		predict_note(q->answer, "%s%s%s%s%s", note->before,
			     cpa_format_count(figure(w, note->count)).text, note->ticks ? ", " : "",
			     note->ticks ? cpa_format_seconds(predict_seconds(q, ticks)).text : "",
			     note->after);
	}
}

/* Note that predictions for other cores or a load assume the recorded speed of a core. */
static void note_sharing(struct inquiry *q)
{
	const struct cpa_question *question = q->question;
	bool other = question->load || question->groups;

	for (size_t i = 0; i < question->cores; i++)
		other |= question->core[i] != q->profile->program.cores;
	if (other)
		predict_note(
			q->answer,
			"A core is as fast as in the recorded run: contention for caches, for "
			"memory bandwidth and between hyper-threads of one core is not modelled.");
}

void predict_note_limits(struct inquiry *q, const struct cpa_weakness *weakness)
{
	struct cpa_answer *answer = q->answer;

	if (q->run->dropped)
		predict_note(
			answer,
			"The journal lost its first events (%s): the replay begins after them.",
			cpa_format_count(q->run->dropped).text);
	if (weakness->cut)
		predict_note(
			answer,
			"Parts of the run were not profiled: the replay does not include them.");
	note_weakness(q, weakness);
	predict_note_dealt(q);
	note_sharing(q);
	if (predict_scales_nothing(q))
		predict_note(answer,
			     "What a message takes is not known, because the recording has no wait "
			     "that ended while a core was free: factors change nothing.");
}

/* Note that a replay may be shorter than the critical path, as it hands out work and locks anew. */
static void note_shorter(struct inquiry *q)
{
	const struct cpa_answer *answer = q->answer;
	double path_s = q->profile->program.critical_path_s;

	for (size_t i = 0; i < answer->rows; i++) {
		if (answer->row[i].unchanged_s >= path_s * (1 - REORDERED))
			continue;
		predict_note(
			q->answer,
			"On %u core%s the run is shorter than the recorded critical path of %s: "
			"in the replay threads get locks and work items in another order.",
			answer->row[i].cores, answer->row[i].cores == 1 ? "" : "s",
			cpa_format_seconds(path_s).text);
		return;
	}
}

void predict_note_order(struct inquiry *q, uint64_t forced, uint32_t unfinished)
{
	note_shorter(q);
	if (forced)
		predict_note(
			q->answer,
			"%s waits were ended by force, without their release: the changed order "
			"led to a deadlock in the replay, or the journal has gaps.",
			cpa_format_count(forced).text);
	if (unfinished)
		predict_note(
			q->answer,
			"The program ends before other threads of it (%u): the rest of their work "
			"is not counted.",
			unfinished);
}
