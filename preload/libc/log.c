/* SPDX-License-Identifier: MIT */
#include "preload/libc/log.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "shadow/store/kernel.h"

struct line {
	char text[512];
	size_t length;
};

static bool quiet;

void cpa_log_quiet(void)
{
	quiet = true;
}

static void put(struct line *line, char c)
{
	if (line->length < sizeof(line->text) - 1)
		line->text[line->length++] = c;
}

static void put_string(struct line *line, const char *s)
{
	for (; *s; s++)
		put(line, *s);
}

static void put_number(struct line *line, long n)
{
	char digits[24];
	int i = 0;
	unsigned long u = n < 0 ? -(unsigned long)n : (unsigned long)n;

	if (n < 0)
		put(line, '-');
	do
		digits[i++] = (char)('0' + u % 10);
	while (u /= 10);
	while (i)
		put(line, digits[--i]);
}

void cpa_warn(const char *format, ...)
{
	struct line line = { .length = 0 };
	int err = errno;
	va_list args;

	if (quiet || !cpa_kernel_begin())
		return;
	put_string(&line, "cpa[");
	put_number(&line, (long)syscall(SYS_getpid));
	put_string(&line, "]: warning: ");
	va_start(args, format);
	for (const char *p = format; *p; p++) {
		if (*p != '%' || !p[1])
			put(&line, *p);
		else if (*++p == 's')
			put_string(&line, va_arg(args, const char *));
		else if (*p == 'd')
			put_number(&line, va_arg(args, int));
		else if (*p == 'u')
			put_number(&line, (long)va_arg(args, unsigned int));
		else
			put(&line, *p);
	}
	va_end(args);
	put(&line, '\n');
	/*
	 * Errors are ignored: stderr may be closed, or a full pipe. By a system call: write() is
	 * wrapped.
	 */
	syscall(SYS_write, STDERR_FILENO, line.text, line.length);
	cpa_kernel_end();
	errno = err;
}
