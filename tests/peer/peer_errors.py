"""What an exception says: the user's mistake, a limit of the stand-in, a defect of it, or the test's own."""
from __future__ import annotations

import linecache
import os
import re


def exception_chain(exc):
    """The exception and what it was explicitly or implicitly raised from."""
    seen = []
    while exc is not None and exc not in seen and len(seen) < 20:
        seen.append(exc)
        if exc.__cause__ is not None:
            exc = exc.__cause__
        elif not exc.__suppress_context__:
            exc = exc.__context__
        else:
            exc = None
    return seen


RE_NO_ATTRIBUTE = re.compile(r"module '(mindspore[\w.]*)' has no attribute '(\w+)'")
RE_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '(mindspore[\w.]*)'")
RE_NO_MODULE = re.compile(r"No module named '(mindspore[\w.]*)'")


def missing_name(exc):
    """The name the stand-in lacks, if that is what the exception says, else None."""
    text = str(exc)
    if isinstance(exc, AttributeError):
        found = RE_NO_ATTRIBUTE.search(text)
        if found:
            return found.group(1) + "." + found.group(2)
        owner, name = getattr(exc, "obj", None), getattr(exc, "name", None)
        if owner is not None and name and not name.startswith("__"):
            kind = owner if isinstance(owner, type) else type(owner)
            for base in kind.__mro__:
                if (base.__module__ or "").split(".")[0] == "mindspore":
                    return base.__name__ + "." + name
    if isinstance(exc, ImportError):
        found = RE_NO_IMPORT.search(text)
        if found:
            return found.group(2) + "." + found.group(1)
        found = RE_NO_MODULE.search(text)
        if found:
            return found.group(1)
    return None


def unsupported_names(exc, hook):
    """Names behind an exception of the 'our limits' family; empty if it is none."""
    names = []
    for link in exception_chain(exc):
        family = (hook.unsupported is not None and isinstance(link, hook.unsupported)) or any(
            base.__name__ == "Unsupported" for base in type(link).__mro__)
        if family:
            name = getattr(link, "name", None)
            names.append(name if isinstance(name, str) and name else
                         (str(link).strip().splitlines() or ["?"])[0][:120])
        elif isinstance(link, NotImplementedError):
            names.append("NotImplementedError " + (str(link).splitlines() or [""])[0][:100])
        else:
            name = missing_name(link)
            if name:
                names.append(name)
    return [str(x) for x in names]


# A program error in the stand-in, whatever class the test waits for.
DEFECT_TYPES = (RecursionError, AssertionError, NameError, ImportError, MemoryError,
                SystemError, SyntaxError, StopIteration, ZeroDivisionError)


def describe_exception(exc, hook, suite_dir):
    """Facts about an exception that the parent needs for its judgement."""
    reason = getattr(exc, "drydock_reason", None)
    own_raise = False
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is not None:
        filename = tb.tb_frame.f_code.co_filename
        if in_suite(filename, suite_dir):
            own_raise = linecache.getline(filename, tb.tb_lineno).strip().startswith("raise")
    return {
        "type": type(exc).__name__,
        "text": (str(exc).strip().splitlines() or [""])[0][:300],
        "unsupported": unsupported_names(exc, hook),
        "defect": isinstance(exc, DEFECT_TYPES),
        "reason": reason if isinstance(reason, str) and reason else None,
        "own_raise": own_raise,
    }


def in_suite(filename, suite_dir):
    return filename.startswith(suite_dir + os.sep)
