"""C++ files are formatted as clang-format 14 does it with the .clang-format of the tree.

Skipped with a message where clang-format-14 is not installed (another version formats differently).
`make format` repairs.
"""

import shutil
import subprocess
import sys

import source_tree

PROGRAM = "clang-format-14"


def check(root):
    files = [str(root / path) for path in source_tree.cpp_files(root)]
    problems = []
    for start in range(0, len(files), 50):
        run = subprocess.run([PROGRAM, "--dry-run", "-Werror", "--ferror-limit=0", *files[start:start + 50]],
                             capture_output=True, text=True, check=False)
        found = _first_per_file(run.stderr.replace(f"{root}/", ""))
        if run.returncode and not found:
            found = [run.stderr.strip()]
        problems += found
    return problems


def _first_per_file(output):
    """The first error line of each file: one is enough to know what to do."""
    lines = {}
    for line in output.splitlines():
        if ": error:" in line:
            lines.setdefault(line.split(":")[0], line)
    return list(lines.values())


if __name__ == "__main__":
    if not shutil.which(PROGRAM):
        print(f"skipped: {PROGRAM} is not installed", file=sys.stderr)
        sys.exit(source_tree.SKIPPED)
    sys.exit(source_tree.run(check, sys.argv[1:]))
