"""Calls of networks and functions by the script: what is recorded, once per signature."""
import contextlib
import gc
import sys

from mindspore._drydock.errors import ENDLESS, ZEROS_HINT, Unsupported, last_refusal
from mindspore._drydock.session import session
from mindspore._recording import branches, examples
from mindspore._recording.program import Program
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor

_calls = {}     # key -> (owner and arguments kept alive, result, program)
_scratch = None
_repeated = {}  # key -> calls after the first
MAX_REPEATED = 100000


def current_program():
    """The program being recorded; a new one if there is none."""
    if session.program is None:
        session.program = Program()
        session.programs.append(session.program)
    return session.program


def scratch_program():
    """Where operators outside of any network get their shapes; never part of a report."""
    global _scratch
    if _scratch is None:
        _scratch = Program("scratch", scratch=True)
    return _scratch


def tensors_in(value):
    """All tensors of nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def map_tensors(value, function, name):
    """The same structure with every tensor replaced; `name` names the arguments."""
    if isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return function(value, name)
    if isinstance(value, (tuple, list)) and any(True for _ in tensors_in(value)):
        items = [map_tensors(item, function, "%s%d" % (name, i)) for i, item in enumerate(value)]
        if type(value) in (tuple, list):
            return type(value)(items)
        return value if all(a is b for a, b in zip(items, value)) else tuple(items)
    if isinstance(value, dict):
        return {key: map_tensors(item, function, "%s_%s" % (name, key)) for key, item in value.items()}
    return value


def signature(value):
    if isinstance(value, Parameter):
        return ("parameter", id(value))
    if isinstance(value, Tensor):
        return ("tensor", value.shape, value.dtype.name)
    if isinstance(value, (tuple, list)):
        return (type(value).__name__,) + tuple(signature(item) for item in value)
    if isinstance(value, dict):
        return ("dict",) + tuple((str(key), signature(item)) for key, item in value.items())
    if type(value) in (bool, int, float, str, bytes, type(None)):
        return (type(value).__name__, value)
    return ("object", id(value))


def _join_or_begin(args, kwargs):
    """A call continues the program whose values it uses; otherwise it begins another one."""
    program = session.program
    if program is None:
        return
    from mindspore import context
    tensors = [t for t in tensors_in([args, kwargs]) if not isinstance(t, Parameter)]
    if any(program.owns(t) for t in tensors):
        return
    known = any(program.knows(t) for t in tensors)
    if program.has_updates or program.results and tensors and not known or program.job != context.job_settings():
        session.program = None


# Calls that a network may be deep: MindSpore counts its own (max_call_depth, 1,000), of which each is some seven here. Before
# Python 3.11 each takes a part of the C stack.
_DEEPEST = 10000 if sys.version_info >= (3, 11) else 5000


@contextlib.contextmanager
def _deep_calls():
    """Networks are walked by calls of Python, which MindSpore's compiler does not make: its limit is not theirs."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def run(owner, body, args, kwargs, names, identity=None, jit_config=None):
    """Runs a compiled function for the script; `jit_config` are settings of its own.

    The first call of a signature is recorded into the current program; later ones only answer the
    same results, as a second step of a training loop would.
    """
    key = (id(owner), getattr(owner, "training", None), signature(args), signature(kwargs))
    steps = session.call_steps or max([tensor.steps for tensor in tensors_in([args, kwargs])], default=1)
    found = _calls.get(key)
    if found is not None:
        found[2].add_steps(key, steps)
        _check_end(key)
        return found[1]
    def record():
        _join_or_begin(args, kwargs)
        program = current_program()
        program.add_steps(key, steps)
        program.jit_config.update(jit_config or {})
        program.data_sink = program.data_sink or session.data_sink
        try:
            program.named = {} if owner is body else None
            result = _record_call(program, body, args, kwargs, names)
            program.named = None
            if session.compile_at_once and program.node_count:
                _publish_layouts(owner, program.compile())
        except BaseException as error:
            session.program = None  # what is half recorded is not continued
            program.fail(error)
            raise
        return result, program

    with _deep_calls():
        result, program = _with_fitting_examples(record)
    _calls[key] = ((owner, args, kwargs), result, program)
    return result


def _check_end(key):
    """A loop that waits for a value, such as an accuracy, never ends: all are zeros."""
    _repeated[key] = _repeated.get(key, 0) + 1
    if _repeated[key] > MAX_REPEATED:
        raise Unsupported(ENDLESS, "the script calls its network %d times, as if it waited for a value"
                          % MAX_REPEATED, ZEROS_HINT)


