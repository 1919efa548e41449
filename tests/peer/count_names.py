#!/usr/bin/env python3
"""Counts the names of MindSpore that repositories use, and what the stand-in does with each.

    python3 tests/peer/count_names.py --tracer sim/tracer/python --library LIBRARY FOLDER... [--gaps 40] [--table]

Every Python file below a folder is parsed (nothing of it is run): names bound by imports of mindspore, and the attributes
that are asked of them, become dotted names (`from mindspore import ops as P; P.MatMul` is mindspore.ops.MatMul). Then the
stand-in is asked for each of them:

    there      the name is there
    refused    MindSpore has it, the stand-in does not: it imports, and its use is Unsupported (status 8)
    unknown    no MindSpore 2.10 has it: an AttributeError or ImportError, as in MindSpore

Shares are of `there` in `there` and `refused`; names that MindSpore does not have either are counted apart.
"""
import argparse
import ast
import collections
import json
import os
import subprocess
import sys

ASK = r'''
import json, sys
import importlib
from mindspore._drydock.errors import Unsupported
from mindspore._drydock.lazy import Stub
from mindspore._drydock import names
from mindspore.ops import primitive

def outcome(name):
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        owner, found = found, getattr(found, part, None)
        if found is None or isinstance(found, Stub):
            try:  # a module that has not been imported yet
                found = importlib.import_module(".".join(parts[:number]))
            except ImportError:
                if isinstance(found, Stub):
                    return "refused"
                if getattr(owner, part, owner) is None:  # there, and None
                    return "there"
                # What a class or an object of MindSpore has is not looked into.
                return "unknown" if type(owner).__name__ == "module" else "attribute"
    if type(found).__name__ == "module" and getattr(found, "__file__", None) is None and not hasattr(found, "__path__"):
        return "refused"
    return "refused" if getattr(found, "is_gap", False) is True else "there"

for name in json.load(sys.stdin):
    try:
        print(json.dumps([name, outcome(name)]))
    except Unsupported:
        print(json.dumps([name, "refused"]))
    except Exception as error:
        print(json.dumps([name, "failed: %r" % error]))
'''


class Names(ast.NodeVisitor):
    """Dotted names below mindspore in one file, with the number of places that use them."""

    def __init__(self):
        self.bound = {}  # name in the file -> dotted name
        self.found = collections.Counter()

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.split(".")[0] == "mindspore":
                if alias.name != "mindspore":
                    self.found[alias.name] += 1
                self.bound[alias.asname or "mindspore"] = alias.name if alias.asname else "mindspore"

    def visit_ImportFrom(self, node):
        if node.level or not node.module or node.module.split(".")[0] != "mindspore":
            return
        for alias in node.names:
            if alias.name == "*":
                continue
            name = node.module + "." + alias.name
            self.bound[alias.asname or alias.name] = name
            self.found[name] += 1

    def visit_Attribute(self, node):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            self.found[".".join([self.bound[inner.id]] + parts[::-1])] += 1
        else:
            self.visit(inner)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and self.bound.get(node.id, "mindspore").count("."):
            self.found[self.bound[node.id]] += 1


def names_of_file(path):
    with open(path, "rb") as file:
        source = file.read()
    if b"mindspore" not in source:
        return {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    names = Names()
    names.visit(tree)
    return names.found


def names_of_folder(folder):
    total = collections.Counter()
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(".py"):
                total.update(names_of_file(os.path.join(base, name)))
    return total


def outcomes(names, options):
    environment = dict(os.environ, PYTHONPATH=options.tracer, DRYDOCK_TRACE_LIBRARY=os.path.abspath(options.library))
    run = subprocess.run([options.python, "-c", ASK], input=json.dumps(sorted(names)), text=True, stdout=subprocess.PIPE,
                         env=environment, check=True)
    found = {}
    for line in run.stdout.splitlines():
        if line.startswith("["):
            name, outcome = json.loads(line)
            found[name] = outcome
    return found


def row(label, counts, found):
    kinds, uses = collections.Counter(), collections.Counter()
    for name, number in counts.items():
        kind = found[name].split(":")[0].replace("attribute", "there")
        kinds[kind] += 1
        uses[kind] += number
    share = [100.0 * part["there"] / max(1, part["there"] + part["refused"]) for part in (kinds, uses)]
    return "| %s | %d | %d | %d | %.1f %% | %d | %d | %d | %.2f %% |" % (
        label, kinds["there"], kinds["refused"], kinds["unknown"], share[0], uses["there"], uses["refused"],
        uses["unknown"], share[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--gaps", type=int, default=0, help="print as many names that are refused, most used first")
    parser.add_argument("--unknown", type=int, default=0, help="the same of names that no MindSpore 2.10 has")
    options = parser.parse_args()
    by_folder = {os.path.basename(os.path.normpath(folder)): names_of_folder(folder) for folder in options.folders}
    total = sum(by_folder.values(), collections.Counter())
    found = outcomes(total, options)
    print("| repository | names there | refused at use | not in MindSpore 2.10 | there | uses there | refused | not in 2.10 | there |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for label, counts in list(by_folder.items()) + [("all", total)]:
        print(row(label, counts, found))
    for kind, limit in (("refused", options.gaps), ("unknown", options.unknown), ("failed", max(options.gaps, options.unknown))):
        listed = [(number, name) for name, number in total.items() if found[name].startswith(kind)]
        for number, name in sorted(listed, key=lambda item: (-item[0], item[1]))[:limit]:
            print("%-8s %6d  %s" % (kind, number, name) + (found[name][6:] if kind == "failed" else ""))


if __name__ == "__main__":
    main()
