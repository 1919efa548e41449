#!/usr/bin/env python3
"""Points a second of Calculon: one execution of GPT-3 on A100, compiled and run again and again for two processor seconds.

    calculon_points.py CHECKOUT      a checkout of calculon-ai/calculon

Beside it: `drydock plan --closed_form`, whose first lines say how many plans it looked at (docs/benchmarks.md).
"""
import logging
import os
import resource
import sys


def main():
    os.chdir(sys.argv[1])
    sys.path.insert(0, ".")
    from calculon.io import read_json_file  # the checkout is known only now
    from calculon.llm import Llm, System

    application = Llm.Application(read_json_file("models/gpt3-175B.json"))
    system = System(read_json_file("systems/a100_80g.json"))
    settings = read_json_file("validation/seqsel/tab5/gpt3-175B_full.json")

    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime

    points, began = 0, used()
    while used() - began < 2:
        model = Llm(application, logging.getLogger())
        model.compile(system, Llm.Execution.from_json(settings))
        model.run(system)
        points += 1
    print(f"{points / (used() - began):.0f} points per processor second")


main()
