"""Every metric as a function of arrays, by its name and by what papers call it.

The functions are generated from the declarations when the package is built or installed from a
checkout (`theodolite.metrics.generate`).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.metrics.functions import *  # noqa: F403
    from theodolite.metrics.functions import __all__ as __all__
else:  # a function imports the metrics of its question, when it is first used

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        try:
            functions = importlib.import_module("theodolite.metrics.functions")
        except ModuleNotFoundError as error:
            message = f"no {name!r}: this checkout is not built, run `pip install -e .`"
            raise AttributeError(message) from error
        return getattr(functions, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
