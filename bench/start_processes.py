#!/usr/bin/env python3
"""Time from start to end of n processes that do nothing: msrun beside others that do the same.

    bench/start_processes.py [--msrun PATH] [--sizes 8 64 512] [--repeats 5] [--python /usr/bin/python3]

Whole commands, wall time: least / median / greatest of the repeats, the
launchers in turn so that other load meets all of them, in a table for docs/benchmarks.md. The
process is /bin/true, so that what is measured is the launcher. The bare loop opens a log for each process and
waits for all, as every launcher must. Peers that are not installed are left out and named.

mpirun (Open MPI 4.1.4) misses the end of processes now and then that end while others are started, and waits for
ever; so its processes sleep for a second, which is taken off its time. torchrun (PyTorch 1.13) under Python 3.11
cannot take "no file" for the output of all ranks ("--redirects 0", its default, fails in to_map), so rank 9 has one.
Its rendezvous is the static one and it looks for ended processes every 0.1 s: both make it faster than it is by itself.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TRUE = shutil.which("true") or "/bin/true"
LONGEST_S = 60  # a launcher that takes longer counts as failed
MPI_SLEEP_S = 1
# posix_spawn and wait in a compiled program: what a launcher cannot do without.
LOOP = r"""
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
int main(int argc, char** argv) {
  const int n = atoi(argv[1]);
  for (int i = 0; i < n; ++i) {
    char path[64];
    snprintf(path, sizeof path, "worker_%d.log", i);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fd, 1);
    posix_spawn_file_actions_adddup2(&files, fd, 2);
    pid_t pid;
    if (posix_spawn(&pid, argv[2], &files, 0, argv + 2, environ) != 0) return 1;
    posix_spawn_file_actions_destroy(&files);
    close(fd);
  }
  int failed = 0, status;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
"""


def compiled_loop(folder):
    path = os.path.join(folder, "spawn_loop")
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", path], input=LOOP.encode(), check=True)
    return path


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def commands(arguments, loop, size):
    """Name of a launcher and its command."""
    count = str(size)
    yield "bare posix_spawn loop", [loop, count, TRUE]
    yield "msrun", [arguments.msrun, "--rendezvous=launcher", "--master_port=0", "--worker_num=" + count,
                    "--local_worker_num=" + count, "--join=True", "--quiet", "true"]
    yield "msrun with scheduler", [arguments.msrun, "--master_port=0", "--worker_num=" + count,
                                   "--local_worker_num=" + count, "--join=True", "--quiet", "true"]
    yield "drydock mpirun", [os.path.join(os.path.dirname(arguments.msrun), "drydock"), "mpirun", "-n", count, "true"]
    yield "mpirun", ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", count, "sleep",
                     str(MPI_SLEEP_S)]
    yield "torchrun", [arguments.python, "-m", "torch.distributed.run", "--nnodes", "1", "--node_rank", "0",
                       "--master_addr", "127.0.0.1", "--master_port", free_port(), "--no_python",
                       "--nproc_per_node", count, "--redirects", "9:1", "--tee", "9:1", "--monitor_interval", "0.1",
                       TRUE]


def seconds(command, folder):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=LONGEST_S, check=False)
    took = time.monotonic() - begin
    return (took, "") if done.returncode == 0 else (None, done.stderr.decode("utf-8", "replace").strip()[-100:])


class Times:
    """Of one launcher; a failure ends its measurements."""

    def __init__(self, name, command, repeats):
        self.name, self.command, self.repeats = name, command, repeats
        self.times, self.problem = [], ""

    def measure(self, folder):
        try:
            took, self.problem = seconds(self.command, folder)
        except (OSError, subprocess.TimeoutExpired) as failure:
            took, self.problem = None, str(failure)
        if took is not None:
            self.times.append(took - MPI_SLEEP_S if self.name == "mpirun" else took)

    def median(self):
        return statistics.median(self.times) if self.times and not self.problem else None

    def text(self):
        if self.problem or not self.times:
            return "failed: " + self.problem.replace("\n", " ")
        return "%.3f / %.3f / %.3f" % (min(self.times), self.median(), max(self.times))


def measure_size(arguments, loop, size, folder):
    launchers = []
    for name, command in commands(arguments, loop, size):
        if not shutil.which(command[0]):
            print("| %d | %s | not installed | |" % (size, name))
        elif name != "torchrun" or size <= arguments.torch_limit:
            few = name in ("mpirun", "torchrun")
            launchers.append(Times(name, command, arguments.peer_repeats if few else arguments.repeats))
    for turn in range(arguments.repeats):
        for launcher in launchers:
            if turn < launcher.repeats and not launcher.problem:
                launcher.measure(folder)
    bare = launchers[0].median()
    for launcher in launchers:
        times = "%.2f" % (launcher.median() / bare) if launcher.median() and bare else ""
        print("| %d | %s | %s | %s |" % (size, launcher.name, launcher.text(), times), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--msrun", default="build/release/bin/msrun")
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter with torch")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--peer-repeats", type=int, default=1, help="mpirun and torchrun take long")
    parser.add_argument("--torch-limit", type=int, default=512, help="largest size for torchrun")
    arguments = parser.parse_args()
    arguments.msrun = os.path.abspath(arguments.msrun)
    with tempfile.TemporaryDirectory(prefix="drydock-bench-") as folder:
        loop = compiled_loop(folder)
        print("| processes | launcher | wall s | times the bare loop |\n|---:|---|---:|---:|")
        for size in arguments.sizes:
            measure_size(arguments, loop, size, folder)


if __name__ == "__main__":
    sys.exit(main())