@contextlib.contextmanager
def standing_for(steps, data_sink=False):
    """A compiled call inside stands for a number of steps in a row."""
    saved = session.call_steps, session.data_sink
    session.call_steps, session.data_sink = steps, data_sink
    try:
        yield
    finally:
        session.call_steps, session.data_sink = saved


def call_once(fn, args, kwargs):
    """Result of a network inside of a trace; that of an earlier call with the same tensors, if there was one.

    A step that computes the loss and then differentiates the same call runs the network once. With pipeline stages that is so
    even if the network writes parameters (the keys of earlier parts of a sequence), as recorded of MindSpore.
    """
    if not kwargs and hasattr(fn, "construct"):
        from mindspore import context
        staged = context.cuts_operators() and context.get_auto_parallel_context("pipeline_stages") > 1
        found = current_program().earlier_call(fn, args, writing=staged)
        if found is not None:
            return found
    return fn(*args, **kwargs)


def compile_alone(owner, body, args, kwargs, names):
    """Records and compiles one call as a program of its own, whatever was recorded before; the program."""
    return _with_fitting_examples(lambda: _compile_alone(owner, body, args, kwargs, names))


def _with_fitting_examples(record):
    """Records once more with other extents where those that stand for open ones do not fit."""
    for left in reversed(range(examples.MAX_TRIES)):
        count, failures = len(session.programs), len(session.failures)
        try:
            return record()
        except Unsupported as error:
            if not left or len(session.programs) == count or not examples.improve(error):
                raise
            del session.programs[count:], session.failures[failures:], last_refusal[:]


def _compile_alone(owner, body, args, kwargs, names):
    program = Program()
    session.programs.append(program)
    saved, session.program = session.program, program
    try:
        _record_call(program, body, args, kwargs, names)
        session.program = saved
        _publish_layouts(owner, program.compile())
    except BaseException as error:
        program.fail(error)
        raise
    finally:
        session.program = saved
    return program


def _publish_layouts(owner, compiled):
    """The layouts of inputs and parameters, where scripts look for them."""
    from mindspore import context
    if hasattr(owner, "phase"):
        owner.__dict__["_drydock_compiled"] = compiled
    if context.cuts_operators() and hasattr(owner, "parameter_layout_dict"):
        layouts = compiled["layouts"]
        owner.__dict__["parameter_layout_dict"] = {name: tuple(layout) for name, layout in layouts.items()}
        owner.__dict__["parallel_parameter_name_list"] = list(layouts)
        path = context.strategy_file()
        if path:
            from mindspore.parallel import _strategy_files
            _strategy_files.save(path, 0, compiled["strategies"], {name: layouts[name] for name in _parameters_of(owner) if name in layouts})
    _save_groups(owner, compiled["layouts"])


def _save_groups(owner, layouts):
    """The file of groups that checkpoints are restored by, if one is asked for."""
    from mindspore import context
    path = context.group_file()
    if not path:
        return
    from mindspore.parallel import _strategy_files
    per_stage = context.device_count() // (context.get_auto_parallel_context("pipeline_stages") if context.cuts_operators() else 1)
    known = [layouts[name] for name in _parameters_of(owner) if name in layouts] if context.cuts_operators() else []
    _strategy_files.save_groups(path, known, int(context.get_auto_parallel_context("global_rank")), per_stage)


def _parameters_of(owner):
    return [param.name for param in owner.get_parameters()] if hasattr(owner, "get_parameters") else []


def _record_call(program, body, args, kwargs, names):
    """Records a call into a program; what the script gets back."""
    given = {}  # id of a tensor -> how often the call has it so far

    def as_input(tensor, name):
        if program.owns(tensor):
            return tensor
        times = given[id(tensor)] = given.get(id(tensor), 0) + 1
        return program.input_for(program.twin(tensor, times), name)

    inside_args = tuple(map_tensors(arg, as_input, name) for arg, name in zip(args, names(len(args))))
    inside_kwargs = {name: map_tensors(arg, as_input, name) for name, arg in kwargs.items()}
    saved_scope, collecting = session.scope, gc.isenabled()
    session.depth += 1
    session.scope = "Default"
    gc.disable()  # what is recorded stays: to look through it again and again finds nothing
    try:
        inside_args, inside_kwargs = _through_dataset(program, inside_args, inside_kwargs)
        result = branches.run(program, lambda: body(*inside_args, **inside_kwargs))
    finally:
        session.depth -= 1
        session.scope = saved_scope
        if collecting:
            gc.enable()
    return map_tensors(result, _result_of(program), "result")


