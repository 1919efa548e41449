"""Names of the compiled extension that user code imports."""
import sys
import types

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

    def get_ascend_soc_version(self):
        return "ascend910b"

    def set_param(self, key, value):
        self._settings[key] = value

    def get_param(self, key):
        return self._settings.get(key)


def _element_types():
    """mindspore._c_expression.typing: a class per kind of element type."""
    from mindspore.common import dtype
    typing = types.ModuleType(__name__ + ".typing", "Classes of element types.")
    kinds = {"Float": "float", "BFloat": "float", "Int": "int", "UInt": "uint", "Bool": "bool", "Complex": "complex",
             "Number": ""}
    for name, kind in kinds.items():
        meta = type("_Of" + name, (type,), {"__instancecheck__": lambda cls, value: isinstance(value, dtype.Type) and (
            not cls.kind or value.kind == cls.kind and (value.name == "bfloat16") == (cls.__name__ == "BFloat"))})
        setattr(typing, name, meta(name, (), {"kind": kind}))
    typing.Type, typing.__path__, typing.__file__ = dtype.Type, [], __file__
    typing.__getattr__ = module_getattr(typing.__name__)
    return typing


typing = sys.modules[__name__ + ".typing"] = _element_types()
__path__ = []  # for `import mindspore._c_expression.typing`


class security:
    """Build options of the reference."""

    @staticmethod
    def enable_security():
        return False


__getattr__ = module_getattr(__name__)
