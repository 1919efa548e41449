"""Whole commands: runs msrun in a folder of its own and reads what it leaves behind."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(os.environ.get("DRYDOCK_SOURCE_DIR", Path(__file__).resolve().parents[2]))
MSRUN = os.environ.get("DRYDOCK_MSRUN") or str(
    Path(os.environ.get("DRYDOCK_BUILD_DIR", SOURCE / "build/dev")) / "bin/msrun")
EXAMPLES = SOURCE / "docs/examples"
REPORTS = ["communication.json", "memory.json", "summary.json"]
SECONDS = 120  # a command that takes longer hangs

# One product: x (2 rows per rank, 32 columns) times w (32, 16).
NETWORK = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
{before}
ms.set_auto_parallel_context(parallel_mode="{mode}", dataset_strategy="data_parallel"); ms.communication.init()
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([[0.5] * 16] * 32, ms.float32), "w")
        self.mm = ops.MatMul(){shard}
    def construct(self, x):
        return self.mm(x, self.w)
Net()(Tensor([[0.5] * 32] * 2, ms.float32))
'''


def network(shard="", mode="semi_auto_parallel", before=""):
    return NETWORK.format(shard=shard and ".shard(%s)" % shard, mode=mode, before=before)


def line_of(text, part):
    return 1 + text[:text.index(part)].count("\n")


def suggested(hint):
    """The first strategy that a hint proposes."""
    return re.search(r"\(\([^()]*\)(, \([^()]*\))*,?\)|\[\[.*?\]\]", hint).group()


class Run(NamedTuple):
    status: int
    out: str
    err: str

    def errors(self):
        """Lines that say what is wrong, in either form: with a place, or with the program's name."""
        return [line for line in self.err.splitlines()
                if re.match(r"(\S[^:]*(:\d+){0,2}: (error|unsupported): |msrun: error\[[A-Z_]+\]: )", line)]

    def hint(self):
        match = re.search(r"hint: (.*)", self.err)
        return match.group(1) if match else ""


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYDOCK_", "DATA_PATH"))}
    kept["TMPDIR"] = str(folder)
    return kept


class CommandTest(unittest.TestCase):
    """`self.folder` is the current folder of the commands, `self.temporary` their TMPDIR."""

    maxDiff = None

    def setUp(self):
        self.assertTrue(os.access(MSRUN, os.X_OK), "no program at " + MSRUN)
        root = Path(tempfile.mkdtemp(prefix="drydock-e2e-"))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        self.folder = root / "job"
        self.temporary = root / "tmp"
        self.folder.mkdir()
        self.temporary.mkdir()

    def write(self, name, text):
        path = self.folder / name
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
        return name

    def command(self, *arguments, level="1"):
        flags = ["--python=" + sys.executable] + (["--sim_level=" + level] if level else [])
        return [MSRUN, *flags, *map(str, arguments)]

    def reject(self, program, words, ranks):
        """Runs a program that must be rejected with one diagnostic that holds all `words`."""
        run = self.msrun("--worker_num=%d" % ranks, "--log_dir=out", program)
        self.assert_rejected(run, 6)
        for word in words:
            self.assertIn(word, run.errors()[0])
        return run

    def msrun(self, *arguments, level="1", **variables):
        """Runs the command to its end; nothing may be left in TMPDIR."""
        done = subprocess.run(self.command(*arguments, level=level), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS,
                              env=dict(environment(self.temporary), **variables))
        run = Run(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        self.assertEqual(self.left_over(), [], run.err)
        return run

    def drydock(self, *arguments, **variables):
        """Another command than msrun."""
        done = subprocess.run([str(Path(MSRUN).parent / "drydock"), *map(str, arguments)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=SECONDS, env={**environment(self.temporary), **variables})
        return Run(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def left_over(self):
        return sorted(entry.name for entry in self.temporary.iterdir())

    def files(self, folder):
        path = self.folder / folder
        return sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []

    def report(self, name, folder="."):
        return json.loads((self.folder / folder / name).read_text(encoding="utf-8"))

    def assert_accepted(self, run):
        self.assertEqual((run.status, run.errors()), (0, []), run.err)

    def assert_rejected(self, run, status, folder="out"):
        """One diagnostic; the folder of the reports holds a whole summary or nothing."""
        self.assertEqual(run.status, status, run.err)
        self.assertEqual(len(run.errors()), 1, run.err)
        self.assertEqual(run.out, "")
        self.assertIn(self.files(folder), ([], ["summary.json"]))
        if self.files(folder):
            self.assertNotEqual(self.report("summary.json", folder)["verdict"], "ok")
