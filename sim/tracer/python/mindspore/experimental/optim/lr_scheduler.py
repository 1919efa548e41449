"""mindspore.experimental.optim.lr_scheduler: schedules of the rate, which is a number in a parameter.

The values of rates change nothing in a dry run; the classes keep the base rates and count their steps.
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


class LRScheduler:
    """Base of all schedules."""

    def __init__(self, optimizer, last_epoch=-1, *settings, **named):
        from mindspore.experimental.optim.optimizer import Optimizer
        if not isinstance(optimizer, Optimizer):
            raise user_error(TypeError, type(self).__name__ + ":optimizer", "%s takes an optimizer of mindspore.experimental.optim or "
                             "mindspore.mint.optim, not %s" % (type(self).__name__, type(optimizer).__name__))
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = list(optimizer.lrs)
        self._last_lr = list(optimizer.lrs)

    def step(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch

    def get_last_lr(self):
        return self._last_lr


class _WithSettings(LRScheduler):
    def __init__(self, optimizer, *settings, last_epoch=-1, **named):
        super().__init__(optimizer, last_epoch)


def _schedule(name):
    return type(name, (_WithSettings,), {"__module__": __name__, "__doc__": "See mindspore.experimental.optim.lr_scheduler.%s." % name})


(ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, MultiplicativeLR,
 PolynomialLR, SequentialLR, StepLR) = map(_schedule, (
     "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR",
     "MultiplicativeLR", "PolynomialLR", "SequentialLR", "StepLR"))


class ReduceLROnPlateau(_WithSettings):
    """A smaller rate where a metric stays: step() takes the metric."""

    def step(self, metrics=None):
        self.last_epoch += 1


__getattr__ = module_getattr(__name__)
