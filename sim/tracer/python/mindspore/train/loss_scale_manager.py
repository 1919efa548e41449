"""How the loss is scaled. See mindspore.train.loss_scale_manager."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


class LossScaleManager:
    """Base class."""

    def get_loss_scale(self):
        return 1

    def update_loss_scale(self, overflow):
        return None

    def get_update_cell(self):
        return None


class FixedLossScaleManager(LossScaleManager):
    """See mindspore.train.FixedLossScaleManager."""

    def __init__(self, loss_scale=128.0, drop_overflow_update=True):
        if loss_scale < 1:
            raise user_error(ValueError, "FixedLossScaleManager:scale", "loss_scale must be at least 1, not %r" % (loss_scale,))
        self._loss_scale = loss_scale
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self):
        return self._loss_scale

    def get_drop_overflow_update(self):
        return self._drop_overflow_update

    def get_update_cell(self):
        from mindspore.nn.wrap.loss_scale import FixedLossScaleUpdateCell
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """See mindspore.train.DynamicLossScaleManager."""

    def __init__(self, init_loss_scale=2 ** 24, scale_factor=2, scale_window=2000):
        if init_loss_scale < 1:
            raise user_error(ValueError, "DynamicLossScaleManager:scale", "init_loss_scale must be at least 1")
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise user_error(ValueError, "DynamicLossScaleManager:" + name, "%s must be a positive whole number" % name)
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window

    def get_loss_scale(self):
        return self.loss_scale

    def get_drop_overflow_update(self):
        return True

    def get_update_cell(self):
        from mindspore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


__getattr__ = module_getattr(__name__)
