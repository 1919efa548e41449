"""What to do about mistakes that Python itself reports: it says what is wrong, seldom what would be right.

`Primitive.shard() got an unexpected keyword argument 'in_strategies'` gives "did you mean 'in_strategy'?"; `os.environ["LOCAL_RANK"]`
gives where ranks are to be had; an `，` of a Chinese input method gives the `,` of a keyboard. Looked at only when a script has failed.
"""
import difflib
import gc
import inspect
import os
import re
import sys
import types
import unicodedata

_UNKNOWN_ARGUMENT = re.compile(r"^([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'")
_WRONG_COUNT = re.compile(r"^([\w.<>]+)\(\) (?:missing \d+ required|takes (?:from )?\d+|takes no)")
_NO_ATTRIBUTE = re.compile(r"^(?:type object )?'(\w+)' (?:object )?has no attribute '(\w+)'")
_ASKED_VARIABLE = re.compile(r"(?:getenv|environ\.get)\(\s*['\"](\w+)['\"]\s*\)")
_OF_TORCH = {"dim": ("axis",), "in_features": ("in_channels",), "out_features": ("out_channels",), "bias": ("has_bias",), "lr": ("learning_rate",),
             "keepdim": ("keep_dims", "keepdims"), "eps": ("epsilon",), "num_embeddings": ("vocab_size",), "embedding_dim": ("embedding_size",),
             "dims": ("axis",)}
_OF_A_RANK = re.compile(r"RANK|WORLD_SIZE|_SIZE$|TASKS|PROCID|LOCALID|TRAINER")
_WRONG_SIGN = re.compile(r"invalid (?:non-printable )?character (?:'.' \()?U\+([0-9A-F]{4,5})")
_OF_NUMPY = re.compile(r"\b(?:np|numpy)\.(\w+)\(")
_KEYBOARD = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u3001": ",", "\u3002": ".",
             "\u3010": "[", "\u3011": "]", "\u00d7": "*"}
_OF_PRIMITIVES = ("shard", "add_prim_attr", "recompute", "set_device", "set_stage")
OF_TENSORS = {"backward": "gradients are results of mindspore.value_and_grad(function, None, weights)", "numpy": "did you mean 'asnumpy'?",
               "detach": "use mindspore.ops.stop_gradient(tensor)", "cuda": "mindspore.set_device() says where networks run",
               "cpu": "mindspore.set_device() says where networks run", "npu": "mindspore.set_device() says where networks run",
               "requires_grad_": "weights are Parameters, with requires_grad=True", "zero_": "use mindspore.ops.zeros_like(tensor)"}
_RANKS = re.compile(r"group_size|world_size|device_num|RANK_SIZE|rank_num")
_NOT_THERE = re.compile(r"not (?:\w+ )?(?:exist|found)|no such|n't exist|cannot (?:find|open)|missing", re.IGNORECASE)
_WEIGHTS = re.compile(r"checkpoint|ckpt|weights|safetensors", re.IGNORECASE)
_MOST_SHOWN = 8
_NOT_DEFINED = re.compile(r"^name '(\w+)' is not defined")
_ABBREVIATED = {"np": "numpy as np", "ms": "mindspore as ms", "msc": "mindspore.communication as msc", "ds": "mindspore.dataset as ds",
                "P": "mindspore.ops.operations as P", "F": "mindspore.ops.functional as F", "C": "mindspore.ops.composite as C",
                "mstype": "mindspore.common.dtype as mstype"}
_NAMED_ALONE = ("mindspore", "mindspore.communication", "mindspore.common.initializer", "mindspore.nn", "mindspore.train", "mindspore.ops")


def hint(error, line):
    """A remedy, "" if none is known; `line` is the text of the line that failed."""
    for look in (_undefined, _argument, _attribute, _variable, _sign, _spelling, _numpy, _size, _file, _memory, _connection, _recursion):
        found = look(error, line)
        if found:
            return found
    return ""


def _undefined(error, line):
    """A name that was not imported, or one that the frame has nearly."""
    found = _NOT_DEFINED.match(str(error)) if isinstance(error, NameError) else None
    if not found:
        return ""
    from mindspore._drydock import names
    name, trace = found.group(1), error.__traceback__
    if name in _ABBREVIATED:
        return "write 'import %s' above" % _ABBREVIATED[name]
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    known = dict(trace.tb_frame.f_globals, **trace.tb_frame.f_locals) if trace is not None else {}
    near = difflib.get_close_matches(name, [one for one in known if not one.startswith("__")], 1)
    if near:
        return "did you mean '%s'?" % near[0]
    for place in _NAMED_ALONE:
        if names.has_name(place, name) or (place == "mindspore" and names.is_module("mindspore." + name)):
            return "write 'from %s import %s' above" % (place, name)
    return "write 'import %s' above" % name if name in getattr(sys, "stdlib_module_names", ("os", "sys", "math", "time", "json", "random")) else ""


