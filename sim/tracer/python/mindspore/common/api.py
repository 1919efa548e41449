"""jit and friends."""
import functools

from mindspore._drydock import tracing
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


def jit(function=None, **settings):
    """Compiles a function as one graph per signature; transparent inside of another graph."""
    def decorate(fn):
        names = tracing.input_names(fn)

        @functools.wraps(fn)
        def compiled(*args, **kwargs):
            if session.depth > 0:
                return fn(*args, **kwargs)
            return tracing.run(fn, fn, args, kwargs, names)

        return compiled

    return decorate(function) if function is not None else decorate


ms_function = jit


def jit_class(cls):
    return cls


def ms_memory_recycle():
    return None


def mutable(input_data, dynamic_len=False):
    return input_data


class JitConfig:
    """Settings of jit; kept, without effect on a trace."""

    def __init__(self, jit_level="", exc_mode="auto", jit_syntax_level="", debug_level="RELEASE", **kwargs):
        self.jit_config_dict = dict(kwargs, jit_level=jit_level, exc_mode=exc_mode)


class _PynativeExecutor:
    def sync(self):
        return None

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


_pynative_executor = _PynativeExecutor()


class _CellGraphExecutor:
    """Compiles cells without running them: here, records them."""

    def compile(self, obj, *args, phase="predict", do_convert=True, jit_config_dict=None, **kwargs):
        before = len(session.programs)
        obj.check_names()
        obj(*args, **kwargs)
        newly = len(session.programs) > before
        return "%s.%d" % (phase, id(obj)), newly


_cell_graph_executor = _CellGraphExecutor()

__getattr__ = module_getattr("mindspore.common.api")
