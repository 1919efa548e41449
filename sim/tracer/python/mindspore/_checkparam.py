"""Argument checks that user code imports: the names of the reference, our texts."""
import functools
import operator

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr

EQ, NE, LT, LE, GT, GE, IN = "eq", "ne", "lt", "le", "gt", "ge", "in"
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = "inc_neither", "inc_left", "inc_right", "inc_both"


class Rel:
    """Names of the relations."""

    EQ, NE, LT, LE, GT, GE, IN = EQ, NE, LT, LE, GT, GE, IN
    INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH


_RELATIONS = {EQ: operator.eq, NE: operator.ne, LT: operator.lt, LE: operator.le, GT: operator.gt, GE: operator.ge,
              IN: lambda value, allowed: value in allowed}


def _fail(kind, arg_name, prim_name, what):
    raise user_error(kind, "%s:%s" % (prim_name or "argument", arg_name or "value"),
                     "%s%s %s" % ("%s: " % prim_name if prim_name else "", arg_name or "the argument", what))


def check(arg_name, arg_value, value_name, value, rel=EQ, prim_name=None, excp_cls=ValueError):
    if not _RELATIONS[rel](arg_value, value):
        _fail(excp_cls, arg_name, prim_name, "must be %s %s (%s), not %r" % (rel, value_name, value, arg_value))
    return arg_value


def check_value_type(arg_name, arg_value, valid_types, prim_name=None):
    kinds = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    if not isinstance(arg_value, kinds) or isinstance(arg_value, bool) and bool not in kinds:
        _fail(TypeError, arg_name, prim_name, "must be of type %s, not %s"
              % (" or ".join(k.__name__ for k in kinds), type(arg_value).__name__))
    return arg_value


def check_bool(arg_value, arg_name=None, prim_name=None):
    return check_value_type(arg_name, arg_value, bool, prim_name)


def check_string(arg_value, valid_values, arg_name=None, prim_name=None):
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        _fail(ValueError, arg_name, prim_name, "must be one of %s, not %r" % (list(valid_values), arg_value))
    return arg_value


def _number_check(kind, relation, bound):
    def function(arg_value, arg_name=None, prim_name=None):
        accepted = (int, float) if kind is float else (int,)
        check_value_type(arg_name, arg_value, accepted, prim_name)
        if bound is not None and not _RELATIONS[relation](arg_value, bound):
            _fail(ValueError, arg_name, prim_name, "must be %s %s, not %r" % (relation, bound, arg_value))
        return arg_value

    return function


check_is_int = check_int = _number_check(int, None, None)
check_positive_int = _number_check(int, GT, 0)
check_non_negative_int = _number_check(int, GE, 0)
check_is_float = check_float = _number_check(float, None, None)
check_positive_float = _number_check(float, GT, 0)
check_non_negative_float = _number_check(float, GE, 0)
check_is_number = _number_check(float, None, None)


def _range_check(kind):
    def function(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
        check_value_type(arg_name, arg_value, (int, float) if kind is float else (int,), prim_name)
        low = arg_value >= lower_limit if rel in (INC_LEFT, INC_BOTH) else arg_value > lower_limit
        high = arg_value <= upper_limit if rel in (INC_RIGHT, INC_BOTH) else arg_value < upper_limit
        if not (low and high):
            _fail(ValueError, arg_name, prim_name, "must lie between %s and %s, not %r"
                  % (lower_limit, upper_limit, arg_value))
        return arg_value

    return function


check_int_range = _range_check(int)
check_float_range = check_number_range = _range_check(float)


def check_number(arg_value, value, rel, arg_type=int, arg_name=None, prim_name=None):
    check_value_type(arg_name, arg_value, (int, float), prim_name)
    return check(arg_name, arg_value, "the bound", value, rel, prim_name)


def check_subclass(arg_name, type_, template_types, prim_name=None, addition_error_info=None):
    """Accepts element types and classes of the given kinds."""
    templates = template_types if isinstance(template_types, (list, tuple)) else (template_types,)
    if not any(type_ is t or isinstance(t, type) and isinstance(type_, type) and issubclass(type_, t) or
               getattr(t, "matches", lambda _: False)(type_) for t in templates):
        _fail(TypeError, arg_name, prim_name, "must be one of %s, not %s" % (templates, type_))


def check_type_name(arg_name, arg_type, valid_types, prim_name):
    kinds = valid_types if isinstance(valid_types, (list, tuple, set)) else (valid_types,)
    if arg_type not in kinds:
        _fail(TypeError, arg_name, prim_name, "must be one of %s, not %s" % (list(kinds), arg_type))
    return arg_type


def args_type_check(*type_args, **type_kwargs):
    """Decorator: arguments must have the given types where they are given."""
    def decorate(function):
        import inspect  # here, since it is slow to import and rarely needed
        signature = inspect.signature(function)
        types = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in types and value is not None and not isinstance(value, types[name]):
                    _fail(TypeError, name, None, "must be of type %s, not %s" % (types[name], type(value).__name__))
            return function(*args, **kwargs)

        return wrapper

    return decorate


class Validator:
    """The same checks as static methods."""


for _name, _function in list(globals().items()):
    if _name.startswith("check"):
        setattr(Validator, _name, staticmethod(_function))

__getattr__ = module_getattr(__name__)
