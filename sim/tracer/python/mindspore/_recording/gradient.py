"""Gradients: one node whose outputs are the gradients of a loss."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session
from mindspore._recording import tracing
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor


class phase:
    """Nodes recorded inside belong to the given part of the training step."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        self._saved = session.phase
        session.phase = self._name

    def __exit__(self, *unused):
        session.phase = self._saved


def gradients(loss, wrt, sens=None, of_function=False):
    """Gradients of `loss` by each tensor or parameter of `wrt`, in order.

    of_function: a function asked for them, no Cell: then weight decay stays behind the reduction of gradients.
    """
    if not isinstance(loss, Tensor):
        raise user_error(TypeError, "grad:loss-type",
                         "the function to differentiate must return a tensor first, not %s"
                         % type(loss).__name__)
    program = tracing.current_program()
    if not program.owns(loss):
        raise user_error(ValueError, "grad:constant-loss",
                         "the loss does not depend on the inputs or parameters of the network")
    if not wrt:
        return []
    if loss.dtype.kind != "float":
        from mindspore.common import dtype as mstype
        from mindspore.ops.primitive import cast
        loss = cast(loss, mstype.float32)  # no gradient flows through; all are zero
    with phase("backward"):
        program.losses.append(loss)
        start = _start(sens, loss)
        if start is not None:
            return tracing.apply("_Gradient", [loss] + list(wrt) + [start], {"has_sens": True})
        found = tracing.apply("_Gradient", [loss] + list(wrt), {"of_function": True} if of_function else {})
        return [scale(gradient, sens) for gradient in found]


def _start(sens, loss):
    """The incoming gradient in the loss' shape and element type; None if it is 1 or does not fit.

    A number is a constant of that shape, with which backward starts, as nn/wrap/cell_wrapper.py of the reference fills it.
    """
    from mindspore.ops import functional
    from mindspore.ops.primitive import cast
    if isinstance(sens, (int, float)) and not isinstance(sens, bool) and sens != 1:
        return functional.fill(loss.dtype, loss.shape, float(sens))
    if not isinstance(sens, Tensor) or sens.shape != loss.shape and loss.size != 1:
        return None
    sens = cast(sens, loss.dtype)
    return sens if sens.shape == loss.shape else functional.reshape(sens, loss.shape)


def scale(gradient, sens):
    """A gradient for an incoming gradient of `sens` instead of 1."""
    if sens is None or (isinstance(sens, (int, float)) and sens == 1):
        return gradient
    if isinstance(sens, (int, float)) or isinstance(sens, Tensor) and sens.size == 1:
        return gradient * sens
    if isinstance(sens, Tensor):
        raise user_error(RuntimeError, "grad:sens-shape", "the incoming gradient has another shape than the result",
                         "give sens the shape of the function's first result")
    raise user_error(TypeError, "grad:sens-type", "sens must be a number or a Tensor, not %s" % type(sens).__name__)


def first_output(outputs, has_aux):
    """What to differentiate: the loss among the outputs of a function, or the sum of all of them."""
    if outputs is None:
        raise user_error(TypeError, "grad:no-output", "the function to differentiate returns nothing")
    if not isinstance(outputs, (tuple, list)):
        return outputs
    if not outputs:
        raise user_error(TypeError, "grad:no-output", "the function to differentiate returns nothing")
    if has_aux or len(outputs) == 1:
        return outputs[0]
    floating = [t for t in tracing.tensors_in(outputs) if t.dtype.kind == "float"]
    if not floating:
        return outputs[0]
    from mindspore.ops.primitive import cast, operator
    total = None
    for tensor in floating:
        part = cast(tensor if tensor.ndim == 0 else operator("ReduceSum")(tensor, ()), floating[0].dtype)
        total = part if total is None else total + part
    return total


def as_parameters(weights):
    """Weights argument as a list; a single Parameter as a list of one."""
    if weights is None:
        return []
    items = [weights] if isinstance(weights, Parameter) else list(weights)
    for item in items:
        if not isinstance(item, Parameter):
            raise user_error(TypeError, "grad:weights", "weights must be Parameters, not %s"
                             % type(item).__name__)
    return items
