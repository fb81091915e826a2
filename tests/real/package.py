#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the packages of debian/ twice, compare them, let lintian look, and try what they hold.

Nothing is installed: the packages are unpacked into a folder. `make check-package` runs this; it
takes two whole builds, unless two folders with packages are named.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from results import Results  # noqa: E402, pylint: disable=wrong-import-position

results = Results()


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          **options)
    return done.returncode, done.stdout, done.stderr


def build(folder):
    """Build in a copy of the sources in @folder."""
    source = folder / "cpa"
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True,
                               check=True).stdout.decode().split("\0")[:-1]:
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    status, out, err = run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source)
    results.check(status == 0, f"dpkg-buildpackage in {folder.name}")
    if status:
        print((out + err)[-3000:])
        sys.exit(results.end())


def check_same(first, second):
    for name in sorted(first):
        sums = [hashlib.sha256(p[name].read_bytes()).hexdigest() for p in (first, second)]
        results.check(sums[0] == sums[1], f"{name}: both builds are the same bytes")


def check_lintian(folder):
    if not shutil.which("lintian"):
        results.skip("lintian", "it is not installed")
        return
    changes = next(folder.glob("*.changes"))
    status, out, err = run(["lintian", "--allow-root", "--fail-on", "error,warning", changes])
    results.check(status == 0 and not out.strip(), f"lintian has nothing to say {out}{err}".strip())


def check_contents(tree):
    wanted = ["usr/bin/cpa", "usr/bin/cpa-report", "usr/bin/cpa-diff", "usr/bin/cpa-top",
              "usr/bin/cpa-ctl", "usr/lib/cpa/libcpa.so", "usr/include/cpa.h",
              "usr/share/pkgconfig/cpa.pc", "usr/share/cmake/cpa/cpa-config.cmake",
              "usr/share/bash-completion/completions/cpa",
              "usr/share/zsh/vendor-completions/_cpa",
              "usr/share/fish/vendor_completions.d/cpa.fish", "usr/share/doc/cpa/copyright",
              "usr/share/doc/cpa/schema.json",
              *(f"usr/share/man/man{p.suffix[1:]}/{p.name}.gz" for p in (ROOT / "man").glob("*.?"))]
    missing = [w for w in wanted if not (tree / w).exists()]
    results.check(not missing, f"files are where they belong {missing or ''}".rstrip())
    text = (tree / "usr/share/doc/cpa/copyright").read_text(encoding="utf-8")
    results.check("jemalloc" in text and "BSD-2-Clause" in text, "copyright names jemalloc")
    _, fields, _ = run(["dpkg-deb", "-f", packages["cpa"], "Built-Using"])
    results.check(fields.startswith("jemalloc (= "), f"Built-Using: {fields.strip()}")


def check_use(tree):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    environment.update(PATH=f"{tree}/usr/bin:{os.environ['PATH']}", CPA_CACHE=str(tree / "cache"))
    dump = tree / "x.dump"
    status, out, err = run(["cpa", "run", "-o", dump, "--", "sort", "--parallel=2", "/etc/services"],
                           env=environment)
    results.check(status == 0 and out and dump.exists(), f"cpa run profiles sort {'' if not status else err[:200]}")
    status, out, err = run(["cpa", "report", dump], env=environment)
    results.check(status == 0 and "critical path" in out, f"cpa report shows it {'' if not status else err[:200]}")
    status, out, _ = run(["cpa", "diff", dump, dump], env=environment)
    results.check(status == 0 and "critical path" in out, "cpa diff compares it")
    program = tree / "annotated.c"
    program.write_text('#include "cpa.h"\nint main(void) { CPA_MARK("here"); return 0; }\n',
                       encoding="utf-8")
    environment["PKG_CONFIG_PATH"] = str(tree / "usr/share/pkgconfig")
    _, flags, _ = run(["pkg-config", "--define-variable", f"prefix={tree}/usr", "--cflags", "cpa"],
                      env=environment)
    status, _, err = run(["gcc", *flags.split(), "-o", tree / "annotated", program])
    results.check(status == 0, f"pkg-config finds the header {err}".rstrip())
    if shutil.which("cmake"):
        (tree / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.5)\nproject(x C)\nfind_package(cpa 0.1 REQUIRED)\n"
            "add_executable(y annotated.c)\ntarget_link_libraries(y cpa::cpa)\n", encoding="utf-8")
        status, out, err = run(["cmake", f"-DCMAKE_PREFIX_PATH={tree}/usr", "-S", tree, "-B",
                                tree / "c"])
        made, _, more = run(["cmake", "--build", tree / "c"])
        results.check(status == 0 and made == 0, f"find_package(cpa) finds it {err}{more}".rstrip())
    else:
        results.skip("find_package(cpa)", "cmake is not installed")


def check_completion(tree):
    """Each shell offers the commands that begin with "r", and a format."""
    share = tree / "usr/share"
    cases = {
        "bash": f"source {share}/bash-completion/completions/cpa; COMP_WORDS=(cpa r); COMP_CWORD=1; "
                "_cpa; echo ${COMPREPLY[@]}",
        "fish": f"source {share}/fish/vendor_completions.d/cpa.fish; complete -C 'cpa r'",
        "zsh": f"fpath=({share}/zsh/vendor-completions $fpath); autoload -U compinit; "
               f"compinit -u -D; print ${{_comps[cpa]}}; whence -v _cpa",
    }
    for shell, script in cases.items():
        if not shutil.which(shell):
            results.skip(f"completion of {shell}", f"{shell} is not installed")
            continue
        _, out, err = run([shell, "-c", script], env=dict(os.environ, HOME=str(tree)))
        good = "_cpa" in out if shell == "zsh" else "run" in out and "report" in out
        results.check(good, f"completion of {shell} {'' if good else out + err}".rstrip())


def check_make_install(folder):
    """make install and uninstall leave nothing behind but folders."""
    source, to = ROOT, folder / "installed"
    arguments = [f"DESTDIR={to}", "PREFIX=/opt/x", f"O={os.environ.get('CPA_BUILD') or 'build'}"]
    status, _, err = run(["make", *arguments, "install"], cwd=source)
    files = [p for p in to.rglob("*") if p.is_file()]
    results.check(status == 0 and len(files) > 20, f"make install: {len(files)} files {err[-300:]}")
    status, _, err = run(["make", *arguments, "uninstall"], cwd=source)
    left = [str(p.relative_to(to)) for p in to.rglob("*") if p.is_file()]
    results.check(status == 0 and not left, f"make uninstall removes them {left[:5] or ''}".rstrip())


def found(folder):
    return {p.name.split("_")[0]: p for p in folder.glob("*.deb")}


def main():
    global packages  # pylint: disable=global-statement
    temporary = pathlib.Path(tempfile.mkdtemp())
    folders = [pathlib.Path(a) for a in sys.argv[1:]]
    if not folders:
        if not shutil.which("dpkg-buildpackage") or not shutil.which("dh"):
            results.skip("packages", "dpkg-dev and debhelper are not installed")
            return results.end(temporary)
        folders = [temporary / "one", temporary / "another"]
        for folder in folders:
            build(folder)
    packages = found(folders[0])
    check_same(packages, found(folders[1]))
    check_lintian(folders[0])
    unpacked = temporary / "tree"
    for package in ("cpa", "libcpa-dev"):
        subprocess.run(["dpkg-deb", "-x", packages[package], unpacked], check=True)
    check_contents(unpacked)
    check_use(unpacked)
    check_completion(unpacked)
    check_make_install(temporary)
    return results.end(temporary)


packages = {}
sys.exit(main())
