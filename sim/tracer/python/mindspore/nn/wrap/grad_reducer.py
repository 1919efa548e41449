"""Averaging of gradients over the ranks of data-parallel training."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.gradient import phase
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast


class DistributedGradReducer(Cell):
    """See mindspore.nn.DistributedGradReducer. Source: spec tracing-frontend 8."""

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
        self.mean = context.get_auto_parallel_context("gradients_mean") if mean is None else mean
        self.degree = management.get_group_size() if degree is None else degree
        self.group = group or management.world_group()
        self._layerwise = [p.layerwise_parallel for p in parameters]
        self._fusion = [p.comm_fusion if p.comm_fusion != 1 else fusion_type for p in parameters]
        self._operators = {}

    def _all_reduce(self, fusion):
        if fusion not in self._operators:
            primitive = P.AllReduce("sum", self.group)
            primitive.add_prim_attr("fusion", fusion)
            self._operators[fusion] = primitive
        return self._operators[fusion]

    def construct(self, grads):
        with phase("backward"):
            return tuple(self._reduce(i, gradient) for i, gradient in enumerate(grads))

    def _reduce(self, i, gradient):
        if session.world_size == 1 or (i < len(self._layerwise) and self._layerwise[i]):
            return gradient
        fusion = self._fusion[i] if i < len(self._fusion) else 1
        reduced = self._all_reduce(fusion)(cast(gradient, mstype.float32))
        if self.mean and self.degree != 1:
            reduced = reduced * (1.0 / self.degree)
        return cast(reduced, gradient.dtype)


__getattr__ = module_getattr("mindspore.nn")
