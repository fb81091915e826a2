# SPDX-License-Identifier: MIT
"""tests/e2e/page_events.py - decode the events in a page slowly: analysis/page/html_lanes.h has the format"""

import base64
import json

CRITICAL, ACTIVITY, WAIT, WORK, WAITS, RELEASED, SHARES, GAP = (1 << i for i in range(8))
BIN = ("work", "external", "runqueue", "wait", "woken", "other", "critical", "observed")


def element(text, name):
    """What stands in the script element with that id."""
    return text.split(f'id="{name}">', 1)[1].split("</script>", 1)[0]


def data_of(page):
    return json.loads(element(page.read_text(encoding="utf-8"), "data"))


class Reader:
    def __init__(self, content, at):
        self.content, self.at = content, at

    def byte(self):
        self.at += 1
        return self.content[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def events_of(lane, content):
    """The events of @lane, each a dictionary; times in ns."""
    reader, now = Reader(content, lane["events_at"]), lane["begin_ns"]
    for _ in range(lane["events"]):
        flags = reader.byte()
        now += reader.varint() if flags & GAP else 0
        event = {"flags": flags, "node": reader.varint(), "component": reader.varint(), "from": now}
        length = reader.varint()
        event["arrived"] = now + length
        names = ("process", "external", "runqueue")
        values = [length, 0, 0] if flags & WORK else [reader.varint() for _ in names]
        event.update(zip(names, values))
        now += length + (reader.varint() if flags & WAITS else 0)
        event["now"] = now
        event["shares"] = [reader.varint(), reader.varint()] if flags & SHARES else [0, 0]
        event["releaser"], event["latency"] = (
            (reader.varint(), reader.varint()) if flags & RELEASED else (None, 0)
        )
        yield event


def lanes_of(page):
    """The timeline's description, with the events and the bins in its lanes."""
    text = page.read_text(encoding="utf-8")
    content = base64.b64decode(element(text, "events"), validate=True)
    timeline = data_of(page)["timeline"]
    for lane in timeline["lanes"]:
        lane["list"] = list(events_of(lane, content))
        at, count = lane["bins_at"], lane["bins"]
        lane["sums"] = {
            name: sum(content[at + i * len(BIN) + k] for i in range(count)) / 255 * timeline["end_ns"] / count
            for k, name in enumerate(BIN)
        }
    return timeline
