"""Sums of the gradients of several micro batches, which a step keeps and clears.

The compiler adds the gradients of each micro batch to parameters `accu_grads.<weight>`; here is what a training step does
with them. Source: mindspore/python/mindspore/nn/wrap/cell_wrapper.py (_TrainGradAccuStepCell), loss_scale.py.
"""
from mindspore._recording import tracing
from mindspore.common.parameter import ParameterTuple
from mindspore.ops import functional as F


def accumulators(weights):
    """Parameters in which the gradients of the weights are added up."""
    copies = ParameterTuple(weights).clone(prefix="accu_grads", init="zeros")
    for copy in copies:
        copy.role = "accumulated_gradient"
    return copies


def behind(values, gradients):
    """The accumulators, not before the gradients are there."""
    every = tracing.apply("_All", list(gradients), {})[0]
    return [F.depend(value, every) for value in values]


def scaled(scale, gradient):
    """The gradient times a number; what it was accumulated in is cleared."""
    result = scale * gradient
    used = F.depend(gradient, result)
    return F.depend(result, _assign(used, tracing.apply("ZerosLike", [used], {})[0]))


def unscaled(scale, gradient, accumulator):
    """The accumulated gradient times 1 / scale; the accumulator is multiplied with zero."""
    accumulated = F.depend(accumulator, gradient)
    result = accumulated * _reciprocal(scale)
    used = F.depend(accumulated, result)
    return F.depend(result, _assign(used, used * 0.0))


def unscaled_slice(scale, gradient, accumulator):
    """The same where the optimizer is sharded: the gradient itself counts."""
    result = gradient * _reciprocal(scale)
    used = F.depend(accumulator, result)
    return F.depend(result, _assign(used, tracing.apply("ZerosLike", [used], {})[0]))


def clear(accumulated, gradients):
    """Zeros for the next step."""
    for value, gradient in zip(accumulated, gradients):
        used = F.depend(value, gradient)
        _assign(used, tracing.apply("ZerosLike", [used], {})[0], {"clear_grad": True})


def _reciprocal(scale):
    return tracing.apply("Reciprocal", [scale], {})[0]


def _assign(value, contents, attrs=None):
    return tracing.apply("Assign", [value, contents], attrs or {})[0]