def _through_dataset(program, args, kwargs):
    """The arguments behind a data set that is cut as Layouts say: cuts of several dimensions, which a strategy cannot say.

    Source: mindspore/ccsrc/frontend/parallel/ops_info/virtual_dataset_info.cc
    """
    from mindspore import context
    layouts = context.dataset_layouts()
    fresh = [tensor for tensor in tensors_in([args, kwargs]) if program.is_input(tensor)]
    if layouts is None or len(fresh) != len(layouts):
        return args, kwargs
    from mindspore.ops import operations as P
    rows = P._VirtualDataset().shard(layouts, layouts)(*fresh)
    program.behind_dataset = True  # a data set of the script behind this one changes nothing
    behind = {id(row): cut for row, cut in zip(fresh, rows if isinstance(rows, tuple) else (rows,))}

    def cut(tensor, _):
        return behind.get(id(tensor), tensor)

    return (tuple(map_tensors(arg, cut, "") for arg in args),
            {name: map_tensors(arg, cut, name) for name, arg in kwargs.items()})


def _result_of(program):
    def as_result(tensor, name):
        if program.owns(tensor):
            program.hand_back(tensor)
        elif tensor._node is None and tensor._open is None and not isinstance(tensor, Parameter):
            program.constant_results.append(tensor)  # of a network that computes nothing
        return tensor

    return as_result


def apply(op, operands, attrs, primitive=None, dtypes=None, types=None):
    """Records one operator where it belongs; list of result tensors.

    `dtypes` gives the element type for operands that are Python numbers, `types` the (shape, element type) of the
    results of an operator that is not in the table.
    """
    call = (op, operands, attrs, primitive, dtypes, types)
    if session.depth > 0 and op == "_VirtualDataset" and current_program().behind_dataset:
        return operands
    if session.depth > 0:
        return _record(current_program(), *call)
    program = session.program
    tensors = list(tensors_in(operands))
    if program is not None and any(program.owns(t) for t in tensors):
        return _eager(program, *call)
    results = [_detached(t) for t in _record(scratch_program(), *call)]
    if operands and isinstance(operands[0], Parameter) and Program.writes(primitive):
        operands[0]._small = None  # what it holds is not followed
    return results


def _record(program, op, operands, attrs, primitive, dtypes, types):
    dtypes = dtypes or {}
    if session.phase == "forward" and op != _SHARD_IDENTITY:
        operands = _planned(program, operands, primitive)
    ids = [program.operand(value, dtypes.get(i)) for i, value in enumerate(operands)]
    if not program.open_values:
        return program.add_node(op, ids, attrs, primitive, types)
    from mindspore._drydock import open_extents
    open_extents.check(program, op, ids, operands, attrs, primitive)
    results = program.add_node(op, ids, attrs, primitive, types)
    open_extents.follow(program, ids, results)
    return results


_SHARD_IDENTITY = "AShardIdentity"


def _planned(program, operands, primitive):
    """Operands with the cuts that a parameter_plan gives to parameters that are read."""
    if program.scratch or program.writes(primitive) or not any(isinstance(value, Parameter) for value in operands):
        return operands
    from mindspore.parallel.shard import planned
    return [planned(value, program) if isinstance(value, Parameter) else value for value in operands]


def _eager(program, op, operands, *rest):
    """An operator between two compiled calls: recorded once per line and operands."""
    from mindspore._drydock import frames
    key = (frames.user_stack()[:1], op, repr(rest[0]),
           tuple(t._node[1] if program.owns(t) else id(t) for t in tensors_in(operands)))
    found = program.call_sites.get(key)
    if found is None:
        found = program.call_sites[key] = _record(program, op, operands, *rest)
        for tensor in found:
            program.hand_back(tensor)
    return found


def _detached(tensor):
    found = Tensor(shape=tensor.shape, dtype=tensor.dtype)
    found._computed = tensor._node
    return found


def input_names(function, skip=0):
    """Names for positional arguments: the function's own, numbered ones for *args."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)

    def names(count):
        if code is None:
            return ["input%d" % i for i in range(count)]
        declared = list(code.co_varnames[skip:code.co_argcount])
        if len(declared) < count:
            has_varargs = code.co_flags & 0x04
            base = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if has_varargs else "input"
            declared += ["%s%d" % (base, i) for i in range(count - len(declared))]
        return declared[:count]

    return names
