/* SPDX-License-Identifier: MIT */
#include "preload/libc/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/libc/log.h"
#include "shadow/store/by.h"
#include "shadow/store/size.h"
#include "shadow/store/timespec.h"

#define DEFAULT_OUTPUT	   "cpa.%e.%p.dump"
#define MOST_HZ		   10000
#define DEFAULT_COMPONENTS 1024
#define FEWEST_COMPONENTS  64
#define MOST_COMPONENTS	   4096

/* The environment variable as a decimal number within [@low, @high], else @otherwise. */
static unsigned number(const char *name, unsigned low, unsigned high, unsigned otherwise)
{
	const char *text = getenv(name);
	unsigned long n = 0;
	const char *p;

	if (!text)
		return otherwise;
	for (p = text; *p >= '0' && *p <= '9' && n <= high; p++)
		n = n * 10 + (unsigned long)(*p - '0');
	if (p == text || *p || n < low || n > high) {
		cpa_warn("%s=%s is not a number from %u to %u; using %u", name, text, low, high,
			 otherwise);
		return otherwise;
	}
	return (unsigned)n;
}

/* Size of the journal in bytes; 0: none. */
static uint64_t journal(void)
{
	const char *text = getenv("CPA_JOURNAL");
	uint64_t bytes;

	if (!text || strcmp(text, "0") == 0)
		return 0;
	if (cpa_size_read(text, &bytes))
		return bytes;
	cpa_warn("CPA_JOURNAL=%s is not a size from 64K to 64G; no journal", text);
	return 0;
}

/* Into how many callers functions are divided: 0 unless CPA_BY is "caller:N". */
static unsigned by_callers(void)
{
	const char *text = getenv("CPA_BY");
	unsigned n;

	if (!text)
		return 0;
	n = cpa_by_read(text);
	if (!n)
		cpa_warn("CPA_BY=%s is not caller:N with N from 1 to %u; functions are not divided",
			 text, CPA_BY_MOST);
	return n;
}

static bool is(const char *name, const char *wanted, const char *allowed)
{
	const char *text = getenv(name);

	if (!text || strcmp(text, wanted) == 0)
		return text != NULL;
	if (strcmp(text, allowed) != 0)
		cpa_warn("%s=%s is not '%s' or '%s'; using '%s'", name, text, wanted, allowed,
			 allowed);
	return false;
}

void cpa_settings_executable(char *to, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *from = path;

	if (n < 0) { /* no /proc */
		from = program_invocation_name;
		n = (ssize_t)strlen(from);
	} else {
		path[n] = '\0';
	}
	if ((size_t)n >= size)
		from += (size_t)n - (size - 1);
	strncpy(to, from, size - 1);
	to[size - 1] = '\0';
}

