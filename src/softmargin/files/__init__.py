"""Models as files: one file per fitted model, written whole or not at all, read without running anything it says.

A model file is a zip archive (DEFLATE) of three kinds of members:

``manifest.json``
    format number, versions of the libraries that wrote it, and size and SHA-256 of every other member; its own digest
    is the comment of the archive.
``graph.json``
    the model as a tree of tagged nodes (:mod:`softmargin.files._encode` lists them). Classes are named by tags.
``arrays/0.npy``, ``arrays/1.npy``, ...
    the arrays, in NumPy's format, never pickled.

Reading is safe by construction. A tag is looked up in a table of this library (:mod:`softmargin.files._registry`),
never imported because a file says so; functions of the user's own are named by import path and need the reader's
consent; sizes are checked before anything is allocated. A file that is not exactly what was written raises
:class:`InvalidModelFile`.

Why not skops? Its format trusts whole modules by prefix, reconstructs through ``__reduce__`` and imports by name, has
neither a schema number nor limits of size, and its reader is made for any scikit-learn object. A model of this library
needs forty classes and arrays; a reader of that size can be read in one sitting.
"""

from softmargin.files._container import InvalidModelFile, write_atomically
from softmargin.files._save import load, save

__all__ = ["InvalidModelFile", "load", "save", "write_atomically"]
