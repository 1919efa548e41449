#!/usr/bin/env python3
"""Times whole processes: wall time, processor time and peak memory, as the kernel counts them.

    bench/whole_command.py [--build build/release] [--repeats 5] [--only command,fleet,smpi]

command  the quick-start script through msrun, level 1, on 8, 4,096 and 65,536 ranks
fleet    registration of 1,000 to 1,000,000 virtual ranks, one run of fleet_bench per process
smpi     init and barrier under SimGrid SMPI (where smpicc is installed) beside as many virtual ranks

The peak memory of a command with children is that of its largest process.
"""
import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND_RANKS = (8, 4096, 65536)
FLEET_RANKS = (1000, 10000, 100000, 1000000)
SMPI_RANKS = (1000, 4000)


@dataclass
class Runs:
    """What several runs of one command took; seconds and bytes, one entry per run."""

    wall_s: list = field(default_factory=list)
    cpu_s: list = field(default_factory=list)
    peak_bytes: list = field(default_factory=list)


def run_once(command, folder, runs):
    """Runs a command in `folder`, its output in a file there, and adds what it took."""
    output = Path(folder) / "output.txt"
    actions = [(os.POSIX_SPAWN_OPEN, fd, str(output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
               for fd in (1, 2)]
    started = time.perf_counter()
    command = ["/usr/bin/env", "-C", str(folder), *map(str, command)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    runs.wall_s.append(time.perf_counter() - started)
    runs.cpu_s.append(usage.ru_utime + usage.ru_stime)
    runs.peak_bytes.append(usage.ru_maxrss * 1024)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"failed: {' '.join(command)}\n{output.read_text()[-2000:]}")


def measure(command, repeats):
    """Runs a command `repeats` times, each in an empty folder."""
    runs = Runs()
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            run_once(command, folder, runs)
    return runs


def spread(values, scale, digits):
    """"least / median / greatest"."""
    numbers = (min(values), statistics.median(values), max(values))
    return " / ".join(f"{number * scale:.{digits}f}" for number in numbers)


def show(name, ranks, runs):
    print(f"{name:<10}{ranks:>9}   {spread(runs.wall_s, 1, 3):>24}   {spread(runs.cpu_s, 1, 3):>24}   "
          f"{spread(runs.peak_bytes, 2**-20, 1):>24}", flush=True)


def header():
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {load}; least / median / greatest")
    print(f"{'':<10}{'ranks':>9}   {'wall s':>24}   {'processor s':>24}   {'peak MiB':>24}")


def measure_command(build, repeats):
    script = ROOT / "docs/examples/quickstart/net.py"
    for ranks in COMMAND_RANKS:
        show("command", ranks, measure([build / "bin/msrun", "--sim_level=1", f"--worker_num={ranks}", script],
                                       repeats))


def fleet_command(build, ranks):
    """One run of a registration: a shortest time so small that the first iteration is the only one."""
    return [build / "bench/fleet_bench", f"--benchmark_filter=BM_RegisterFleet/{ranks}/",
            "--benchmark_min_time=0.000001"]


def measure_fleet(build, repeats):
    least = {}
    for ranks in FLEET_RANKS:
        runs = measure(fleet_command(build, ranks), repeats)
        least[ranks] = min(runs.peak_bytes)
        show("fleet", ranks, runs)
    few, many = min(FLEET_RANKS), max(FLEET_RANKS)
    print(f"fleet: {(least[many] - least[few]) / (many - few):.0f} bytes per further rank")


def write_platform(folder, ranks):
    """A flat cluster of one rank per host."""
    platform_file, host_file = Path(folder) / "platform.xml", Path(folder) / "hosts"
    platform_file.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1"><cluster id="flat" prefix="host-" suffix="" radical="0-{ranks - 1}" '
        'speed="1Gf" bw="1GBps" lat="10us"/></platform>\n')
    host_file.write_text("".join(f"host-{index}\n" for index in range(ranks)))
    return platform_file, host_file


def smpi_command(folder, ranks):
    # Without privatization: the program has no globals, and it is the faster way by far.
    platform_file, host_file = write_platform(folder, ranks)
    return ["smpirun", "-np", ranks, "-platform", platform_file, "-hostfile", host_file,
            "--cfg=smpi/privatization:no", Path(folder) / "barrier"]


def measure_smpi(build, repeats):
    if shutil.which("smpicc") is None:
        print("smpi: smpicc is not installed (package libsimgrid-dev); left out")
        return
    with tempfile.TemporaryDirectory() as folder:
        run_once(["smpicc", "-O2", "-o", "barrier", ROOT / "bench/smpi_barrier.c"], folder, Runs())
        for ranks in SMPI_RANKS:
            theirs = measure(smpi_command(folder, ranks), repeats)
            ours = measure(fleet_command(build, ranks), repeats)
            show("smpi", ranks, theirs)
            show("fleet", ranks, ours)
            times = statistics.median(theirs.wall_s) / statistics.median(ours.wall_s)
            processor = statistics.median(theirs.cpu_s) / statistics.median(ours.cpu_s)
            memory = statistics.median(theirs.peak_bytes) / statistics.median(ours.peak_bytes)
            print(f"smpi / fleet at {ranks}: {times:.1f} x wall time, {processor:.1f} x processor time, "
                  f"{memory:.1f} x memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder of the release preset")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", default="command,fleet,smpi", help="parts to measure")
    options = parser.parse_args()
    parts = {"command": measure_command, "fleet": measure_fleet, "smpi": measure_smpi}
    chosen = options.only.split(",")
    if unknown := [part for part in chosen if part not in parts]:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    header()
    for part in chosen:
        parts[part](options.build.resolve(), max(1, options.repeats))


if __name__ == "__main__":
    main()
