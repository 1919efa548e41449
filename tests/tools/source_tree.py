"""What the checks of the source tree share: which files there are, and C++ text without its noise.

A check is a module with a function `check(root)` that returns a list of problems, each one line
"path:line: text". It runs by itself (`run`) and is tested by `<name>_test.py`.
"""

import os
import re
import sys
from pathlib import Path

# Exit status of a test that could not be carried out here.
SKIPPED = 77

# Folders with C++ code, in layers: see check_includes.
CODE_FOLDERS = ("base", "strategies", "sim", "reports", "launcher", "tests", "bench")

_IGNORED = {"build", "node_modules", ".git", "__pycache__", ".cache", ".vscode", ".idea"}


def default_root():
    return Path(__file__).resolve().parents[2]


def files(root, suffixes=None, folders=(".",)):
    """Paths relative to `root`, sorted; `suffixes` like (".cc", ".h"), None for all."""
    found = set()
    for folder in folders:
        for where, subfolders, names in os.walk(root / folder):
            subfolders[:] = [name for name in subfolders if name not in _IGNORED]
            found.update((Path(where) / name).relative_to(root) for name in names
                         if name not in _IGNORED and (suffixes is None or Path(name).suffix in suffixes))
    return sorted(path for path in found if path.parts)


def cpp_files(root, folders=CODE_FOLDERS):
    return files(root, (".cc", ".h"), folders)


def read(path):
    """Text of a file; None if it is not UTF-8 (binary)."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


_NOISE = re.compile(
    r'''(?P<raw>R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)")'''
    r'''|(?P<string>"(?:[^"\\\n]|\\.)*")'''
    r"""|(?P<char>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+')"""
    r'''|(?P<comment>//[^\n]*|/\*.*?\*/)''',
    re.DOTALL)


def without_comments(text):
    """C++ text with comments blanked out, line numbers kept."""
    return _NOISE.sub(lambda m: _blank(m.group()) if m.group("comment") else m.group(), text)


def without_noise(text):
    """C++ text with comments and the contents of literals blanked out, line numbers kept."""
    return _NOISE.sub(lambda m: _blank(m.group()) if m.group("comment") else '"' + _blank(m.group()[2:]) + '"', text)


def string_literals(text):
    """(line, content) of every plain string literal of C++ text that is no #include; macros included."""
    for match in _NOISE.finditer(text):
        if match.group("string"):
            line_start = text.rfind("\n", 0, match.start()) + 1
            if not text[line_start:match.start()].lstrip().startswith("#include"):
                yield line_of(text, match.start()), match.group()[1:-1]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def run(check, arguments):
    """Runs a check on the tree (or on the folder named by the first argument); 0 if it is clean."""
    root = Path(arguments[0]).resolve() if arguments else default_root()
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0
