#!/usr/bin/env bash
# tests/e2e/launcher.sh - cpa run stands for the program it runs, and refuses what it cannot profile
#
# Most of it runs with a library that only writes the dump's name into the dump: what is tested
# is the launcher. The last part uses the libcpa.so that was built.
# shellcheck disable=SC2317 # ok() calls the functions by name
set -uo pipefail

: "${CPA_BUILD:?is the build folder}" "${CPA_TMP:?is an empty folder}"
cpa=$CPA_BUILD/cpa
cc=${CC:-cc}
cd "$CPA_TMP" || exit 1
unset CPA_LIB CPA_OUTPUT CPA_QUIET LD_PRELOAD

number=0
failed=0

# ok NAME COMMAND...: the command succeeds
ok()
{
	local name=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $name"
	else
		failed=1
		echo "not ok $number - $name"
		echo "# status $status; $*"
		sed 's/^/# out: /' out
		sed 's/^/# err: /' err
	fi
}

skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# The outcome of a command is left in $status, out and err.
try()
{
	"$@" >out 2>err </dev/null
	status=$?
}

status_is() { [ "$status" = "$1" ]; }
says() { grep -q -e "$1" err; }
one_line() { [ "$(wc -l <err)" = 1 ] && grep -q '^cpa: ' err; }
refused() { status_is "$1" && one_line && says "$2" && [ ! -s out ]; }

# The lines that are told are the verdict of the dump $1 and its doubt, if there is one.
verdict_and_doubt()
{
	"$CPA_BUILD/cpa-report" --level verdict --width 1000 "$1" >wanted
	if grep -q '^\(Only\|This may be off:\) ' <(head -1 wanted); then
		cmp -s <(sed -n '2p;1p' wanted | sort) <(sed -n 's/^cpa: //p' err | head -2 | sort) &&
			cmp -s <(sed -n 2p wanted) <(sed -n '1s/^cpa: //p' err)
	else
		cmp -s <(sed -n 1p wanted) <(sed -n '1s/^cpa: //p' err)
	fi
}

wait_for()
{
	local i

	for ((i = 0; i < 600; i++)); do
		[ -e "$1" ] && return 0
		sleep 0.1
	done
	return 1
}

cat >dummy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void)
{
	extern char *program_invocation_short_name;
	char name[4096] = "";
	const char *output = getenv("CPA_OUTPUT");
	FILE *file;

	FILE *text = fmemopen(name, sizeof(name), "w");

	for (const char *p = output ? output : "cpa.%e.%p.dump"; *p; p++) {
		if (p[0] == '%' && p[1] == 'e')
			fputs(program_invocation_short_name, text), p++;
		else if (p[0] == '%' && p[1] == 'p')
			fprintf(text, "%d", getpid()), p++;
		else
			fputc(*p, text);
	}
	fclose(text);
	file = fopen(name, "wx");
	if (file) {
		fprintf(file, "%s\n", getenv("LD_PRELOAD"));
		fclose(file);
	}
}
C
cat >prog.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void handler(int sig) { seen = sig; }
static void ready(void)
{
	FILE *file = fopen("ready.new", "w");

	fprintf(file, "%d\n", getpid());
	fclose(file);
	rename("ready.new", "ready");
}
int main(int argc, char **argv)
{
	sigset_t none;

	if (argc > 2 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "die"))
		raise(atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "wait")) { /* exit with the number of the signal */
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, &none);
		for (int sig = 1; sig < 32; sig++)
			if (sig != SIGCHLD && sig != SIGTSTP && sig != SIGCONT)
				signal(sig, handler);
		ready();
		while (!seen)
			sigsuspend(&none);
		return 100 + seen;
	}
	if (argc > 1 && !strcmp(argv[1], "sleep")) {
		ready();
		pause();
	}
	sigprocmask(SIG_SETMASK, NULL, &none);
	for (int sig = 1; sig < 65; sig++)
		if (sigismember(&none, sig) == 1)
			printf("blocked %d\n", sig);
	for (int i = 1; i < argc; i++)
		printf("[%s]\n", argv[i]);
	return 0;
}
C
if ! $cc -shared -fPIC -D_GNU_SOURCE -o dummy.so dummy.c || ! $cc -o prog prog.c; then
	echo "Bail out! the compiler does not work"
	exit 1
fi
export CPA_LIB=$PWD/dummy.so

# The program's result is the launcher's.

