"""Argument checks that user code imports: the names of the reference, our texts."""
import functools
import operator

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session

EQ, NE, LT, LE, GT, GE, IN = "eq", "ne", "lt", "le", "gt", "ge", "in"
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = "inc_neither", "inc_left", "inc_right", "inc_both"


class _Rel:
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


def _accepts(kind):
    return (int, float) if kind is float else (int,)


def _related(kind):
    """check_int(value, bound, relation), check_float(...)."""
    def function(arg_value, value, rel, arg_name=None, prim_name=None):
        check_value_type(arg_name, arg_value, _accepts(kind), prim_name)
        return check(arg_name, arg_value, "the bound", value, rel, prim_name)

    return function


def _of_type(kind):
    def function(arg_value, arg_name=None, prim_name=None):
        return check_value_type(arg_name, arg_value, kind, prim_name)

    return function


def _bounded(kind, relation, bound):
    def function(arg_value, arg_name=None, prim_name=None):
        check_value_type(arg_name, arg_value, _accepts(kind), prim_name)
        if not _RELATIONS[relation](arg_value, bound):
            _fail(ValueError, arg_name, prim_name, "must be %s %s, not %r" % (relation, bound, arg_value))
        return arg_value

    return function


check_int, check_float = _related(int), _related(float)
check_is_int, check_is_float = _of_type(int), _of_type(float)
check_positive_int, check_non_negative_int = _bounded(int, GT, 0), _bounded(int, GE, 0)
check_negative_int, check_non_positive_int = _bounded(int, LT, 0), _bounded(int, LE, 0)
check_positive_float, check_non_negative_float = _bounded(float, GT, 0), _bounded(float, GE, 0)
check_negative_float, check_non_positive_float = _bounded(float, LT, 0), _bounded(float, LE, 0)


def check_equal_int(arg_value, value, arg_name=None, prim_name=None):
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_is_number(arg_value, arg_type, arg_name=None, prim_name=None):
    return check_value_type(arg_name, arg_value, arg_type, prim_name)


def check_number(arg_name, arg_value, value, rel, prim_name):
    return check(arg_name, arg_value, "the bound", value, rel, prim_name)


def check_isinstance(arg_name, arg_value, classes):
    if not isinstance(arg_value, classes):
        _fail(ValueError, arg_name, None, "must be of %s, not %r" % (classes, arg_value))
    return arg_value


def check_number_range(arg_value, lower_limit, upper_limit, rel, value_type, arg_name=None, prim_name=None):
    check_value_type(arg_name, arg_value, _accepts(value_type), prim_name)
    low = arg_value >= lower_limit if rel in (INC_LEFT, INC_BOTH) else arg_value > lower_limit
    high = arg_value <= upper_limit if rel in (INC_RIGHT, INC_BOTH) else arg_value < upper_limit
    if not (low and high):
        _fail(ValueError, arg_name, prim_name, "must lie between %s and %s, not %r"
              % (lower_limit, upper_limit, arg_value))
    return arg_value


def check_int_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


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


def __getattr__(name):
    """Classes of release 2.0; in later ones scripts that ask for them have to find nothing."""
    if name not in ("Validator", "Rel"):
        return module_getattr(__name__)(name)
    if not session.compat.startswith("2.0"):
        raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
    return _Validator if name == "Validator" else _Rel


class _Validator:
    """The same checks as static methods."""


for _name, _function in list(globals().items()):
    if _name.startswith("check"):
        setattr(_Validator, _name, staticmethod(_function))
