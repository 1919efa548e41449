"""Logging of MindSpore: to the standard error stream through Python's logging."""
import logging

from mindspore._drydock.lazy import module_getattr

_logger = logging.getLogger("mindspore")
debug, info, warning, error, critical = (_logger.debug, _logger.info, _logger.warning, _logger.error,
                                         _logger.critical)


def get_level():
    return "2"


def _get_logger():
    return _logger


class _LogActionOnce:
    """A decorator: the function's warnings are logged the first time it is called, or never."""

    is_logged = {}

    def __init__(self, logger, key, no_warning=False):
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, func):
        def wrapper(*args, **kwargs):
            if not hasattr(self.logger, "warning"):
                return func(*args, **kwargs)
            saved = self.logger.warning
            if self.no_warning or self.key in _LogActionOnce.is_logged:
                self.logger.warning = lambda *words: None
            _LogActionOnce.is_logged[self.key] = True
            try:
                return func(*args, **kwargs)
            finally:
                self.logger.warning = saved

        return wrapper


__getattr__ = module_getattr(__name__)
