#!/usr/bin/env bash
# scripts/lint-docs.sh - documents name files, functions and options that exist
#
# In *.md, docs, tests and benchmarks: relative links and their anchors; in backquotes, paths of the
# repository, names of source files, and names that begin with cpa_ or CPA_. In man: what a manual
# page lists as an option is in --help of its program, and the other way round, if that is built.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

build=${O:-build}
documents=(*.md docs/*.md tests/*.md benchmarks/README.md)
rooms='preload|shadow|analysis|scripts|tests|benchmarks|docs|man|examples'
bad=0

complain()
{
	echo "$*"
	bad=1
}

# Names of headings as links have them: lower case, blanks as '-', without other characters.
anchors()
{
	sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | tr ' ' '-' | tr -cd 'a-z0-9_\n-'
}

check_link()
{
	local document=$1 link=$2 file anchor=

	file=${link%%#*}
	[ "$file" = "$link" ] || anchor=${link#*#}
	file=${file:+$(dirname "$document")/$file}
	file=${file:-$document}
	if [ ! -e "$file" ]; then
		complain "$document: link to $link: no such file"
	elif [ -n "$anchor" ] && ! anchors "$file" | grep -qxF -- "$anchor"; then
		complain "$document: link to $link: no such heading"
	fi
}

files=$(git ls-files 2>/dev/null || find . -type f | sed 's|^\./||')
names=$(grep -rhoE '\b(cpa|CPA)_[A-Za-z0-9_]+' --include='*.[ch]' --include='*.map' \
	preload shadow analysis scripts examples tests | sort -u)

check_quoted()
{
	local document=$1 text=$2

	if [[ $text =~ ^($rooms)/[A-Za-z0-9_./-]*$ ]]; then
		[ -e "$text" ] || complain "$document: \`$text\`: no such file"
	elif [[ $text =~ ^[A-Za-z0-9_-]+\.(c|h|py|sh|md)$ ]]; then
		grep -qE "(^|/)${text//./\\.}\$" <<<"$files" ||
			complain "$document: \`$text\`: no file has this name"
	elif [[ $text =~ ^((cpa|CPA)_[A-Za-z0-9_]+)(\(.*\))?$ ]]; then
		grep -qxF -- "${BASH_REMATCH[1]}" <<<"$names" ||
			complain "$document: \`$text\`: no such name in the sources"
	fi
}

# The document without its code blocks.
prose()
{
	awk '/^```/ { code = !code; next } !code && !/^    / { print }' "$1"
}

for document in "${documents[@]}"; do
	[ -e "$document" ] || continue
	while read -r link; do
		case $link in *://* | mailto:*) ;; *) check_link "$document" "$link" ;; esac
	done < <(prose "$document" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//')
	while read -r text; do
		check_quoted "$document" "$text"
	done < <(prose "$document" | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
done

# "--top" for each option that is the subject of a paragraph of the page.
listed()
{
	awk 'tag { gsub(/\\-/, "-"); print } { tag = /^\.TP/ }' "$@" | options
}

options()
{
	grep -oE -- '--[a-z][a-z-]+' | sort -u
}

# "--top" for each option that the page mentions anywhere.
mentioned()
{
	cat "$@" | sed 's/\\-/-/g' | options
}

# check_pages PROGRAM PAGE...
check_pages()
{
	local program=$1 help option

	shift
	[ -x "$build/$program" ] || return 0
	help=$("$build/$program" --help | options)
	for option in $(comm -13 <(echo "$help") <(listed "$@")); do
		complain "$*: $option is not in $program --help"
	done
	for option in $(comm -23 <(echo "$help") <(mentioned "$@")); do
		complain "$*: $option of $program --help is missing"
	done
}

check_pages cpa man/cpa.1 man/cpa-run.1
for program in cpa-report cpa-diff cpa-top cpa-ctl; do
	check_pages "$program" "man/$program.1"
done

if command -v groff >/dev/null; then
	for page in man/*.[1-9]; do
		warnings=$(groff -man -ww -z "$page" 2>&1)
		[ -z "$warnings" ] || complain "$warnings"
	done
fi

# Completion knows all options.
for program in cpa cpa-report cpa-diff; do
	[ -x "$build/$program" ] || continue
	known=$("$build/$program" --help | options)
	for file in scripts/completion/cpa scripts/completion/_cpa; do
		for option in $known; do
			grep -qF -- "$option" "$file" || complain "$file: $option of $program is missing"
		done
	done
	# fish has options without their dashes.
	for option in $known; do
		[ ${#option} -le 2 ] || grep -q -- "-l ${option#--} " scripts/completion/cpa.fish ||
			complain "scripts/completion/cpa.fish: $option of $program is missing"
	done
done

exit $bad
