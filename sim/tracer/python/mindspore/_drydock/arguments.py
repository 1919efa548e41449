"""Functions under the names that MindSpore gives to their arguments.

One function here often stands behind several names there: ops.concat(tensors, axis), mint.cat(tensors, dim) and
numpy.concatenate(arrays, axis) are one operator. arguments.txt (made by tests/peer/list_names.py) lists what each of them
takes; `fitted` gives the function as it is where the lists agree, else one that hands each argument to ours of the same
name, or, where ours has none of that name, to the one at the same position.

    fitted("mindspore.mint", "cat", concat)(tensors=parts, dim=1)    ->    concat(parts, 1)

What ours has no place for may be left at its default. `dtype` casts the result; all else is Unsupported. A name that only
ours has is the mistake that it is in MindSpore, unless the stand-in itself gives it.
"""
import functools
import os
import sys
import types

from mindspore._drydock import names as known_names
from mindspore._drydock.errors import Unsupported, user_error

_ABSENT = object()  # no default
_OTHER = object()   # a default that is not a plain value
_WORDS = {"None": None, "True": True, "False": False, "...": _OTHER}
_TAKES_POSITIONS, _TAKES_NAMES = 0x04, 0x08  # flags of a code object: *args, **kwargs


@functools.lru_cache(maxsize=None)
def lines():
    """{full name: its words} of all that is listed."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "arguments.txt"), encoding="utf-8") as file:
        return dict(line.split(" ", 1) for line in file if line[0] != "#")


def listed(full_name):
    """[(name, default, keyword only)] of a function of MindSpore; None where it is not listed."""
    words = lines().get(full_name)
    if words is None:
        return None
    found, only = [], False
    for word in words.split():
        name, equals, default = word.partition("=")
        if name == "*":
            only = True
            continue
        found.append((name, _value(default) if equals else _ABSENT, only))
    return found


def _value(word):
    if word in _WORDS:
        return _WORDS[word]
    if word[0] == "'":
        return word[1:-1]
    return float(word) if "." in word or "e" in word else int(word)


def _own(function):
    """Names by position, all names, names that must be given, and whether any others are taken; None for *args."""
    names = getattr(function, "drydock_arguments", None)
    if names is not None:
        return list(names), set(names), set(), False
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & _TAKES_POSITIONS:
        return None
    count, only = code.co_argcount, code.co_kwonlyargcount
    positions = list(code.co_varnames[:count])
    by_name = code.co_varnames[count:count + only]
    required = set(positions[:count - len(function.__defaults__ or ())]) | set(by_name) - set(function.__kwdefaults__ or ())
    return positions, set(positions) | set(by_name), required, bool(code.co_flags & _TAKES_NAMES)


def fitted(module, name, function):
    """`function`, to be called as MindSpore's `module`.`name` is."""
    if not isinstance(function, types.FunctionType):
        return function
    function = getattr(function, "drydock_wraps", function)
    theirs = listed(module + "." + name)
    if not theirs or (function.__code__.co_varnames[:len(theirs)] == tuple(one[0] for one in theirs)
                      and function.__code__.co_argcount == len(theirs)
                      and len(function.__defaults__ or ()) >= sum(one[1] is not _ABSENT for one in theirs)
                      and not function.__code__.co_kwonlyargcount and not any(one[2] for one in theirs)):
        return function
    own = _own(function)
    if own is None:
        return _by_position(module + "." + name, function, [one[0] for one in theirs])
    positions, names, required, any_name = own
    targets = {}
    for i, (word, _, _) in enumerate(theirs):
        if word in names:
            targets[word] = word
        elif i < len(positions) and positions[i] not in {one[0] for one in theirs}:
            targets[word] = positions[i]
        elif any_name:
            targets[word] = word
    order = [one[0] for one in theirs if not one[2]]
    if all(targets.get(word) == word for word, _, _ in theirs) and positions[:len(order)] == order and not any(
            word in required and default is not _ABSENT for word, default, _ in theirs):
        return _strict(module + "." + name, function, theirs) if any_name or names - set(targets) else function
    return _renamed(module + "." + name, function, theirs, targets, required)


