"""Running a plugin file from bytes that are in memory already."""

import hashlib
import importlib.abc
import importlib.util
import logging
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

from roost.config.loaded import PluginFile

logger = logging.getLogger(__name__)


class _Bytes(importlib.abc.InspectLoader):
    """Loads one module from its source. No `.pyc` is read, as another could have written it."""

    def __init__(self, name: str, file: PluginFile) -> None:
        self._name = name
        self._file = file

    def get_source(self, fullname: str) -> str:
        return importlib.util.decode_source(self._known(fullname).data)

    def get_code(self, fullname: str) -> CodeType:
        file = self._known(fullname)
        return self.source_to_code(file.data, file.path)

    def _known(self, fullname: str) -> PluginFile:
        if fullname != self._name:
            raise ImportError(f"{self._file.path} is not {fullname}", name=fullname)
        return self._file


def load_source(file: PluginFile) -> ModuleType:
    """Run `file` as a module whose name nothing else has. Raises whatever it raises."""
    mark = hashlib.sha256(file.path.encode("utf-8", "surrogateescape") + b"\0" + file.data)
    name = f"roost_plugin_{Path(file.path).stem}_{mark.hexdigest()[:12]}"
    loader = _Bytes(name, file)
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=file.path))
    module.__file__ = file.path
    # What a plugin prints must not get between the lines that other programs read from Roost.
    module.__dict__["print"] = _print_to_log
    sys.modules[name] = module  # where classes of the module look for its names
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _print_to_log(*values: object, **_: object) -> None:
    logger.info("%s", " ".join(map(str, values)))
