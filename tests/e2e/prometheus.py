# SPDX-License-Identifier: MIT
"""tests/e2e/prometheus.py - a strict reader of the text format of Prometheus, version 0.0.4"""

import re

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)+)\} (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"')


def metrics(text):
    """{metric: {labels: value}} of the text format of Prometheus; ValueError if it is not that."""
    families, family, kind = {}, None, None
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    lines = text[:-1].split("\n")
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            if family in families or not lines[number + 1].startswith(f"# TYPE {family} "):
                raise ValueError(f"{line}: twice, or without a type")
            families[family] = {}
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name != family or families[family] or kind not in ("counter", "gauge"):
                raise ValueError(line)
            if (kind == "counter") != name.endswith("_total"):
                raise ValueError(f"{name} is a {kind}")
        else:
            found = SAMPLE.fullmatch(line)
            if not found or found[1] != family:
                raise ValueError(line)
            pairs = LABEL.findall(found[2])
            if ",".join(f'{label}="{value}"' for label, value in pairs) != found[2]:
                raise ValueError(f"labels: {line}")
            plain = {label: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value)
                     for label, value in pairs}
            labels = tuple(sorted(plain.items()))
            if len(plain) != len(pairs) or labels in families[family]:
                raise ValueError(f"twice: {line}")
            families[family][labels] = float(found[3])
    return families
