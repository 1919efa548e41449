"""The Python stand-in is built in floors: `_drydock` (the recorder, the session, what a run needs of its script) imports nothing else of
the package, and no two of its modules import each other, also inside of functions. Of the whole package no modules import
each other in a circle when they are loaded.
"""

import ast
import sys

import source_tree

PACKAGE = "sim/tracer/python"
CORE = "mindspore._drydock"


def check(root):
    modules = {}
    for path in source_tree.files(root, (".py",), (PACKAGE,)):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    problems, loading, core = [], {}, {}
    for name, path in modules.items():
        tree = ast.parse(source_tree.read(root / path) or "")
        is_package = path.name == "__init__.py"
        loading[name] = _imported(_when_loaded(tree), name, is_package, modules)
        if not _is_core(name):
            continue
        core[name] = _imported(ast.walk(tree), name, is_package, modules)
        problems += ["%s:%d: '%s': the core of the stand-in imports nothing of mindspore" % (path, line, other)
                     for other, line in sorted(core[name].items()) if not _is_core(other)]
    return problems + _circles(loading, modules, "when they are loaded") + _circles(core, modules, "in the core")


def _is_core(name):
    return name == CORE or name.startswith(CORE + ".")


def _when_loaded(tree):
    """Statements that run when the module is imported: not those of functions."""
    left = list(tree.body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            left += [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _imported(nodes, name, is_package, modules):
    """Modules of mindspore that the statements import, with their lines."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = name.split(".")[:len(name.split(".")) - node.level + is_package]
                base = ".".join(around + ([base] if base else []))
            names = ["%s.%s" % (base, alias.name) if "%s.%s" % (base, alias.name) in modules else base for alias in node.names]
        else:
            continue
        for one in names:
            if one != name and one.split(".")[0] == "mindspore":
                found.setdefault(one, node.lineno)
    return found


def _circles(graph, modules, where):
    """A problem for each module from which imports lead back to itself."""
    problems = []
    for name in sorted(graph):
        reached, left = set(), [one for one in graph[name] if one in graph]
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += [other for other in graph[one] if other in graph]
        if name in reached:
            around = sorted(one for one in graph[name] if one in reached)
            problems.append("%s:%d: '%s' is imported in a circle %s" % (modules[name], graph[name][around[0]], name, where))
    return problems


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
