"""mindspore.device_context.gpu: every setting is accepted, without effect."""
from mindspore.device_context import _settings

device_count, is_available = _settings.device_count("GPU"), _settings.is_available("GPU")
op_precision = _settings.module(__name__, "op_precision")
op_tuning = _settings.module(__name__, "op_tuning")
device = _settings.module(__name__, "device", device_count=device_count, is_available=is_available)
