"""Lists what a MindSpore has: its modules, the names of those that scripts import from, the methods of its classes.

    VENV/bin/python tests/peer/list_names.py > sim/tracer/python/mindspore/_drydock/names.txt
    VENV/bin/python tests/peer/list_names.py arguments > sim/tracer/python/mindspore/_drydock/arguments.txt

VENV has a MindSpore (2.10.0 was used). The stand-in takes a name that is neither its own nor listed for a mistake of the
script, and one that is listed for a gap of its own. Arguments are those of the functions that scripts call by name
(`mint.cat(parts, dim=1)`): name, and the default where it is a plain value, `...` where it is another.
"""

import importlib
import inspect
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


# Modules whose functions are listed with their arguments.
CALLED = ("mindspore.mint", "mindspore.mint.nn.functional", "mindspore.numpy", "mindspore.ops")


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


def argument_text(argument):
    default = argument.default
    if default is inspect.Parameter.empty:
        return argument.name
    plain = default is None or isinstance(default, (bool, int, float)) or (isinstance(default, str) and " " not in default)
    return argument.name + "=" + (repr(default) if plain and "inf" not in repr(default) else "...")


def arguments_of(function):
    """Words of a line; None for what is no function of Python, or takes any arguments."""
    try:
        listed = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if not listed or any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in listed):
        return None
    words, star = [], False
    for one in listed:
        if one.kind == one.KEYWORD_ONLY and not star:
            words, star = words + ["*"], True
        words.append(argument_text(one))
    return words


def list_arguments(out, version):
    print("# Arguments of functions of MindSpore %s; made by tests/peer/list_names.py arguments." % version, file=out)
    for module in CALLED:
        loaded = importlib.import_module(module)
        for name in sorted(set(dir(loaded)) & (set(getattr(loaded, "__all__", ())) or set(dir(loaded)))):
            function = getattr(loaded, name)
            words = arguments_of(function) if callable(function) and not isinstance(function, type) and name.islower() else None
            if words and not name.startswith("_") and not is_foreign(function):
                print(module + "." + name, *words, file=out)


def main():
    out, sys.stdout = sys.stdout, io.StringIO()  # MindSpore prints while it is imported
    import mindspore
    if "arguments" in sys.argv[1:]:
        list_arguments(out, mindspore.__version__)
        return
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
