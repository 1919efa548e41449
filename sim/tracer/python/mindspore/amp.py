"""mindspore.amp: mixed precision and scaling of the loss. Source: mindspore/python/mindspore/amp.py."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.ops import functional as F, operations as P
from mindspore.train.amp import (auto_mixed_precision, build_train_network, custom_mixed_precision,  # noqa: F401
                                 get_black_list, get_white_list)
from mindspore.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager  # noqa: F401


def _each(function, inputs):
    if isinstance(inputs, (tuple, list)):
        return type(inputs)(_each(function, item) for item in inputs)
    return function(inputs)


def all_finite(inputs):
    """See mindspore.amp.all_finite: whether the device's flag tells of no overflow."""
    status = F.depend(Tensor([0] * 8, mstype.int32), inputs)
    found = P.NPUGetFloatStatusV2()(status)
    found = F.depend(found, P.NPUClearFloatStatusV2()(F.depend(status, found)))
    return P.ReduceAll()(P.Equal()(found, Tensor(0, mstype.int32)))


class LossScaler:
    """Base class."""

    def scale(self, inputs):
        raise NotImplementedError

    def unscale(self, inputs):
        raise NotImplementedError

    def adjust(self, grads_finite):
        raise NotImplementedError


class StaticLossScaler(LossScaler):
    """See mindspore.amp.StaticLossScaler."""

    def __init__(self, scale_value):
        if isinstance(scale_value, bool) or not isinstance(scale_value, (int, float)) or scale_value < 1:
            raise user_error(ValueError, type(self).__name__ + ":scale", "scale_value must be a number of at least 1")
        self.scale_value = hyper_parameter(float(scale_value), "scale_value")

    def scale(self, inputs):
        return _each(lambda one: one * F.cast(self.scale_value, one.dtype), inputs)

    def unscale(self, inputs):
        scale = P.Reciprocal()(self.scale_value)
        return _each(lambda one: one * F.cast(scale, one.dtype), inputs)

    def adjust(self, grads_finite):
        return False


class DynamicLossScaler(StaticLossScaler):
    """See mindspore.amp.DynamicLossScaler."""

    def __init__(self, scale_value, scale_factor, scale_window):
        super().__init__(scale_value)
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.counter = Parameter(Tensor(0, mstype.int32), name="counter")
        self.counter.role = "hyper"

    def adjust(self, grads_finite):
        one = F.ones((), self.scale_value.dtype)
        larger = self.scale_value * self.scale_factor
        grown = F.select(self.counter == self.scale_window - 1, F.select(F.isfinite(larger), larger, self.scale_value),
                         self.scale_value)
        F.assign(self.scale_value, F.select(grads_finite, grown, F.maximum(one, self.scale_value / self.scale_factor)))
        F.assign(self.counter, (self.counter + 1) % self.scale_window * F.cast(grads_finite, mstype.int32))
        return True


__getattr__ = module_getattr(__name__)