try "$cpa" run ./prog 'a b' '' -o c
ok 'arguments arrive as they are' status_is 0
ok 'and nothing else changes: no signal is blocked' \
	cmp -s out <(printf '[a b]\n[]\n[-o]\n[c]\n')
try "$cpa" run -- ./prog exit 7
ok 'the exit status is passed on' status_is 7
ok 'the next command is named' says '^cpa: profile in \.cpa/prog\.[0-9]*\.[0-9-]*\.dump; next: .*cpa-report \.cpa/prog\.[0-9]*\.[0-9-]*\.dump$'
profile=$(sed -n 's/.*cpa-report //p' err)
ok 'and the profile is there' test -s "$profile"
ok 'its folder is kept out of git' grep -qx '\*' .cpa/.gitignore
try "$cpa" run -q ./prog
ok '-q: silent' test ! -s err
try env CPA_QUIET=1 "$cpa" run ./prog
ok 'CPA_QUIET=1: silent' test ! -s err
for sig in 9 15 11; do
	try python3 -c 'import subprocess, sys
print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)' \
		"$cpa" run -q ./prog die $sig
	ok "death by signal $sig is passed on" grep -qx -e "-$sig" out
done

# Signals to the launcher reach the program.

for sig in TERM INT HUP USR1 USR2 QUIT ALRM; do
	rm -f ready
	# A shell's background job ignores SIGINT and SIGQUIT; python's child does not.
	python3 -c 'import os, signal, sys
for s in signal.SIGINT, signal.SIGQUIT:
	signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$cpa" run -q ./prog wait >out 2>err </dev/null &
	pid=$!
	wait_for ready
	kill -$sig $pid
	wait $pid
	status=$?
	ok "SIG$sig is forwarded" status_is $((100 + $(kill -l $sig)))
done

rm -f ready
"$cpa" run -q ./prog sleep >out 2>err </dev/null &
pid=$!
wait_for ready
kill -TERM $pid
wait $pid
status=$?
ok 'a program without handler dies of SIGTERM, and so does the launcher' status_is 143

