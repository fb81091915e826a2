/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/external.c - calls that block for reasons outside synchronization
 *
 * A wrapper does one comparison before the call and one after it. If the thread was switched out,
 * the activity ends after the call, and the time without a processor counts as time of the call's
 * kind. A stamp before the call would cost more and give no more information: until the call the
 * thread was on a processor. All of these functions are cancellation points: nothing is held across
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload/process/process.h"
#include "preload/libc/fortified.h"
#include "preload/libc/real.h"
#include "preload/core/signal.h"
#include "preload/core/suspend.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/lib/uv.h"
#include "preload/process/wait.h"
#include "preload/stream/batch.h"
#include "preload/stream/holders.h"
#include "preload/stream/poll.h"
#include "preload/stream/socket.h"
#include "preload/stream/splice.h"
#include "preload/stream/stdio.h"
#include "preload/stream/stream.h"
#include "preload/stream/talk.h"
#include "shadow/store/kernel.h"

/* The kind of external time of a read from @fd that blocked. Keeps errno. */
static enum cpa_external read_kind(int fd)
{
	enum cpa_external kind = CPA_EXT_INPUT;
	int err = errno;
	struct stat s;

	if (!cpa_kernel_begin())
		return kind;
	if (cpa_kernel(SYS_fstat, fd, &s))
		;
	else if (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode))
		kind = CPA_EXT_READ;
	else if (S_ISSOCK(s.st_mode) || S_ISFIFO(s.st_mode))
		kind = talk_of(fd) == ASKED ? CPA_EXT_READ : CPA_EXT_INPUT;
	else if (!(s.st_mode & S_IFMT)) /* eventfd, timerfd and the like */
		kind = talk_of(fd) == TIMER ? CPA_EXT_SLEEP : CPA_EXT_INPUT;
	cpa_kernel_end();
	errno = err;
	return kind;
}

/*
 * The thread is back from a call that may have blocked. @asked: of a sleep, the least that it took; NULL: not known.
 * Return for how many ticks. errno is kept.
 */
static __attribute__((noinline, cold)) uint64_t
blocked_for(enum cpa_external kind, const struct timespec *asked, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter_from(kind);
	uint64_t before = w ? w->self.row->external : 0, ticks = 0;

	if (w) {
		if (unlikely(cpa_process_has_children) && cpa_child_block(w, kind, caller))
			;
		else if (kind == CPA_EXT_SLEEP)
			cpa_event_slept(w, asked, caller);
		else
			cpa_event_external(w, kind, caller);
		ticks = w->self.row->external - before;
		cpa_done(w);
	}
	errno = err;
	return ticks;
}

#define blocked(kind, caller) blocked_for(kind, NULL, caller)

/* The thread was blocked in a read of @fd, and it is not known for whom. errno is kept. */
static __attribute__((noinline, cold)) void read_blocked(int fd, uint64_t caller)
{
	uint64_t ticks = blocked(read_kind(fd), caller);

	cpa_stream_not_followed(cpa_descriptor_kind(cpa_descriptor_known(fd)), ticks);
}

static inline bool was_blocked(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	/*
	 * Without a detector every call would look blocked: the switch counts decide. While profiling is
	 * off, nobody resets it.
	 */
	return unlikely(w && !cpa_tls.inside && *cpa_alive && cpa_clock_switched(&w->clock) &&
			!cpa_is_off() && cpa_header()->clock != CPA_CLOCK_SYSCALL);
}

/* The thread is back from a wait for a signal handler, which may have had events of its own. */
static void suspended(uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = was_blocked() ? cpa_enter() : NULL;

	if (w) {
		if (cpa_process_has_children && cpa_child_block(w, CPA_EXT_SIGNAL, caller))
			w->suspended = 0;
		else if (w->suspended)
			cpa_suspend_ended(w);
		else
			cpa_event_external(w, CPA_EXT_OTHER, caller);
		cpa_done(w);
	} else if (cpa_tls.worker) {
		cpa_tls.worker->suspended = 0;
	}
	errno = err;
}

/* A signal of our sampler that is pending behind the thread's mask must not end the wait. */
#define WITHOUT_OURS(mask) cpa_signal_without_ours(mask, &(sigset_t){ 0 })

