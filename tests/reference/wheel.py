#!/usr/bin/env python3
"""MindSpore's public CPU wheels in virtual environments outside the tree.

    wheel.py RELEASE [--seconds 600]       prints the interpreter that has the release, or on stderr why there is none (status 1)

An environment is made once, in DRYDOCK_INTEROP_CACHE (default ~/.cache/drydock). DRYDOCK_MINDSPORE_PYTHON names an
interpreter with the newest release that is there already.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

NEWEST = "2.10.0"
PYTHON = (3, 11)  # all releases in question have wheels for it
SECONDS = 600  # for an installation
DISK_BYTES = 8 << 30  # free where an environment is made: it takes 3 GiB, pip's work as much again


class NotThere(Exception):
    """Why a wheel cannot be had."""


def cache_folder():
    return Path(os.environ.get("DRYDOCK_INTEROP_CACHE") or Path.home() / ".cache/drydock")


def _quietly(*command, seconds=None):
    try:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=seconds, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _base_python():
    test = "import sys, venv; sys.exit(sys.version_info[:2] != %r)" % (PYTHON,)
    for name in ("python3.11", "/usr/bin/python3", "python3"):
        if _quietly(name, "-c", test):
            return name
    raise NotThere("no Python %d.%d with venv; the wheels of MindSpore need it" % PYTHON)


def python_of(release=NEWEST, seconds=SECONDS):
    """@return interpreter with the release, installed first if it can be"""
    given = os.environ.get("DRYDOCK_MINDSPORE_PYTHON")
    if given and release == NEWEST:
        return given
    folder = cache_folder() / ("mindspore-" + release)
    python = folder / "bin/python"
    if not os.access(python, os.X_OK):
        fresh = folder.with_name(folder.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder.parent).free
        if free < DISK_BYTES:
            raise NotThere("MindSpore %s is not installed: %.1f GiB are free in %s, %d are wanted" % (
                release, free / 2**30, folder.parent, DISK_BYTES >> 30))
        made = (_quietly(_base_python(), "-m", "venv", fresh, seconds=seconds) and
                _quietly(fresh / "bin/pip", "install", "-q", "mindspore==" + release, seconds=seconds) and
                _quietly(fresh / "bin/python", "-c", "import mindspore"))
        if not made:
            shutil.rmtree(fresh, ignore_errors=True)
            raise NotThere("MindSpore %s cannot be installed within %d s (no package registry?)" % (release, seconds))
        fresh.rename(folder)
    return str(python)


def package_of(python):
    """Folder of the package `mindspore` of an interpreter."""
    answer = subprocess.run([python, "-c", "import importlib.util as u; print(u.find_spec('mindspore').origin)"],
                            capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip()).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", nargs="?", default=NEWEST)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    arguments = parser.parse_args()
    try:
        print(python_of(arguments.release, arguments.seconds))
    except NotThere as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
