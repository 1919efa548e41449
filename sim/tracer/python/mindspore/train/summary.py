"""mindspore.train.summary: a dry run has no values to write; every call is accepted."""
from mindspore._drydock.lazy import module_getattr


class SummaryRecord:
    """See mindspore.SummaryRecord."""

    def __init__(self, *args, **kwargs):
        return None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def add_value(self, plugin, name, value):
        return None

    def record(self, step, train_network=None, plugin_filter=None):
        return True

    def set_mode(self, mode):
        return None

    def flush(self):
        return None

    def close(self):
        return None


__getattr__ = module_getattr("mindspore.train")
