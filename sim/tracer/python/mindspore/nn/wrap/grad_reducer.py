"""Averaging of gradients over the ranks of data-parallel training."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording.gradient import phase
from mindspore.common import dtype as mstype
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P
from mindspore.ops.functional import mul
from mindspore.ops.primitive import cast


_FIRST_SPLIT_ID = 1024


def _fusion_attributes(numbers, fusion_type, splits, sharded_optimizer):
    """Attributes of the sum of each gradient: its fusion id and, where ids differ, its place among the gradients.

    Numbers of the parameters count where they differ; otherwise the split of the gradients; otherwise one id for all.
    Source: mindspore/python/mindspore/nn/wrap/grad_reducer.py.
    """
    numbered = any(number != numbers[0] for number in numbers[1:])
    if splits and (sharded_optimizer or (not numbered and fusion_type == 1)):
        ids = [_FIRST_SPLIT_ID + sum(last < i for last in splits) for i in range(len(numbers))]
    elif numbered:
        ids = numbers
    else:
        return [(("fusion", fusion_type),)] * max(1, len(numbers))
    return [(("fusion", number), ("index", i + 1)) for i, number in enumerate(ids)]


class DistributedGradReducer(Cell):
    """See mindspore.nn.DistributedGradReducer."""

    def __init__(self, parameters, mean=None, degree=None, fusion_type=1, group=None):
        super().__init__(auto_prefix=False)
        from mindspore import context
        from mindspore.communication import management
        if context.cuts_operators() and context.get_context("mode") == context.GRAPH_MODE:
            raise user_error(RuntimeError, "DistributedGradReducer:mode",
                             "DistributedGradReducer does not work in parallel mode '%s'"
                             % context.get_auto_parallel_context("parallel_mode"),
                             "leave it out: the compiler reduces gradients itself in this mode")
        if degree is not None and (isinstance(degree, bool) or not isinstance(degree, int) or degree < 1):
            raise user_error(ValueError, "DistributedGradReducer:degree", "degree must be a whole number above 0")
        context.check_reducer()
        self.mean = context.get_auto_parallel_context("gradients_mean") if mean is None else mean
        self.degree = management.get_group_size() if degree is None else degree
        self.group = group or management.world_group()
        self._layerwise = [p.layerwise_parallel for p in parameters]
        self._attributes = _fusion_attributes([p.comm_fusion for p in parameters], fusion_type,
                                              context.get_auto_parallel_context("all_reduce_fusion_config"),
                                              context.get_auto_parallel_context("enable_parallel_optimizer"))
        self._operators = {}

    def _all_reduce(self, i):
        """The operator of gradient `i`; gradients with equal attributes share one."""
        attributes = self._attributes[min(i, len(self._attributes) - 1)]
        if attributes not in self._operators:
            primitive = P.AllReduce("sum", self.group)
            for name, value in attributes:
                primitive.add_prim_attr(name, value)
            self._operators[attributes] = primitive
        return self._operators[attributes]

    def construct(self, grads):
        with phase("backward"):
            return tuple(self._reduce(i, gradient) for i, gradient in enumerate(grads))

    def _reduce(self, i, gradient):
        if session.world_size == 1 or (i < len(self._layerwise) and self._layerwise[i]):
            return gradient
        reduced = self._all_reduce(i)(cast(gradient, mstype.float32))
        if self.mean and self.degree != 1:
            reduced = mul(reduced, 1.0 / self.degree)
        return cast(reduced, gradient.dtype)


__getattr__ = module_getattr("mindspore.nn")
