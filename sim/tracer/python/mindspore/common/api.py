"""jit and friends."""
import functools

from mindspore._drydock import tracing
from mindspore._drydock.lazy import Stub, module_getattr
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


class _GraphExecutor:
    """What the compiled core of the reference answers about a compiled phase."""

    def __init__(self):
        self._programs = {}  # full phase -> Program

    def _compiled(self, phase):
        program = self._programs.get(phase)
        return program.compiled if program is not None else {"layouts": {}, "strategies": {}}

    def has_compiled(self, phase):
        return phase in self._programs

    def get_strategy(self, phase):
        return self._compiled(phase)["strategies"]

    def get_parameter_layout(self, phase):
        return {name: tuple(layout) for name, layout in self._compiled(phase)["layouts"].items()}

    def get_parallel_graph_info(self, phase):
        program = self._programs.get(phase)
        return program.listing() if program is not None else {}

    def get_parallel_parameter_name_list(self, phase):
        return list(self._compiled(phase)["layouts"])

    def __getattr__(self, name):
        return Stub("mindspore._c_expression.GraphExecutor_." + name)


class _CellGraphExecutor:
    """Compiles cells without running them."""

    def __init__(self):
        self._graph_executor = _GraphExecutor()

    def compile(self, obj, *args, phase="predict", do_convert=True, jit_config_dict=None, **kwargs):
        obj.__dict__["arguments_key"] = str(tracing.signature((args, kwargs)))
        full_phase = self._full_phase(phase, obj)
        if self._graph_executor.has_compiled(full_phase):
            return full_phase, False
        obj.check_names()
        program = obj.compile_alone(args, kwargs)
        self._graph_executor._programs[full_phase] = program
        return full_phase, True

    @staticmethod
    def _full_phase(phase, obj):
        return "%s.%d.%d.%s" % (phase, obj.create_time, id(obj), getattr(obj, "arguments_key", ""))

    def has_compiled(self, phase):
        return self._graph_executor.has_compiled(phase)

    def _get_shard_strategy(self, obj):
        return self._graph_executor.get_strategy(self._full_phase(obj.phase, obj))

    def _get_num_parallel_ops(self, obj):
        return len(self._graph_executor.get_strategy(self._full_phase(obj.phase, obj)))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub("mindspore.common.api._CellGraphExecutor." + name)


_cell_graph_executor = _CellGraphExecutor()


def sync():
    """Nothing runs that could be waited for."""


def set_async_for_graph(async_for_graph=True):
    """Nothing runs at the same time as anything else."""


__getattr__ = module_getattr("mindspore.common.api")
