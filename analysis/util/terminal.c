/* SPDX-License-Identifier: MIT */
#include "analysis/util/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80

enum cpa_color cpa_color_of(const char *word)
{
	static const char *const words[CPA_COLORS] = { "auto", "always", "never" };
	enum cpa_color color = CPA_COLOR_AUTO;

	while (color < CPA_COLORS && strcmp(word, words[color]) != 0)
		color++;
	return color;
}

struct cpa_page cpa_terminal_page(enum cpa_color color, size_t width)
{
	struct cpa_page page = { .out = stdout, .width = width };
	const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR");
	struct winsize size;
	bool terminal = isatty(STDOUT_FILENO);

	page.unicode = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	page.color = color == CPA_COLOR_ALWAYS ||
		     (color == CPA_COLOR_AUTO && terminal && !(no_color && *no_color));
	if (!page.width && terminal) {
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
			page.width = size.ws_col;
		if (!page.width && columns)
			page.width = strtoul(columns, NULL, 10);
	}
	if (page.width < CPA_WIDTH_MIN || page.width > CPA_WIDTH_MAX)
		page.width = WIDTH_DEFAULT;
	return page;
}
