"""recompute(cell, ...): a call whose results are worked out again in backward. Graphs take Cell.recompute() instead."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


def recompute(block, *args, **kwargs):
    from mindspore import context
    from mindspore.nn.cell import Cell
    if not isinstance(block, Cell):
        raise user_error(TypeError, "recompute:block", "recompute() takes a Cell, not %s" % type(block).__name__,
                         "write the block as a Cell")
    if context.get_context("mode") == context.GRAPH_MODE:
        raise user_error(RuntimeError, "recompute:graph-mode", "recompute(cell, ...) works in PYNATIVE_MODE only",
                         "call recompute() of the Cell in __init__, and the Cell itself in construct()")
    session.warn_limit("recompute(cell, ...) is not modelled: memory is reported without it", at_line=True)
    return block(*args, **kwargs)


__getattr__ = module_getattr(__name__)
