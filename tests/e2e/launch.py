"""Real jobs: starts msrun without a dry run and looks for what it leaves behind."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import command
from free_ports import free_port  # noqa: F401  launch.free_port()

SECONDS = 240  # a job that takes longer hangs, also on a machine that is very busy


def shell(words):
    """The words as a shell reads them."""
    return shlex.join(map(str, words))


def wait_until(condition, seconds=120):
    """Polls a state of the system that nobody announces; True if it came in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def has_living_children(pid):
    """Whether a process has children that have not ended."""
    try:
        children = [word for task in Path("/proc/%d/task" % pid).iterdir() for word in (task / "children").read_text().split()]
        return any(Path("/proc/%s/stat" % child).read_text().rsplit(")", 1)[1].split()[0] != "Z" for child in children)
    except OSError:
        return True  # one of them ended meanwhile: look again


def open_mpi(ranks, *arguments, **options):
    """`mpirun -n RANKS ...` of Open MPI to its end. It misses now and then that a process ended while others were started
    (4.1.4), and then waits for ever with nothing left to wait for: it is started once more."""
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *map(str, arguments)]
    for _ in range(3):
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              **options) as process:
            alone, end = 0, time.monotonic() + SECONDS
            while alone < 5 and time.monotonic() < end:
                try:
                    out, err = process.communicate(timeout=4)
                    return command.Run(process.returncode, out, err)
                except subprocess.TimeoutExpired:
                    alone = 0 if has_living_children(process.pid) else alone + 1
            process.kill()
            _, err = process.communicate()
        print("mpirun was stopped and is started once more: " + err[-300:], file=sys.stderr, flush=True)
    raise AssertionError("mpirun does not end")


class LaunchTest(command.CommandTest):
    """Every process of a job carries a mark of the test in its environment, so that leftovers are found
    wherever they went."""

    def setUp(self):
        super().setUp()
        self.mark = uuid.uuid4().hex
        self.addCleanup(self.end_marked)

    def marked(self):
        """Processes of this test that are alive, the launcher included."""
        found = []
        wanted = ("DRYDOCK_TEST_MARK=" + self.mark).encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass  # ended meanwhile, or not ours
        return found

    def end_marked(self):
        for pid in self.marked():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def variables(self, **more):
        return dict(command.environment(self.temporary), DRYDOCK_TEST_MARK=self.mark, **more)

    def words(self, ranks, *arguments, join=True):
        flags = ["--worker_num=%d" % ranks, "--local_worker_num=%d" % ranks, "--master_port=0"] if ranks else []
        return [command.MSRUN, "--python=" + sys.executable, *flags, "--join=%s" % join,
                *map(str, arguments)]

    def launch(self, ranks, *arguments, join=True, stdin=subprocess.DEVNULL, **variables):
        """Runs a job to its end; nothing may be left of it."""
        done = subprocess.run(self.words(ranks, *arguments, join=join), cwd=self.folder, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.variables(**variables),
                              **({"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}))
        run = command.Run(done.returncode, done.stdout.decode("utf-8", "replace"),
                          done.stderr.decode("utf-8", "replace"))
        if join:
            self.assertEqual(self.marked(), [], "processes are left: " + run.err)
            self.assertEqual([name for name in self.files(".") if name.endswith((".lock", ".tmp"))], [])
        return run

    def begin(self, ranks, *arguments, **options):
        """Starts a job and leaves it running."""
        process = subprocess.Popen(self.words(ranks, *arguments), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.variables(), **options)
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def log(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def wait_for_logs(self, ranks, text, folder="."):
        """Until every rank has written `text`."""
        self.assertTrue(wait_until(lambda: all(text in self.log("%s/worker_%d.log" % (folder, rank))
                                               for rank in range(ranks))), "the ranks did not start")

    def assert_refused(self, run, status, code):
        """One line with the code and a hint, and no process was started."""
        self.assertEqual(run.status, status, run.err)
        lines = [line for line in run.err.splitlines() if line.startswith("msrun: error[")]
        self.assertEqual(len(lines), 1, run.err)
        self.assertRegex(lines[0], r"^msrun: error\[%s\]: .*" % re.escape(code))
        self.assertNotIn("Traceback", run.err)
        self.assertEqual([name for name in self.files(".") if name.startswith("worker_")], [])
