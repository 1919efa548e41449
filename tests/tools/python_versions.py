#!/usr/bin/env python3
"""Runs the tests of the stand-in package under every Python and numpy that can be had.

    python3 tests/tools/python_versions.py --library build/dev/lib/drydock/libdrydock_trace.so [--fast] [TEST ...]

--fast takes the interpreters as they are (less than a minute): every file compiles without a warning, every module and
every name can be imported. Otherwise, for each interpreter 3.8 to 3.13 that is installed (on the PATH as python3.N, or by pyenv): without numpy, with numpy 1.x and with
numpy 2.x, each in a virtual environment of its own. One line per combination; combinations that cannot be had
(no such interpreter, no such numpy for it, pip cannot reach an index) are listed as absent. Status 1 if a test failed
or nothing could be run.
"""
import argparse
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(SOURCE, "sim", "tracer", "python")
TESTS = os.path.join(SOURCE, "tests", "sim", "tracer", "python")
MINORS = range(8, 14)
FAST_TESTS = ["import_test", "surface_test"]
# Compiles the files under the folders given, writes nothing.
COMPILE = """
import os, sys, warnings
warnings.simplefilter("error")
for top in sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for path in (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")):
            with open(path, "rb") as file:
                compile(file.read(), path, "exec")
"""
NUMPY = {"none": None, "1": "numpy<2", "2": "numpy>=2"}


def output(command, **settings):
    """(status, text) of a command."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **settings)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def interpreter(minor):
    """Path of Python 3.<minor>, or None."""
    named = shutil.which("python3.%d" % minor)
    for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.%d.*/bin/python" % minor))) + [named]:
        if path and output([path, "-c", "import sys; print(sys.version_info[1])"]) == (0, "%d\n" % minor):
            return path
    return None


def environment(folder, python, requirement):
    """The interpreter of a virtual environment with that numpy, or None if it cannot be made."""
    path = os.path.join(folder, "bin", "python")
    if output([python, "-m", "venv"] + ([] if requirement else ["--without-pip"]) + [folder])[0] != 0:
        return None
    if requirement and output([path, "-m", "pip", "install", "-q", "--only-binary=:all:", requirement])[0] != 0:
        return None
    return path


def numpy_of(python):
    return output([python, "-c", "import numpy; print(numpy.__version__)"])[1].strip().splitlines()[-1]


def run(python, tests, library):
    """Names of the tests that fail, with their output."""
    variables = dict(os.environ, DRYDOCK_TRACE_LIBRARY=os.path.abspath(library))
    failures = {}
    for test in tests:
        status, text = output([python, "-B", test + ".py"], cwd=TESTS, env=variables)
        if status != 0:
            failures[test] = text
    return failures


def fast_line(minor, library):
    """(passed, text) of the fast form for Python 3.<minor>; passed is None if it is not there."""
    label = "python 3.%-2d " % minor
    python = interpreter(minor)
    if not python:
        return None, label + "absent"
    status, text = output([python, "-c", COMPILE, PACKAGE, TESTS])
    failures = {"syntax": text} if status != 0 else run(python, FAST_TESTS, library)
    result = "failed: " + ", ".join(failures) if failures else "passed syntax, " + ", ".join(FAST_TESTS)
    return not failures, "\n".join([label + result, *failures.values()])


def run_fast(minors, library):
    """Status of the fast form."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = list(pool.map(lambda minor: fast_line(minor, library), minors))
    print("\n".join(text for _, text in lines))
    passed = [passed for passed, _ in lines if passed is not None]
    return 0 if passed and all(passed) else 1


def run_all(minors, tests, library):
    """Status of every interpreter with every numpy."""
    tried = failed = 0
    for minor in minors:
        base = interpreter(minor)
        for name, requirement in NUMPY.items():
            label = "python 3.%d, numpy %s" % (minor, name)
            with tempfile.TemporaryDirectory(prefix="drydock-python-") as folder:
                python = base and environment(folder, base, requirement)
                if not python:
                    print("%-26s absent" % label, flush=True)
                    continue
                failures = run(python, tests, library)
                shown = numpy_of(python) if requirement else "-"
            tried += 1
            failed += bool(failures)
            print("%-26s %-8s %s" % (label, shown, "failed: " + ", ".join(failures) if failures else
                                     "passed %d" % len(tests)), flush=True)
            for text in failures.values():
                print(text)
    return 1 if failed or not tried else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="libdrydock_trace.so")
    parser.add_argument("--minors", type=int, nargs="*", default=list(MINORS), help="N of 3.N")
    parser.add_argument("--fast", action="store_true", help="interpreters as they are, syntax and names only")
    parser.add_argument("tests", nargs="*", help="names of tests; all of tests/sim/tracer/python by default")
    options = parser.parse_args()
    if options.fast:
        return run_fast(options.minors, options.library)
    tests = options.tests or sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(TESTS, "*_test.py")))
    return run_all(options.minors, tests, options.library)


if __name__ == "__main__":
    sys.exit(main())