# What a name of another function, or of an earlier release, is called here.
_SAME = {"axis": ("dim", "dims"), "dim": ("axis", "dims"), "keep_dims": ("keepdim", "keepdims"), "keepdims": ("keepdim", "keep_dims"),
         "keepdim": ("keepdims", "keep_dims"), "x": ("input", "input_x"), "input_x": ("input", "x"), "shape": ("size",), "size": ("shape",)}


def _check_names(full_name, given, taken, targets):
    """TypeError for an argument by a name that MindSpore's function does not have. Called by what the script calls."""
    other = next(word for word in given if word not in taken)
    asker = sys._getframe(2).f_globals.get("__name__", "")
    if asker == "mindspore" or asker.startswith("mindspore.") or not known_names.is_listed_release():
        return
    near = [word for word, target in targets.items() if target == other] or [word for word in _SAME.get(other, ()) if word in taken]
    if not near:
        import difflib  # here, since it is slow to import and rarely needed
        near = difflib.get_close_matches(other, list(taken), 1)
    raise user_error(TypeError, full_name + ":argument",
                     "%s() got an unexpected keyword argument '%s'" % (full_name.rpartition(".")[2], other),
                     "did you mean '%s'?" % near[0] if near else "it takes %s" % ", ".join(taken))


def _strict(full_name, function, theirs):
    """`function`, which would take more names than MindSpore's does."""
    taken = [one[0] for one in theirs]

    def call(*args, **kwargs):
        if any(word not in taken for word in kwargs):
            _check_names(full_name, kwargs, taken, {})
        return function(*args, **kwargs)

    return _like(function, call)


def _by_position(full_name, function, order):
    """For functions that take their tensors as *args: names become positions."""
    def call(*args, **kwargs):
        if not kwargs or any(word not in order for word in kwargs):
            if kwargs:
                _check_names(full_name, kwargs, order, {})
            return function(*args, **kwargs)
        places = dict(zip(order, args))
        for word, value in kwargs.items():
            if word in places:
                raise user_error(TypeError, full_name + ":argument", "%s() got '%s' twice" % (full_name, word))
            places[word] = value
        dtype = places.pop("dtype", None)
        result = function(*[places[word] for word in order if word in places])
        return result if dtype is None else result.astype(dtype)

    return _like(function, call)


def _renamed(full_name, function, theirs, targets, required):
    order = [word for word, _, only in theirs if not only]
    defaults = {word: value for word, value, _ in theirs}

    def call(*args, **kwargs):
        if len(args) > len(order) or any(word not in defaults for word in kwargs):
            if len(args) <= len(order):
                _check_names(full_name, kwargs, defaults, targets)
            return function(*args, **kwargs)  # ours takes more, or says what is wrong
        given = dict(zip(order, args))
        for word, value in kwargs.items():
            if word in given:
                raise user_error(TypeError, full_name + ":argument", "%s() got '%s' twice" % (full_name, word))
            given[word] = value
        named, dtype, in_place = {}, None, False
        for word, value in given.items():
            if word in targets:
                named[targets[word]] = value
            elif word == "dtype":
                dtype = value
            elif word == "inplace":
                in_place = bool(value)
            elif not _is_default(value, defaults[word]):
                raise Unsupported("%s.%s" % (full_name, word))
        for word, target in targets.items():
            if target in required and word not in given and defaults[word] not in (_ABSENT, _OTHER):
                named[target] = defaults[word]
        result = function(**named)
        if in_place:
            return args[0].copy_(result)
        return result if dtype is None else result.astype(dtype)

    return _like(function, call)


def _is_default(value, default):
    return value is None or value is default or (isinstance(value, (bool, int, float, str)) and value == default)


def _like(function, call):
    call.__name__ = getattr(function, "__name__", "function")
    call.__doc__, call.drydock_wraps = function.__doc__, function
    if hasattr(function, "operator"):
        call.operator = function.operator
    return call
