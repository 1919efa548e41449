"""`int(os.getenv("DEVICE_ID", "0"))`: a number of the rank that the script takes from its environment.

Python makes a plain int of whatever int() gets, so the run would stand for one rank only and the script would run once for
every rank. Where a source says int() of a variable of the environment, a function that keeps the number's origin is called
instead: default arguments of mindformers, which use it nowhere, then cost nothing. Other sources are compiled as they are.
"""
import builtins
import importlib.machinery
import os
import re

from mindspore._drydock import rank

_WANTED = re.compile(rb"\bint\(\s*(?:\w+\.)?(?:getenv|environ)\b")
_NAME = "__drydock_int__"
_LIBRARY = os.path.dirname(os.__file__) + os.sep


def _integer(*arguments):
    number = getattr(arguments[0], "_number", None) if len(arguments) == 1 else None
    return number if isinstance(arguments[0] if arguments else None, rank.RankText) else int(*arguments)


def code_of(source, path):
    """The code of a module; `source` are bytes."""
    if not _WANTED.search(source):
        return compile(source, path, "exec", dont_inherit=True)
    import ast  # here, since it is slow to import and rarely needed
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
            if not node.keywords and _is_environment(node.args[0], ast):
                node.func.id = _NAME
    return compile(tree, path, "exec", dont_inherit=True)


def _is_environment(node, ast):
    """`os.getenv(...)`, `os.environ.get(...)`, `os.environ[...]` and the same without `os.`"""
    if isinstance(node, ast.Call):
        node = node.func
    elif isinstance(node, ast.Subscript):
        node = node.value
    names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
    return bool(names & {"getenv", "environ"})


def _get_code(loader, fullname):
    path = loader.get_filename(fullname)
    if fullname.startswith("mindspore.") or path.startswith(_LIBRARY) and "-packages" not in path:
        return _original(loader, fullname)
    try:
        source = loader.get_data(path)
    except OSError:
        return _original(loader, fullname)
    return code_of(source, path) if _WANTED.search(source) else _original(loader, fullname)


_original = importlib.machinery.SourceFileLoader.get_code


def install():
    setattr(builtins, _NAME, _integer)
    importlib.machinery.SourceFileLoader.get_code = _get_code
