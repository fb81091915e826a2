/* SPDX-License-Identifier: MIT */
/* analysis/symbols/reader.c - a process that reads modules' files, limited in memory and time */
#include "analysis/symbols/reader.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/util/format.h"

#define NOTHING	   UINT32_MAX /* length of a text that is NULL */
#define LONGEST	   (UINT32_C(1) << 26)
#define QUESTION_S 120 /* CPU seconds for one question; large programs such as browsers need many */

/* Lengths of the texts that follow. */
struct lengths {
	uint32_t name, location, inlined, why, debug;
};

void cpa_symbols_answer_fini(struct cpa_symbols_answer *answer)
{
	free(answer->place.name);
	free(answer->place.location);
	free(answer->place.inlined);
	free(answer->why);
	free(answer->debug);
}

/* Return false if the other side is gone. */
static bool put(int socket, const void *from, size_t size)
{
	const char *bytes = from;

	while (size) {
		ssize_t n = send(socket, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		n = n < 0 ? 0 : n;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool get(int socket, void *to, size_t size)
{
	char *bytes = to;

	while (size) {
		ssize_t n = recv(socket, bytes, size, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		n = n < 0 ? 0 : n;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static uint32_t length_of(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	return !text ? NOTHING : length < LONGEST ? (uint32_t)length : LONGEST;
}

static bool put_text(int socket, const char *text, uint32_t length)
{
	return length == NOTHING || put(socket, text, length);
}

/* The text, which the caller frees, or NULL. *@good becomes false if the other side is gone. */
static char *get_text(int socket, uint32_t length, bool *good)
{
	char *text;

	if (length == NOTHING || !*good)
		return NULL;
	*good = length <= LONGEST;
	text = *good ? xcalloc(length + 1, 1) : NULL;
	if (!text || get(socket, text, length))
		return text;
	*good = false;
	free(text);
	return NULL;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

struct cpa_symbols_answer cpa_reader_resolve(struct cpa_resolver *resolver,
					     const struct cpa_symbols_question *q)
{
	struct cpa_symbols_answer answer = { 0 };

	answer.place = q->variable ?
			       cpa_resolver_variable(resolver, q->module, q->address, q->flag) :
		       q->inlined ? cpa_resolver_inlined(resolver, q->module, q->address) :
				    cpa_resolver_code(resolver, q->module, q->address, q->flag);
	answer.why = copy(cpa_resolver_why(resolver, q->module));
	answer.debug = copy(cpa_resolver_debug_file(resolver, q->module));
	return answer;
}

/* Limit the reader's memory: a compressed section may claim an enormous size. */
static void limit_memory(unsigned readers)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)readers;
	return; /* the limit would be too low */
#endif
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit data;

	if (!getrlimit(RLIMIT_DATA, &data) && data.rlim_cur > pages / (readers + 1) * page) {
		data.rlim_cur = pages / (readers + 1) * page;
		setrlimit(RLIMIT_DATA, &data);
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

/* Limit the reader's CPU time: reading a damaged file may not end. */
static void limit_time(void)
{
	struct rlimit cpu;
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &cpu))
		return;
	cpu.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + QUESTION_S;
	setrlimit(RLIMIT_CPU, &cpu);
}

static bool put_answer(int socket, const struct cpa_symbols_answer *answer)
{
	const struct lengths lengths = { length_of(answer->place.name),
					 length_of(answer->place.location),
					 length_of(answer->place.inlined), length_of(answer->why),
					 length_of(answer->debug) };

	return put(socket, &lengths, sizeof(lengths)) &&
	       put_text(socket, answer->place.name, lengths.name) &&
	       put_text(socket, answer->place.location, lengths.location) &&
	       put_text(socket, answer->place.inlined, lengths.inlined) &&
	       put_text(socket, answer->why, lengths.why) &&
	       put_text(socket, answer->debug, lengths.debug);
}

/* In the child: answer questions until the socket is closed. */
static void serve(struct cpa_resolver *resolver, int socket, unsigned readers)
{
	static const int errors[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
	struct cpa_symbols_question q;
	bool good = true;

	/* Signals from the terminal are for the parent. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		signal(errors[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * Without memory libiberty calls exit(), which would write the parent's buffered output
	 * again.
	 */
	__fpurge(stdout);
	limit_memory(readers);
	while (good && get(socket, &q, sizeof(q))) {
		struct cpa_symbols_answer answer;

		limit_time();
		answer = cpa_reader_resolve(resolver, &q);
		good = put_answer(socket, &answer);
		cpa_symbols_answer_fini(&answer);
	}
}

bool cpa_reader_begin(struct cpa_reader *reader, struct cpa_resolver *resolver, unsigned readers)
{
	int ends[2];

	*reader = (struct cpa_reader){ 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	reader->pid = fork();
	if (reader->pid == 0) {
		close(ends[0]);
		serve(resolver, ends[1], readers);
		_exit(0);
	}
	close(ends[1]);
	reader->socket = ends[0];
	if (reader->pid > 0)
		return true;
	reader->pid = 0;
	close(ends[0]);
	return false;
}

int cpa_reader_end(struct cpa_reader *reader)
{
	int status = 0;

	if (!reader->pid)
		return 0;
	/* Readers started later have a copy of the descriptor, so closing it is not enough. */
	shutdown(reader->socket, SHUT_RDWR);
	close(reader->socket);
	while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
		;
	reader->pid = 0;
	return status;
}

bool cpa_reader_put(const struct cpa_reader *reader, const struct cpa_symbols_question *question)
{
	return put(reader->socket, question, sizeof(*question));
}

bool cpa_reader_get(const struct cpa_reader *reader, struct cpa_symbols_answer *answer)
{
	struct lengths lengths;
	bool good = get(reader->socket, &lengths, sizeof(lengths));

	*answer = (struct cpa_symbols_answer){ 0 };
	if (!good)
		return false;
	answer->place.name = get_text(reader->socket, lengths.name, &good);
	answer->place.location = get_text(reader->socket, lengths.location, &good);
	answer->place.inlined = get_text(reader->socket, lengths.inlined, &good);
	answer->why = get_text(reader->socket, lengths.why, &good);
	answer->debug = get_text(reader->socket, lengths.debug, &good);
	if (!good)
		cpa_symbols_answer_fini(answer);
	return good;
}

void cpa_reader_blame(struct cpa_resolver *resolver, uint32_t module, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	char *why = cpa_format_text(
		"is damaged: the process that read its debug information ended with %s%s",
		name ? "SIG" : "an error", name ? name : "");

	cpa_resolver_give_up(resolver, module, why);
	free(why);
}
