"""Primitives: operators with their attributes and sharding strategies."""
import copy
import functools

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import Stub, module_getattr
from mindspore._drydock.rank import RankInt
from mindspore._drydock.session import session
from mindspore._recording import tracing, values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _promotion, _strategy
from mindspore.ops._table import REQUIRED


_NOT_MODELLED = ("offload",)  # attributes that change what a step keeps

SLICE_ACTIVATION = "slice_activation"  # of a cell: counts for those of its operators that make its results


class Primitive:
    """See mindspore.ops.Primitive."""

    def __init__(self, name):
        self.name = name
        self.attrs = {}
        self.instance_name = ""
        self.version = 0        # grows with every change after construction
        self._added = {}        # attributes added by add_prim_attr

    def __getattr__(self, name):
        if not name.startswith("_"):
            from mindspore._drydock import names
            if names.has_method("mindspore.ops.Primitive", name):
                return Stub("mindspore.ops.Primitive." + name)
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))

    # -- attributes ---------------------------------------------------------------------------------
    def add_prim_attr(self, name, value):
        if value is True and name in _NOT_MODELLED:
            session.warn_limit("%s of operators is not modelled: memory is reported without it" % name, at_line=True)
        self.__dict__[name] = value
        self.attrs[name] = value
        if name not in _strategy.FIELDS and name != SLICE_ACTIVATION:
            self._added[name] = value
        self.version += 1
        return self

    _set_prim_arg = add_prim_attr

    def del_prim_attr(self, name):
        self.__dict__.pop(name, None)
        self.attrs.pop(name, None)
        self._added.pop(name, None)
        self.version += 1
        return self

    def set_device(self, device_target):
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage):
        return self.add_prim_attr("stage", stage)

    def recompute(self, mode=True):
        if not isinstance(mode, bool):
            raise user_error(TypeError, self.name + ":recompute-type", "recompute() takes True or False")
        return self.add_prim_attr("recompute", mode)

    def place(self, role, rank_id):
        raise Unsupported("mindspore.ops.Primitive.place", "place() of operators on other processes is not handled",
                          "leave place() out to see what one process needs for all of the network")

    def _offload(self, backward_prefetch="Auto"):
        return self.add_prim_attr("offload", True)

    def set_prim_instance_name(self, name):
        self.instance_name = name
        return self

    def init_prim_io_names(self, inputs, outputs):
        return self

    def check_elim(self, *args):
        return False, None

    def shard(self, in_strategy=None, out_strategy=None):
        """Cuts of the inputs (and outputs), as tuples of ints or as Layouts."""
        _strategy.set_strategy(self, in_strategy, out_strategy)
        return self

    def sharding_fields(self):
        """What a graph request says about the strategy."""
        return {field: _strategy.flat(self.attrs[name]) for name, field in _strategy.FIELDS.items()
                if name in self.attrs}

    def layout_texts(self):
        """The layouts of the script in its own words, as dumps of graphs show them."""
        return {name + "_text": _strategy.layouts_text(self.attrs[name]) for name in ("in_layout", "out_layout")
                if self.attrs.get(name)}

    def added_attrs(self):
        return {name: attr_value(value) for name, value in self._added.items()}

    def recorded_attrs(self):
        """What a node says about the primitive, sharding apart."""
        return {name: attr_value(value) for name, value in self.attrs.items()
                if name not in _strategy.FIELDS and name != SLICE_ACTIVATION}

    # -- calls --------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        raise Unsupported("mindspore.ops." + self.name,
                          "operator '%s' is not in the operator table" % self.name,
                          "see 'drydock list_operators'")

    def __repr__(self):
        return "Prim[%s]" % self.name

    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(self.__dict__)
        copied.attrs = dict(self.attrs)
        copied._added = dict(self._added)
        return copied


def attr_value(value):
    """A Python value as an attribute: number, text, bool, None or list of them."""
    if type(value) is RankInt:
        return int(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, mstype.Type):
        return value.name
    if isinstance(value, (tuple, list)):
        return [attr_value(item) for item in value]
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, slice):
        return [attr_value(value.start), attr_value(value.stop), attr_value(value.step)]
    try:
        return values.plain_int(value)
    except TypeError:
        pass
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _bind(name, arguments, args, kwargs):
    """Values by argument, as Python would bind them."""
    if len(args) > len(arguments):
        raise user_error(TypeError, name + ":arguments", "%s takes at most %d arguments, %d were given"
                         % (name, len(arguments), len(args)))
    bound = {argument.name: value for argument, value in zip(arguments, args)}
    if len(bound) == len(arguments) and not kwargs:
        return bound
    names = {argument.name for argument in arguments}
    for key, value in kwargs.items():
        if key not in names:
            raise user_error(TypeError, name + ":arguments", "%s has no argument '%s'" % (name, key))
        if key in bound:
            raise user_error(TypeError, name + ":arguments", "%s got argument '%s' twice" % (name, key))
        bound[key] = value
    for argument in arguments:
        if argument.name not in bound:
            if argument.default is REQUIRED:
                raise user_error(TypeError, name + ":arguments",
                                 "%s needs argument '%s'" % (name, argument.name))
            bound[argument.name] = argument.default
    return bound