/* A block before the call is of another kind: end that activity first. */
#define end_earlier() ((void)(was_blocked() && blocked(CPA_EXT_OTHER, CPA_CALLER())))

/*
 * What @call returns, which may block for a reason of @kind. @asked: see blocked_for(), an expression for behind the
 * call, of `ret`.
 */
#define MAY_BLOCK(type, call, kind, asked)                      \
	({                                                      \
		type ret;                                       \
                                                                \
		end_earlier();                                  \
		ret = (call);                                   \
		if (was_blocked())                              \
			blocked_for(kind, asked, CPA_CALLER()); \
		ret;                                            \
	})
#define BLOCKING(type, name, parameters, arguments, kind)                 \
	CPA_EXPORT type name parameters                                   \
	{                                                                 \
		return MAY_BLOCK(type, REAL(name) arguments, kind, NULL); \
	}

/*
 * The calling thread has moved @n bytes: count them in its row, without an event. A signal handler
 * that moves some at the same time adds to the same word, in one instruction.
 */
#define COUNT_BYTES(field, n)                                                      \
	do {                                                                       \
		const struct cpa_worker *moved_by = cpa_tls.worker;                \
                                                                                   \
		if (likely((n) > 0 && moved_by && !cpa_tls.inside && *cpa_alive && \
			   !cpa_window_moved(moved_by)))                           \
			moved_by->self.row->field += (uint64_t)(n);                \
	} while (0)

/* A call that may block, reads or writes at an offset of a file, and returns the bytes moved. */
#define MOVING(name, parameters, arguments, kind, field)                              \
	CPA_EXPORT ssize_t name parameters                                            \
	{                                                                             \
		ssize_t moved = MAY_BLOCK(ssize_t, REAL(name) arguments, kind, NULL); \
                                                                                      \
		COUNT_BYTES(field, moved);                                            \
		return moved;                                                         \
	}

/* A call that waits for a connection on fd, and returns a new descriptor for it. */
#define ACCEPTING(name, parameters, arguments)                                      \
	CPA_EXPORT int name parameters                                              \
	{                                                                           \
		struct cpa_stream_use use;                                          \
		int ret;                                                            \
                                                                                    \
		end_earlier();                                                      \
		cpa_socket_accepts(&use, fd, CPA_CALLER());                         \
		ret = REAL(name) arguments;                                         \
		if (!cpa_socket_accepted(&use, ret, CPA_CALLER()) && was_blocked()) \
			blocked(CPA_EXT_ACCEPT, CPA_CALLER());                      \
		if (ret >= 0)                                                       \
			begin_talk(ret, SERVER);                                    \
		return ret;                                                         \
	}

/* A sleep that, if it returns 0, took what @asked points to or more. */
#define SLEEPING(type, name, parameters, arguments, asked)                                         \
	CPA_EXPORT type name parameters                                                            \
	{                                                                                          \
		return MAY_BLOCK(type, REAL(name) arguments, CPA_EXT_SLEEP, ret ? NULL : (asked)); \
	}

/*
 * @call reads from, or writes to, descriptor @fd, with memory @bytes (NULL: several pieces).
 * @moves: it moves bytes of the stream that the descriptor may be: preload/stream/stream.h.
 * @room: how many bytes a read has asked for, in an expression for behind the call, which has found
 * what it points to. A read of no bytes finds none, and no end either.
 */
#define READ(fd, moves, room, bytes, call)                                      \
	({                                                                      \
		struct cpa_stream_use use_;                                     \
		ssize_t ret_;                                                   \
                                                                                \
		end_earlier();                                                  \
		cpa_stream_reads(&use_, (moves) ? (fd) : -1, CPA_CALLER());     \
		ret_ = (call);                                                  \
		if (!((ret_ || (room)) &&                                       \
		      cpa_stream_did_read(&use_, ret_, bytes, CPA_CALLER())) && \
		    was_blocked())                                              \
			read_blocked(fd, CPA_CALLER());                         \
		if (ret_ > 0)                                                   \
			stop_talk(fd);                                          \
		COUNT_BYTES(bytes_read, ret_);                                  \
		ret_;                                                           \
	})
#define WRITE(fd, moves, bytes, size, call)                                                    \
	WRITE_TO(cpa_stream_writes(&use_, (moves) ? (fd) : -1, bytes, size, CPA_CALLER()), fd, \
		 (size) == SIZE_MAX ? 0 : (size), call)
