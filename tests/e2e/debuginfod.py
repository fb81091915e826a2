#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/debuginfod.py - names from a server of debug files: asked if DEBUGINFOD_URLS says so, else not

The server is one of the test's own, on the loopback interface. The program has been stripped.
"""
import ctypes
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")
TMP = pathlib.Path(os.environ.get("CPA_TMP") or "/tmp/debuginfod")
SOURCE = """
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void name_from_afar(void)
{
	while (clock() < CLOCKS_PER_SEC * 3 / 10)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
}
int main(void)
{
	name_from_afar();
	return 0;
}
"""

results = Results()
asked = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        found = self.path == f"/buildid/{build_id}/debuginfo"
        body = (TMP / "kept apart").read_bytes() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


def report(cache, **variables):
    """Names of functions; and what came on stderr."""
    environment = {k: v for k, v in os.environ.items() if k.lower() != "http_proxy"}
    environment.pop("DEBUGINFOD_URLS", None)
    environment.update(CPA_CACHE=str(cache), DEBUGINFOD_CACHE_PATH=str(TMP / "client"), **variables)
    done = subprocess.run([BUILD / "cpa-report", "--format", "json", TMP / "far.dump"],
                          env=environment, check=True, capture_output=True, text=True)
    components = json.loads(done.stdout)["components"]
    return {c["name"] for c in components if c["kind"] == "function"}, done.stderr


try:
    ctypes.CDLL("libdebuginfod.so.1")
except OSError:
    results.skip("names from a server", "libdebuginfod is not installed")
    sys.exit(results.end())
TMP.mkdir(exist_ok=True)
(TMP / "far.c").write_text(SOURCE, encoding="ascii")
subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", "-o", TMP / "far", TMP / "far.c"], check=True)
subprocess.run(["objcopy", "--only-keep-debug", TMP / "far", TMP / "kept apart"], check=True)
subprocess.run(["strip", TMP / "far"], check=True)
notes = subprocess.run(["readelf", "-n", TMP / "far"], check=True, capture_output=True, text=True)
build_id = re.search("Build ID: ([0-9a-f]+)", notes.stdout)[1]
subprocess.run([BUILD / "cpa", "run", "-q", "-o", TMP / "far.dump", "--", TMP / "far"], check=True,
               capture_output=True)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"

names, _ = report(TMP / "names")
results.check("name_from_afar" not in names, "without a server the function has no name")
report(TMP / "names", DEBUGINFOD_URLS="")
results.check(not asked, "nobody was asked")
names, errors = report(TMP / "names", DEBUGINFOD_URLS=url)
results.check("name_from_afar" in names, "with one it has, though an earlier report found none")
results.check(f"/buildid/{build_id}/debuginfo" in asked, "the server was asked by build-id")
results.check(not errors, f"nothing is shown where no terminal is: {errors}")
server.shutdown()
names, _ = report(TMP / "names")
results.check("name_from_afar" in names, "the name is kept")
sys.exit(results.end())
