# SPDX-License-Identifier: MIT
"""tests/e2e/browser.py - a page in Debian's Chromium, driven by its chromedriver and the standard library"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request

BINARIES = ("chromium", "chromedriver")
TIMEOUT_S = 120  # not a limit on speed: what takes this long hangs


def missing():
    """The programs that are not installed."""
    return [each for each in BINARIES if not shutil.which(each)]


class NoBrowser(Exception):
    """The browser did not start: the machine's affair, not that of a page."""


class Browser:
    """A browser of its own, with a profile folder of its own."""

    def __init__(self, size=(1280, 900), dark=False):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for line in self.driver.stdout:  # "... started successfully on port N."
            if "on port" in line and "successfully" in line:
                self.url = "http://127.0.0.1:" + line.rsplit("port", 1)[1].strip(" .\n")
                break
        arguments = [
            "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
            "--no-first-run", f"--user-data-dir={self.folder.name}", f"--window-size={size[0]},{size[1]}",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        if dark:
            arguments.append("--force-dark-mode")
        wanted = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 1000 * TIMEOUT_S, "pageLoad": 1000 * TIMEOUT_S},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments},
        }
        try:
            session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except (OSError, AttributeError) as error:  # no url: chromedriver ended
            self.driver.kill()
            self.driver.wait()
            raise NoBrowser(f"chromium did not start: {error}") from error
        self.url += "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        content = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            self.url + path, method=method, data=content, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.load(answer)["value"]

    def open(self, file, fragment=""):
        """Open @file and wait until the page says that it is ready."""
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": f"file://{os.path.abspath(file)}{fragment}"})
        return self.js("return document.documentElement.dataset.ready") == "1"

    def js(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, css):
        found = self.call("POST", "/element", {"using": "css selector", "value": css})
        return list(found.values())[0]

    def click(self, css):
        self.call("POST", f"/element/{self.find(css)}/click")

    def keys(self, css, text):
        self.call("POST", f"/element/{self.find(css)}/value", {"text": text})

    def shot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))

    def console(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.folder.cleanup()
