"""Layout of a tensor on a device grid, and shard() of functions."""
import copy

from mindspore import context
from mindspore._drydock import frames
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import tracing


def _fail(kind, detail, message):
    raise user_error(kind, "Layout:" + detail, message)


class Layout:
    """Device grid with named axes; calling it with axis names says how a tensor is cut."""

    def __init__(self, device_matrix, alias_name, rank_list=None):
        _check_grid(device_matrix, alias_name)
        count = 1
        for extent in device_matrix:
            count *= extent
        if rank_list is not None:
            if not isinstance(rank_list, list) or any(type(rank) is not int for rank in rank_list):
                _fail(TypeError, "rank-list-type", "rank_list must be a list of ints")
            if len(rank_list) != count or len(set(rank_list)) != count:
                _fail(ValueError, "rank-list-length", "rank_list must hold %d different ranks" % count)
        self._device_matrix = device_matrix
        self._alias_name = alias_name
        self._rank_list = list(range(count)) if rank_list is None else rank_list
        self._tensor_map = None

    def __call__(self, *tensor_map):
        used = set()
        self._tensor_map = tuple(self._entry(item, used) for item in tensor_map)
        return copy.deepcopy(self)

    def _entry(self, item, used):
        if isinstance(item, tuple):
            return tuple(self._axis(name, used) for name in item)
        return self._axis(item, used)

    def _axis(self, name, used):
        if not isinstance(name, str):
            _fail(TypeError, "map-type", "a layout is called with axis names, not %r" % (name,))
        if name == "None":
            return -1
        if name not in self._alias_name:
            _fail(ValueError, "unknown-alias", "axis '%s' is not one of %s" % (name, self._alias_name))
        if name in used:
            _fail(ValueError, "repeated-alias", "axis '%s' cuts two dimensions" % name)
        used.add(name)
        return len(self._alias_name) - 1 - self._alias_name.index(name)

    def to_dict(self):
        if self._tensor_map is None:
            _fail(ValueError, "no-map", "the layout was never called with axis names")
        return {"device_matrix": self._device_matrix, "tensor_map": self._tensor_map,
                "interleaved_parallel": "interleaved_parallel" in self._alias_name,
                "alias_name": self._alias_name, "rank_list": self._rank_list}


def _check_grid(device_matrix, alias_name):
    if not isinstance(device_matrix, tuple) or any(type(extent) is not int for extent in device_matrix):
        _fail(TypeError, "device-matrix-type", "device_matrix must be a tuple of ints, not %r" % (device_matrix,))
    if not isinstance(alias_name, tuple) or any(not isinstance(name, str) for name in alias_name):
        _fail(TypeError, "alias-type", "alias_name must be a tuple of texts, not %r" % (alias_name,))
    if len(device_matrix) != len(alias_name):
        _fail(ValueError, "alias-length", "device_matrix %s and alias_name %s differ in length"
              % (device_matrix, alias_name))
    if any(extent < 1 for extent in device_matrix):
        _fail(ValueError, "device-matrix-extent", "device_matrix %s has an extent below 1" % (device_matrix,))
    for name in alias_name:
        if not name or name == "None":
            _fail(ValueError, "alias-name", "an axis must not be called %r" % name)
    if len(set(alias_name)) != len(alias_name):
        _fail(ValueError, "alias-repeated", "an axis name occurs twice in %s" % (alias_name,))
    if "interleaved_parallel" in alias_name[:-1]:
        _fail(ValueError, "alias-interleaved", "'interleaved_parallel' must be the last axis")


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """The function with its arguments (and results) in the given cuts.

    Recorded as identities in front of and behind the function's operators; what is in between follows them. A call by the
    script is a graph of its own, as that of a Cell. In PyNative mode nothing around it is cut.

    Source: mindspore/ccsrc/frontend/parallel/shard/shard.cc
    """
    from mindspore.nn.cell import Cell
    from mindspore.ops import _strategy
    from mindspore.ops.primitive import Primitive
    if isinstance(fn, Primitive):
        return fn.shard(in_strategy, out_strategy)
    if not callable(fn):
        raise user_error(TypeError, "shard:fn", "shard() takes a function, a Cell or a primitive, not %r" % (fn,))
    _strategy.check_shard("shard", in_strategy, out_strategy)
    _check_parameter_plan(fn, parameter_plan)
    if not isinstance(device, str):
        raise user_error(TypeError, "shard:device", "device must be a string, not %r" % (device,))
    if isinstance(level, bool) or not isinstance(level, int):
        raise user_error(TypeError, "shard:level", "level must be a whole number, not %r" % (level,))

    is_cell = isinstance(fn, Cell)
    if not is_cell and (getattr(fn, "__module__", None) or "").startswith("mindspore.") and not hasattr(fn, "construct"):
        return _sharded_operator(fn, in_strategy, out_strategy)
    session.shards_functions = True
    for parameter in fn.trainable_params() if is_cell else ():
        parameter.is_in_pynative_shard = True
    inside = fn.without_shard if is_cell else fn

    def body(*args, **kwargs):
        saved, session.in_shard = session.in_shard, True
        try:
            results = inside(*_in_cuts(args, in_strategy, "in_strategy"), **kwargs)
            several = isinstance(results, (tuple, list))
            if out_strategy is not None:
                cut = _in_cuts(tuple(results) if several else (results,), out_strategy, "out_strategy")
                results = cut if several else cut[0]
        finally:
            session.in_shard = saved
        if not context.runs_pynative():
            return results
        return _whole(results) if several else _whole((results,))[0]

    def sharded(*args, **kwargs):
        if session.depth > 0:
            return body(*args, **kwargs)
        names = tracing.input_names(fn.construct if is_cell else fn, skip=1 if is_cell or hasattr(fn, "__self__") else 0)
        return tracing.run(fn if is_cell else sharded, body, args, kwargs, names)

    sharded.__wrapped__ = fn
    return sharded


