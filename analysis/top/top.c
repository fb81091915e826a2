/* SPDX-License-Identifier: MIT */
/* analysis/top/top.c - cpa-top: command line, one reading a second, and reports on demand */
#include "analysis/top/top.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/metrics/metrics.h"
#include "analysis/metrics/phases.h"
#include "analysis/page/html.h"
#include "analysis/render/text.h"
#include "analysis/util/browse.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/top/top_page.h"
#include "analysis/top/top_screen.h"
#include "analysis/top/top_session.h"

#define EXIT_BAD_DUMP  1
#define EXIT_BAD_USAGE 2

#define PERIOD_S     1.0
#define REPORT_WIDTH 80
#define REPORT_TOP   10

static const char help[] =
	"Usage: cpa top [PID|FILE]\n"
	"Watch live what decides how long a program runs: process PID, started by cpa run, or a "
	"dump\n"
	"of a program that runs, has ended or was killed. Without an argument: the newest *.dump "
	"in\n"
	"the current folder and its .cpa. Press ? for the keys.\n"
	"\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0, 1 for a process or a dump that cannot be read, 2 for wrong usage.\n";

static int complain(int status, const char *what)
{
	fprintf(stderr, "cpa-top: %s\n", what);
	return status;
}

static int refuse_option(const char *option)
{
	char *text = cpa_printable(option, SIZE_MAX);

	fprintf(stderr, "cpa-top: option %s: not known (see cpa-top --help)\n", text);
	free(text);
	return EXIT_BAD_USAGE;
}

static const char *parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == '?')
			exit(refuse_option(argv[optind - 1]));
		fputs(option == 'h' ? help : "cpa-top " CPA_VERSION "\n", stdout);
		exit(fflush(stdout) ? EXIT_BAD_DUMP : 0);
	}
	if (argc - optind > 1)
		exit(complain(EXIT_BAD_USAGE, "one process or dump expected (see cpa-top --help)"));
	return argv[optind];
}

/* The report with all that the page shows, though the screen does not. */
static int write_page(struct cpa_profile *profile, FILE *out)
{
	const struct cpa_phase_settings settings = { 0 };
	int ret;

	profile->metrics = cpa_metrics_build(profile);
	profile->phases = cpa_phases_build(profile, &settings);
	ret = cpa_html_write(NULL, profile, NULL, 0, out);
	cpa_phases_free(profile->phases);
	cpa_metrics_free(profile->metrics);
	profile->phases = NULL;
	profile->metrics = NULL;
	return ret;
}

static int write_text(struct cpa_profile *profile, FILE *out)
{
	struct cpa_page page = { .out = out, .width = REPORT_WIDTH };

	cpa_text_write(profile, &page, CPA_LEVEL_ALL, REPORT_TOP);
	return 0;
}

/*
 * Write the moment on the screen to a new file of @suffix, and open it if @browse; show the result
 * as the message.
 */
static void write_moment(struct cpa_top *top, const char *suffix,
			 int (*write)(struct cpa_profile *profile, FILE *out), bool browse)
{
	time_t now = time(NULL);
	char date[32];
	struct tm tm;
	char *file;
	FILE *out;
	int fd;

	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	file = cpa_format_text("cpa.top.%" PRIu32 ".%s.%s", top->now.pid, date, suffix);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	free(top->message);
	if (!out || write(top->now.profile, out) < 0 || fflush(out) || ferror(out))
		top->message = cpa_format_text("cannot write %s: %s", file, strerror(errno));
	else if (!browse)
		top->message = cpa_format_text("report in %s", file);
	else
		top->message = cpa_format_text("page in %s%s", file,
					       cpa_browse(file) ? "" : ": open it in a browser");
	if (out)
		fclose(out);
	free(file);
}

static void show(struct cpa_top *top)
{
	struct cpa_top_screen screen;
	size_t columns, lines;

	cpa_screen_size(&columns, &lines);
	screen = cpa_top_draw(top, columns, lines);
	cpa_screen_show(&screen);
	cpa_top_screen_free(&screen);
}

/* Whether later readings can show anything new. */
static bool goes_on(const struct cpa_top *top)
{
	return top->now.state == CPA_TOP_RUNNING || top->now.state == CPA_TOP_UNKNOWN;
}

/* Read and draw until the user quits. */
static void watch(struct cpa_top_session *session, struct cpa_top *top)
{
	enum cpa_top_action action = CPA_TOP_STAY;
	double next = cpa_top_clock() + PERIOD_S;
	bool more = goes_on(top);
	int key = 0;

	while (key >= 0 && action != CPA_TOP_QUIT) {
		double left = next - cpa_top_clock();

		if (more && !top->frozen && left <= 0) {
			more = cpa_top_read(session, top) == 0 && goes_on(top);
			next = cpa_top_clock() + PERIOD_S;
			left = PERIOD_S;
		}
		show(top);
		key = cpa_screen_key(more && !top->frozen ? left : -1);
		action = key > 0 ? cpa_top_press(top, key) : CPA_TOP_STAY;
		if (action == CPA_TOP_WRITE)
			write_moment(top, "txt", write_text, false);
		else if (action == CPA_TOP_OPEN)
			write_moment(top, "html", write_page, true);
	}
}

/* Finding all names of a large program takes seconds: show progress. */
static void announce(const struct cpa_top_session *session)
{
	struct cpa_top_screen screen = { 0 };

	cpa_screen_size(&screen.columns, &screen.lines);
	screen.line = xcalloc(screen.lines + 1, sizeof(*screen.line));
	cpa_top_put(&screen, CPA_TOP_FAINT,
		    cpa_format_text("reading %s and looking up names", session->dump.file));
	cpa_screen_show(&screen);
	cpa_top_screen_free(&screen);
}

/* Read and draw once, then watch. Return an exit status. */
static int run(struct cpa_top_session *session)
{
	const char *trouble;
	struct cpa_top top;
	int ret = 0;

	if (cpa_screen_begin(&trouble) < 0)
		return complain(EXIT_BAD_USAGE, trouble);
	cpa_top_init(&top, session->dump.header.slots, cpa_screen_ascii());
	announce(session);
	if (cpa_top_read(session, &top) == 0) {
		/* There is no last interval, and there never will be one. */
		if (!goes_on(&top))
			top.order[CPA_TOP_THREADS].column = CPA_TOP_CPU_COLUMN;
		watch(session, &top);
		cpa_screen_end();
	} else {
		cpa_screen_end();
		ret = complain(EXIT_BAD_DUMP, top.message);
	}
	cpa_top_fini(&top);
	return ret;
}

int main(int argc, char **argv)
{
	const char *argument = parse_options(argc, argv);
	struct cpa_top_session session;
	char *error;
	int ret;

	if (cpa_top_open(&session, argument, &error) < 0) {
		complain(EXIT_BAD_DUMP, error);
		free(error);
		return EXIT_BAD_DUMP;
	}
	ret = run(&session);
	cpa_top_close(&session);
	/*
	 * Ctrl-C is the same as q; after another signal, end by that signal so that the parent sees
	 * it.
	 */
	if (cpa_screen_signal() && cpa_screen_signal() != SIGINT) {
		signal(cpa_screen_signal(), SIG_DFL);
		raise(cpa_screen_signal());
	}
	return ret;
}
