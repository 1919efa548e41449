"""LARS: an optimizer whose gradients are scaled by the norms of weight and gradient."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.gradient import phase
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P


class LARS(Optimizer):
    """See mindspore.nn.LARS; the one update operator of the reference is recorded as those it is made of."""

    def __init__(self, optimizer, epsilon=1e-05, coefficient=0.001, use_clip=False,
                 lars_filter=lambda p: "LayerNorm" not in p.name and "bias" not in p.name):
        if not isinstance(optimizer, Optimizer):
            raise user_error(TypeError, "LARS:optimizer", "LARS takes an optimizer, not %s" % type(optimizer).__name__)
        if not isinstance(use_clip, bool):
            raise user_error(TypeError, "LARS:use_clip", "use_clip must be True or False")
        Cell.__init__(self, auto_prefix=False)
        self.opt = optimizer
        self.parameters = optimizer.parameters
        self.global_step = optimizer.global_step
        self.epsilon = check_number("LARS", "epsilon", epsilon)
        self.coefficient = check_number("LARS", "coefficient", coefficient)
        self.use_clip = use_clip
        self.scaled = [lars_filter is None or bool(lars_filter(p)) for p in self.parameters]
        self.weight_decays = [decay if scaled else 0.0 for decay, scaled in zip(optimizer.weight_decays, self.scaled)]
        optimizer.weight_decays = [0.0 if scaled else decay
                                   for decay, scaled in zip(optimizer.weight_decays, self.scaled)]
        self.squares = P.SquareSumAll()

    def construct(self, gradients):
        with phase("optimizer"):
            gradients = tuple(self._scaled(i, gradient) if self.scaled[i] else gradient
                              for i, gradient in enumerate(gradients))
        return self.opt(gradients)

    def _scaled(self, i, gradient):
        """(gradient + decay * weight) * coefficient * |weight| / (|gradient| + decay * |weight| + epsilon)"""
        from mindspore.ops import functional as F
        weight, decay = self.parameters[i], self.weight_decays[i]
        of_weight, of_gradient = self.squares(weight, gradient)
        of_weight, of_gradient = F.sqrt(of_weight), F.sqrt(of_gradient)
        below = of_gradient + (of_weight * decay + self.epsilon)
        rate = of_weight * self.coefficient / below
        if self.use_clip:
            rate = F.minimum(rate / self.opt.learning_rates[i], 1.0)
        if decay:
            gradient = gradient + weight * decay
        return gradient * rate


__getattr__ = module_getattr("mindspore.nn")
