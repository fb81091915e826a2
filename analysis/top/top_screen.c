/* SPDX-License-Identifier: MIT */
/* analysis/top/top_screen.c - the terminal of cpa top, by ncurses */
#include "analysis/top/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <libiberty/libiberty.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ESCAPE_MS 25 /* bytes of one key arrive closer together than this */

static SCREEN *terminal;
static volatile sig_atomic_t ended_by;
static sigset_t waiting_mask; /* signal mask while waiting for keys */

/* Restores the terminal even after a crash; saved early, as a signal handler can do little. */
static struct termios modes_before;
static char leave_text[128];

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void on_end(int signal)
{
	ended_by = signal;
}

static void on_crash(int signal)
{
	ssize_t written = write(STDOUT_FILENO, leave_text, strlen(leave_text));

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
	/* SA_RESETHAND: this raise ends the process. */
	raise(signal);
}

static void catch_signals(void)
{
	static const int crashes[] = { SIGSEGV, SIGABRT, SIGFPE, SIGILL };
	struct sigaction action = { .sa_handler = on_end };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		sigaction(ends[i], &action, NULL);
		sigaddset(&blocked, ends[i]);
	}
	/* ncurses handles SIGWINCH. Only ppoll() below is interrupted by these signals. */
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
	action.sa_handler = on_crash;
	action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static const char *capability(const char *name)
{
	const char *text = tigetstr(name);

	return text && text != (const char *)-1 ? text : "";
}

int cpa_screen_begin(const char **error)
{
	*error = "needs a terminal (cpa-report writes to files and pipes)";
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &modes_before) < 0)
		return -1;
	setlocale(LC_CTYPE, "");
	catch_signals();
	terminal = newterm(NULL, stdout, stdin);
	*error = "does not know this kind of terminal (set TERM)";
	if (!terminal)
		return -1;
	if (!*capability("cup") || !*capability("clear")) {
		*error = "needs a terminal with a cursor that can be moved (see TERM)";
		cpa_screen_end();
		return -1;
	}
	snprintf(leave_text, sizeof(leave_text), "%s%s%s\r\n", capability("sgr0"),
		 capability("cnorm"), capability("rmcup"));
	/* Also for exits because of lack of memory. */
	atexit(cpa_screen_end);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return 0;
}

void cpa_screen_end(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
	sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
}

bool cpa_screen_ascii(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

void cpa_screen_size(size_t *columns, size_t *lines)
{
	*columns = (size_t)COLS;
	*lines = (size_t)LINES;
}

/* A character takes 0, 1 or 2 columns; characters that the locale cannot show become '?'. */
static void put_text(int y, const char *text)
{
	mbstate_t state = { 0 };
	int x = 0, width;

	move(y, 0);
	while (*text) {
		wchar_t character[2] = { L'?' };
		size_t bytes = mbrtowc(character, text, MB_CUR_MAX, &state);

		if (bytes == 0 || bytes > MB_CUR_MAX) {
			state = (mbstate_t){ 0 };
			character[0] = L'?';
			/* One '?' for all bytes of a character. */
			for (bytes = 1; ((unsigned char)text[bytes] & 0xc0) == 0x80;)
				bytes++;
		}
		width = wcwidth(character[0]);
		if (width < 0)
			character[0] = L'?';
		width = width < 0 ? 1 : width;
		if (x + width > COLS)
			return;
		addnwstr(character, 1);
		x += width;
		text += bytes;
	}
}

void cpa_screen_show(const struct cpa_top_screen *screen)
{
	static const attr_t attributes[] = {
		[CPA_TOP_STRONG] = A_BOLD,
		[CPA_TOP_FAINT] = A_DIM,
		[CPA_TOP_HEAD] = A_UNDERLINE,
		[CPA_TOP_SELECTED] = A_REVERSE,
	};

	erase();
	for (size_t y = 0; y < screen->used && y < (size_t)LINES; y++) {
		attrset((int)attributes[screen->line[y].style]);
		put_text((int)y, screen->line[y].text);
	}
	attrset(A_NORMAL);
	refresh();
}

static int translate(int key)
{
	static const struct {
		int curses, ours;
	} keys[] = {
		{ KEY_UP, CPA_KEY_UP },
		{ KEY_DOWN, CPA_KEY_DOWN },
		{ KEY_LEFT, CPA_KEY_LEFT },
		{ KEY_RIGHT, CPA_KEY_RIGHT },
		{ KEY_PPAGE, CPA_KEY_PAGE_UP },
		{ KEY_NPAGE, CPA_KEY_PAGE_DOWN },
		{ KEY_HOME, CPA_KEY_HOME },
		{ KEY_END, CPA_KEY_END },
		{ KEY_BACKSPACE, CPA_KEY_BACKSPACE },
		{ 127, CPA_KEY_BACKSPACE },
		{ KEY_ENTER, CPA_KEY_ENTER },
		{ '\n', CPA_KEY_ENTER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].ours;
	return key > 0 && key < 256 ? key : 0;
}

/* If keys are pending, ppoll() returns at once and does not let signals through. */
static bool asked_to_end(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_SIZE(ends) && !ended_by; i++)
		if (sigismember(&pending, ends[i]) == 1)
			ended_by = ends[i];
	return ended_by;
}

int cpa_screen_key(double timeout_s)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec timeout = { .tv_sec = (time_t)timeout_s };
	int key = getch(), ready;

	if (key != ERR)
		return asked_to_end() ? -1 : translate(key);
	timeout.tv_nsec = (long)((timeout_s - (double)timeout.tv_sec) * 1e9);
	ready = ppoll(&input, 1, timeout_s < 0 ? NULL : &timeout, &waiting_mask);
	if (asked_to_end())
		return -1;
	/* The terminal is gone: no key can come any more. */
	if (ready > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL)) {
		ended_by = SIGHUP;
		return -1;
	}
	key = ready == 0 ? ERR : getch();
	return key == ERR ? 0 : translate(key);
}

int cpa_screen_signal(void)
{
	return ended_by;
}
