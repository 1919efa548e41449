"""`int(os.getenv("DEVICE_ID", "0"))`: a number of the rank that the script takes from its environment.

Python makes a plain int of whatever int() gets, so the run would stand for one rank only and the script would run once for
every rank. Where a source says int() of a variable of the environment, a function that keeps the number's origin is called
instead: default arguments of mindformers, which use it nowhere, then cost nothing. Other sources are compiled as they are.
"""
import builtins
import importlib.machinery
import os
import re
import types

from mindspore._drydock import rank

_WANTED = re.compile(rb"\bint\((?=\s*(?:\w+\.)?(?:getenv|environ)\b)")
_NAME = "__drydock_int__"
_LIBRARY = os.path.dirname(os.__file__) + os.sep


def _integer(*arguments, **keywords):
    if len(arguments) == 1 and not keywords and isinstance(arguments[0], rank.RankText):
        return arguments[0]._number
    return int(*arguments, **keywords)


def code_of(source, path):
    """The code of a module; `source` are bytes."""
    return compile(_WANTED.sub(_NAME.encode() + b"(", source), path, "exec", dont_inherit=True)


def _reads_environment(code):
    """Whether a module that is compiled already has a function that may say so; its source need not be read then."""
    names = code.co_names
    if "int" in names and ("getenv" in names or "environ" in names):
        return True
    return any(_reads_environment(part) for part in code.co_consts if isinstance(part, types.CodeType))


def _get_code(loader, fullname):
    path = loader.get_filename(fullname)
    code = _original(loader, fullname)
    if fullname.startswith("mindspore.") or path.startswith(_LIBRARY) and "-packages" not in path or not _reads_environment(code):
        return code
    try:
        source = loader.get_data(path)
    except OSError:
        return code
    return code_of(source, path) if _WANTED.search(source) else code


_original = importlib.machinery.SourceFileLoader.get_code


def install():
    setattr(builtins, _NAME, _integer)
    importlib.machinery.SourceFileLoader.get_code = _get_code
