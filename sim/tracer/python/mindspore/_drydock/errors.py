"""The two disjoint families of errors: what the user got wrong, and what Drydock does not handle."""


ZEROS_HINT = "values that are computed are zeros in a dry run: mindspore.utils.dryrun.mock(value, function) gives others"
ENDLESS = "control-flow.endless"  # a loop that waits for a value that no dry run has


class Unsupported(Exception):
    """Legal for MindSpore, not handled here. Never a RuntimeError, ValueError, TypeError or KeyError.

    ``name`` is the full dotted name of what is missing.
    """

    def __init__(self, name, message=None, hint=""):
        self.name = name
        self.drydock_hint = hint
        self.drydock_reason = name + ":unsupported"
        super().__init__(message or "'%s' is not supported in a dry run" % name)


class TracerDefect(Exception):
    """A request that the graph recorder refused as malformed: our own mistake."""


def user_error(kind, reason, message, hint=""):
    """An error that MindSpore reports too: its class, our text, a machine-readable reason."""
    error = kind(message)
    error.drydock_reason = reason
    error.drydock_hint = hint
    return error


_KINDS = {
    "type": TypeError, "dtype": TypeError, "types": TypeError, "dtypes": TypeError,
    "index": IndexError, "rank-range": IndexError,
    "attribute-missing": AttributeError,
}


last_refusal = []  # what the recorder refused last, for scripts that swallow exceptions and exit


def raise_recorder_error(error, kind=None):
    """Raises the Python form of an error value of the graph recorder; `kind` if the class is known."""
    reason = error.get("reason", "")
    message = error.get("message", "")
    code = error.get("code")
    if code == "unsupported":
        raised = Unsupported(reason.split(":", 1)[0] or "operator", message, error.get("hint", ""))
    elif code == "internal" or reason == "trace:request":
        raised = TracerDefect(message)
    else:
        detail = reason.rsplit(":", 1)[-1]
        kind = kind or _KINDS.get(detail) or (TypeError if "dtype" in detail or "type" in detail else ValueError)
        raised = kind(message)
        raised.drydock_hint = error.get("hint", "")
    from mindspore._drydock.session import session
    lines = [(error.get("place") or {}).get("text", "")] + list(error.get("notes", []))
    if session.compile_at_once and any(lines):  # nobody else shows them
        raised.args = ("%s\n  %s" % (message, "\n  ".join(line for line in lines if line)),)
    raised.drydock_reason = reason
    raised.drydock_place = error.get("place")
    raised.drydock_notes = error.get("notes", [])
    last_refusal[:] = [raised]
    raise raised
