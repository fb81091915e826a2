#!/usr/bin/env bash
# scripts/embed-page.sh FOLDER - make FOLDER/head.html and FOLDER/tail.html of analysis/page/
#
# The page of cpa-report --html is head.html, the profile as JSON, tail.html. Its content security
# policy permits the one script and the one style by their hashes, and nothing else: no network, no
# markup made from text. Needs coreutils.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

folder=$1
page=analysis/page
mkdir -p "$folder"

# views.js calls the others, which only define.
ls "$page"/*.js | grep -v '/views\.js$' | xargs cat >"$folder/page.js"
cat "$page/views.js" >>"$folder/page.js"

# "'sha256-...'" as a policy wants it.
hash_of()
{
	printf "'sha256-%s'" "$(sha256sum "$1" | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)"
}

# The elements hold their files to the byte, which is what the hashes are of.
{
	cat <<-END
		<!DOCTYPE html>
		<html lang="en">
		<head>
		<meta charset="utf-8">
		<meta http-equiv="Content-Security-Policy" content="default-src 'none';
		script-src $(hash_of "$folder/page.js"); style-src $(hash_of "$page/page.css");
		base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<meta name="referrer" content="no-referrer">
		<title>cpa</title>
	END
	printf '<style>'
	cat "$page/page.css"
	printf '</style>\n</head>\n<body>\n'
	cat "$page/body.html"
	printf '<script type="application/json" id="data">'
} >"$folder/head.html"
{
	printf '</script>\n<script>'
	cat "$folder/page.js"
	printf '</script>\n</body>\n</html>\n'
} >"$folder/tail.html"
