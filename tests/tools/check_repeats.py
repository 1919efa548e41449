"""At most 3 % of the C++ lines are repeated: lines inside a window of 8 that stands elsewhere too.

Blank lines, comments, includes and lone braces do not count; tests are not looked at (a test may repeat
its neighbour).
"""

import collections
import re
import sys

import source_tree

WINDOW = 8
LIMIT_PERCENT = 3.0
FOLDERS = ("base", "strategies", "sim", "reports", "launcher", "bench")

_TRIVIAL = re.compile(r"^(?:[{}()\[\];,]*|#.*|namespace\b.*|using\b.*|public:|private:)$")


def code_lines(text):
    """(line number, squeezed text) of the lines that count."""
    for number, line in enumerate(source_tree.without_comments(text).split("\n"), 1):
        squeezed = " ".join(line.split())
        if not _TRIVIAL.match(squeezed):
            yield number, squeezed


def repeated(root):
    """(number of lines that count, {(path, line) of lines in repeated windows}, groups of places)."""
    windows = collections.defaultdict(list)
    lines_of = {}
    for path in source_tree.cpp_files(root, FOLDERS):
        lines = list(code_lines(source_tree.read(root / path) or ""))
        lines_of[path] = lines
        for start in range(len(lines) - WINDOW + 1):
            windows[tuple(text for _, text in lines[start:start + WINDOW])].append((path, start))
    groups = [places for places in windows.values() if len(places) > 1]
    hit = {(path, lines_of[path][start + offset][0])
           for places in groups for path, start in places for offset in range(WINDOW)}
    first_lines = [[(path, lines_of[path][start][0]) for path, start in places] for places in groups]
    return sum(len(lines) for lines in lines_of.values()), hit, first_lines


def check(root):
    total, hit, groups = repeated(root)
    if not total or 100.0 * len(hit) / total <= LIMIT_PERCENT:
        return []
    problems = [f"{len(hit)} of {total} lines are repeated ({100.0 * len(hit) / total:.1f} %), "
                f"the limit is {LIMIT_PERCENT} %"]
    for places in groups:
        problems.append(", ".join(f"{path}:{line}" for path, line in places))
    return problems


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
