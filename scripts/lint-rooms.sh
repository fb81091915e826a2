#!/usr/bin/env bash
# scripts/lint-rooms.sh - includes run one way between rooms, and no file outgrows its idea
#
# A room is a folder of preload/, shadow/ or analysis/. A file includes from its own room and from
# those that stand above it here: shadow knows neither of the others, preload and analysis know
# shadow. Files include each other in no circle. A file has at most 600 lines.
set -euo pipefail
cd "$(dirname "$0")/.."

most_lines=600
rooms=(
	shadow/arch shadow/format shadow/store shadow/path shadow/journal shadow/graph shadow/edge
	preload/libc preload/clock preload/unwind preload/code preload/core preload/stream preload/process preload/lib
	preload/sync preload/omp
	analysis/util analysis/input analysis/symbols analysis/profile analysis/derived analysis/metrics
	analysis/verdict analysis/exact analysis/predict analysis/render analysis/export analysis/page
	analysis/report analysis/compare analysis/top analysis/ctl analysis/launch
)

failed=0
for file in preload/*/*.[ch] shadow/*/*.[ch] analysis/*/*.[ch]; do
	lines=$(wc -l <"$file")
	[ "$lines" -le "$most_lines" ] || { echo "$file: $lines lines, $most_lines at most"; failed=1; }
done

# Each include of one of our files: "INCLUDER INCLUDED".
includes=$(grep -o '^#include "[^"]*"' {preload,shadow,analysis}/*/*.[ch] |
	sed 's/:#include "/ /; s/"$//')

awk -v rooms="${rooms[*]}" '
function room(file) { sub(/\/[^\/]*$/, "", file); return file }
function world(file) { sub(/\/.*/, "", file); return file }
BEGIN { n = split(rooms, names, " "); for (i = 1; i <= n; i++) order[names[i]] = i }
{
	from = room($1); to = room($2)
	if ($2 == "preload/cpa.h" || from == to) next
	if (!(from in order) || !(to in order)) {
		print $1 ": includes " $2 ": a room that scripts/lint-rooms.sh does not list"; bad = 1
	} else if (world(from) != world(to) && world(to) != "shadow") {
		print $1 ": includes " $2 ", of another world"; bad = 1
	} else if (order[to] > order[from]) {
		print $1 ": includes " $2 ", of a room that comes later"; bad = 1
	}
}
END { exit bad }' <<<"$includes" || failed=1

# tsort names the files of a circle, if there is one; the header of a .c file is none.
if circles=$(awk '$1 ~ /\.h$/' <<<"$includes" | tsort 2>&1 >/dev/null); [ -n "$circles" ]; then
	echo "headers that include each other:"
	echo "$circles"
	failed=1
fi
exit "$failed"
