"""Lists what a MindSpore has: its modules, the names of those that scripts import from, the methods of its classes.

    VENV/bin/python tests/peer/list_names.py > sim/tracer/python/mindspore/_drydock/names.txt

VENV has a MindSpore (2.10.0 was used). The stand-in takes a name that is neither its own nor listed for a mistake of the
script, and one that is listed for a gap of its own.
"""

import importlib
import io
import os
import sys
import types

WIDTH = 160
# Packages whose modules are listed with their names; of all others only that they are there.
NAMED = ("mindspore", "mindspore.mint", "mindspore.dataset", "mindspore.ops.auto_generate", "mindspore.ops.functional",
         "mindspore.ops.operations", "mindspore.ops.composite")
# Packages whose modules are listed with their names at every depth: scripts import from where a class is written.
DEEP = ("mindspore.nn", "mindspore.train", "mindspore.mint", "mindspore.common", "mindspore.parallel", "mindspore.communication")
CLASSES = ("mindspore.Tensor", "mindspore.Parameter", "mindspore.nn.Cell", "mindspore.nn.Optimizer", "mindspore.ops.Primitive",
           "mindspore.dataset.Dataset", "mindspore.train.Model", "mindspore.nn.SequentialCell", "mindspore.nn.CellList")


def is_private(module):
    return any(part.startswith("_") for part in module.split("."))


def modules(root):
    """{package: its modules and packages}; below private packages nothing is listed."""
    found = {}
    for folder, folders, files in os.walk(root):
        package = os.path.relpath(folder, os.path.dirname(root)).replace(os.sep, ".")
        folders[:] = sorted(name for name in folders if os.path.exists(os.path.join(folder, name, "__init__.py")))
        names = folders + [name[:-3] for name in files if name.endswith(".py") and name != "__init__.py"]
        if names and not is_private(package):
            found[package] = sorted(names)
    return found


def names_of(module):
    """Public names of MindSpore's own in a module, without its modules; none if it cannot be imported here."""
    try:
        loaded = importlib.import_module(module)
    except Exception:  # noqa: B902 (parts for other devices)
        return []
    return sorted(name for name, value in vars(loaded).items()
                  if not name.startswith("_") and not isinstance(value, types.ModuleType) and not is_foreign(value))


def is_foreign(value):
    home = getattr(value, "__module__", "mindspore")
    return isinstance(home, str) and not home.startswith("mindspore")


def methods_of(name):
    module, _, short = name.rpartition(".")
    kind = getattr(importlib.import_module(module), short)
    return sorted(item for item in dir(kind) if not item.startswith("_") and callable(getattr(kind, item, None)))


def write(out, kind, name, words):
    """`kind name: words`, in lines of a readable width."""
    line = "%s %s:" % (kind, name)
    for word in words:
        if len(line) + len(word) >= WIDTH:
            print(line, file=out)
            line = " "
        line += " " + word
    print(line, file=out)


def main():
    out, sys.stdout = sys.stdout, io.StringIO()  # MindSpore prints while it is imported
    import mindspore
    packages = modules(os.path.dirname(mindspore.__file__))
    print("# Modules, names and methods of MindSpore %s; made by tests/peer/list_names.py." % mindspore.__version__, file=out)
    for package, found in packages.items():
        write(out, "modules", package, found)
    named = [package + "." + name for package in NAMED[:3] for name in packages[package]]
    named += [package + "." + name for package in packages if package.startswith(DEEP) for name in packages[package]]
    for module in sorted({"mindspore", *NAMED, *named}):
        if not is_private(module):
            write(out, "names", module, names_of(module))
    for name in CLASSES:
        write(out, "methods", name, methods_of(name))


if __name__ == "__main__":
    main()