/* @whole: bytes that the call is asked to write; 0: not known. */
#define WRITE_TO(begin, fd, whole, call)                                               \
	({                                                                             \
		struct cpa_stream_use use_;                                            \
		ssize_t ret_;                                                          \
                                                                                       \
		end_earlier();                                                         \
		(begin);                                                               \
		ret_ = (call);                                                         \
		if (!cpa_stream_did_write(&use_, ret_, CPA_CALLER()) && was_blocked()) \
			blocked(CPA_EXT_WRITE, CPA_CALLER());                          \
		cpa_stream_had_room(&use_, ret_, whole);                               \
		if (ret_ > 0)                                                          \
			set_talk(fd, QUIET, ASKED);                                    \
		COUNT_BYTES(bytes_written, ret_);                                      \
		ret_;                                                                  \
	})
#define READING(name, parameters, arguments, room, bytes)                 \
	CPA_EXPORT ssize_t name parameters                                \
	{                                                                 \
		return READ(fd, true, room, bytes, REAL(name) arguments); \
	}
#define WRITING(name, parameters, arguments, bytes, size)                  \
	CPA_EXPORT ssize_t name parameters                                 \
	{                                                                  \
		return WRITE(fd, true, bytes, size, REAL(name) arguments); \
	}

/* Flags of a receive or send that moves no bytes of the stream. */
#define BESIDES (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)

/* A receive. One that leaves the bytes there is a wait for the descriptor. */
#define PEEK(fd, call)                                                        \
	({                                                                    \
		ssize_t ret_;                                                 \
                                                                              \
		end_earlier();                                                \
		ret_ = (call);                                                \
		if (was_blocked() && !cpa_peek_ended(fd, ret_, CPA_CALLER())) \
			read_blocked(fd, CPA_CALLER());                       \
		ret_;                                                         \
	})
#define RECEIVING(name, parameters, arguments, room)                                   \
	CPA_EXPORT ssize_t name parameters                                             \
	{                                                                              \
		if (unlikely(flags & MSG_PEEK))                                        \
			return PEEK(fd, REAL(name) arguments);                         \
		return READ(fd, !(flags & BESIDES), room, NULL, REAL(name) arguments); \
	}
/* @begin: does with `use_` what cpa_stream_writes() would. */
#define SENDING(name, parameters, arguments, begin)                  \
	CPA_EXPORT ssize_t name parameters                           \
	{                                                            \
		return WRITE_TO(begin, fd, n, REAL(name) arguments); \
	}

/*
 * A wait for descriptors. @ended: whether what ended it is known, and has been joined; it sets `use.other` to
 * the kind of one that was ready and is not followed.
 */
#define POLLING(name, parameters, arguments, ended)                                              \
	CPA_EXPORT int name parameters                                                           \
	{                                                                                        \
		struct cpa_polling use = cpa_poll_begins();                                      \
		int ret;                                                                         \
                                                                                                 \
		end_earlier();                                                                   \
		ret = REAL(name) arguments;                                                      \
		if (was_blocked() && !(ended))                                                   \
			cpa_stream_not_followed(use.other, blocked(CPA_EXT_POLL, CPA_CALLER())); \
		return ret;                                                                      \
	}

/* The calls in which libuv's loop waits. */
#define EVENTS(type, name, parameters, arguments)                                                \
	CPA_EXPORT type name parameters                                                          \
	{                                                                                        \
		struct cpa_op wait = cpa_loop_wait(CPA_CALLER());                                \
		struct cpa_polling use = cpa_poll_begins();                                      \
		type ret;                                                                        \
                                                                                                 \
		if (!wait.w && was_blocked())                                                    \
			blocked(CPA_EXT_OTHER, CPA_CALLER());                                    \
		ret = REAL(name) arguments;                                                      \
		if (unlikely(wait.w))                                                            \
			cpa_loop_woken(&wait);                                                   \
		else if (was_blocked() && !cpa_epoll_ended(fd, events, ret, CPA_CALLER(), &use)) \
			cpa_stream_not_followed(use.other, blocked(CPA_EXT_POLL, CPA_CALLER())); \
		return ret;                                                                      \
	}

