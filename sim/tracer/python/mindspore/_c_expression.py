"""Names of the compiled extension that user code imports."""
from mindspore._drydock.lazy import module_getattr


class _AnyEnum:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


ms_ctx_param = _AnyEnum()


class MSContext:
    """Settings of the extension; kept, without effect."""

    _instance = None

    def __init__(self):
        self._settings = {}

    @classmethod
    def get_instance(cls):
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def is_ascend_plugin_loaded(self):
        return False

    def set_param(self, key, value):
        self._settings[key] = value

    def get_param(self, key):
        return self._settings.get(key)


class security:
    """Build options of the reference."""

    @staticmethod
    def enable_security():
        return False


__getattr__ = module_getattr(__name__)
