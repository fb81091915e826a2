#!/usr/bin/env bash
# scripts/private-jemalloc.sh OUT.a - a copy of jemalloc that meets nobody in the target
#
# Takes the position-independent archive that libjemalloc-dev ships and renames:
#   its public functions (malloc, mallocx, ...)  to cpa_je_*: the target's malloc is untouched,
#                                                and our own free(strdup()) stays libc's
#   the mutex functions it calls                 to cpa_je_*: it has no locks
#   pthread_atfork, pthread_key_create and       to cpa_je_*: no code of it runs but when we call it
#   pthread_setspecific
#   dlsym                                        to cpa_je_*: it must not wait for the loader
#   secure_getenv                                to cpa_je_*: the target's MALLOC_CONF is not ours
#   mmap, munmap, madvise                        to cpa_je_*: one mmap of it must not fail, and a
#                                                program may come to forbid them all
# Whoever links the result provides all but the first: preload/libc/jemalloc_hooks.c. The C++ operators
# are dropped.
set -euo pipefail

[ $# = 1 ] || { echo "usage: private-jemalloc.sh OUT.a" >&2; exit 2; }
out=$1

public=(malloc calloc realloc free memalign valloc posix_memalign aligned_alloc
	malloc_usable_size malloc_conf malloc_conf_2_conf_harder malloc_message
	malloc_stats_print mallctl mallctlbymib mallctlnametomib mallocx rallocx xallocx
	sallocx sdallocx dallocx nallocx)
hooks=(pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_atfork
	pthread_key_create pthread_setspecific dlsym secure_getenv mmap munmap madvise)

archive=$(${CC:-cc} -print-file-name=libjemalloc_pic.a)
if [ ! -r "$archive" ]; then
	echo "private-jemalloc.sh: $archive: not found (install libjemalloc-dev)" >&2
	exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$archive" "$work/jemalloc.a"
chmod u+w "$work/jemalloc.a"
if ar t "$work/jemalloc.a" | grep -qx jemalloc_cpp.pic.o; then
	ar d "$work/jemalloc.a" jemalloc_cpp.pic.o
fi
for name in "${public[@]}" "${hooks[@]}"; do
	echo "$name cpa_je_$name"
done >"$work/names"
objcopy --redefine-syms="$work/names" "$work/jemalloc.a"

# A public name that a newer jemalloc adds would replace the target's: refuse it.
left=$(nm --defined-only --extern-only "$work/jemalloc.a" |
	awk 'NF == 3 && $3 !~ /^(cpa_je_|je_|jemalloc_)/ { print $3 }' | sort -u)
if [ -n "$left" ]; then
	echo "private-jemalloc.sh: $archive: not renamed: ${left//$'\n'/ } (add them to the list)" >&2
	exit 1
fi
mv "$work/jemalloc.a" "$out"
