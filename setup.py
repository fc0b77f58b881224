"""Builds the compiled kernels; everything else about the package stands in pyproject.toml.

The extensions are optional: an install without a C compiler goes on with the numpy twins
(`segjudge doctor` says which are in use).
"""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# Auto-vectorisation helps the kernels, reordering of arithmetic would not: no -ffast-math.
FLAGS = [] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fno-inline-functions-called-once"]

KERNELS = [
    Extension(f"segjudge.kernels.{name}", [f"src/segjudge/kernels/{name}.pyx"], extra_compile_args=FLAGS)
    for name in ("_detection", "_json", "_meeting", "_pictures", "_precision", "_segments", "_tables")
]

extensions = cythonize(KERNELS, compiler_directives={"language_level": "3"})
for extension in extensions:
    extension.optional = True  # cythonize makes new ones, which forget it

setup(ext_modules=extensions)