void cpa_settings_command(char to[CPA_COMMAND])
{
	/* The path given to exec(): for a script, the path of the script. */
	const char *called = (const char *)getauxval(AT_EXECFN);
	char path[PATH_MAX];

	if (!called || !*called || strncmp(called, "/dev/fd/", 8) == 0) {
		cpa_settings_executable(path, sizeof(path));
		called = path;
	}
	if (strrchr(called, '/') && strrchr(called, '/')[1])
		called = strrchr(called, '/') + 1;
	strncpy(to, called, CPA_COMMAND - 1);
	to[CPA_COMMAND - 1] = '\0';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *base(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* What follows @option in @arguments; "": it is not there. */
static const char *value_of(char *const *arguments, const char *option)
{
	for (; arguments[0] && arguments[1]; arguments++)
		if (strcmp(arguments[0], option) == 0)
			return arguments[1];
	return "";
}

/*
 * What compilers call their work: the file of -o if that is a relative path, or else, as for the parts of gcc, whose
 * output is a temporary file, the name of the source. No file is looked for: it may be on a server that does not answer.
 */
static const char *work_of(char *const *arguments)
{
	const char *output = value_of(arguments, "-o");

	return *output && *output != '/' ? output : value_of(arguments, "-dumpbase");
}

/* Write @word to @to if it is a short word: nothing that may be a text, or a secret. */
static void put_word(char *to, size_t size, const char *word)
{
	const char *end;

	for (end = word; *end; end++)
		if (!is_letter(*end) && (end == word || !strchr("0123456789-_.", *end)))
			return;
	if ((size_t)(end - word) < size)
		memcpy(to, word, (size_t)(end - word));
}

void cpa_settings_argument(char *to, size_t size, char *const *arguments)
{
	const char *word = arguments[0] && arguments[1] ? arguments[1] : "";

	memset(to, 0, size);
	put_word(to, size, base(*word == '-' ? work_of(arguments + 1) : word));
}

static size_t append(char *to, size_t at, size_t size, const char *text)
{
	while (*text && at + 1 < size)
		to[at++] = *text++;
	to[at] = '\0';
	return at;
}

static void decimal(char *to, unsigned n)
{
	char digits[12];
	int i = 0;

	do
		digits[i++] = (char)('0' + n % 10);
	while (n /= 10);
	while (i)
		*to++ = digits[--i];
	*to = '\0';
}

static char *put_digits(char *to, unsigned n, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + digits;
}

/* The time in UTC, as 20261125T140500Z. No function of the C library that may read a file of time zones. */
static void put_time(char to[20])
{
	const uint64_t now = cpa_timespec_now_ns(CLOCK_REALTIME) / 1000000000;
	unsigned days, second, era, of_era, year, of_year, month;

	second = (unsigned)(now % 86400);
	/* From 1 March of year 0 on, in which months the leap day is the last of a year. */
	days = (unsigned)(now / 86400) + 719468;
	era = days / 146097;
	of_era = days % 146097;
	year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year + year / 4 - year / 100);
	month = (5 * of_year + 2) / 153;
	to = put_digits(to, year + era * 400 + (month >= 10), 4);
	to = put_digits(to, month < 10 ? month + 3 : month - 9, 2);
	to = put_digits(to, of_year - (153 * month + 2) / 5 + 1, 2);
	*to++ = 'T';
	to = put_digits(to, second / 3600, 2);
	to = put_digits(to, second / 60 % 60, 2);
	to = put_digits(to, second % 60, 2);
	*to++ = 'Z';
	*to = '\0';
}

/* Expand %e (name of the executable), %p (process id), %h (host name) and %t (time). */
static void expand(const char *pattern, char *to, size_t size)
{
	char exe[PATH_MAX], pid[12], host[65] = "", when[20];
	const char *name;
	size_t at = 0;

	cpa_settings_executable(exe, sizeof(exe));
	name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
	decimal(pid, (unsigned)getpid());
	gethostname(host, sizeof(host) - 1);
	put_time(when);
	for (const char *p = pattern; *p; p++) {
		char literal[2] = { *p, '\0' };
		const char *text = literal;

		if (*p == '%' && p[1] && strchr("epht", p[1]))
			text = *++p == 'e' ? name : *p == 'p' ? pid : *p == 'h' ? host : when;
		at = append(to, at, size, text);
	}
}

void cpa_settings_number(char *to, const char *output, unsigned n)
{
	const char *end = strlen(output) > 5 ? output + strlen(output) - 5 : "";
	size_t at = append(to, 0, PATH_MAX, output);
	char digits[12];

	decimal(digits, n);
	if (strcmp(end, ".dump") != 0)
		end = "";
	at = append(to, at - strlen(end), PATH_MAX, ".");
	at = append(to, at, PATH_MAX, digits);
	append(to, at, PATH_MAX, end);
}

void cpa_settings_read(struct cpa_settings *s)
{
	const char *output = getenv("CPA_OUTPUT");

	if (is("CPA_QUIET", "1", "0"))
		cpa_log_quiet();
	s->on = !is("CPA_START", "off", "on");
	s->stacks = !is("CPA_STACKS", "0", "1");
	s->by_callers = by_callers();
	s->look_on = !is("CPA_LOOK_ON", "off", "on");
	s->sample_hz = number("CPA_SAMPLE_HZ", 0, MOST_HZ, CPA_DEFAULT_HZ);
	s->components =
		number("CPA_COMPONENTS", FEWEST_COMPONENTS, MOST_COMPONENTS, DEFAULT_COMPONENTS);
	s->journal = journal();
	expand(output && *output ? output : DEFAULT_OUTPUT, s->output, sizeof(s->output));
}
