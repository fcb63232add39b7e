"""``to_onnx``: a fitted model as one ONNX file."""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import NONE, PATH, TEXT, check_each, one_of
from softmargin.export._formula import Matrix, leaves
from softmargin.export._gaps import gap_texts
from softmargin.export._inputs import columns_read, translated
from softmargin.export._models import Answer
from softmargin.export._onnx import GraphWriter, label_values, write_answer
from softmargin.export._rows import Rows
from softmargin.files import write_atomically

__all__ = ["to_onnx"]

_OPSET, _IR = 19, 9
_ARGUMENTS = {"path": NONE | PATH, "dtype": one_of("float64", "float32"), "missing_text": NONE | TEXT}
_OUTPUTS = ("label", "probabilities", "scores")
_OWN = "softmargin:"  # how the names of the graph's own tensors begin


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float64",
    missing_text: str | None = None,
) -> Any:
    """A fitted classifier as an ONNX model, with the same labels and probabilities to about twelve digits.

    Parameters
    ----------
    model : classifier or pipeline
        A fitted classifier of this library, a calibrator, or a pipeline of scikit-learn's transformers that ends in
        one. Transformers without a formula here are converted by skl2onnx.
    path : str or path-like, optional
        Where to write the file as well; it appears whole or not at all.
    dtype : {"float64", "float32"}
        The arithmetic. In float32 files are half as large and probabilities agree to about four digits.
    missing_text : str, optional
        The text that stands for a missing one. None is the empty text, or "<missing>" in columns where the empty text
        was a level that the model asks about. Rules that ask about other levels only do not know whether it was one.

    Returns
    -------
    onnx.ModelProto
        Its inputs are one matrix ``X``, or one column of shape (rows, 1) per name where some are texts or dates; NaN is
        missing, truth values are 0 and 1, dates are days since 1970. The texts that stand for missing ones are in its
        metadata, as JSON by input under "missing_text". Its outputs are ``label``, ``probabilities`` (rows, classes)
        where the model has them, and ``scores`` as in ``decision_function``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> import softmargin
    >>> X, y = load_iris(return_X_y=True)
    >>> model = softmargin.CompositeLeastSquaresClassifier(kernel="rbf").fit(X, y)
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(softmargin.export.to_onnx(model).SerializeToString())  # doctest: +SKIP
    >>> label, P, scores = session.run(None, {"X": X[:1]})  # doctest: +SKIP
    >>> bool(np.allclose(P, model.predict_proba(X[:1])))  # doctest: +SKIP
    True
    """
    check_each(_ARGUMENTS, path=path, dtype=dtype, missing_text=missing_text)
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'softmargin[export]'") from None
    found = _by_formula(model, np.dtype(dtype), missing_text)
    if path is not None:
        write_atomically(Path(path), found.SerializeToString())
    return found


def _by_formula(model: Any, dtype: np.dtype[Any], missing_text: str | None) -> Any:
    from softmargin.export._skl2onnx import by_skl2onnx, needs_skl2onnx

    if needs_skl2onnx(model):
        return by_skl2onnx(model, dtype)
    rows = columns_read(model)
    return _Graph(dtype).model(translated(model, rows), rows, missing_text)


class _Graph:
    """Collects nodes and constants, and closes them into a model."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        from onnx import TensorProto

        self.dtype, self._nodes, self._constants = dtype, [], []  # type: ignore[var-annotated]
        self._number = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
        self._count = 0
        self._kept: dict[Any, str] = {}

    def model(self, answer: Answer, rows: Rows, missing_text: str | None) -> Any:
        """The ONNX model of an answer; one that reads nothing is given all columns, to know how many rows there are."""
        from onnx import checker, helper

        outputs = [one for one in (answer.label, answer.probabilities, answer.scores) if one is not None]
        gaps = gap_texts(outputs, missing_text)
        inputs, infos = self._inputs(list(leaves(outputs)) or list(leaves(rows.columns)))
        writer = GraphWriter(self._emit, self._keep, inputs, self.dtype, gaps)
        found = write_answer(writer, self._emit, self._keep, answer)
        results = [self._output(name, made, answer) for name, made in found.items()]
        graph = helper.make_graph(self._nodes, "softmargin", infos, results, self._constants)
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR,
            producer_name="softmargin",
            producer_version=version("softmargin"),
        )
        if gaps:
            helper.set_model_props(made, {"missing_text": json.dumps({inputs[name]: gaps[name] for name in gaps})})
        checker.check_model(made)
        return made

    def _inputs(self, read: list[Any]) -> tuple[dict[Any, str], list[Any]]:
        from onnx import TensorProto, helper

        names: dict[Any, str] = {}
        infos = []
        called = _input_names([leaf.name for leaf in read if not isinstance(leaf, Matrix)])
        for leaf in read:
            if isinstance(leaf, Matrix):
                names["matrix"] = "X"
                infos.append(helper.make_tensor_value_info("X", self._number, [None, leaf.width]))
            elif leaf.name not in names:
                kind = TensorProto.STRING if leaf.kind == "text" else self._number
                names[leaf.name] = called[leaf.name]
                infos.append(helper.make_tensor_value_info(called[leaf.name], kind, [None, 1]))
        return names, infos

    def _emit(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        self._count += 1
        name = f"{_OWN}{self._count}"
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def _keep(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        key = (array.dtype.str, array.shape, array.tobytes() if array.dtype != object else tuple(array.ravel()))
        if key in self._kept:  # the levels of trees read the same tables
            return self._kept[key]
        self._count += 1
        name = self._kept[key] = f"{_OWN}{self._count}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _output(self, name: str, made: str, answer: Answer) -> Any:
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [made], [name]))
        if name == "label":
            kind = helper.np_dtype_to_tensor_dtype(label_values(answer.classes).dtype)
            return helper.make_tensor_value_info(name, kind, [None])
        shape = [None] if name == "scores" and answer.scores.width == 1 else [None, len(answer.classes)]
        return helper.make_tensor_value_info(name, self._number, shape)


def _input_names(columns: list[str]) -> dict[str, str]:
    """What each column's input is called: like the column, with underscores where the graph has other use for it."""
    found: dict[str, str] = {}
    for name in columns:
        free = name
        while free in ("", *_OUTPUTS) or re.fullmatch(_OWN + r"\d+", free) or (free != name and free in columns):
            free += "_"
        found[name] = free
    return found
