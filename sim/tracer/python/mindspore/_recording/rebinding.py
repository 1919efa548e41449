"""x[...] = value in a graph gives the name x another value; what else stood for the old one keeps it."""
import ctypes
import linecache
import re

_OPTIMISED = 1  # CO_OPTIMIZED: names of a function live in slots, of which f_locals is a copy


def rebind(frame, old, new):
    """Lets what the running line of a function indexes stand for `new` instead of `old`: a name of the function, or an item of one
    of its lists and dictionaries. False if it is neither, as a tensor that only the line itself makes."""
    names = frame.f_locals
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    chosen = [name for name, value in names.items() if value is old and _indexes(line, name)]
    if not chosen:
        return any([_replace_item(value, old, new) for value in names.values()])
    for name in chosen:
        names[name] = new
    if frame.f_code.co_flags & _OPTIMISED and hasattr(ctypes.pythonapi, "PyFrame_LocalsToFast"):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
    return True


def _indexes(line, name):
    """True where a line of the script indexes the name, or is not known."""
    return not line or re.search(r"(?<![\w.])%s\s*\[" % re.escape(name), line) is not None


def _replace_item(holder, old, new):
    items = list(enumerate(holder)) if type(holder) is list else list(holder.items()) if type(holder) is dict else []
    found = [key for key, value in items if value is old]
    for key in found:
        holder[key] = new
    return bool(found)