def _whole(tensors):
    """Results as what runs around a sharded function in PyNative mode gets them: whole."""
    from mindspore.common.tensor import Tensor
    return tuple(_identity((1,) * value.ndim)(value) if isinstance(value, Tensor) and value.ndim else value for value in tensors)


def planned(parameter, program):
    """A parameter as operators read it: in the cut that a parameter_plan gives it."""
    if program.pynative and session.in_shard and parameter.requires_grad and not parameter.is_in_pynative_shard:
        raise user_error(RuntimeError, "shard:function-parameter",
                         "a function with a shard() uses parameter '%s', which in PyNative mode only a Cell may" % parameter.name,
                         "shard() the Cell that has it")
    return parameter if parameter.shard_plan is None else _identity(parameter.shard_plan)(parameter)


def _sharded_operator(fn, in_strategy, out_strategy):
    """A function of the library, which is one operator: that operator gets the strategy."""
    def sharded(*args, **kwargs):
        session.next_strategy = (in_strategy, out_strategy)
        try:
            return fn(*args, **kwargs)
        finally:
            session.next_strategy = None

    sharded.__wrapped__ = fn
    return sharded


def _in_cuts(tensors, strategy, which):
    """Tensors behind identities that carry one entry of the strategy each."""
    from mindspore.common.tensor import Tensor
    positions = [i for i, value in enumerate(tensors) if isinstance(value, Tensor)]
    if len(positions) != len(strategy):
        raise user_error(ValueError, "shard:entries", "%s has %d entries for %d tensors"
                         % (which, len(strategy), len(positions)))
    found = list(tensors)
    for i, entry in zip(positions, strategy):
        if entry is None:  # cut as the operators want it
            continue
        if isinstance(entry, tuple) and len(entry) != found[i].ndim:
            raise user_error(ValueError, "shard:dimensions", "entry %s of %s does not fit a tensor of %d dimensions"
                             % (entry, which, found[i].ndim))
        found[i] = _identity(entry)(found[i])
    return tuple(found)


def _identity(entry):
    from mindspore.ops import _table
    made = _table.primitive_class("AShardIdentity") or _table.primitive_class("Identity")
    return made().shard((entry,))


def _check_parameter_plan(fn, plan):
    """The cuts of parameters, which entries must fit; unknown names are told, and a parameter keeps its first cut."""
    if plan is None:
        return
    if not isinstance(plan, dict):
        raise user_error(TypeError, "shard:parameter-plan", "parameter_plan must be a dictionary, not %r" % (plan,))
    parameters = {parameter.name: parameter for parameter in fn.trainable_params()} if hasattr(fn, "trainable_params") else {}
    if plan and not parameters:
        raise user_error(TypeError, "shard:parameter-plan", "parameter_plan is for a Cell with parameters, not for %r" % (fn,))
    for name, entry in plan.items():
        if not isinstance(name, str) or not isinstance(entry, (tuple, Layout)):
            raise user_error(TypeError, "shard:parameter-plan", "parameter_plan maps names to tuples or Layouts")
        parameter = parameters.get(name.replace("self.", ""))
        if parameter is None:
            session.warn("%s: parameter_plan names '%s', which is no trainable parameter of the cell; MindSpore ignores it%s"
                         % (frames.place_text(frames.user_place()), name, _nearest(name.replace("self.", ""), parameters)))
            continue
        if isinstance(entry, tuple):
            _check_plan_entry(name, parameter, entry)
        if parameter.shard_plan is None:
            parameter.shard_plan = entry
        else:
            session.warn("%s: '%s' has a cut by an earlier parameter_plan, which is kept"
                         % (frames.place_text(frames.user_place()), name))


def _nearest(name, known):
    import difflib
    found = difflib.get_close_matches(name, list(known), 1)
    return "; did you mean '%s'?" % found[0] if found else ""


def _check_plan_entry(name, parameter, entry):
    if len(entry) != parameter.ndim:
        raise user_error(ValueError, "shard:parameter-plan",
                         "the plan of parameter '%s' has %d entries for shape %s" % (name, len(entry), parameter.shape))
    for extent, cut in zip(parameter.shape, entry):
        if cut < 1 or extent % cut:
            raise user_error(ValueError, "shard:parameter-plan",
                             "parameter '%s' of shape %s cannot be cut by %s" % (name, parameter.shape, entry))


def reshard(tensor, layout):
    """The tensor in another layout."""
    from mindspore.common.tensor import Tensor
    if not isinstance(layout, Layout):
        _fail(TypeError, "reshard", "reshard() takes a mindspore.parallel.Layout, not %s" % type(layout).__name__)
    if not isinstance(tensor, Tensor):
        _fail(TypeError, "reshard-tensor", "reshard() takes a Tensor, not %s" % type(tensor).__name__)
    return _identity(layout)(tensor)


__getattr__ = module_getattr(__name__)
