"""Lamb. Source: mindspore/python/mindspore/nn/optim/lamb.py."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.optim.adam import _Moments
from mindspore.ops import operations as P


class Lamb(_Moments):
    """See mindspore.nn.Lamb; one update operator per parameter."""

    _support_parallel_optimizer = True

    def __init__(self, params, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self._set_numbers(beta1, beta2, eps, (1,))
        self.moments1 = self.states("lamb_m")
        self.moments2 = self.states("lamb_v")
        self.opt = P.Lamb()

    def update(self, gradients):
        decays, rates = self.decays_of_step(), self.rates_of_step()
        self.count_step()
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.opt(parameter, self.moments1[i], self.moments2[i], rates[i], self.beta1, self.beta2, self.eps,
                     decays[i] if self.decay_flags[i] else 0.0, self.global_step, gradient)


__getattr__ = module_getattr("mindspore.nn")
