"""Runs scripts in an interpreter of their own and reads what they recorded."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")
TOOLS = os.path.abspath(os.path.join(ROOT, "tests", "tools"))
PACKAGES = os.path.abspath(os.path.join(ROOT, "sim", "tracer", "python"))


def recorder_environment(**variables):
    """Environment of a process that loads the recorder, which a sanitizer's run-time may have to precede."""
    preload = os.environ.get("DRYDOCK_TRACE_PRELOAD")
    return dict(os.environ, **(dict(LD_PRELOAD=preload, ASAN_OPTIONS="detect_leaks=0") if preload else {}), **variables)


class Trace:
    """Result of one run: `result` as the driver wrote it, `documents`, `output`, texts of `warnings`."""

    def __init__(self, source, ranks=8, rank=0, arguments=(), environment=None):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "net.py")
            with open(script, "w") as file:
                file.write(source)
            out = os.path.join(folder, "out")
            os.mkdir(out)
            variables = recorder_environment(RANK_SIZE=str(ranks), RANK_ID=str(rank), DEVICE_ID=str(rank % 8))
            variables.update(environment or {})
            done = subprocess.run([sys.executable, "-B", os.path.join(PACKAGES, "drydock_run.py"), out, "net.py"]
                                  + list(arguments), cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.output = done.stdout.decode()
            path = os.path.join(out, "result.json")
            if not os.path.exists(path):
                raise AssertionError("no result: " + self.output)
            with open(path) as file:
                self.result = json.load(file)
            self.warnings = [warning["text"] for warning in self.result["warnings"]]
            self.documents = []
            for program in self.result["programs"]:
                with open(os.path.join(out, program["file"])) as file:
                    self.documents.append(json.load(file))


    def warnings_of(self, kind):
        return [warning["text"] for warning in self.result["warnings"] if warning["kind"] == kind]


class TraceTest(unittest.TestCase):
    """Adds assertions about traces."""

    def trace(self, source, **settings):
        """A run that must succeed."""
        run = Trace(source, **settings)
        self.assertIsNone(run.result["error"], run.result["error"])
        return run

    def error(self, source, **settings):
        """The error of a run that must fail."""
        run = Trace(source, **settings)
        self.assertIsNotNone(run.result["error"], "no error; " + run.output)
        return run.result["error"]

    def ops(self, run, program=0):
        return [node["op"] for node in run.documents[program]["nodes"]]
