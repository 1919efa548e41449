"""Gradients of functions, and functions over tuples."""
import functools

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import gradient, tracing
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor


def _check_bool(owner, **flags):
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise user_error(TypeError, "%s:%s" % (owner, name),
                             "%s of %s must be True or False, not %r" % (name, owner, value))


class GradOperation:
    """See mindspore.ops.GradOperation."""

    def __init__(self, get_all=False, get_by_list=False, sens_param=False):
        _check_bool("GradOperation", get_all=get_all, get_by_list=get_by_list, sens_param=sens_param)
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(self, fn, weights=None):
        if self.get_by_list and weights is None:
            weights = fn.trainable_params() if hasattr(fn, "trainable_params") else []
        by_list = self.get_by_list

        def body(*args, **kwargs):
            sens = None
            if self.sens_param:
                sens, args = args[-1], args[:-1]
            loss = gradient.first_output(tracing.call_once(fn, args, kwargs), False)
            parameters = gradient.as_parameters(weights) if by_list else []
            inputs = [] if by_list and not self.get_all else list(tracing.tensors_in(args))
            if not by_list and not self.get_all:
                inputs = inputs[:1]
            inputs = [t for t in inputs if not isinstance(t, Parameter)]
            found = gradient.gradients(loss, inputs + parameters, sens)
            of_inputs, of_weights = found[:len(inputs)], tuple(found[len(inputs):])
            if by_list:
                return (tuple(of_inputs), of_weights) if self.get_all else of_weights
            return tuple(of_inputs) if self.get_all else of_inputs[0]

        return _callable(fn, body, ("GradOperation", id(fn), self.get_all, by_list, self.sens_param,
                                    tuple(id(w) for w in gradient.as_parameters(weights))))

    def __repr__(self):
        return "GradOperation"


def _callable(fn, body, identity):
    """A function of the script's arguments that is compiled when called from the script."""
    names = tracing.input_names(_construct_of(fn), skip=1 if hasattr(fn, "construct") else 0)

    @functools.wraps(body)
    def after_grad(*args, **kwargs):
        if session.depth > 0:
            return body(*args, **kwargs)
        return tracing.run(fn, body, args, kwargs, names, identity)

    return after_grad


def _construct_of(fn):
    return getattr(fn, "construct", fn)


def _positions(grad_position, count):
    """Indices of the arguments to differentiate by."""
    if grad_position is None:
        return []
    items = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int):
            raise user_error(TypeError, "grad:position-type", "grad_position must be a whole number or a tuple of them")
        if not 0 <= item < max(count, 1):
            raise user_error(ValueError, "grad:position-range",
                             "grad_position %d, but the function got %d arguments" % (item, count))
    return list(items)


def _argument_tensor(argument):
    if not isinstance(argument, Tensor):
        raise user_error(TypeError, "grad:argument-type",
                         "the gradient by an argument of type %s was asked for" % type(argument).__name__)
    return argument


def _shape_result(of_inputs, of_weights, grad_position, weights):
    inputs = tuple(of_inputs) if isinstance(grad_position, tuple) else of_inputs[0] if of_inputs else None
    parameters = of_weights[0] if isinstance(weights, Parameter) else tuple(of_weights)
    if weights is None:
        return inputs
    return parameters if grad_position is None else (inputs, parameters)


def value_and_grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False, sens_param=False):
    """See mindspore.value_and_grad."""
    _check_bool("value_and_grad", has_aux=has_aux, return_ids=return_ids, sens_param=sens_param)
    if sens_param:
        raise Unsupported("mindspore.value_and_grad.sens_param")
    if not callable(fn):
        raise user_error(TypeError, "value_and_grad:fn", "value_and_grad() takes a function or a Cell")
    if grad_position is None and weights is None:
        raise user_error(ValueError, "value_and_grad:nothing", "grad_position and weights are both None",
                         "say what to differentiate by")
    if return_ids:
        raise Unsupported("mindspore.value_and_grad.return_ids")

    def body(*args, **kwargs):
        outputs = tracing.call_once(fn, args, kwargs)
        loss = gradient.first_output(outputs, has_aux)
        positions = _positions(grad_position, len(args))
        inputs = [_argument_tensor(args[i]) for i in positions]
        parameters = gradient.as_parameters(weights)
        found = gradient.gradients(loss, inputs + parameters, of_function=not session.in_cell)
        grads = _shape_result(found[:len(inputs)], found[len(inputs):], grad_position, weights)
        return outputs, grads

    return _callable(fn, body, ("value_and_grad", id(fn), grad_position, has_aux,
                                tuple(id(w) for w in gradient.as_parameters(weights))))


def grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False, sens_param=False):
    """See mindspore.grad."""
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    def after_grad(*args, **kwargs):
        outputs, grads = both(*args, **kwargs)
        return (grads, tuple(outputs[1:])) if has_aux else grads

    return after_grad


class MultitypeFuncGraph:
    """Dispatches by the kinds of the arguments, in order of registration."""

    def __init__(self, name, read_value=False, doc_url=""):
        self.name = name
        self._entries = []

    def register(self, *type_names, **kwargs):
        def decorator(function):
            self._entries.append((type_names, function))
            return function

        return decorator

    def __call__(self, *args):
        for names, function in self._entries:
            if len(names) == len(args) and all(_is_kind(value, name) for value, name in zip(args, names)):
                return function(*args)
        raise user_error(TypeError, "MultitypeFuncGraph:no-match", "'%s' has no entry for (%s)"
                         % (self.name, ", ".join(type(value).__name__ for value in args)))


_KINDS = {"Tensor": Tensor, "Number": (int, float), "Bool": bool, "Int": int, "Float": float, "Tuple": tuple, "List": list,
          "String": str, "None": type(None), "Ref": Parameter}


def _is_kind(value, name):
    name = name if isinstance(name, str) else getattr(name, "__name__", str(name))
    return callable(value) if name == "Function" else isinstance(value, _KINDS.get(name, ()))


class HyperMap:
    """Applies a function to corresponding elements of (nested) tuples."""

    def __init__(self, ops=None, reverse=False):
        self.ops = ops

    def __call__(self, *args):
        function, args = (self.ops, args) if self.ops is not None else (args[0], args[1:])
        if args and isinstance(args[0], (tuple, list)):
            inner = HyperMap(function)
            return tuple(inner(*row) for row in zip(*args))
        return function(*args)


class Map(HyperMap):
    """The same on one level."""

    def __call__(self, *args):
        function, args = (self.ops, args) if self.ops is not None else (args[0], args[1:])
        return tuple(function(*row) for row in zip(*args))


def add_flags(fn=None, **flags):
    """Decorator that sets flags of a function or method; they have no effect on a trace."""
    if fn is not None:
        fn._func_graph_flags = dict(getattr(fn, "_func_graph_flags", {}), **flags)
        return fn
    return functools.partial(add_flags, **flags)


core = add_flags


def __getattr__(name):
    if name in ("clip_by_global_norm", "clip_by_value", "normal", "uniform"):
        from mindspore.ops import functional
        return getattr(functional, name)
    if name in ("ones_like", "zeros_like", "matmul", "repeat_elements", "tensor_dot"):
        from mindspore import ops
        return getattr(ops, name)
    return module_getattr(__name__)(name)
