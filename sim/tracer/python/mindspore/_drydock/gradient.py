"""Gradients: one node whose outputs are the gradients of a loss."""
from mindspore._drydock import tracing
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session
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


def gradients(loss, wrt, sens=None):
    """Gradients of `loss` by each tensor or parameter of `wrt`, in order."""
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
    with phase("backward"):
        found = tracing.apply("_Gradient", [loss] + list(wrt), {})
        program.losses.append(loss)
        return [scale(gradient, sens) for gradient in found]


def scale(gradient, sens):
    """A gradient for an incoming gradient of `sens` instead of 1."""
    if sens is None or (isinstance(sens, (int, float)) and sens == 1):
        return gradient
    if isinstance(sens, Tensor) and sens.size == 1 or isinstance(sens, (int, float)):
        return gradient * sens
    raise Unsupported("GradOperation.sens", "a sens argument that is not a single number is not supported",
                      "multiply inside of the network instead")


def first_output(outputs, has_aux):
    """The loss among the outputs of a function."""
    if isinstance(outputs, (tuple, list)):
        if not outputs:
            raise user_error(TypeError, "grad:no-output", "the function to differentiate returns nothing")
        if not has_aux and len(outputs) > 1:
            raise Unsupported("grad.several-outputs",
                              "gradients of a function with several results are not supported",
                              "return one loss, or use has_aux=True")
        return outputs[0]
    return outputs


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
