"""LARS: an optimizer whose gradients are scaled by the norms of weight and gradient.
Source: mindspore/python/mindspore/nn/optim/lars.py."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording.gradient import phase
from mindspore.common import dtype as mstype
from mindspore.common.parameter import hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.optim.optimizer import Optimizer, _as_type, check_number
from mindspore.ops import operations as P


class LARS(Optimizer):
    """See mindspore.nn.LARS."""

    def __init__(self, optimizer, epsilon=1e-05, coefficient=0.001, use_clip=False,
                 lars_filter=lambda p: "LayerNorm" not in p.name and "bias" not in p.name):
        if not isinstance(optimizer, Optimizer):
            raise user_error(TypeError, "LARS:optimizer", "LARS takes an optimizer, not %s" % type(optimizer).__name__)
        if not isinstance(use_clip, bool):
            raise user_error(TypeError, "LARS:use_clip", "use_clip must be True or False")
        if use_clip and optimizer.is_group_lr and optimizer.dynamic_lr:
            raise user_error(ValueError, "LARS:use_clip", "use_clip of LARS takes no groups with rates of their own "
                             "that follow the step")
        Cell.__init__(self, auto_prefix=False)
        self.opt = optimizer
        self.parameters = self._parameters = optimizer.parameters
        self.global_step = optimizer.global_step
        self.use_clip = use_clip
        self.lars_flag = tuple(lars_filter is None or bool(lars_filter(p)) for p in self.parameters)
        self.decay_flags, self.weight_decays = optimizer.decay_flags, optimizer.weight_decays
        self.dynamic_weight_decay, self.loss_scale = optimizer.dynamic_weight_decay, optimizer.loss_scale
        self.need_scale, self.reciprocal_scale = optimizer.need_scale, optimizer.reciprocal_scale
        self.learning_rate = hyper_parameter(0.0, "fake_lr")
        self.is_group, self.is_group_lr, self.dynamic_lr = optimizer.is_group, False, False
        self.lars = P.LARSUpdate(check_number("LARS", "epsilon", epsilon),
                                 check_number("LARS", "coefficient", coefficient), use_clip)
        optimizer.decay_flags = (False,) * len(self.parameters)
        optimizer.dynamic_weight_decay = optimizer.exec_weight_decay = False
        optimizer.need_scale = False

    def rates_of_step(self):
        return self.opt.rates_of_step() if self.use_clip else [self.learning_rate] * len(self.parameters)

    def construct(self, gradients):
        with phase("optimizer"):
            rates, decays = self.rates_of_step(), self.decays_of_step()
            gradients = self.scale_grad(tuple(gradients))
            gradients = tuple(self._scaled(i, gradient, decays[i], rates[i]) if self.lars_flag[i] else gradient
                              for i, gradient in enumerate(gradients))
        return self.opt(gradients)

    def _scaled(self, i, gradient, decay, rate):
        of_weight, of_gradient = P.SquareSumAll()(self.parameters[i], gradient)
        if not self.decay_flags[i]:
            decay = 0.0
        elif self.loss_scale != 1.0:
            decay = Tensor(float(_as_type(decay, gradient).asnumpy()) / self.loss_scale, mstype.float32)
        return self.lars(self.parameters[i], gradient, of_weight, of_gradient, decay, rate)


__getattr__ = module_getattr("mindspore.nn")
