"""Where a package lies, for what to do when an import of it fails."""
import os
import subprocess
import sys

MOST_INTERPRETERS = 4
SECONDS_EACH = 5


def folders_above(path):
    """The folder of a file and those above it, innermost first."""
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        yield folder
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def from_here(folder):
    """A folder as a user names it: "." or an absolute path."""
    return os.curdir if os.path.realpath(folder) == os.path.realpath(os.curdir) else folder


def module_of(script):
    """Folder from which a script is a module of its package, and the module's name."""
    above = list(folders_above(script))
    inside = [os.path.isfile(os.path.join(folder, "__init__.py")) for folder in above] + [False]
    root = above[min(max(inside.index(False), 1), len(above) - 1)]  # its own folder is the least of packages
    name = os.path.splitext(os.path.relpath(os.path.abspath(script), root))[0]
    return from_here(root), name.replace(os.sep, ".")


def folder_with(package):
    """Where a package lies that is not found: the current folder, or one above the script; "" if in none."""
    for folder in [os.getcwd()] + list(folders_above(sys.argv[0]))[1:]:
        if os.path.isdir(os.path.join(folder, package)) or os.path.isfile(os.path.join(folder, package + ".py")):
            return from_here(folder)
    return ""


def interpreter_with(package):
    """Another interpreter of the search path that has a package which this one lacks; "" if none of the first few has."""
    seen, asked = {os.path.realpath(sys.executable)}, 0
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in ("python", "python3"):
            path = os.path.join(folder, name)
            if not os.path.isabs(path) or not os.access(path, os.X_OK) or os.path.realpath(path) in seen:
                continue
            seen.add(os.path.realpath(path))
            asked += 1
            if has_package(path, package):
                return path
            if asked == MOST_INTERPRETERS:
                return ""
    return ""


def has_package(interpreter, package):
    """Whether an interpreter finds a package, which is not imported."""
    question = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        return subprocess.run([interpreter, "-c", question, package], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=environment, timeout=SECONDS_EACH).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
