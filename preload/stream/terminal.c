/* SPDX-License-Identifier: MIT */
#include "preload/stream/terminal.h"

#include <fcntl.h>
#include <linux/major.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/stream/address.h"
#include "preload/stream/stream.h"
#include "shadow/edge/terminal.h"
#include "shadow/store/kernel.h"

#define MASTER_MINOR 2

/* An echo wakes the reader of a master: later than this after what was typed, it was no echo. */
#define ECHO_NS UINT64_C(10000000)

enum direction { TYPED, SHOWN };

bool cpa_terminal_any;

bool cpa_terminal_is_master(const struct stat *st)
{
	return st->st_rdev == makedev(TTYAUX_MAJOR, MASTER_MINOR);
}

bool cpa_terminal_is_slave(const struct stat *st)
{
	unsigned driver = major(st->st_rdev);

	return driver >= UNIX98_PTY_SLAVE_MAJOR &&
	       driver < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT;
}

static uint64_t key_of(uint64_t device, unsigned number, enum direction direction)
{
	return cpa_stream_key(CPA_STREAM_TERMINAL, device, number, direction);
}

static uint32_t row_of(uint64_t device, unsigned number, enum direction direction)
{
	return cpa_stream_intern(key_of(device, number, direction), CPA_STREAM_TERMINAL, 0);
}

static uint32_t shown_row(uint64_t device, unsigned number)
{
	uint32_t row = row_of(device, number, SHOWN);

	if (row)
		cpa_stream_closed(cpa_stream(row), CPA_STREAM_SHOWN);
	return row;
}

static uint64_t word_of(uint32_t reads, uint32_t writes)
{
	if (!reads || !writes)
		return 0;
	/* Relaxed: see cpa_terminal_call(). */
	__atomic_store_n(&cpa_terminal_any, true, __ATOMIC_RELAXED);
	return (uint64_t)CPA_STREAM_TERMINAL << CPA_DESCRIPTOR_KIND |
	       cpa_descriptor_of(reads, writes);
}

/* The file system of the slave of the master with @st; 0: not known. */
static uint64_t device_of(const struct stat *st)
{
	struct stat pts, ptmx;

	if (cpa_kernel(SYS_newfstatat, AT_FDCWD, "/dev/pts", &pts, 0))
		return 0;
	if (st->st_dev == pts.st_dev)
		return pts.st_dev;
	return !cpa_kernel(SYS_newfstatat, AT_FDCWD, "/dev/ptmx", &ptmx, 0) &&
			       ptmx.st_dev == st->st_dev && ptmx.st_ino == st->st_ino ?
		       pts.st_dev :
		       0;
}

uint64_t cpa_terminal_master(int fd, const struct stat *st)
{
	uint64_t device = device_of(st);
	unsigned number;

	if (!device || cpa_kernel(SYS_ioctl, fd, TIOCGPTN, &number))
		return 0;
	return word_of(shown_row(device, number), row_of(device, number, TYPED));
}

uint64_t cpa_terminal_slave(const struct stat *st)
{
	unsigned number = minor(st->st_rdev);

	return word_of(cpa_stream_find(key_of(st->st_dev, number, TYPED)),
		       cpa_stream_find(key_of(st->st_dev, number, SHOWN)));
}

void cpa_terminal_begin(int fd)
{
	struct stat st;

	if (cpa_kernel(SYS_fstat, fd, &st) || !cpa_terminal_is_slave(&st))
		return;
	row_of(st.st_dev, minor(st.st_rdev), TYPED);
	shown_row(st.st_dev, minor(st.st_rdev));
}

/* Whether the terminal of the master @fd echoes, as far as is known. */
static bool echoes(int fd)
{
	struct termios settings;

	/* The kernel's structure is shorter, and begins alike. */
	return cpa_kernel(SYS_ioctl, fd, TCGETS, &settings) || settings.c_lflag & (ECHO | ECHONL);
}

/* Whether the reader of @word, the descriptor @fd, may have been woken by an echo, at tick @woken or later. */
static bool may_be_echo(int fd, uint64_t word, uint64_t woken)
{
	struct cpa_stream *shown = cpa_stream(cpa_descriptor_reads(word));
	const struct cpa_stream *typed = cpa_stream(cpa_descriptor_writes(word));

	return cpa_stream_closed(shown, 0) & CPA_STREAM_SHOWN &&
	       cpa_terminal_written(typed, woken - cpa_clock_ticks(ECHO_NS)) && echoes(fd);
}

/* The word of @fd, if it is a terminal that is followed; else 0. */
static uint64_t followed(int fd)
{
	uint64_t word = cpa_descriptor_is_kept(fd) ? cpa_descriptor_word(fd) : 0;

	return cpa_descriptor_kind(word) == CPA_STREAM_TERMINAL && cpa_descriptor_reads(word) ?
		       word :
		       0;
}

uint64_t cpa_terminal_ready(struct cpa_worker *w, int fd, uint64_t since)
{
	uint64_t word = followed(fd);

	return word ? cpa_terminal_written(cpa_stream(cpa_descriptor_reads(word)),
					   since ? since : w->clock.last) :
		      0;
}

/* The wait @wait of kind @kind, which began after tick @since, is over: join what ended it. */
static void join(struct cpa_worker *w, int fd, uint64_t word, uint64_t since,
		 enum cpa_event_kind kind, struct cpa_wait *wait)
{
	struct cpa_stream *s = cpa_stream(cpa_descriptor_reads(word));
	uint64_t arrived = wait->arrived;
	bool echo = may_be_echo(fd, word, wait->now - wait->runqueue);
	struct cpa_stream_found found;

	if (cpa_terminal_find(&w->self, s, since, wait->now, echo, &found)) {
		cpa_stream_join(&w->self, &found, false, true, wait);
		if (wait->from)
			cpa_dependency(&w->self, wait, wait->now - arrived);
		return;
	}
	cpa_acquire_path(&w->self, NULL, wait);
	cpa_unexplained(w, kind == CPA_EV_POLL ? CPA_EXT_POLL : CPA_EXT_INPUT, wait->now - arrived);
	cpa_stream_outside(&w->self, CPA_STREAM_TERMINAL, wait->now - arrived);
}

bool cpa_terminal_waited(struct cpa_worker *w, int fd, uint64_t since, uint64_t begun,
			 enum cpa_event_kind kind, uint64_t caller)
{
	uint64_t word = followed(fd);
	struct cpa_wait wait = { 0 };

	if (!word || !cpa_terminal_ready(w, fd, since))
		return false;
	if (cpa_event_waited(w, kind, caller, begun, &wait))
		join(w, fd, word, since ? since : wait.arrived, kind, &wait);
	return true;
}
