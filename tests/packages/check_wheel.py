#!/usr/bin/env python3
"""Does a wheel hold what its name promises?

    check_wheel.py FILE.whl --glibc 2.17 --megabytes 25

Every program and library inside needs no symbol of a newer glibc, no library that is neither in the wheel nor on every
Linux system, and no path of the machine it was built on; unpacked it is smaller than the limit; man page, completions,
stand-in package and examples are in.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What any system has, whatever the distribution.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+$|ld-linux.*\.so\.\d+$")
WANTED = ("scripts/drydock", "data/lib/drydock/libdrydock_trace.so", "data/share/drydock/python/mindspore/__init__.py",
          "data/share/man/man1/msrun.1", "data/share/bash-completion/completions/drydock",
          "data/share/zsh/site-functions/_drydock", "data/share/fish/vendor_completions.d/drydock.fish",
          "data/share/drydock/examples/quickstart/net.py", "data/share/drydock/planning/net.py")


def number(version):
    return tuple(int(part) for part in version.split("."))


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def faults_of(folder, glibc, limit_bytes):
    """One line for each promise that the unpacked wheel `folder` breaks."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    if size > limit_bytes:
        yield "unpacked size: %d bytes, the limit is %d" % (size, limit_bytes)
    for name in WANTED:
        if not any(str(path).endswith(".data/" + name) for path in files):
            yield name + ": missing"
    binaries = [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
    brought = {path.name for path in binaries}
    for path in binaries:
        dynamic = output_of("readelf", "-dVW", str(path))
        newest = max(re.findall(r"Name: GLIBC_([0-9.]+)", dynamic), key=number, default="0")
        if number(newest) > number(glibc):
            yield "%s: needs glibc %s" % (path.name, newest)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        # Where threads and dynamic loading are libraries of their own, one has to ask for them.
        for library in ("libpthread.so.0", "libdl.so.2"):
            if path.name == "drydock" and number(glibc) < (2, 34) and library not in needed:
                yield "%s: does not ask for %s" % (path.name, library)
        for library in needed:
            if library not in brought and not EVERYWHERE.match(library):
                yield "%s: needs %s, which is not in the wheel" % (path.name, library)
        for text in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
            if not text.startswith("$ORIGIN"):
                yield "%s: looks for libraries in %s" % (path.name, text)
        if path.name == "drydock" and ".symtab" in output_of("readelf", "-SW", str(path)):
            yield "drydock: not stripped"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--glibc", default="2.17")
    parser.add_argument("--megabytes", type=float, default=25)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(arguments.wheel) as wheel:
        wheel.extractall(folder)
        faults = list(faults_of(Path(folder), arguments.glibc, int(arguments.megabytes * 1e6)))
    for fault in faults:
        print("%s: %s" % (arguments.wheel.name, fault), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
