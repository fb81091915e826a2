/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/converting.c - two threads convert between character sets; each descriptor is closed
 * again, and the C library unloads what was used last some closes ago
 */
#include <iconv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WORK_S 1 /* of CPU time of a thread */

static const char *const set[] = { "UTF-16", "ISO-8859-15", "CP1252", "KOI8-R", "EUC-JP", "BIG5" };

static int convert(unsigned which)
{
	char text[2048], out[16384], *from = text, *to = out;
	size_t left = sizeof(text), room = sizeof(out);
	iconv_t conversion = iconv_open(set[which % 6], "UTF-8");

	if (conversion == (iconv_t)-1)
		return -1;
	memset(text, 'a', sizeof(text));
	iconv(conversion, &from, &left, &to, &room);
	return iconv_close(conversion) || left;
}

static void *run(void *failed)
{
	struct timespec now;

	for (unsigned i = 0;; i++) {
		if (convert(i))
			*(int *)failed = 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (now.tv_sec >= WORK_S)
			return failed;
	}
}

int main(void)
{
	int failed[2] = { 0, 0 };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, run, &failed[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	puts(failed[0] || failed[1] ? "failed" : "done");
	return 0;
}
