/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols.c - names of addresses, from the modules' files
 *
 * A child reads the files (analysis/resolve.c). It begins with the first question and lives until a
 * module changes. One that dies over a question takes the names of one module with it, no more.
 */
#include "analysis/symbols.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/format.h"
#include "analysis/resolve.h"

#define NOTHING	    UINT32_MAX /* length of a text that is NULL */
#define LONGEST	    (UINT32_C(1) << 26)
#define QUESTION_S  120 /* CPU time for one: the debug information of a browser takes some */
#define MEMORY_PART 2	/* of what the machine has */

bool cpa_symbols_here;

struct cpa_symbols {
	struct cpa_resolver *resolver; /* the child's; here for what needs no file */
	pid_t child;		       /* 0: none */
	int socket;
};

struct question {
	uint64_t address;
	uint32_t module;
	bool variable, flag;
};

/* Followed by the texts. */
struct answer {
	uint32_t name, location, why; /* lengths */
};

struct cpa_symbols *cpa_symbols_open(const struct cpa_module *modules, uint32_t count)
{
	return cpa_symbols_update(NULL, modules, count);
}

/* Return what waitpid() says of the child, which has ended or will now. */
static int end_child(struct cpa_symbols *symbols)
{
	int status = 0;

	if (!symbols->child)
		return 0;
	close(symbols->socket);
	while (waitpid(symbols->child, &status, 0) < 0 && errno == EINTR)
		;
	symbols->child = 0;
	return status;
}

struct cpa_symbols *cpa_symbols_update(struct cpa_symbols *symbols,
				       const struct cpa_module *modules, uint32_t count)
{
	if (!symbols) {
		symbols = xcalloc(1, sizeof(*symbols));
		symbols->resolver = cpa_resolver_open();
	}
	if (cpa_resolver_update(symbols->resolver, modules, count))
		end_child(symbols);
	return symbols;
}

void cpa_symbols_close(struct cpa_symbols *symbols)
{
	if (!symbols)
		return;
	end_child(symbols);
	cpa_resolver_close(symbols->resolver);
	free(symbols);
}

/* False: the other side is gone. */
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

/* NULL: nothing, or the other side is gone: *@good is then false. */
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

static struct cpa_place resolve(struct cpa_resolver *resolver, const struct question *q)
{
	return q->variable ? cpa_resolver_variable(resolver, q->module, q->address, q->flag) :
			     cpa_resolver_code(resolver, q->module, q->address, q->flag);
}

/* What a file makes its readers do is bounded: it may say that it is enormous once unpacked. */
static void limit_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return; /* which use very much, seemingly */
#endif
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit data;

	if (!getrlimit(RLIMIT_DATA, &data) && data.rlim_cur > pages * page / MEMORY_PART) {
		data.rlim_cur = pages * page / MEMORY_PART;
		setrlimit(RLIMIT_DATA, &data);
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

/* And it may have no end. */
static void limit_time(void)
{
	struct rlimit cpu;
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &cpu))
		return;
	cpu.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + QUESTION_S;
	setrlimit(RLIMIT_CPU, &cpu);
}

/* The child: answers until nobody asks any more. */
static void serve(struct cpa_resolver *resolver, int socket)
{
	static const int errors[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
	struct question q;

	/* The terminal's signals are for who asks. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		signal(errors[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_memory();
	while (get(socket, &q, sizeof(q))) {
		struct cpa_place place;
		struct answer a;
		const char *why;

		limit_time();
		place = resolve(resolver, &q);
		why = cpa_resolver_why(resolver, q.module);
		a = (struct answer){ length_of(place.name), length_of(place.location),
				     length_of(why) };
		if (!put(socket, &a, sizeof(a)) || !put_text(socket, place.name, a.name) ||
		    !put_text(socket, place.location, a.location) || !put_text(socket, why, a.why))
			break;
		free(place.name);
		free(place.location);
	}
}

static bool begin_child(struct cpa_symbols *symbols)
{
	int ends[2];

	if (symbols->child)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	symbols->child = fork();
	if (symbols->child == 0) {
		close(ends[0]);
		serve(symbols->resolver, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	symbols->socket = ends[0];
	if (symbols->child > 0)
		return true;
	symbols->child = 0;
	close(ends[0]);
	return false;
}

/* The child died over the file of @module. */
static void blame(struct cpa_symbols *symbols, uint32_t module)
{
	int status = end_child(symbols);
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	char *why = cpa_format_text("is damaged: what read its debug information ended with %s%s",
				    name ? "SIG" : "an error", name ? name : "");

	cpa_resolver_give_up(symbols->resolver, module, why);
	free(why);
}

static struct cpa_place ask(struct cpa_symbols *symbols, const struct question *q)
{
	struct cpa_place place = { 0 };
	struct answer a;
	bool good = true;
	char *why;

	if (cpa_symbols_here || !cpa_resolver_has_file(symbols->resolver, q->module) ||
	    !begin_child(symbols))
		return resolve(symbols->resolver, q);
	good = put(symbols->socket, q, sizeof(*q)) && get(symbols->socket, &a, sizeof(a));
	if (good) {
		place.name = get_text(symbols->socket, a.name, &good);
		place.location = get_text(symbols->socket, a.location, &good);
		why = get_text(symbols->socket, a.why, &good);
		if (why && good)
			cpa_resolver_give_up(symbols->resolver, q->module, why);
		free(why);
	}
	if (good && place.name)
		return place;
	free(place.name);
	free(place.location);
	blame(symbols, q->module);
	return resolve(symbols->resolver, q);
}

struct cpa_place cpa_symbols_code(struct cpa_symbols *symbols, uint32_t module, uint64_t address,
				  bool returned)
{
	return ask(symbols,
		   &(struct question){ .module = module, .address = address, .flag = returned });
}

struct cpa_place cpa_symbols_variable(struct cpa_symbols *symbols, uint32_t module,
				      uint64_t address, bool whole)
{
	return ask(symbols,
		   &(struct question){
			   .module = module, .address = address, .variable = true, .flag = whole });
}

const char *cpa_symbols_trouble(const struct cpa_symbols *symbols, uint32_t module)
{
	return cpa_resolver_trouble(symbols->resolver, module);
}
