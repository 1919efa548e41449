#!/usr/bin/env python3
"""Runs the numeric proof with new random programs until the time is up.

    prove.py PROOF_TEST [--seconds N] [--seed N] [--programs N]

PROOF_TEST is the program that tests/proof builds. Every round tries PROGRAMS programs of each operator and of
the random networks, with seeds that were not used before. At the end: a line per operator with how many
programs were tried, and every failure with what repeats it. Exit status 0 if nothing failed.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time

LINE = re.compile(r"^proof: (\S+) proven=(\d+) cut=(\d+) unsupported=(\d+) failed=(\d+)$", re.M)
COLUMNS = ("proven", "cut", "unsupported", "failed")
# One failure is the text from its place to the result line of its test.
FAILURE = re.compile(r"^\S+:\d+: Failure$.*?^\[  FAILED  \][^\n]*$", re.M | re.S)


def add_counts(counts, text):
    """Adds the lines of one round to `counts`: operator -> list in the order of COLUMNS."""
    for match in LINE.finditer(text):
        row = counts.setdefault(match.group(1), [0] * len(COLUMNS))
        for i in range(len(COLUMNS)):
            row[i] += int(match.group(i + 2))


def failures_in(text):
    return FAILURE.findall(text)


def table(counts):
    """The counts as text, a line per operator and one for all."""
    width = max([len(name) for name in counts] + [len("all operators")])
    lines = [f"{'operator':{width}}" + "".join(f"{name:>12}" for name in COLUMNS)]
    total = [sum(row[i] for row in counts.values()) for i in range(len(COLUMNS))]
    for name, row in sorted(counts.items()) + [("all operators", total)]:
        lines.append(f"{name:{width}}" + "".join(f"{number:>12}" for number in row))
    return "\n".join(lines)


def run_round(program, seed, programs):
    environment = dict(os.environ, DRYDOCK_SEED=str(seed), DRYDOCK_PROGRAMS=str(programs))
    done = subprocess.run(
        [program, "--gtest_brief=1", "--gtest_filter=*OperatorProof*:*ShardedEqualsWhole/*"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="first seed; random if not given")
    parser.add_argument("--programs", type=int, default=12, help="per operator and round")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1000, 2**30) if options.seed is None else options.seed
    print(f"prove: first seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    counts, failures, rounds = {}, [], 0
    while rounds == 0 or time.monotonic() < end:
        status, text = run_round(options.program, seed, options.programs)
        add_counts(counts, text)
        found = failures_in(text)
        failures += found
        if status != 0 and not found:  # It did not come to its end.
            failures.append(f"seed {seed}: exit status {status}\n{text[-2000:]}")
        rounds += 1
        seed += options.programs
    print(table(counts))
    for failure in failures:
        print(failure)
    print(f"prove: {rounds} rounds, {sum(row[0] for row in counts.values())} programs of "
          f"{len(counts)} operators proven, {len(failures)} failures")
    return 1 if failures or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