rm -f ready
"$cpa" run -q ./prog sleep >out 2>err </dev/null &
pid=$!
wait_for ready
child=$(cat ready)
kill -KILL $pid
wait $pid 2>/dev/null
gone()
{
	local i

	for ((i = 0; i < 600; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}
ok 'SIGKILL to the launcher ends the program' gone "$child"

# The terminal's ^C reaches both by itself: the program gets it once. ^Z stops both, fg resumes.
cat >terminal.py <<'P'
import os, pty, signal, sys, time
def until(test):
    for _ in range(600):
        if test():
            return
        time.sleep(0.1)
    sys.exit(1)
def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]
pid, fd = pty.fork()
if pid == 0:
    # The launcher in a group of its own, in the foreground, as a job-control shell does it.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[1], [sys.argv[1], "run", "-q", "./count"])
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        os._exit(99)
    open("stopped", "w").close()
    os.killpg(job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 255)
until(lambda: os.path.exists("ready"))
os.write(fd, b"\x1a")
until(lambda: os.path.exists("stopped"))
os.write(fd, b"\x03")
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
P
cat >count.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void handler(int sig) { (void)sig; seen++; }
int main(void)
{
	sigset_t interrupt, before;

	signal(SIGINT, handler);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	fclose(fopen("ready", "w"));
	while (!seen)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sleep(1); /* a second one would cut this short or be counted */
	return 50 + seen;
}
C
$cc -o count count.c
rm -f ready
try timeout 120 python3 terminal.py "$cpa"
ok '^Z stops the job, fg resumes it, ^C arrives once' grep -qx 51 out

# What cannot be profiled is refused in one line.

try "$cpa" run ./nowhere
ok 'missing path' refused 127 './nowhere: not found'
try "$cpa" run nowhere-in-path
ok 'missing program' refused 127 'nowhere-in-path: not found in PATH'
mkdir folder
try "$cpa" run ./folder
ok 'folder' refused 126 'a directory'
echo hello >text
try "$cpa" run ./text
ok 'not executable' refused 126 'not executable'
chmod +x text
try "$cpa" run ./text
ok 'neither ELF nor script' refused 126 'neither an ELF program nor a script'
: >empty
chmod +x empty
try "$cpa" run ./empty
ok 'empty file' refused 126 'neither an ELF program nor a script'
head -c 100 prog >short
chmod +x short
try "$cpa" run ./short
ok 'truncated ELF' refused 126 "./short: "
$cc -c -o object prog.c
chmod +x object
try "$cpa" run ./object
ok 'object file' refused 126 'not a program'
for kind in -static -static-pie; do
	if $cc $kind -o static prog.c 2>/dev/null; then
		try "$cpa" run ./static
		ok "$kind" refused 126 'statically linked'
	else
		skip "$kind" 'no static libc'
	fi
done
# Byte 4 is the class, bytes 18 and 19 the machine.
cp prog narrow
printf '\001' | dd of=narrow bs=1 seek=4 conv=notrunc status=none
try "$cpa" run ./narrow
ok '32-bit program' refused 126 '32-bit'
cp prog foreign
printf '\267' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
try "$cpa" run ./foreign
ok 'other machine' refused 126 'another machine (ELF machine 183)'

setuid=
if [ "$(id -u)" = 0 ]; then
	cp prog setuid
	chown 65534 setuid && chmod u+s setuid && setuid=./setuid
else
	for each in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do
		[ -u $each ] && [ -r $each ] && setuid=$each
	done
fi
if [ -z "$setuid" ] || grep -qw nosuid <(findmnt -no OPTIONS -T "$setuid" 2>/dev/null) ||
	grep -q '^NoNewPrivs:.1' /proc/self/status; then
	skip 'set-uid' 'no set-uid program takes effect here'
else
	try "$cpa" run "$setuid"
	ok 'set-uid' refused 126 'set-uid, so the loader ignores LD_PRELOAD'
fi
cp prog own
chmod u+s own
try "$cpa" run -q ./own
ok 'set-uid to oneself changes nothing: runs' status_is 0

# Scripts: the interpreter is profiled.

printf '#! /bin/sh\nexit 5\n' >script
chmod +x script
try "$cpa" run ./script
ok 'a script runs' status_is 5
printf '#!%s/prog exit\n' "$PWD" >own-script
chmod +x own-script
try "$cpa" run ./own-script
ok 'its profile is named after the interpreter' says '/prog\.[0-9]*\.[0-9-]*\.dump; next'
printf '#!%s/nowhere\n' "$PWD" >lost
chmod +x lost
try "$cpa" run ./lost
ok 'missing interpreter' refused 126 'its interpreter .*/nowhere cannot be executed'
printf '#!%s/loop\n' "$PWD" >loop
chmod +x loop
try "$cpa" run ./loop
ok 'a script that runs itself' refused 126 'more than 5 scripts'
if [ -x static ]; then
	printf '#!%s/static\n' "$PWD" >static-script
	chmod +x static-script
	try "$cpa" run ./static-script
	ok 'static interpreter' refused 126 'statically linked'
else
	skip 'static interpreter' 'no static libc'
fi

# The output file.

try "$cpa" run -o mine ./prog
ok '-o FILE is written' test -s mine
ok 'and named' says 'next: .*cpa-report mine$'
try "$cpa" run -o mine ./prog
ok '-o FILE that exists is refused' refused 2 'mine: exists already'
: >mine
try "$cpa" run -f -o mine ./prog
ok '-f replaces it' test -s mine
try "$cpa" run -f -o folder ./prog
ok 'but not a folder' refused 2 '--output folder: is a folder (name a file in it'
ln -s nowhere loose
try "$cpa" run -f -o loose ./prog
ok 'nor a link' refused 2 '--output loose: cannot be replaced: not a regular file'
ln -s nowhere dangling
try "$cpa" run -o dangling ./prog
ok 'a dangling link exists too' refused 2 'dangling: exists already'
try env CPA_LIB=/usr/lib/x86_64-linux-gnu/libm.so.6 "$cpa" run -o none ./prog exit 3
ok 'no profile: said so' says 'no profile in none'
ok 'and the exit status is still the program'"'"'s' status_is 3

# A file that cannot be made is refused before the program starts: it would print its argument.

for output in folder/none/x /nowhere/%e.%p.dump text/x '%p/x'; do
	try "$cpa" run -o "$output" ./prog started
	ok "-o $output" refused 2 "--output .*: cannot be written: .*directory (create the folder"
done
try env CPA_OUTPUT=folder/none/x "$cpa" run ./prog started
ok 'CPA_OUTPUT that cannot be written' refused 2 'CPA_OUTPUT folder/none/x: cannot be written'
try "$cpa" run -o folder/ ./prog started
ok '-o folder/' refused 2 '--output folder/: is a folder'
try "$cpa" run -o "$(printf '%0300d' 0)" ./prog started
ok '-o with a long name' refused 2 'cannot be written: File name too long (name a shorter one'
try "$cpa" run -o "$(printf '%05000d' 0)" ./prog started
ok '-o with a longer one' refused 2 'name too long'
try env CPA_LIB=/usr/lib/x86_64-linux-gnu/libm.so.6 "$cpa" run -o 'folder/%e.%h.%p%' ./prog
ok '-o with a pattern leaves nothing of its trial' test "$(ls folder)" = ''
unwritable=
if [ "$(id -u)" = 0 ]; then
	unwritable='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
mkdir closed
chmod 555 closed
chmod 755 .
if $unwritable test -x "$cpa" 2>/dev/null && $unwritable test -x ./prog; then
	try $unwritable "$cpa" run -o closed/x ./prog started
	ok 'a folder that is not writable' refused 2 '--output closed/x: cannot be written: Permission denied'
	try $unwritable env -C closed "$cpa" run ../prog started
	ok 'nor is this one' refused 2 'profile folder .cpa: cannot be made: Permission denied'
else
	skip 'a folder that is not writable' 'another user cannot run the launcher'
	skip 'nor is this one' 'another user cannot run the launcher'
fi
if unshare -rm mount -t tmpfs -o ro none closed 2>/dev/null; then
	try unshare -rm sh -c "mount -t tmpfs -o ro none closed && exec '$cpa' run -o closed/x ./prog started"
	ok 'a read-only file system' refused 2 '--output closed/x: cannot be written: Read-only file system'
else
	skip 'a read-only file system' 'none can be mounted'
fi
try "$cpa" run -o '' ./prog
ok '-o with nothing' refused 2 'empty'

# The environment.

cp dummy.so other.so
try env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$PWD/other.so" "$cpa" run -o preloads ./prog
ok 'LD_PRELOAD is kept, ours first' grep -qx "$PWD/dummy.so:$PWD/other.so" preloads
try env PATH="$PWD" "$cpa" run -q prog exit 4
ok 'PATH is searched' status_is 4
try env PATH="/nowhere::/bin" "$cpa" run -q prog exit 4
ok 'an empty part of PATH is this folder' status_is 4
try env CPA_LIB=./nowhere.so "$cpa" run ./prog
ok 'CPA_LIB that is not there' refused 2 'CPA_LIB=./nowhere.so: No such file'
mkdir 'a b'
cp dummy.so 'a b/'
try env CPA_LIB='a b/dummy.so' "$cpa" run ./prog
ok 'a library that LD_PRELOAD cannot name' refused 2 'blank or colon'

# Usage.

try "$cpa" --help
ok '--help' grep -q '^usage: cpa run' out
cp out help
for word in help -h 'run --help'; do
	# shellcheck disable=SC2086 # words
	try "$cpa" $word
	ok "$word says the same" cmp -s out help
done
try "$cpa" --version
ok '--version' grep -qE '^cpa [0-9]+\.[0-9]+\.[0-9]+$' out
try "$cpa"
ok 'no command' status_is 2
try "$cpa" run
ok 'no program' refused 2 'no program named'
try "$cpa" run --repeat 0 -o none ./prog
ok 'no run' refused 2 '--repeat 0: not a number from 1 to'
try "$cpa" run --nonsense ./prog
ok 'unknown option' status_is 2
try "$cpa" run --journal 200M ./prog started
ok 'a size after a blank' refused 2 "--journal 200M: write the size after '=' (--journal=200M"
cp prog 200M
try env PATH="$PWD:$PATH" "$cpa" run -q --journal -- 200M started
ok 'a program named as a size' grep -qx '.started.' out
for size in 12Q 1K 99999999G '' 200MB; do
	try "$cpa" run --journal="$size" ./prog started
	ok "--journal=$size" refused 2 "--journal=$size: not a size from 64K to 64G"
done
try "$cpa" run -q --output=spaced --delay=1ms --duration=1h --journal=64K ./prog started
ok "values behind '='" grep -qx '.started.' out
try "$cpa" run -q --output spaced2 --delay 1ms --duration 1h ./prog started
ok 'values behind a blank' grep -qx '.started.' out
try "$cpa" nonsense
ok 'unknown command' refused 2 'nonsense: no such command'
try "$cpa" ctl 1
ok "cpa ctl" status_is 2

# cpa report, and an installed tree: bin/ beside lib/cpa/.
mkdir -p tree/bin tree/lib/cpa
cp "$cpa" tree/bin/
cp dummy.so tree/lib/cpa/libcpa.so
printf '#!/bin/sh\necho "report of $*"\n' >tree/bin/cpa-report
chmod +x tree/bin/cpa-report
try tree/bin/cpa report --top 3 x.dump
ok 'cpa report is cpa-report' grep -qx 'report of --top 3 x.dump' out
printf '#!/bin/sh\necho "top of $*"\n' >tree/bin/cpa-top
chmod +x tree/bin/cpa-top
try tree/bin/cpa top 4711
ok 'cpa top is cpa-top' grep -qx 'top of 4711' out
try env -u CPA_LIB tree/bin/cpa run -o installed ./prog
ok 'the library is found in ../lib/cpa' grep -q '/tree/lib/cpa/libcpa.so$' installed
ok 'the command named is the one beside cpa' says 'next: tree/bin/cpa-report installed$'
rm tree/lib/cpa/libcpa.so
try env -u CPA_LIB tree/bin/cpa run ./prog
ok 'no library' refused 2 'libcpa.so: not found beside cpa'

# The library itself.
unset CPA_LIB
if [ -e "$CPA_BUILD/libcpa.so" ]; then
	try "$cpa" run ./prog exit 6
	ok 'libcpa.so: exit status' status_is 6
	ok 'libcpa.so: the default name is the one it uses' \
		test -s "$(sed -n 's/.*cpa-report //p' err)"
	ok 'libcpa.so: the verdict is told first' \
		grep -q '^cpa: .* this \(program\|run\)' <(head -1 err)
	try "$cpa" run --duration 50ms sleep 2
	ok 'libcpa.so: the verdict is told first, then why it may be off' \
		verdict_and_doubt "$(sed -n 's/.*cpa-report //p' err)"
	try "$cpa" run -q ./prog
	ok 'libcpa.so: nothing with -q' test ! -s err
	# The latter of these two is the newest of all.
	touch -d '8 days ago' .cpa/*.dump "$profile"
	try "$cpa" run ./prog
	newest=$(sed -n 's/.*cpa-report //p' err)
	"$CPA_BUILD/cpa-report" --level verdict "$newest" >wanted
	try "$CPA_BUILD/cpa-report" --level verdict
	ok 'cpa-report finds the newest in .cpa' cmp -s out wanted
	pid=${newest#.cpa/prog.}
	try "$CPA_BUILD/cpa-report" --level verdict "${pid%%.*}"
	ok 'and by the number of a process that has ended' cmp -s out wanted
	try "$cpa" diff "${pid%%.*}" "$newest"
	ok 'cpa diff takes such a number, too' test "$status" = 0 -a ! -s err
	try "$cpa" ls
	ok 'cpa ls: the newest first' grep -q "K  $newest$" <(head -1 out)
	try "$cpa" rm --older 7d
	ok 'cpa rm: the older ones' test "$(echo .cpa/*.dump)" = "$newest"
	try "$cpa" rm ../prog.c "$newest" .cpa/none.dump
	ok 'cpa rm: by name, and in .cpa only' test "$status" = 1 -a ! -e "$newest" -a -e prog.c
	try "$cpa" ls
	ok 'cpa ls: none left' grep -q '^no profile' out
	try "$cpa" rm --older soon
	ok 'cpa rm: no time' refused 2 'not a time'
	try "$cpa" rm
	ok 'cpa rm: nothing named' refused 2 'no profile named'
	try "$cpa" run -o '%e-%p.real' ./prog
	ok 'libcpa.so: -o with a pattern' test -s "$(sed -n 's/.*cpa-report //p' err)"
	before=stamped.$(date -u +%Y%m%dT%H%M%SZ)
	try "$cpa" run -o 'stamped.%t.1.dump' ./prog
	env CPA_OUTPUT='stamped.%t.2.dump' LD_PRELOAD="$CPA_BUILD/libcpa.so" ./prog >out
	after=stamped.$(date -u +%Y%m%dT%H%M%SZ).3
	ok 'libcpa.so: %t is the time, with the launcher and without' test -s "$(echo stamped.*.1.dump)" -a \
		-s "$(echo stamped.*.2.dump)" -a \
		"$(printf '%s\n' "$before" stamped.*.dump "$after" | LC_ALL=C sort -c 2>&1)" = ''
	try "$cpa" run ./script
	ok 'libcpa.so: a script'"'"'s profile' test -s "$(sed -n 's/.*cpa-report //p' err)"
else
	skip 'libcpa.so' 'it is not built'
fi

echo "1..$number"
exit $failed
