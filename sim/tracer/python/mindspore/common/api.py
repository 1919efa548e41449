"""jit and friends."""
import functools

from mindspore import _context_rules as _rules
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import Stub, module_getattr
from mindspore._drydock.session import session
from mindspore._recording import tracing


_BACKENDS = ("", "ms_backend", "GE")


def jit(function=None, *, jit_level="", backend="", **settings):
    """Compiles a function as one graph per signature; transparent inside of another graph."""
    config = JitConfig(jit_level, **{name: settings[name] for name in ("exec_order",) if name in settings})
    if backend not in _BACKENDS:
        raise user_error(ValueError, "jit:backend", "backend of jit() must be one of %s, not %r" % (_BACKENDS, backend))
    if backend == "GE":
        session.warn_limit(_rules.unfollowed_context("jit_level", "O2"), at_line=True)

    def decorate(fn):
        names = tracing.input_names(fn)

        @functools.wraps(fn)
        def compiled(*args, **kwargs):
            if session.depth > 0:
                return fn(*args, **kwargs)
            return tracing.run(fn, fn, args, kwargs, names, jit_config=config.jit_config_dict)

        return compiled

    return decorate(function) if function is not None else decorate


ms_function = jit


def jit_class(cls):
    return cls


def set_recursion_limit(recursion_limit=1000):
    """How deep calls of a compiled function may lie in each other; checked and kept in the context."""
    if isinstance(recursion_limit, bool) or not isinstance(recursion_limit, int):
        raise user_error(TypeError, "set_recursion_limit:type", "recursion_limit must be a whole number, not %r" % (recursion_limit,))
    if recursion_limit < 1:
        raise user_error(ValueError, "set_recursion_limit:range", "recursion_limit must be positive, not %d" % recursion_limit)
    from mindspore import context
    context.set_context(max_call_depth=recursion_limit)


def ms_memory_recycle():
    return None


def mutable(input_data, dynamic_len=False):
    return input_data


class JitConfig:
    """Settings of one compiled network: they win over those of set_context."""

    def __init__(self, jit_level="", exc_mode="auto", jit_syntax_level="", debug_level="RELEASE", infer_boost="off",
                 **kwargs):
        _rules.check_context("jit_level", jit_level)
        if "exec_order" in kwargs:
            _rules.check_context("exec_order", kwargs["exec_order"])
        if exc_mode not in ("auto", "sink", "no_sink"):
            raise user_error(ValueError, "JitConfig:exc_mode", "exc_mode must be auto, sink or no_sink, not %r" % (exc_mode,))
        if jit_syntax_level not in ("STRICT", "COMPATIBLE", "LAX", ""):
            raise user_error(ValueError, "JitConfig:jit_syntax_level",
                             "jit_syntax_level must be STRICT, LAX or empty, not %r" % (jit_syntax_level,))
        left_out = _rules.unfollowed_context("jit_level", jit_level)
        if left_out:
            session.warn_limit(left_out, at_line=True)
        self.jit_config_dict = dict(kwargs, jit_level=jit_level, exc_mode=exc_mode, jit_syntax_level=jit_syntax_level,
                                    debug_level=debug_level, infer_boost=infer_boost)


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
        phase = self._full_phase(obj.phase, obj)
        if not self.has_compiled(phase) and "_drydock_compiled" in obj.__dict__:
            return obj.__dict__["_drydock_compiled"]["strategies"]  # compiled as it was called
        return self._graph_executor.get_strategy(phase)

    def _get_allreduce_fusion(self, obj):
        """{parameter: number of the fused AllReduce of its gradients}"""
        if "_drydock_compiled" in obj.__dict__:
            return dict(obj.__dict__["_drydock_compiled"]["fusions"])
        return dict(self._graph_executor._compiled(self._full_phase(obj.phase, obj)).get("fusions", {}))

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


def no_inline(fn=None):
    """The function: how calls are compiled changes no result."""
    return fn if fn is not None else no_inline


def set_dump(target, enabled=True):
    """Accepted: no results are written."""


cells_compile_cache = {}


def _function_forbid_reuse(fn):
    """The function: a compile is never reused here."""
    return fn


class _no_grad:
    """Inside of it no gradients are asked for; a dry run computes those that are."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


__getattr__ = module_getattr("mindspore.common.api")
