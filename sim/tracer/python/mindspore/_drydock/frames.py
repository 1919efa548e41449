"""Where the user's script is: source frames without those of the stand-in package."""
import functools
import itertools
import os
import sys

# Real paths: the folder may be reached through a link.
PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
DRIVER = os.path.join(os.path.dirname(PACKAGE_ROOT.rstrip(os.sep)), "drydock_run.py")
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
MAX_FRAMES = 32
_places = {}  # (id of a code object, instruction) -> (line, column)
_codes = {}   # id of a code object that was met -> (it, which keeps the id its own; whether it is the user's)


@functools.lru_cache(maxsize=None)
def is_user_file(filename):
    """False for the stand-in, Python's own library and generated code."""
    # A relative name is the script's: it needs no current folder, which may be gone.
    real = os.path.realpath(filename) if os.path.isabs(filename) else filename
    if real.startswith((PACKAGE_ROOT, "<")) or real == DRIVER:
        return False
    return not filename.startswith(_LIBRARY) or any(part in filename for part in _PACKAGES)


def short_name(filename):
    """Name as the user would write it: relative to the current folder where that is possible."""
    try:
        here = os.getcwd() + os.sep
    except OSError:  # the folder is gone
        return filename
    return filename[len(here):] if filename.startswith(here) else filename


def _column(code, instruction):
    """1-based column of the expression being executed, 0 where Python does not say (before 3.11)."""
    if not hasattr(code, "co_positions"):
        return 0
    position = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    return position[2] + 1 if position and position[2] is not None else 0


def _line(code, instruction):
    """Line of an instruction; to ask a frame for it costs a walk over the table of its lines every time."""
    if hasattr(code, "co_lines"):
        return next((line or 0 for start, end, line in code.co_lines() if start <= instruction < end), 0)
    import dis  # here, since only old interpreters need it
    return max((start, line) for start, line in dis.findlinestarts(code) if start <= instruction)[1]


def place_of(code, line, instruction):
    return _place(code, line, _column(code, instruction))


def _place(code, line, column):
    import linecache  # here, since it is slow to import and rarely needed
    text = linecache.getline(code.co_filename, line).rstrip("\r\n")
    return {"file": short_name(code.co_filename), "line": line or 0,
            "column": column, "text": text}


def user_stack():
    """Key of the current user frames, innermost first: tuple of (id of the code, instruction), which place_at() reads.

    It is made for every operator that is recorded: no line is looked up, no code object is hashed.
    """
    frame = sys._getframe(1)
    found = []
    while frame is not None and len(found) < MAX_FRAMES:
        code = frame.f_code
        known = _codes.get(id(code))
        if known is None:
            known = _codes[id(code)] = code, is_user_file(code.co_filename)
        if known[1]:
            found.append((id(code), frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def user_frame():
    """First entry of user_stack(), None if no line of the user's runs."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_user_code(code):
            return id(code), frame.f_lasti
        frame = frame.f_back
    return None


def is_user_code(code):
    known = _codes.get(id(code))
    if known is None:
        known = _codes[id(code)] = code, is_user_file(code.co_filename)
    return known[1]


def is_known(entry):
    """False for an entry of user_stack() that was made in another process."""
    return entry is not None and entry[0] in _codes


def place_at(code_id, instruction):
    """Place of one entry of user_stack()."""
    code = _codes[code_id][0]
    found = _places.get((code_id, instruction))
    if found is None:
        found = _places[code_id, instruction] = _line(code, instruction), _column(code, instruction)
    return _place(code, *found)


# Lines of MindSpore's wrapper cells by which a network is called: in 2.0 and in 2.10. Source: mindspore/python/mindspore/nn/wrap.
_WRAPPERS = {
    ("cell_wrapper.py", "out = self._backbone(data)"): (114, 122),
    ("cell_wrapper.py", "return self._loss_fn(out, label)"): (115, 123),
    ("cell_wrapper.py", "loss = self.network(*inputs)"): (376, 426),
    ("loss_scale.py", "loss = self.network(*inputs)"): (None, 419),
}


def wrappers(compat):
    """Lines of wrapper cells around what is recorded now, innermost first, for dumps alone: (file, line, inside, text).

    `compat` is the release whose lines they are, None for the newest.

    `inside` stands where a place has its column: one more than the number of the user's frames that lie inside of the line.
    """
    import linecache
    oldest = (compat or "").startswith("2.0")
    frame, inside, found = sys._getframe(1), 1, []
    while frame is not None:
        code = frame.f_code
        name = os.path.basename(code.co_filename)
        if is_user_file(code.co_filename):
            inside += 1
        elif code.co_name == "construct" and name in ("cell_wrapper.py", "loss_scale.py"):
            text = linecache.getline(code.co_filename, frame.f_lineno).rstrip("\r\n")
            lines = _WRAPPERS.get((name, text.strip()))
            if lines is not None:
                line = lines[0] if oldest and lines[0] else lines[1]
                found.append(("mindspore/nn/wrap/" + name, line, inside, text))
        frame = frame.f_back
    return tuple(found)


def user_place():
    """Innermost user frame as a place, or None."""
    entry = user_frame()
    return place_at(*entry) if entry else None


def place_text(place):
    return "%s:%d" % (place["file"], place["line"]) if place else "an unknown line"


def traceback_places(traceback):
    """User frames of an exception's traceback, innermost first."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            place = place_of(code, traceback.tb_lineno, traceback.tb_lasti)
            place["function"] = code.co_name
            found.append(place)
        traceback = traceback.tb_next
    found.reverse()
    return found
