"""Time until N real TCP workers on loopback are all registered, beside torch's TCPStore and, where
DRYDOCK_MINDSPORE_PYTHON names an interpreter with it, MindSpore's own scheduler with the same clients.

    forming.py [--build BUILD_FOLDER] [N ...]

Clients: tcp_workers, N / 2 workers in each of two processes, two connections each. torch: N clients in two
processes, one connection each, that each write a key and wait until all keys are there.
"""

import argparse
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300
CLIENT_PROCESSES = 2

TORCH_SERVER = """
import sys, time
from datetime import timedelta
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), None, True, timedelta(seconds=300), wait_for_workers=False)
print("listening", flush=True)
sys.stdin.read()
"""
TORCH_CLIENTS = """
import sys, time
from datetime import timedelta
from torch.distributed import TCPStore
port, total, first, count = map(int, sys.argv[1:])
start = time.monotonic()
stores = []
for i in range(first, first + count):
    store = TCPStore("127.0.0.1", port, None, False, timedelta(seconds=300), wait_for_workers=False)
    store.set("k%d" % i, "v")
    if store.add("count", 1) == total:
        store.set("all", "1")
    stores.append(store)
for store in stores:
    store.wait(["all"])
print("ready %d %.4f" % (count, time.monotonic() - start), flush=True)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def memory_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/%d/status" % pid).read_text()).group(1))


def cpu_seconds(pid):
    fields = Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def clients(build, port, total, stay):
    share = total // CLIENT_PROCESSES
    return [subprocess.Popen([str(build / "tests/tcp_workers"), "127.0.0.1", str(port), str(total),
                              str(i * share), str(share), str(stay)], stdout=subprocess.PIPE, text=True)
            for i in range(CLIENT_PROCESSES)]


def registered_seconds(processes, log, total):
    """From the first connection to the last registration, which both schedulers log in the same words."""
    start = min(float(process.stdout.readline().split()[1]) for process in processes)
    last = re.compile(r":(\d+-\d+-\d+-\d+:\d+:\d+)\.(\d+)\.(\d+) [^\n]*"
                      r"urrently registered node number: %d, expected node number: %d" % (total, total))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = last.search(log.read_text(errors="replace"))
        if found:
            second = time.mktime(time.strptime(found.group(1), "%Y-%m-%d-%H:%M:%S"))
            return second + int(found.group(2)) / 1e3 + int(found.group(3)) / 1e6 - start
        time.sleep(0.05)
    return None


def ready_seconds(processes):
    """The slowest process, from the start of its first connection."""
    slowest = 0.0
    for process in processes:
        line = process.stdout.readline()
        if not line.startswith("ready"):
            return None
        slowest = max(slowest, float(line.split()[2]))
    return slowest


def ours(build, total, stay):
    log = Path(tempfile.mkstemp()[1])
    server = subprocess.Popen([str(build / "bin/drydock"), "scheduler", "--host=127.0.0.1", "--port=0",
                               "--worker_num=%d" % total], stdout=subprocess.PIPE,
                              stderr=log.open("w"), text=True)
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    before = memory_kib(server.pid)
    group = clients(build, port, total, stay)
    seconds = registered_seconds(group, log, total)
    ready = ready_seconds(group)
    kib = (memory_kib(server.pid) - before) / total
    used, start = cpu_seconds(server.pid), time.monotonic()
    time.sleep(max(0, stay - 2))
    share = (cpu_seconds(server.pid) - used) / max(1e-9, time.monotonic() - start)
    for process in group:
        process.wait(SECONDS)
    log.unlink()
    return seconds, ready, kib, share, server.wait(SECONDS)


def torch(total):
    port = free_port()
    python = "/usr/bin/python3"
    server = subprocess.Popen([python, "-c", TORCH_SERVER, str(port)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not server.stdout.readline().startswith("listening"):
        return None
    share = total // CLIENT_PROCESSES
    group = [subprocess.Popen([python, "-c", TORCH_CLIENTS, str(port), str(total), str(i * share),
                               str(share)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
             for i in range(CLIENT_PROCESSES)]
    seconds = ready_seconds(group)
    for process in group:
        process.kill()
        process.wait()
    server.kill()
    server.wait()
    return seconds


def mindspore(build, total):
    python = os.environ.get("DRYDOCK_MINDSPORE_PYTHON")
    if not python:
        return None
    port = free_port()
    environment = {**os.environ, "MS_ROLE": "MS_SCHED", "MS_SCHED_HOST": "127.0.0.1",
                   "MS_SCHED_PORT": str(port), "MS_WORKER_NUM": str(total)}
    script = str(ROOT / "tests/interop/allreduce.py")
    log = Path(tempfile.mkstemp()[1])
    server = subprocess.Popen([python, script], env=environment, stdout=log.open("w"),
                              stderr=subprocess.STDOUT)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    group = clients(build, port, total, 0)
    seconds = registered_seconds(group, log, total)
    log.unlink()
    for process in group:
        process.kill()
        process.wait()
    server.kill()
    server.wait()
    return seconds


def text(seconds):
    return "-" if seconds is None else "%.3f" % seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--stay", type=int, default=8, help="seconds of heartbeats afterwards")
    parser.add_argument("sizes", nargs="*", type=int, default=[64, 512, 4096, 10000])
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print("| workers | drydock registered, s | us per rank | all ranks known, s | KiB per worker | CPU at rest | torch TCPStore, s | "
          "MindSpore registered, s |\n|---|---|---|---|---|---|---|---|")
    for total in options.sizes:
        seconds, ready, kib, share, status = ours(options.build, total, options.stay)
        print("| %d | %s | %.0f | %s | %.1f | %.1f %% | %s | %s |%s" % (
            total, text(seconds), 1e6 * (seconds or 0) / total, text(ready), kib, 100 * share, text(torch(total)),
            text(mindspore(options.build, total)), "" if status == 0 else " status %d" % status),
            flush=True)


if __name__ == "__main__":
    sys.exit(main())
