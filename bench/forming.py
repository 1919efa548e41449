"""Time until N real TCP workers on loopback have registered and all know it, beside torch's TCPStore and, where
DRYDOCK_MINDSPORE_PYTHON names an interpreter with it, MindSpore's own scheduler with the same clients.

    forming.py [--build BUILD_FOLDER] [--stay S] [--peer_seconds S] [N ...]

Clients: tcp_workers, N / 2 workers in each of two processes, two connections each. For our scheduler the processes
name it by different addresses (127.0.0.1, 127.0.0.2): from 14,000 connections to one address on, the system needs
long to find a port for the next, whoever listens. torch: N clients in two
processes, one connection each, that each write a key and wait until all keys are there. A peer that needs longer
than --peer_seconds is stopped and shown as "> S".
"""

import argparse
import os
import re
import resource
import select
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


def clients(build, hosts, port, total, stay):
    share = total // CLIENT_PROCESSES
    return [subprocess.Popen([str(build / "tests/tcp_workers"), host, str(port), str(total),
                              str(i * share), str(share), str(stay)], stdout=subprocess.PIPE, text=True)
            for i, host in enumerate(hosts)]


def end(processes):
    for process in processes:
        process.kill()
        process.communicate()


def line_of(process, until):
    """The next line of a process, "" if it does not come in time."""
    ready, _, _ = select.select([process.stdout], [], [], max(0, until - time.monotonic()))
    return process.stdout.readline() if ready else ""


class Formed:
    """What one scheduler needed: seconds from the first connection, and its own processor time."""
    registered = None  # the last registration, by its log
    known = None  # every client has heard that all are there
    cpu = None  # of the scheduler, until then
    late = False  # stopped because it took too long


def form(server, group, log, total, seconds):
    """Follows the clients of a scheduler, ours or MindSpore's: both log registrations in the same words."""
    formed = Formed()
    until = time.monotonic() + seconds
    before = cpu_seconds(server.pid)
    starts = [float(process.stdout.readline().split()[1]) for process in group]
    ready = [line_of(process, until) for process in group]
    if not all(line.startswith("ready") for line in ready):
        formed.late = True
        return formed
    formed.cpu = cpu_seconds(server.pid) - before
    formed.known = max(float(line.split()[2]) for line in ready)
    found = re.search(r":(\d+-\d+-\d+-\d+:\d+:\d+)\.(\d+)\.(\d+) [^\n]*urrently registered node number: "
                      r"%d, expected node number: %d" % (total, total), log.read_text(errors="replace"))
    if found:
        second = time.mktime(time.strptime(found.group(1), "%Y-%m-%d-%H:%M:%S"))
        formed.registered = second + int(found.group(2)) / 1e3 + int(found.group(3)) / 1e6 - min(starts)
    return formed


def ours(build, total, stay):
    log = Path(tempfile.mkstemp()[1])
    server = subprocess.Popen([str(build / "bin/drydock"), "scheduler", "--host=0.0.0.0", "--port=0",
                               "--worker_num=%d" % total], stdout=subprocess.PIPE,
                              stderr=log.open("w"), text=True)
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    before = memory_kib(server.pid)
    group = clients(build, ["127.0.0.1", "127.0.0.2"], port, total, stay)
    formed = form(server, group, log, total, SECONDS)
    kib = (memory_kib(server.pid) - before) / total
    time.sleep(1)  # what forming left to do is done
    used, start = cpu_seconds(server.pid), time.monotonic()
    time.sleep(max(0, stay - 3))
    share = (cpu_seconds(server.pid) - used) / max(1e-9, time.monotonic() - start)
    for process in group:
        process.communicate(timeout=SECONDS)
    log.unlink()
    return formed, kib, share, server.wait(SECONDS)


def torch(total, seconds):
    port = free_port()
    python = "/usr/bin/python3"
    formed = Formed()
    server = subprocess.Popen([python, "-c", TORCH_SERVER, str(port)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not server.stdout.readline().startswith("listening"):
        server.kill()
        return None  # not installed
    share = total // CLIENT_PROCESSES
    until = time.monotonic() + seconds
    before = cpu_seconds(server.pid)
    group = [subprocess.Popen([python, "-c", TORCH_CLIENTS, str(port), str(total), str(i * share),
                               str(share)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
             for i in range(CLIENT_PROCESSES)]
    ready = [line_of(process, until) for process in group]
    if all(line.startswith("ready") for line in ready):
        formed.known = max(float(line.split()[2]) for line in ready)
        formed.cpu = cpu_seconds(server.pid) - before
    else:
        formed.late = True
    end(group + [server])
    return formed


def mindspore(build, total, seconds):
    python = os.environ.get("DRYDOCK_MINDSPORE_PYTHON")
    if not python:
        return None
    port = free_port()
    environment = {**os.environ, "MS_ROLE": "MS_SCHED", "MS_SCHED_HOST": "127.0.0.1",
                   "MS_SCHED_PORT": str(port), "MS_WORKER_NUM": str(total)}
    log = Path(tempfile.mkstemp()[1])
    server = subprocess.Popen([python, str(ROOT / "tests/interop/allreduce.py")], env=environment,
                              stdout=log.open("w"), stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    group = clients(build, ["127.0.0.1"] * CLIENT_PROCESSES, port, total, 0)
    formed = form(server, group, log, total, seconds)
    end(group + [server])
    log.unlink()
    return formed


def text(formed, name, limit):
    if formed is None:
        return "-"
    value = getattr(formed, name)
    return "> %d" % limit if formed.late else "-" if value is None else "%.3f" % value


def raise_descriptors(wanted):
    """10,000 workers are 20,000 connections; root may raise the hard limit as well."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(hard, wanted), max(hard, wanted)))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--stay", type=int, default=8, help="seconds of heartbeats afterwards")
    parser.add_argument("--peer_seconds", type=int, default=45, help="longest time a peer gets")
    parser.add_argument("sizes", nargs="*", type=int, default=[64, 512, 4096, 10000])
    options = parser.parse_args()
    limit = raise_descriptors(2 * max(options.sizes) + 1000)
    print("Seconds; CPU: of the scheduler per worker until all know.\n")
    print("| workers | drydock registered | known | CPU, us | KiB per worker | CPU at rest | torch TCPStore known | "
          "CPU, us | MindSpore registered | known | CPU, us |\n" + "|---:" * 11 + "|")
    for total in options.sizes:
        # Where even root may not raise the limit: as many as it allows.
        total = min(total, (limit - 100) // 2 // CLIENT_PROCESSES * CLIENT_PROCESSES)
        formed, kib, share, status = ours(options.build, total, options.stay)
        cells = [str(total), text(formed, "registered", SECONDS), text(formed, "known", SECONDS),
                 cpu_text(formed, total), "%.1f" % kib, "%.1f %%" % (100 * share)]
        rival = torch(total, options.peer_seconds)
        cells += [text(rival, "known", options.peer_seconds), cpu_text(rival, total)]
        rival = mindspore(options.build, total, options.peer_seconds)
        cells += [text(rival, "registered", options.peer_seconds), text(rival, "known", options.peer_seconds),
                  cpu_text(rival, total)]
        print("| " + " | ".join(cells) + " |" + ("" if status == 0 else " status %d" % status), flush=True)


def cpu_text(formed, total):
    return "-" if formed is None or formed.cpu is None else "%.0f" % (1e6 * formed.cpu / total)


if __name__ == "__main__":
    sys.exit(main())
