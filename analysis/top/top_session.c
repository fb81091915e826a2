/* SPDX-License-Identifier: MIT */
/* analysis/top/top_session.c - find the session that cpa top watches, and read it as a moment */
#include "analysis/top/top_session.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/util/format.h"
#include "analysis/input/find_dump.h"
#include "shadow/store/epoch.h"

double cpa_top_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int cpa_top_open(struct cpa_top_session *session, const char *argument, char **error)
{
	char host[sizeof(session->dump.header.host)] = "";
	uint32_t pid = 0;
	char *file = cpa_dump_find(argument, &pid, error);

	*session = (struct cpa_top_session){ .process.folder = -1 };
	if (!file)
		return -1;
	if (cpa_dump_open(&session->dump, file, error) < 0) {
		free(file);
		return -1;
	}
	/* In a container the process has another pid than outside. */
	if (!pid)
		pid = session->dump.header.pid;
	gethostname(host, sizeof(host) - 1);
	session->process = cpa_process_open(pid, file);
	session->elsewhere = session->process.folder < 0 &&
			     strncmp(host, session->dump.header.host, sizeof(host)) != 0;
	free(file);
	return 0;
}

void cpa_top_close(struct cpa_top_session *session)
{
	cpa_names_fini(&session->names);
	cpa_process_close(&session->process);
	cpa_dump_close(&session->dump);
}

static enum cpa_top_state find_state(const struct cpa_top_session *session, bool alive)
{
	switch (session->dump.header.state) {
	case CPA_COMPLETE:
		return CPA_TOP_FINISHED;
	case CPA_EXECED:
		return CPA_TOP_EXECED;
	default:
		if (session->dump.header.copied != CPA_COPY_NONE)
			return CPA_TOP_COPIED;
		return alive		  ? CPA_TOP_RUNNING :
		       session->elsewhere ? CPA_TOP_UNKNOWN :
					    CPA_TOP_KILLED;
	}
}

static struct cpa_top_moment make_moment(struct cpa_top_session *session, bool alive, bool edges)
{
	const struct cpa_header *header = &session->dump.header;
	struct cpa_top_moment moment = { .pid = header->pid, .edges = edges };
	enum cpa_graph graph = edges ? CPA_GRAPH_ALL : CPA_GRAPH_NODES;

	/* Looking up the names of a large program takes seconds: do it before reading the state. */
	if (session->names.components == 0) {
		cpa_names_again(&session->names, &session->dump);
		cpa_profile_free(cpa_profile_build_named(&session->dump, &session->names, graph));
	}
	cpa_names_again(&session->names, &session->dump);
	moment.state = find_state(session, alive);
	/* The time comes after the lookup of new names. */
	moment.at_s = cpa_top_clock();
	if (moment.state == CPA_TOP_RUNNING)
		moment.task = cpa_process_tasks(&session->process, &moment.tasks);
	moment.profile = cpa_profile_build_named(&session->dump, &session->names, graph);
	moment.run_s = moment.profile->program.wall_s;
	moment.queues_at_s = moment.profile->queues_at_s;
	moment.profile->program.running = moment.state == CPA_TOP_RUNNING;
	if (moment.state == CPA_TOP_RUNNING) {
		double run_s = moment.at_s - (double)header->start_ns * 1e-9;

		/* For a run in parts, only the profiled time counts. */
		if (header->epoch <= CPA_EPOCH_ON && run_s > moment.run_s)
			moment.run_s = run_s;
	}
	return moment;
}

int cpa_top_read(struct cpa_top_session *session, struct cpa_top *top)
{
	/*
	 * Checked before the file is read, so that the file includes everything up to the process's
	 * end.
	 */
	bool alive = cpa_process_alive(&session->process);
	char *error = NULL;

	if (cpa_dump_again(&session->dump, &error) == 0) {
		/*
		 * Edges may be very many: read them only when they are shown, or when the file is
		 * final.
		 */
		bool edges = !session->dump.live || !alive || top->detail.id;
		struct cpa_top_moment moment = make_moment(session, alive, edges);

		if (cpa_dump_whole(&session->dump)) {
			cpa_top_advance(top, moment);
			return 0;
		}
		cpa_profile_free(moment.profile);
		free(moment.task);
		error = cpa_format_text("%s: truncated during reading", session->dump.file);
	}
	free(top->message);
	top->message = error;
	top->now.state = CPA_TOP_LOST;
	return -1;
}
