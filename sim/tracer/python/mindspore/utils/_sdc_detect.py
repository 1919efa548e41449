"""Detection of silent data corruption: there is no device to watch."""
from mindspore._drydock.lazy import module_getattr


def sdc_detect_start():
    """Nothing is computed that could be corrupted."""


def sdc_detect_stop():
    """Nothing was started."""


def get_sdc_detect_result():
    return False


__getattr__ = module_getattr("mindspore")
