"""Learning rates as functions of the step: scalar operators of the optimizer's part of the step.

Source: mindspore/python/mindspore/nn/learning_rate_schedule.py (which operators, in which order).
"""
import math

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.nn.cell import Cell


def _check(owner, positive=(), flags=(), **values):
    for name, value in values.items():
        kinds = (bool,) if name in flags else (int, float)
        if not isinstance(value, kinds) or (name not in flags and isinstance(value, bool)):
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s cannot be %r" % (name, owner, value))
        if name in positive and value <= 0:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive, not %s"
                             % (name, owner, value))


class LearningRateSchedule(Cell):
    """See mindspore.nn.learning_rate_schedule.LearningRateSchedule: construct(global_step) gives the rate."""

    def construct(self, global_step):
        raise user_error(NotImplementedError, "LearningRateSchedule:construct",
                         "a learning-rate schedule must define construct()")

    @staticmethod
    def _float(step):
        from mindspore.ops import functional as F
        return F.cast(step, mstype.float32)

    @classmethod
    def _at_most(cls, step, last):
        """The step, no further than the last one; as a float."""
        from mindspore.ops import functional as F
        return cls._float(F.minimum(step, last))


class _Decay(LearningRateSchedule):
    """rate(p) with p the step over decay_steps, in whole numbers if is_stair."""

    def __init__(self, learning_rate, decay_rate, decay_steps, is_stair=False):
        super().__init__()
        _check(type(self).__name__, ("learning_rate", "decay_rate", "decay_steps"), ("is_stair",),
               learning_rate=learning_rate, decay_rate=decay_rate, decay_steps=decay_steps, is_stair=is_stair)
        self.learning_rate, self.decay_rate = learning_rate, decay_rate
        self.decay_steps, self.is_stair = decay_steps, is_stair

    def _progress(self, step):
        from mindspore.ops import functional as F
        p = self._float(step) / self.decay_steps
        return F.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ^ p"""

    def construct(self, global_step):
        from mindspore.ops import functional as F
        return self.learning_rate * F.pow(self.decay_rate, self._progress(global_step))


class NaturalExpDecayLR(_Decay):
    """learning_rate * e ^ (-decay_rate * step)"""

    def construct(self, global_step):
        from mindspore.ops import functional as F
        step = self._float(global_step)
        if self.is_stair:
            step = F.floor_div(step, self.decay_steps) * self.decay_steps
        return self.learning_rate * F.pow(math.e, -self.decay_rate * step)


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * p)"""

    def construct(self, global_step):
        return self.learning_rate / (1 + self.decay_rate * self._progress(global_step))


class CosineDecayLR(LearningRateSchedule):
    """See mindspore.nn.CosineDecayLR."""

    def __init__(self, min_lr, max_lr, decay_steps):
        super().__init__()
        _check("CosineDecayLR", ("max_lr", "decay_steps"), min_lr=min_lr, max_lr=max_lr, decay_steps=decay_steps)
        if min_lr >= max_lr:
            raise user_error(ValueError, "CosineDecayLR:min_lr-range", "min_lr must be smaller than max_lr")
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step):
        from mindspore.ops import functional as F
        p = self._at_most(global_step, self.decay_steps)
        wave = 0.5 * (self.max_lr - self.min_lr) * (1.0 + F.sin(math.pi * (p / self.decay_steps + 0.5)))
        return self.min_lr + wave if self.min_lr else wave


class PolynomialDecayLR(LearningRateSchedule):
    """See mindspore.nn.PolynomialDecayLR."""

    def __init__(self, learning_rate, end_learning_rate, decay_steps, power, update_decay_steps=False):
        super().__init__()
        _check("PolynomialDecayLR", ("learning_rate", "decay_steps", "power"), ("update_decay_steps",),
               learning_rate=learning_rate, end_learning_rate=end_learning_rate, decay_steps=decay_steps, power=power,
               update_decay_steps=update_decay_steps)
        self.learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power, self.update_decay_steps = decay_steps, power, update_decay_steps

    def construct(self, global_step):
        from mindspore.ops import functional as F
        step, length = self._float(global_step), self.decay_steps
        if self.update_decay_steps:
            length = length * F.maximum(F.ceil(step / length), 1)
        else:
            step = F.minimum(step, length)
        left = F.pow(1.0 - step / length, self.power)
        rate = (self.learning_rate - self.end_learning_rate) * left
        return rate + self.end_learning_rate if self.end_learning_rate else rate


class WarmUpLR(LearningRateSchedule):
    """See mindspore.nn.WarmUpLR."""

    def __init__(self, learning_rate, warmup_steps):
        super().__init__()
        _check("WarmUpLR", ("learning_rate", "warmup_steps"), learning_rate=learning_rate, warmup_steps=warmup_steps)
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def construct(self, global_step):
        return self.learning_rate * (self._at_most(global_step, self.warmup_steps) / self.warmup_steps)


__getattr__ = module_getattr("mindspore.nn.learning_rate_schedule")
