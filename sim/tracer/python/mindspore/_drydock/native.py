"""Calls into the graph recorder (C interface, sim/tracer/c_api.h)."""
import ctypes
import json
import os

from mindspore._drydock.errors import TracerDefect, Unsupported, last_refusal, user_error
from mindspore._drydock.session import session

INTERFACE_VERSION = 2
_library = None


def _load():
    global _library
    if _library is not None:
        return _library
    path = os.environ.get("DRYDOCK_TRACE_LIBRARY")
    if not path:
        raise Unsupported("mindspore", "this 'mindspore' package only records networks for a dry run",
                          "start the script with 'msrun --sim_level=1 ...'")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise TracerDefect("the graph recorder cannot be loaded: %s" % error) from None
    library.drydock_trace_version.restype = ctypes.c_uint
    if library.drydock_trace_version() != INTERFACE_VERSION:
        raise TracerDefect("the graph recorder '%s' belongs to another release of Drydock" % path)
    library.drydock_trace_open.restype = ctypes.c_void_p
    library.drydock_trace_close.argtypes = [ctypes.c_void_p]
    library.drydock_trace_close.restype = None
    library.drydock_trace_call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                                           ctypes.c_size_t]
    library.drydock_trace_call.restype = ctypes.c_char_p
    _library = library
    return library


_KINDS = {
    "type": TypeError, "dtype": TypeError, "types": TypeError, "dtypes": TypeError,
    "index": IndexError, "rank-range": IndexError,
    "attribute-missing": AttributeError,
}


def _raise_recorder_error(error, kind=None):
    """Raises the Python form of an error value of the graph recorder; `kind` if the class is known."""
    reason = error.get("reason", "")
    message = error.get("message", "")
    code = error.get("code")
    if code == "unsupported":
        raised = Unsupported(reason.split(":", 1)[0] or "operator", message, error.get("hint", ""))
    elif code == "internal" or reason == "trace:request":
        raised = TracerDefect(message)
    elif code == "io":
        raised = OSError(message)
        raised.drydock_hint = error.get("hint", "")
    else:
        detail = reason.rsplit(":", 1)[-1]
        kind = kind or _KINDS.get(detail) or (TypeError if "dtype" in detail or "type" in detail else ValueError)
        raised = kind(message)
        raised.drydock_hint = error.get("hint", "")
    lines = [(error.get("place") or {}).get("text", "")] + list(error.get("notes", []))
    if session.compile_at_once and any(lines):  # nobody else shows them
        raised.args = ("%s\n  %s" % (message, "\n  ".join(line for line in lines if line)),)
    raised.drydock_reason = reason
    raised.drydock_place = error.get("place")
    raised.drydock_notes = error.get("notes", [])
    last_refusal[:] = [raised]
    raise raised


class Recorder:
    """One recording; requests and answers as in sim/tracer/trace_session.h."""

    def __init__(self):
        self._handle = None
        self._library = _load()
        self._handle = self._library.drydock_trace_open()
        if not self._handle:
            raise TracerDefect("out of memory while opening a recording")

    def call(self, method, **fields):
        request = _encode(fields).encode("utf-8", "replace")
        answer = _decode(self._library.drydock_trace_call(self._handle, method.encode(), request, len(request)).decode())[0]
        error = answer.get("error")
        if error is not None:
            if error.get("reason") == "trace:request":
                _refuse_huge_numbers(fields)
            # What the compiler refuses is a RuntimeError in the reference.
            _raise_recorder_error(error, RuntimeError if method == "compile" else None)
        return answer

    def close(self):
        if self._handle:
            self._library.drydock_trace_close(self._handle)
            self._handle = None

    def __del__(self):
        self.close()


def _refuse_huge_numbers(value):
    """Raises ValueError on a number of the script that no graph can hold."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            _refuse_huge_numbers(item)
    elif isinstance(value, int) and not -2 ** 63 <= value < 2 ** 63:
        text = hex(value)  # decimal text of very long numbers is refused by Python
        raise user_error(ValueError, "script:huge-number",
                         "number %s does not fit 64 bits" % (text if len(text) < 40 else text[:36] + "..."))


def _plain(value):
    """Integers of other libraries and rank-dependent integers, as JSON numbers."""
    index = getattr(type(value), "__index__", None)
    if index is not None:
        return value.__index__()
    raise TypeError("a %s cannot be recorded" % type(value).__name__)


_encode = json.JSONEncoder(ensure_ascii=False, default=_plain, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode


def operator_table():
    """All operators: list of {"name", "constructor", "call", "tuple_result", "aliases", "kind"}."""
    recorder = Recorder()
    try:
        return recorder.call("operators")["operators"]
    finally:
        recorder.close()
