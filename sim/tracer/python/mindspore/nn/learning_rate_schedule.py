"""Learning rates as functions of the step: scalar operators of the optimizer's part of the step."""
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
        p = self._float(step) / float(self.decay_steps)
        return F.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ^ p"""

    def construct(self, global_step):
        from mindspore.ops import functional as F
        return F.pow(self.decay_rate, self._progress(global_step)) * self.learning_rate


class NaturalExpDecayLR(_Decay):
    """learning_rate * e ^ (-decay_rate * p)"""

    def construct(self, global_step):
        from mindspore.ops import functional as F
        return F.exp(self._progress(global_step) * -self.decay_rate) * self.learning_rate


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * p)"""

    def construct(self, global_step):
        return self.learning_rate / (self._progress(global_step) * self.decay_rate + 1.0)


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
        p = F.minimum(self._float(global_step), float(self.decay_steps))
        angle = p * (3.141592653589793 / self.decay_steps)
        return (F.cos(angle) + 1.0) * (0.5 * (self.max_lr - self.min_lr)) + self.min_lr


class PolynomialDecayLR(LearningRateSchedule):
    """See mindspore.nn.PolynomialDecayLR."""

    def __init__(self, learning_rate, end_learning_rate, decay_steps, power, update_decay_steps=False):
        super().__init__()
        _check("PolynomialDecayLR", ("learning_rate", "decay_steps", "power"), ("update_decay_steps",),
               learning_rate=learning_rate, end_learning_rate=end_learning_rate, decay_steps=decay_steps, power=power,
               update_decay_steps=update_decay_steps)
        self.learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power, self.update_decay_steps = float(decay_steps), power, update_decay_steps

    def construct(self, global_step):
        from mindspore.ops import functional as F
        step, length = self._float(global_step), self.decay_steps
        if self.update_decay_steps:
            length = F.maximum(-F.floor(step / -length), 1.0) * length
        left = 1.0 - F.minimum(step, length) / length
        return F.pow(left, self.power) * (self.learning_rate - self.end_learning_rate) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """See mindspore.nn.WarmUpLR."""

    def __init__(self, learning_rate, warmup_steps):
        super().__init__()
        _check("WarmUpLR", ("learning_rate", "warmup_steps"), learning_rate=learning_rate, warmup_steps=warmup_steps)
        self.learning_rate, self.warmup_steps = learning_rate, float(warmup_steps)

    def construct(self, global_step):
        from mindspore.ops import functional as F
        return F.minimum(self._float(global_step), self.warmup_steps) / self.warmup_steps * self.learning_rate


__getattr__ = module_getattr("mindspore.nn.learning_rate_schedule")