/* Waits for a signal handler. Our own signal must not end them. */
#define SUSPENDING(name, parameters, arguments)  \
	CPA_EXPORT int name parameters           \
	{                                        \
		int ret;                         \
                                                 \
		end_earlier();                   \
		cpa_suspend_begin(CPA_CALLER()); \
		ret = REAL(name) arguments;      \
		suspended(CPA_CALLER());         \
		return ret;                      \
	}

/* It returns 0 as well if less than a second is left. */
SLEEPING(unsigned, sleep, (unsigned seconds), (seconds),
	 (&(struct timespec){ .tv_sec = seconds ? seconds - 1 : 0 }))
SLEEPING(int, usleep, (useconds_t us), (us),
	 (&(struct timespec){ us / 1000000, us % 1000000 * 1000 }))
SLEEPING(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left), t)
SLEEPING(int, clock_nanosleep,
	 (clockid_t clock, int flags, const struct timespec *t, struct timespec *left),
	 (clock, flags, t, left),
	 flags || clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID ? NULL : t)
SLEEPING(int, thrd_sleep, (const struct timespec *t, struct timespec *left), (t, left), t)

READING(read, (int fd, void *to, size_t n), (fd, to, n), n, to)
READING(__read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room), n, to)
READING(readv, (int fd, const struct iovec *to, int n), (fd, to, n),
	cpa_stream_room_in(to, (size_t)n), NULL)
/* At the offset -1 it is readv(). */
#define READING_AT(name, type)                                                             \
	CPA_EXPORT ssize_t name(int fd, const struct iovec *to, int n, type at, int flags) \
	{                                                                                  \
		return READ(fd, at == -1, cpa_stream_room_in(to, (size_t)n), NULL,         \
			    REAL(name)(fd, to, n, at, flags));                             \
	}
READING_AT(preadv2, off_t)
READING_AT(preadv64v2, off64_t)
MOVING(pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), CPA_EXT_READ, bytes_read)
MOVING(pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at), CPA_EXT_READ, bytes_read)
MOVING(__pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room),
       CPA_EXT_READ, bytes_read)
MOVING(__pread64_chk, (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room),
       CPA_EXT_READ, bytes_read)
RECEIVING(recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), n)
RECEIVING(__recv_chk, (int fd, void *to, size_t n, size_t room, int flags),
	  (fd, to, n, room, flags), n)
RECEIVING(recvfrom,
	  (int fd, void *restrict to, size_t n, int flags, __SOCKADDR_ARG from,
	   socklen_t *restrict length),
	  (fd, to, n, flags, from, length), n)
RECEIVING(__recvfrom_chk,
	  (int fd, void *restrict to, size_t n, size_t room, int flags, __SOCKADDR_ARG from,
	   socklen_t *restrict length),
	  (fd, to, n, room, flags, from, length), n)
RECEIVING(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
	  cpa_stream_room_in(message->msg_iov, message->msg_iovlen))

WRITING(write, (int fd, const void *from, size_t n), (fd, from, n), from, n)
WRITING(writev, (int fd, const struct iovec *from, int n), (fd, from, n), NULL, SIZE_MAX)
#define WRITING_AT(name, type)                                                                  \
	CPA_EXPORT ssize_t name(int fd, const struct iovec *from, int n, type at, int flags)    \
	{                                                                                       \
		return WRITE(fd, at == -1, NULL, SIZE_MAX, REAL(name)(fd, from, n, at, flags)); \
	}
WRITING_AT(pwritev2, off_t)
WRITING_AT(pwritev64v2, off64_t)
MOVING(pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), CPA_EXT_WRITE,
       bytes_written)
MOVING(pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at), CPA_EXT_WRITE,
       bytes_written)
SENDING(send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags),
	cpa_stream_writes(&use_, (flags & BESIDES) ? -1 : fd, NULL, n, CPA_CALLER()))
SENDING(sendto,
	(int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t length),
	(fd, from, n, flags, to, length),
	cpa_socket_sends(&use_, (flags & BESIDES) ? -1 : fd, CPA_ADDRESS(to), length, CPA_CALLER()))