def _functions(name):
    """The functions that Python calls by this name in its messages: "Primitive.shard", before Python 3.10 "shard"."""
    return [thing for thing in gc.get_objects() if isinstance(thing, types.FunctionType)
            and name in (thing.__qualname__, thing.__name__ if sys.version_info < (3, 10) else "")]


def _names(function):
    """Names of the arguments that are to be given and of those that may be."""
    needed, others = [], []
    for place, one in enumerate(inspect.signature(function).parameters.values()):
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or (place == 0 and one.name in ("self", "cls")):
            continue
        (needed if one.default is one.empty else others).append(one.name)
    return needed, others


def _takes_names(function):
    return any(one.kind == one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


def _called(error, line, name):
    """The function that the failing line calls by this name; None if that is not plain."""
    from mindspore._drydock import frames
    trace, known = error.__traceback__, {}
    while trace is not None:
        if frames.is_user_file(trace.tb_frame.f_code.co_filename):
            known = dict(trace.tb_frame.f_globals, **trace.tb_frame.f_locals)
        trace = trace.tb_next
    for chain in re.findall(r"([A-Za-z_][\w.]*)\(", line):
        head, *rest = chain.split(".")
        thing = known.get(head)
        for part in rest:
            thing = inspect.getattr_static(thing, part, None) if not isinstance(thing, types.ModuleType) else vars(thing).get(part)
        for function in _inside(thing):
            if function.__name__ == name.rpartition(".")[2] and any(_names(function)):
                return function
    return None


def _inside(thing, depth=3):
    """A function and those that it wraps."""
    if not isinstance(thing, types.FunctionType) or depth == 0:
        return []
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    return [thing] + [function for each in cells if each is not thing for function in _inside(each, depth - 1)]


def _argument(error, line):
    message = str(error)
    unknown, count = _UNKNOWN_ARGUMENT.match(message), _WRONG_COUNT.match(message)
    if not isinstance(error, TypeError) or not (unknown or count):
        return ""
    name = (unknown or count).group(1)
    given = unknown.group(2) if unknown else ""
    called = _called(error, line, name)
    signatures = {tuple(map(tuple, _names(function))) for function in ([called] if called else _functions(name))}
    signatures = {one for one in signatures if given not in one[0] + one[1]}  # another function of that name, which takes it
    known = sorted({each for needed, others in signatures for each in needed + others})
    near = [one for one in _OF_TORCH.get(given, ()) if one in known] or (difflib.get_close_matches(given, known, 1) if given else [])
    if near:
        return "did you mean '%s'?" % near[0]
    if len(signatures) != 1:
        return ""
    if not given and known == [] and any(map(_takes_names, [called] if called else _functions(name))):
        return "give its settings by name: %s(name=value)" % name.rpartition(".")[2]
    needed, others = signatures.pop()
    shown = ", ".join(needed + tuple("%s=..." % one for one in others[:_MOST_SHOWN]) + (("...",) if len(others) > _MOST_SHOWN else ()))
    return "its arguments are (%s)" % shown if shown else "it takes no arguments"


def _attribute(error, line):
    found = _NO_ATTRIBUTE.match(str(error)) if isinstance(error, AttributeError) else None
    if not found:
        return ""
    owner, name = found.groups()
    if owner in ("function", "method") and name in _OF_PRIMITIVES:
        return "functions have no '%s': it belongs to primitives, for instance ops.MatMul().shard(...); mindspore.ops.shard() cuts functions" % name \
            if name == "shard" else "functions have no '%s': it belongs to primitives and cells" % name
    if owner in ("Tensor", "Parameter") and name in OF_TENSORS:
        return OF_TENSORS[name]
    thing = getattr(error, "obj", None)  # from Python 3.10 on
    kind = thing if isinstance(thing, type) else type(thing)
    if thing is None or not kind.__module__.startswith("mindspore"):
        return ""
    if name == "set_strategy":
        return "did you mean 'shard'?"
    near = difflib.get_close_matches(name, [one for one in dir(kind) if not one.startswith("_")], 1)
    return "did you mean '%s'?" % near[0] if near else ""


def _last_file(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace is not None else ""


def _variable(error, line):
    """A variable of the environment that is not there: of another launcher, or one of the user's own."""
    name = ""
    if isinstance(error, KeyError) and error.args and ("environ" in line or _last_file(error) in (os.__file__, "<frozen os>")):
        name = str(error.args[0])
    elif isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error):
        asked = _ASKED_VARIABLE.search(line)
        name = asked.group(1) if asked and asked.group(1) not in os.environ else ""
    if not name:
        return ""
    if _OF_A_RANK.search(name):
        return "'%s' is not set; take the rank from mindspore.communication.get_rank() and the number of ranks from get_group_size(), " \
            "or from RANK_ID and RANK_SIZE" % name
    return "'%s' is not set in the environment: %s=... in front of msrun sets it" % (name, name)


def _sign(error, line):
    """A sign that a text processor or an input method made wide, where Python stumbles, or one place beside (`1，2`)."""
    if not isinstance(error, SyntaxError):
        return ""
    named = _WRONG_SIGN.search(str(error))
    at = (error.offset or 1) - 1
    for sign in [chr(int(named.group(1), 16))] if named else (error.text or "")[max(at - 1, 0):at + 2]:
        narrow = _KEYBOARD.get(sign) or unicodedata.normalize("NFKC", sign)
        if narrow != sign and narrow.isascii():
            return "write an ordinary space instead" if narrow == " " else "write '%s' instead of '%s'" % (narrow, sign)
    return ""


def _spelling(error, line):
    """How a file is written that Python cannot read."""
    if isinstance(error, TabError):
        return "indent with blanks alone, or with tabs alone"
    if isinstance(error, SyntaxError) and re.search(r"can't decode byte|Non-UTF-8 code", str(error)):
        return "save the script as UTF-8, or name its encoding in the first line: # -*- coding: latin-1 -*-"
    return ""


def _numpy(error, line):
    if not isinstance(error, TypeError) or "does not support ufuncs" not in str(error):
        return ""
    from mindspore._drydock import names
    found = _OF_NUMPY.search(line)
    same = found.group(1) if found and names.has_name("mindspore.ops", found.group(1)) else ""
    return "networks compute with operators, not with numpy: use mindspore.ops" + ("." + same if same else "")


def _size(error, line):
    """A script that insists on a number of ranks."""
    from mindspore._drydock.session import session
    if isinstance(error, AssertionError) and _RANKS.search(line):
        return "--worker_num=N says how many ranks the job has"
    counts = re.findall(r"\d+", str(error))
    if isinstance(error, (ValueError, RuntimeError)) and _RANKS.search(str(error)) and str(session.world_size) in counts:
        return "--worker_num=%d says how many ranks the job has; give the number that the parallel settings multiply to, or other settings" \
            % session.world_size
    return ""


def _file(error, line):
    """A path that a script has looked for itself."""
    from mindspore._drydock import config_lines
    message = str(error)
    missing = [path for path in config_lines.paths_in(message) if not os.path.exists(path)]
    if not isinstance(error, Exception) or not missing or not _NOT_THERE.search(message):
        return ""
    if _WEIGHTS.search(message):
        return "a dry run needs no weights: leave the setting empty, or give a path that is there"
    return "put '%s' there, or give the path of one that is there" % os.path.basename(missing[0])


def _memory(error, line):
    return "a dry run needs shapes, not values: mindspore.Tensor(shape=(...), dtype=...) takes no memory" if isinstance(error, MemoryError) else ""


def _connection(error, line):
    """Something that a script fetches; what failed is told by the classes of errors of urllib, requests and sockets."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, Exception) and kinds & {"URLError", "gaierror", "ConnectionError", "ConnectTimeout", "HTTPError"}:
        return "a dry run needs no data: fetch them before, or make data of the same shapes instead"
    return ""


def _recursion(error, line):
    return "the function calls itself without end: is the condition missing that ends it?" if isinstance(error, RecursionError) else ""


def is_main_forgotten(script):
    """True if a script that ended without a network defines main() and has no other line that names it."""
    function = vars(sys.modules["__main__"]).get("main")
    if not isinstance(function, types.FunctionType) or function.__module__ != "__main__" or not os.path.isfile(script):
        return False
    with open(script, "rb") as file:
        source = file.read().decode("utf-8", "replace")
    return not re.search(r"^(?!\s*(?:async\s+)?def\b).*\bmain\b", source, re.MULTILINE)
