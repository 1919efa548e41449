"""Cells that say themselves what their backward pass is: `bprop(inputs..., result, gradient of the result)`.

What `bprop` computes is recorded behind what the cell computes, as a model: the compiler copies it where backward comes to
the cell (strategies/passes/backward/own_backward.cc). It gets placeholders for the gradients of the results, and what it
returns for each input is the gradient of that.
Source: docs of mindspore.nn.Cell (bprop)
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session
from mindspore._recording import tracing
from mindspore.common.tensor import Tensor

_PART = "own_backward"


def record(cell, args, kwargs, result):
    """Records the backward pass of a call; nothing inside of another one, which stands for all that it calls."""
    if _PART in session.extra_attrs or session.phase != "forward":
        return
    results = [tensor for tensor in tracing.tensors_in(result) if tensor.dtype.kind == "float"]
    if not results:
        return
    if kwargs:
        session.warn_limit("bprop() of a cell that is called with keywords is not followed, first in %s"
                           % type(cell).__name__, at_line=True)
        return
    saved = session.extra_attrs, session.scope
    session.scope = "Gradients/" + session.scope
    try:
        session.extra_attrs = dict(saved[0], own_backward="begins")
        seeds = iter(tracing.apply("_CellSeeds", results, {}))
        session.extra_attrs = dict(saved[0], own_backward="inside")
        answers = cell.bprop(*args, result, _placeholders(result, seeds))
        pairs = list(_pairs(cell, args, answers))
        session.extra_attrs = dict(saved[0], own_backward="ends", runs_unread=True)
        if pairs:
            tracing.apply("_CellGradients", [operand for operand, _ in pairs] + [answer for _, answer in pairs], {})
    finally:
        session.extra_attrs, session.scope = saved


def _placeholders(result, seeds):
    """The gradients of a result: of the same structure, zeros for what has none."""
    if isinstance(result, Tensor):
        from mindspore.ops import functional
        return next(seeds) if result.dtype.kind == "float" else functional.zeros_like(result)
    if isinstance(result, (tuple, list)):
        return type(result)(_placeholders(item, seeds) for item in result)
    return result


def _pairs(cell, args, answers):
    """(input, what `bprop` returns for it) of all tensors with a gradient."""
    answers = answers if isinstance(answers, (tuple, list)) else (answers,)
    if len(answers) != len(args):
        raise user_error(TypeError, "Cell:bprop-count", "bprop() of %s returns %d gradients for %d inputs"
                         % (type(cell).__name__, len(answers), len(args)),
                         "return one gradient for each input of construct(), zeros where there is none")
    for operand, answer in zip(args, answers):
        if isinstance(operand, (tuple, list)) and isinstance(answer, (tuple, list)):
            yield from _pairs(cell, tuple(operand), tuple(answer))
        elif isinstance(operand, Tensor) and isinstance(answer, Tensor) and operand.dtype.kind == "float":
            if answer.shape != operand.shape:
                raise user_error(ValueError, "Cell:bprop-shape", "bprop() of %s returns a gradient of shape %s for an input of "
                                 "shape %s" % (type(cell).__name__, answer.shape, operand.shape),
                                 "return gradients of the shapes of the inputs")
            yield operand, answer