CPA_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t ret = WRITE_TO(cpa_socket_sends_message(&use_, (flags & BESIDES) ? -1 : fd, message,
							CPA_CALLER()),
			       fd, 0, REAL(sendmsg)(fd, message, flags));

	if (ret >= 0 && unlikely(message->msg_controllen))
		cpa_holders_passed(message);
	return ret;
}

CPA_EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags,
			struct timespec *timeout)
{
	struct cpa_stream_use use;
	int ret;

	if (unlikely(flags & MSG_PEEK))
		return (int)PEEK(fd, REAL(recvmmsg)(fd, messages, n, flags, timeout));
	end_earlier();
	cpa_stream_reads(&use, flags & BESIDES ? -1 : fd, CPA_CALLER());
	ret = REAL(recvmmsg)(fd, messages, n, flags, timeout);
	if (!cpa_batch_received(&use, messages, ret, CPA_CALLER()) && was_blocked())
		read_blocked(fd, CPA_CALLER());
	if (ret > 0)
		stop_talk(fd);
	COUNT_BYTES(bytes_read, cpa_batch_bytes(messages, ret));
	return ret;
}

CPA_EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
	struct cpa_batch batch;
	int ret;

	end_earlier();
	cpa_batch_sends(&batch, flags & BESIDES ? -1 : fd, messages, n, CPA_CALLER());
	ret = REAL(sendmmsg)(fd, messages, n, flags);
	if (!cpa_batch_sent(&batch, messages, ret, CPA_CALLER()) && was_blocked())
		blocked(CPA_EXT_WRITE, CPA_CALLER());
	if (ret > 0)
		set_talk(fd, QUIET, ASKED);
	for (int i = 0; i < ret; i++)
		if (unlikely(messages[i].msg_hdr.msg_controllen))
			cpa_holders_passed(&messages[i].msg_hdr);
	COUNT_BYTES(bytes_written, cpa_batch_bytes(messages, ret));
	return ret;
}

POLLING(poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout),
	cpa_poll_ended(fds, n, ret, CPA_CALLER(), &use))
POLLING(__poll_chk, (struct pollfd * fds, nfds_t n, int timeout, size_t room),
	(fds, n, timeout, room), cpa_poll_ended(fds, n, ret, CPA_CALLER(), &use))
POLLING(ppoll,
	(struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
	(fds, n, timeout, WITHOUT_OURS(mask)), cpa_poll_ended(fds, n, ret, CPA_CALLER(), &use))
POLLING(__ppoll_chk,
	(struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
	 size_t room),
	(fds, n, timeout, WITHOUT_OURS(mask), room),
	cpa_poll_ended(fds, n, ret, CPA_CALLER(), &use))
POLLING(select,
	(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
	 struct timeval *restrict timeout),
	(n, in, out, except, timeout), cpa_select_ended(n, in, out, ret, CPA_CALLER(), &use))
POLLING(pselect,
	(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
	 const struct timespec *restrict timeout, const sigset_t *restrict mask),
	(n, in, out, except, timeout, WITHOUT_OURS(mask)),
	cpa_select_ended(n, in, out, ret, CPA_CALLER(), &use))
EVENTS(int, epoll_wait, (int fd, struct epoll_event *events, int n, int timeout),
       (fd, events, n, timeout))
EVENTS(int, epoll_pwait2,
       (int fd, struct epoll_event *events, int n, const struct timespec *timeout,
	const sigset_t *mask),
       (fd, events, n, timeout, WITHOUT_OURS(mask)))
EVENTS(int, epoll_pwait,
       (int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask),
       (fd, events, n, timeout, WITHOUT_OURS(mask)))

ACCEPTING(accept, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length), (fd, from, length))
ACCEPTING(accept4, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags),
	  (fd, from, length, flags))
/* The number of the descriptor may have been the server's end of another connection before. */
CPA_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
	struct cpa_stream_use use;
	int ret;

	end_earlier();
	set_talk(fd, SERVER, QUIET);
	cpa_socket_connects(&use, fd, CPA_ADDRESS(to), length, CPA_CALLER());
	ret = REAL(connect)(fd, to, length);
	if (!cpa_socket_connected(&use, fd, ret, CPA_CALLER()) && was_blocked())
		blocked(CPA_EXT_CONNECT, CPA_CALLER());
	return ret;
}

