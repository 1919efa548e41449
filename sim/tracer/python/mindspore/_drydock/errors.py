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


last_refusal = []  # what the recorder refused last, for scripts that swallow exceptions and exit