def _construct(self, signature, args, kwargs):
    Primitive.__init__(self, signature.name)
    early = _early_settings(signature, len(args), kwargs)
    given = [argument for argument in early if argument.default is not REQUIRED or argument.name in kwargs
             or early.index(argument) < len(args) - len(signature.constructor)]
    bound = _bind(signature.name, signature.constructor + given, args, kwargs)
    for argument in given:
        self.attrs[argument.name] = bound[argument.name]
    for argument in signature.constructor:
        value = bound[argument.name]
        if isinstance(argument.default, bool) and not isinstance(value, bool):
            raise user_error(TypeError, "%s:%s-type" % (signature.name, argument.name),
                             "argument '%s' of %s must be True or False, not %r"
                             % (argument.name, signature.name, value))
        self.attrs[argument.name] = value
        self.__dict__.setdefault(argument.name, value)


def _early_settings(signature, count, kwargs):
    """Attributes of the call that are given with the constructor instead: those behind the last tensor."""
    known = {argument.name for argument in signature.constructor}
    if count <= len(signature.constructor) and all(name in known for name in kwargs):
        return []
    tail = []
    for argument in reversed(signature.call):
        if argument.kind != "attr":
            break
        tail.insert(0, argument)
    return tail


def _operand(op, argument, value):
    """A call argument in the form that the recorder takes; a list for a tuple of tensors."""
    if argument.kind == "tuple":
        if isinstance(value, Tensor):
            return [value]
        if not isinstance(value, (tuple, list)):
            raise user_error(TypeError, op + ":operand-type", "'%s' takes a tuple of tensors, not %s"
                             % (op, type(value).__name__))
        return list(value)
    if isinstance(value, (tuple, list)) and len(value) == 1 and isinstance(value[0], Tensor):
        return [value[0]]  # lists of one tensor: weights of grouped products, keys and values of inference attention
    if isinstance(value, (Tensor, bool, int, float, list, tuple)) or hasattr(value, "dtype"):
        return [value]
    if value is None and argument.kind == "optional":
        return [None]
    raise user_error(TypeError, op + ":operand-type", "argument '%s' of '%s' must be a tensor, not %s"
                     % (argument.name, op, "None" if value is None else type(value).__name__))


def _late_settings(signature, args, kwargs, attrs):
    """Arguments of the constructor that are given with the call instead; they become attributes of this call."""
    count = len(signature.call)
    if len(args) <= count and not kwargs:
        return args, kwargs
    late = dict(zip([argument.name for argument in signature.constructor], args[count:]))
    if len(args) - count > len(late):
        return args, kwargs  # too many: the binding says so
    names = signature.constructor_names
    late.update({name: value for name, value in kwargs.items() if name in names})
    attrs.update({name: attr_value(value) for name, value in late.items()})
    return args[:count], {name: value for name, value in kwargs.items() if name not in names}


def _call(self, signature, args, kwargs):
    attrs = self.recorded_attrs()
    if signature.only_a_tuple and len(args) > 1:
        args = (args,)
    args, kwargs = _late_settings(signature, args, kwargs, attrs)
    if signature.has_settings:
        kwargs = dict({a.name: self.attrs[a.name] for a in signature.call[len(args):]
                       if a.kind == "attr" and a.default is REQUIRED and a.name in self.attrs}, **kwargs)
    bound = _bind("'%s'" % signature.name, signature.call, args, kwargs)
    operands = []
    for argument in signature.call:
        if argument.kind == "attr":
            given = bound[argument.name]
            if given is not argument.default or argument.name not in self.attrs:
                attrs[argument.name] = attr_value(given)
        else:
            operands += _operand(signature.name, argument, bound[argument.name])
    if session.compute_dtype is not None and signature.kind != "update" and signature.name not in ("Cast", "BatchNorm"):
        operands = _promotion.to_compute_type(operands, session.compute_dtype, cast)
    if session.operator_types is not None:
        operands = session.operator_types.operands(signature.name, operands)
    operands, dtypes = _promotion.prepare(signature.name, operands, cast)
    if signature.kind == "collective" and "rank_size" not in attrs:
        from mindspore._recording.groups import collective_attrs
        attrs.update(collective_attrs(signature.name, attrs.pop("group", None)))
    if session.next_strategy is not None and signature.name != "Cast":
        self, session.next_strategy = copy.deepcopy(self).shard(*session.next_strategy), None
    folded = _folded(signature.name, operands, attrs)
    if folded is not None:
        return folded
    results = tracing.apply(signature.name, operands, attrs, self, dtypes)
    if session.operator_types is not None:
        results = session.operator_types.outcome(signature.name, results)
    return results[0] if len(results) == 1 and not signature.tuple_result else tuple(results)


