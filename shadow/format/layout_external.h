/* SPDX-License-Identifier: MIT */
/* shadow/format/layout_external.h - kinds of external time; part of shadow/format/layout.h */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_EXTERNAL_H
#define CPA_SHADOW_FORMAT_LAYOUT_EXTERNAL_H

/* Kinds of time blocked without a release that cpa knows. */
enum cpa_external {
	CPA_EXT_OTHER =
		0, /* blocked with device input in no call that is wrapped, as a page fault */
	CPA_EXT_SLEEP = 1,
	CPA_EXT_READ = 2, /* of a file, or of the answer to what was written before */
	CPA_EXT_WRITE = 3,
	CPA_EXT_POLL = 4,
	CPA_EXT_ACCEPT = 5,
	CPA_EXT_SYNC = 6,    /* fsync and similar calls */
	CPA_EXT_CHILD = 7,   /* waitpid and similar calls */
	CPA_EXT_SIGNAL = 8,  /* sigwait, pause */
	CPA_EXT_TIMEOUT = 9, /* a timed wait for synchronization that timed out */
	CPA_EXT_UNSEEN = 10, /* a wait for synchronization whose release cpa did not see */
	CPA_EXT_CONNECT = 11,
	CPA_EXT_INPUT = 12,  /* read of a terminal, pipe or connection that was asked for nothing */
	CPA_EXT_ROUNDS = 13, /* sleeps of a thread that does little but sleep */
	CPA_EXT_BLOCKED = 14,	/* blocked without device input in no call that is wrapped */
	CPA_EXT_WAKING = 15,	/* the same in or after a signal, broadcast or post */
	CPA_EXT_UNLOCKING = 16, /* the same in or after an unlock */
	CPA_EXT_CREATING = 17,	/* the same in or after the creation of a thread or process */
	CPA_EXTERNALS
};

/* What such time is on the two paths. */
enum cpa_external_class {
	CPA_EXT_SERVICE, /* somebody worked for the thread: it weighs in the inherent path */
	CPA_EXT_IDLE,	 /* the thread waited for whatever comes: it weighs nothing */
	CPA_EXT_WAIT,	 /* the thread waited, nobody knows for whom: it weighs nothing */
	CPA_EXT_CLASSES
};

static inline enum cpa_external_class cpa_external_class(enum cpa_external kind)
{
	switch (kind) {
	case CPA_EXT_POLL:
	case CPA_EXT_ACCEPT:
	case CPA_EXT_SIGNAL:
	case CPA_EXT_TIMEOUT:
	case CPA_EXT_INPUT:
	case CPA_EXT_ROUNDS:
		return CPA_EXT_IDLE;
	case CPA_EXT_UNSEEN:
	case CPA_EXT_BLOCKED:
	case CPA_EXT_WAKING:
	case CPA_EXT_UNLOCKING:
	case CPA_EXT_CREATING:
		return CPA_EXT_WAIT;
	default:
		return CPA_EXT_SERVICE;
	}
}

#endif
