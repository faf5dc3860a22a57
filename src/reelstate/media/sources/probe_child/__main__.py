"""Start the child process: `python -I …/probe_child` imports this folder as a package of its own."""

import importlib
import os
import sys
from types import ModuleType

package = ModuleType("probe_child")
package.__path__ = [os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120 - pathlib loads slowly
sys.modules[package.__name__] = package
importlib.import_module("probe_child.child").main()