BLOCKING(int, fsync, (int fd), (fd), CPA_EXT_SYNC)
BLOCKING(int, fdatasync, (int fd), (fd), CPA_EXT_SYNC)

SUSPENDING(pause, (void), ())
SUSPENDING(sigsuspend, (const sigset_t *mask), (WITHOUT_OURS(mask)))

/* A call that moves bytes from the stream @in to the stream @out, with what is known of them in @use. */
#define PASS_ON(use, in, out, n, flags, takes, call)                                \
	({                                                                          \
		ssize_t ret_;                                                       \
                                                                                    \
		end_earlier();                                                      \
		cpa_splice_begins(use, in, out, n, flags, takes, CPA_CALLER());     \
		ret_ = (call);                                                      \
		if (!cpa_splice_ended(use, ret_, n, CPA_CALLER()) && was_blocked()) \
			read_blocked(in, CPA_CALLER());                             \
		if (ret_ > 0) {                                                     \
			if (takes)                                                  \
				stop_talk(in);                                      \
			set_talk(out, QUIET, ASKED);                                \
		}                                                                   \
		COUNT_BYTES(bytes_read, ret_);                                      \
		ret_;                                                               \
	})

/* @ret bytes were put into @out, if that is followed, by nobody who is known. Return @ret. */
static ssize_t put_in(int out, ssize_t ret)
{
	if (ret > 0 && cpa_descriptor_out(out))
		cpa_stream_wrote(cpa_descriptor_out(out), (uint64_t)ret);
	return ret;
}

CPA_EXPORT ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
			  unsigned flags)
{
#define CALL REAL(splice)(in, in_at, out, out_at, n, flags)
	struct cpa_splice use;

	if (cpa_splice_is_between(&use, in, out))
		return PASS_ON(&use, in, out, n, flags, true, CALL);
	return cpa_descriptor_in(in) ? put_in(out, READ(in, true, n, NULL, CALL)) :
				       WRITE(out, true, NULL, SIZE_MAX, CALL);
#undef CALL
}

/* From a file, or from a socket to a pipe. */
#define SENDFILE(name, type)                                                                      \
	CPA_EXPORT ssize_t name(int fd, int from, type *at, size_t n)                             \
	{                                                                                         \
		struct cpa_splice use;                                                            \
                                                                                                  \
		return cpa_splice_is_to_pipe(&use, from, fd) ?                                    \
			       PASS_ON(&use, from, fd, n, 0, true, REAL(name)(fd, from, at, n)) : \
			       WRITE(fd, true, NULL, n, REAL(name)(fd, from, at, n));             \
	}

SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

/* The bytes stay in @in. */
CPA_EXPORT ssize_t tee(int in, int out, size_t n, unsigned flags)
{
	struct cpa_splice use;

	return cpa_splice_is_between(&use, in, out) ?
		       PASS_ON(&use, in, out, n, flags, false, REAL(tee)(in, out, n, flags)) :
		       put_in(out, PEEK(in, REAL(tee)(in, out, n, flags)));
}

/* To a pipe, or from one. */
CPA_EXPORT ssize_t vmsplice(int fd, const struct iovec *pieces, size_t n, unsigned flags)
{
	return cpa_descriptor_out(fd) ?
		       WRITE(fd, true, NULL, SIZE_MAX, REAL(vmsplice)(fd, pieces, n, flags)) :
		       READ(fd, n > 0, true, NULL, REAL(vmsplice)(fd, pieces, n, flags));
}

/* The C library's own read and write in these are not seen. They return 0 or -1. */
CPA_EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	return -(READ(fd, true, sizeof(*value), value,
		      REAL(eventfd_read)(fd, value) ? -1 : (ssize_t)sizeof(*value)) < 0);
}

CPA_EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return -(WRITE(fd, true, &value, sizeof(value),
		       REAL(eventfd_write)(fd, value) ? -1 : (ssize_t)sizeof(value)) < 0);
}

ssize_t cpa_external_read(cpa_file_io *original, FILE *file, void *to, ssize_t n)
{
	return READ(file->_fileno, true, n, to, original(file, to, n));
}

ssize_t cpa_external_write(cpa_file_io *original, FILE *file, void *from, ssize_t n)
{
	return WRITE(file->_fileno, true, from, (size_t)n, original(file, from, n));
}
