#!/usr/bin/env bash
# Programs that nobody here wrote run as without cpa, and their reports add up.
exec python3 "$(dirname "$0")/../../benchmarks/programs.py" --build "$CPA_BUILD" \
	pigz pbzip2 zstd xz sort python3 memcached
