/* SPDX-License-Identifier: MIT */
/* analysis/symbols/prefetch.c - look up many names by several processes at once */
#include "analysis/symbols/prefetch.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/util/progress.h"

#define READERS_MAX 4
#define WINDOW	    32 /* unanswered questions; they fit into the socket */
#define TICK_MS	    200

/*
 * A reader and its questions, sent and not yet answered, from taken to end, all about one module.
 * None are left if taken == end.
 */
struct worker {
	struct cpa_reader reader;
	size_t sent, taken, end;
};

struct prefetch {
	struct cpa_resolver *resolver;
	struct cpa_symbols_question *question;
	size_t count, next; /* next: the first question that no worker has */
	unsigned workers;
	struct worker worker[READERS_MAX];
};

static int compare_questions(const void *a, const void *b)
{
	const struct cpa_symbols_question *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static unsigned count_workers(const struct prefetch *p)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t modules = 0;

	for (size_t i = 0; i < p->count; i++)
		modules += i == 0 || p->question[i].module != p->question[i - 1].module;
	if (cores > READERS_MAX)
		cores = READERS_MAX;
	if (cores < 1)
		cores = 1;
	return modules < (size_t)cores ? (unsigned)modules : (unsigned)cores;
}

/* Give @worker the next module. */
static void take_module(struct prefetch *p, struct worker *worker)
{
	uint32_t module = p->question[p->next].module;

	worker->sent = worker->taken = p->next;
	while (p->next < p->count && p->question[p->next].module == module)
		p->next++;
	worker->end = p->next;
}

static void bury(struct prefetch *p, struct worker *worker)
{
	cpa_reader_blame(p->resolver, p->question[worker->taken].module,
			 cpa_reader_end(&worker->reader));
	worker->taken = worker->end;
}

/*
 * Send @worker as many questions as it can take. Return false if none are left for it, or if no
 * process can be started.
 */
static bool feed(struct prefetch *p, struct worker *worker)
{
	while (worker->taken == worker->end) {
		if (p->next == p->count)
			return false;
		if (!worker->reader.pid &&
		    !cpa_reader_begin(&worker->reader, p->resolver, p->workers))
			return false;
		take_module(p, worker);
	}
	while (worker->sent < worker->end && worker->sent - worker->taken < WINDOW) {
		if (!cpa_reader_put(&worker->reader, &p->question[worker->sent])) {
			bury(p, worker);
			return feed(p, worker);
		}
		worker->sent++;
	}
	return true;
}

static void show_progress(const struct prefetch *p)
{
	size_t taken = p->next;

	for (unsigned i = 0; i < p->workers; i++)
		taken -= p->worker[i].end - p->worker[i].taken;
	cpa_progress_show("reading debug information%s: %zu of %zu names",
			  cpa_resolver_asks_servers() ? ", also from DEBUGINFOD_URLS" : "", taken,
			  p->count);
}

/* Wait for an answer. Set @ready for each worker that has one, or died. */
static void wait_for_answers(struct prefetch *p, const bool *busy, bool *ready)
{
	struct pollfd fds[READERS_MAX];

	for (unsigned i = 0; i < p->workers; i++)
		fds[i] = (struct pollfd){ .fd = busy[i] ? p->worker[i].reader.socket : -1,
					  .events = POLLIN };
	if (poll(fds, p->workers, TICK_MS) < 0)
		return;
	for (unsigned i = 0; i < p->workers; i++)
		ready[i] = fds[i].revents != 0;
}

void cpa_prefetch(struct cpa_resolver *resolver, struct cpa_symbols_question *questions,
		  size_t count,
		  void (*take)(void *context, const struct cpa_symbols_question *question,
			       struct cpa_symbols_answer *answer),
		  void *context)
{
	struct prefetch p = { .resolver = resolver, .question = questions, .count = count };
	bool any = count > 0;

	if (count)
		qsort(questions, count, sizeof(*questions), compare_questions);
	p.workers = count_workers(&p);
	while (any) {
		bool busy[READERS_MAX] = { false }, ready[READERS_MAX] = { false };

		any = false;
		for (unsigned i = 0; i < p.workers; i++) {
			busy[i] = feed(&p, &p.worker[i]);
			any |= busy[i];
		}
		if (!any)
			break;
		show_progress(&p);
		wait_for_answers(&p, busy, ready);
		for (unsigned i = 0; i < p.workers; i++) {
			struct worker *worker = &p.worker[i];
			struct cpa_symbols_answer answer;

			if (!ready[i])
				continue;
			if (cpa_reader_get(&worker->reader, &answer))
				take(context, &questions[worker->taken++], &answer);
			else
				bury(&p, worker);
		}
	}
	for (unsigned i = 0; i < p.workers; i++)
		cpa_reader_end(&p.worker[i].reader);
	cpa_progress_end();
}