_COMPARISONS = {"Less": "__lt__", "LessEqual": "__le__", "Greater": "__gt__", "GreaterEqual": "__ge__",
                "Equal": "__eq__", "NotEqual": "__ne__"}


def _folded(op, operands, attrs):
    """Result of a cast or a comparison of known numbers, which the reference evaluates while it compiles; else None."""
    if op != "Cast" and op not in _COMPARISONS or not all(_is_number(value) for value in operands):
        return None
    values = [value.item() if isinstance(value, Tensor) else value for value in operands]
    if op == "Cast":
        return Tensor(values[0], mstype.dtype_of(attrs["dtype"]))
    numbers = [float(value) for value in values]
    return Tensor(getattr(numbers[0], _COMPARISONS[op])(numbers[1]), mstype.bool_)


def _is_number(value):
    if isinstance(value, Tensor):
        return type(value) is Tensor and value._known() and value.shape == ()
    return isinstance(value, (bool, int, float))


def make_class(signature):
    """The primitive class of a table entry."""
    def __init__(self, *args, **kwargs):
        _construct(self, signature, args, kwargs)

    def __call__(self, *args, **kwargs):
        return _call(self, signature, args, kwargs)

    def call_as(primitive, args):
        """The operator on behalf of a primitive that the script defines under the same name."""
        return _call(primitive, signature, args, {})

    return type(signature.name, (Primitive,), {
        "__init__": __init__, "__call__": __call__, "_call_as": staticmethod(call_as), "__module__": "mindspore.ops.operations",
        "__doc__": "See mindspore.ops.%s." % signature.name, "signature": signature})


_instances = {}


def operator(name, **attrs):
    """A shared, unnamed primitive with the given constructor arguments."""
    key = (name, repr(sorted(attrs.items())))
    found = _instances.get(key)
    if found is None:
        from mindspore.ops._table import primitive_class
        made = primitive_class(name)
        if made is None:
            raise Unsupported("mindspore.ops." + name, "operator '%s' is not in the operator table" % name,
                              "see 'drydock list_operators'")
        found = _instances[key] = made(**attrs)
    return found


def cast(tensor, dtype):
    """Cast, unless the tensor has the type already."""
    return tensor if tensor.dtype is dtype else operator("Cast")(tensor, dtype)


class PrimitiveWithInfer(Primitive):
    """Base of user-defined primitives: their own methods say what shapes come out."""

    def __init__(self, name=None):
        super().__init__(name or type(self).__name__)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__call__")
        if own is not None:  # what runs outside of networks; inside, the primitive is recorded
            cls.__call__ = lambda self, *args: self._record(*args) if session.depth > 0 else own(self, *args)

    def _record(self, *args):
        from mindspore.ops import _user_ops
        return _user_ops.call(self, args)

    __call__ = _record


class PrimitiveWithCheck(PrimitiveWithInfer):
    """The same; these check shapes and element types and take over those of the first operand."""


def prim_attr_register(function):
    """Decorator of a primitive's __init__: its arguments become attributes."""
    import inspect  # here, since it is slow to import and rarely needed
    signature = inspect.signature(function)

    @functools.wraps(function)
    def deco(self, *args, **kwargs):
        Primitive.__init__(self, getattr(self, "substitute_name", None) or type(self).__name__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        self.version = 0
        return function(self, *args, **kwargs)

    return deco


def constexpr(fn=None, get_instance=True, name=None, reuse_result=True, check=True):
    return fn if fn is not None else lambda function: function


_primexpr = constexpr


def _run_op(primitive, name, args):
    return primitive(*args)


def unknown(name):
    return Stub("mindspore.ops." + name)


__getattr__ = module_getattr(__name__)
