/* SPDX-License-Identifier: MIT */
/*
 * examples/idle.c - a server without clients
 *
 * main() looks 10 times whether there is a request, for 50 ms each time, and then does 1 unit of
 * other work. There is never a request.
 *
 * Critical path: 10 x 50 ms in poll(), and 10 units of work. Nothing makes that run shorter.
 */
#include "examples/work.h"

#include <poll.h>
#include <unistd.h>

#define LOOKS	10
#define LOOK_MS 50

int main(void)
{
	int requests[2];
	struct pollfd look = { .events = POLLIN };

	if (pipe(requests) < 0)
		return 1;
	look.fd = requests[0];
	for (int i = 0; i < LOOKS; i++) {
		poll(&look, 1, LOOK_MS);
		work(1);
	}
	return 0;
}
