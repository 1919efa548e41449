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


__getattr__ = module_getattr(__name__)
