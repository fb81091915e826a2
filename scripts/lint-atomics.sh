#!/usr/bin/env bash
# scripts/lint-atomics.sh FILE... - every ordered atomic says what it orders and with whom
#
# Fails on memory_order_acquire, _release, _acq_rel or _seq_cst (or the __ATOMIC_ spelling) that
# has no comment on its line or within the 4 lines above, and on an atomic_*() call that leaves
# its order implicit.
set -euo pipefail

[ $# -gt 0 ] || exit 0
exec awk '
FNR == 1 { comment = -9; inside = 0 }
{
	code = $0
	# What is left in code is code; comment is the last line that held a comment.
	if (inside) {
		comment = FNR
		if (sub(/^.*\*\//, "", code))
			inside = 0
		else
			code = ""
	}
	if (gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code) || sub(/\/\/.*/, "", code))
		comment = FNR
	if (sub(/\/\*.*/, "", code)) {
		comment = FNR
		inside = 1
	}
	ordered = "(memory_order_|__ATOMIC_)(acquire|release|acq_rel|seq_cst|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)"
	if (code ~ ordered && comment < FNR - 4) {
		printf "%s:%d: ordered atomic without a comment: %s\n", FILENAME, FNR, $0
		bad = 1
	}
	implicit = "(^|[^a-zA-Z0-9_])atomic_(load|store|exchange|compare_exchange_(weak|strong)|fetch_(add|sub|or|xor|and)|flag_test_and_set|flag_clear)[ ]*\\("
	if (code ~ implicit) {
		printf "%s:%d: implicit memory order, use _explicit: %s\n", FILENAME, FNR, $0
		bad = 1
	}
}
END { exit bad }
' "$@"
