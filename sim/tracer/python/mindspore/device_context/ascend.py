"""mindspore.device_context.ascend: every setting is accepted, without effect."""
from mindspore.device_context import _settings

device_count, is_available = _settings.device_count("Ascend"), _settings.is_available("Ascend")
op_debug = _settings.module(__name__, "op_debug")
op_precision = _settings.module(__name__, "op_precision")
op_tuning = _settings.module(__name__, "op_tuning")
device = _settings.module(__name__, "device", device_count=device_count, is_available=is_available)
