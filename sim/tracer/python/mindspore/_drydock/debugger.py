"""pdb in a dry run: the script has no standard input, so a debugger talks to the terminal that the dry run was started from.

While it waits for commands, the terminal belongs to the script's process group, and the time limit of the script is held by a
file. Without a terminal, a breakpoint is an error that says so; when a script is run again for further ranks, it is passed.
"""
import contextlib
import importlib.machinery
import os
import signal
import sys

from mindspore._drydock.errors import user_error

_hold = ""      # this file holds the time limit
_further = False


def install(hold_file):
    """Prepares pdb, which is imported when the script asks for it."""
    global _hold, _further
    _hold, _further = hold_file, bool(os.environ.get("DRYDOCK_TRACE_FURTHER"))
    if not any(finder is _Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder)


def _terminal():
    """A descriptor of the terminal, None without one."""
    if not os.isatty(2):
        return None
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None


@contextlib.contextmanager
def _in_front(terminal):
    """The terminal is this process's, on the usual descriptors."""
    group = os.tcgetpgrp(terminal)
    kept = [os.dup(number) for number in (0, 1)]
    ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        open(_hold, "w").close()
        os.tcsetpgrp(terminal, os.getpgrp())
        for number in (0, 1):
            os.dup2(terminal, number)
        yield
    finally:
        for number, descriptor in zip((0, 1), kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.tcsetpgrp(terminal, group)
        signal.signal(signal.SIGTTOU, ignored)
        os.close(terminal)
        with contextlib.suppress(OSError):
            os.remove(_hold)


def _prepare(pdb):
    interaction, make = pdb.Pdb.interaction, pdb.Pdb.__init__

    def __init__(self, completekey="tab", stdin=None, stdout=None, *args, **kwargs):
        make(self, completekey, stdin, stdout, *args, **kwargs)
        if stdin is None and stdout is None and not _further:
            terminal = _terminal()
            if terminal is None:
                raise user_error(RuntimeError, "script:no-input", "a breakpoint, but the dry run has no terminal",
                                 "leave the breakpoint out, or start the dry run from a terminal")
            os.close(terminal)

    def interact(self, *args, **kwargs):
        terminal = None if _further else _terminal()
        if terminal is None:
            return None if _further else interaction(self, *args, **kwargs)
        with _in_front(terminal):
            return interaction(self, *args, **kwargs)

    pdb.Pdb.__init__, pdb.Pdb.interaction = __init__, interact


class _Finder:
    """Finds pdb as others do, and prepares it when it has been loaded."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "pdb":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        self._inner.exec_module(module)
        _prepare(module)
