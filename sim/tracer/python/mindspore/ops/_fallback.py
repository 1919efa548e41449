"""Functional forms that follow from an operator's signature alone."""
import re

from mindspore._drydock.lazy import stub

PLACES = ("mindspore.ops", "mindspore.ops.functional", "mindspore.ops.operations", "mindspore.ops.auto_generate", "mindspore.mint")


def _snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<!^)([A-Z])(?=[a-z])", r"_\1\2", name).lower()


_by_snake = None


def _known(name):
    """The operator whose name in snake case it is, or None."""
    global _by_snake
    from mindspore.ops import _table
    if _by_snake is None:
        public = [known for known in _table.signatures() if not known.startswith("_")]
        _by_snake = {known.lower(): known for known in reversed(public)}  # isclose, acos
        _by_snake.update({_snake(known): known for known in public})
    return _by_snake.get(name)


def instance(name):
    """<name>_op: the ready-made primitive of the reference's generated modules, or None."""
    known = _known(name[:-3]) if name.endswith("_op") else None
    if known is None:
        return _of_function(name[:-3]) if name.endswith("_op") else None
    from mindspore.ops import _table
    return _table.primitive_class(known)()


def _of_function(name):
    """A primitive whose call is a function that is there; None if there is none."""
    from mindspore.ops.primitive import Primitive
    function = made_of_others(name) or made_of_others(name[:-len("_ext")] if name.endswith("_ext") else name)
    if function is None:
        return None

    class Instance(Primitive):
        """See the function."""

        def __call__(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Instance(name)


def implementation(name):
    """<function>_impl and <function>_ext_impl of the reference's eager modules: the function; None for other names."""
    if not name.endswith("_impl"):
        return None
    from mindspore import ops
    from mindspore._drydock.lazy import Stub
    short = name[:-len("_impl")]
    for plain in (short, short[:-len("_ext")] if short.endswith("_ext") else short, short.replace("_", "")):
        found = getattr(ops, plain, None)
        if found is not None and not isinstance(found, Stub):
            return found
    return None


def made_of_others(name):
    """A function that is a composition of operators, or whose operator has no entry; None if it is neither."""
    from mindspore.ops import (_algebra, _arrays, _composed, _counted, _forms_only, _language, _more_functional, _rare, _rare_losses,
                               _unruled, _windows)
    for module in (_more_functional, _composed, _windows, _counted, _rare, _arrays, _algebra, _rare_losses, _forms_only, _language):
        if name in module.NAMES:
            return getattr(module, name)
    return _unruled.NAMES.get(name)


def functional(name):
    """ops.<name> as a call of the operator whose name in snake case it is."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore._drydock.errors import Unsupported
    from mindspore.ops import _table
    try:
        known = _known(name)
    except Unsupported:  # no recorder in this process
        known = None
    if known is None:
        return stub("mindspore.ops." + name, PLACES)
    return _make(name, _table.primitive_class(known))


def _make(name, primitive):
    from mindspore.ops.primitive import operator
    call = primitive.signature.call
    constructor = [argument.name for argument in primitive.signature.constructor]

    def function(*args, **kwargs):
        attrs = {key: kwargs.pop(key) for key in list(kwargs) if key in constructor}
        attrs.update(zip(constructor, args[len(call):]))
        return operator(primitive.signature.name, **attrs)(*args[:len(call)], **kwargs)

    function.__name__ = name
    function.drydock_arguments = [argument.name for argument in call] + constructor
    return function
