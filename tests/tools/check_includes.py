"""Includes go downwards only: launcher -> reports -> sim -> strategies -> base, and likewise among the folders inside of
strategies/ and sim/.

Also: includes of ours are written from the root of the repository, never with "../"; headers of the
core folders do not include nlohmann/json.hpp (its forward declarations are fine).
"""

import re
import sys

import source_tree

_EVERYTHING = ("base", "strategies", "sim", "reports", "launcher", "tests", "bench")
ALLOWED = {
    "base": ("base",),
    "strategies": ("strategies", "base"),
    "sim": ("sim", "strategies", "base"),
    "reports": ("reports", "sim", "strategies", "base"),
    "launcher": ("launcher", "reports", "sim", "strategies", "base"),
    "tests": _EVERYTHING,
    "bench": _EVERYTHING,
}
# Folders inside of a floor, and which of their neighbours they may include (besides themselves). Folders outside of the
# floor may include any of them.
INSIDE = {
    "strategies": {
        "layout": (),
        "graph": ("layout",),
        "operators": ("graph", "layout"),
        "rules": ("operators", "graph", "layout"),
        "document": ("operators", "graph", "layout"),
        "program": ("operators", "graph", "layout"),
        "passes": ("program", "operators", "graph", "layout"),
        "reference": ("program", "operators", "graph", "layout"),
    },
    "sim": {
        "cluster": (),
        "memory": (),
        "fleet": ("cluster", "memory"),
        "tracer": (),
    },
}
CORE = ("base", "strategies", "sim", "reports")
HEAVY_HEADER = "nlohmann/json.hpp"

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
# Written by protoc from sim/cluster/topology.proto; only tests compare with it.
_GENERATED = re.compile(r"\.pb\.h$")


def check(root):
    problems = []
    for path in source_tree.cpp_files(root):
        text = source_tree.without_comments(source_tree.read(root / path) or "")
        for match in _INCLUDE.finditer(text):
            problem = _problem(root, path, match.group(1), match.group(2))
            if problem:
                problems.append(f"{path}:{source_tree.line_of(text, match.start())}: {problem}")
    return problems


def _problem(root, path, bracket, target):
    folder = path.parts[0]
    if target == HEAVY_HEADER and path.suffix == ".h" and folder in CORE:
        return f"{HEAVY_HEADER} in a header of {folder}; include it in the .cc, or nlohmann/json_fwd.hpp"
    if bracket == "<":
        return None
    if ".." in target.split("/"):
        return f'"{target}": write includes from the root of the repository'
    target_folder = target.split("/")[0]
    if target_folder not in ALLOWED.get(folder, ()):
        return f'"{target}": {folder}/ may include {", ".join(ALLOWED.get(folder, ()))}'
    problem = _inside_problem(path, target)
    if problem:
        return problem
    if _GENERATED.search(target):
        return None if folder in ("tests", "bench") else f'"{target}": protobuf code is for tests only'
    if not (root / target).is_file():
        return f'"{target}": there is no such file; write includes from the root of the repository'
    return None


def _inside_problem(path, target):
    folders = INSIDE.get(path.parts[0], {})
    parts = target.split("/")
    if parts[0] != path.parts[0] or len(parts) < 3 or len(path.parts) < 3 or path.parts[1] not in folders:
        return None
    mine, other = path.parts[1], parts[1]
    if other == mine or other not in folders or other in folders[mine]:
        return None
    allowed = ", ".join(f"{path.parts[0]}/{name}" for name in folders[mine]) or "none of its neighbours"
    return f'"{target}": {path.parts[0]}/{mine}/ may include {allowed}'


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
