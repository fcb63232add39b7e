"""``to_onnx``: a fitted model as one ONNX file."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import NONE, PATH, check_each, one_of
from softmargin.export._formula import Formula, Matrix, NotExportable, leaves
from softmargin.export._inputs import translated
from softmargin.export._models import Answer
from softmargin.export._onnx import GraphWriter, label_values, write_answer
from softmargin.files import write_atomically

__all__ = ["to_onnx"]

_OPSET, _IR = 19, 9
_ARGUMENTS = {"path": NONE | PATH, "dtype": one_of("float64", "float32")}
_OUTPUTS = ("label", "probabilities", "scores")


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
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

    Returns
    -------
    onnx.ModelProto
        Its inputs are one matrix ``X``, or one column of shape (rows, 1) per name where some are texts; NaN and the
        empty text are missing, truth values are 0 and 1. Its outputs are ``label``, ``probabilities`` (rows, classes)
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
    check_each(_ARGUMENTS, path=path, dtype=dtype)
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'softmargin[export]'") from None
    found = _by_formula(model, np.dtype(dtype))
    if path is not None:
        write_atomically(Path(path), found.SerializeToString())
    return found


def _by_formula(model: Any, dtype: np.dtype[Any]) -> Any:
    from softmargin.export._skl2onnx import by_skl2onnx, needs_skl2onnx

    if needs_skl2onnx(model):
        return by_skl2onnx(model, dtype)
    return _Graph(dtype).model(translated(model))


class _Graph:
    """Collects nodes and constants, and closes them into a model."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        from onnx import TensorProto

        self.dtype, self._nodes, self._constants = dtype, [], []  # type: ignore[var-annotated]
        self._number = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
        self._count = 0
        self._kept: dict[Any, str] = {}

    def model(self, answer: Answer) -> Any:
        """The ONNX model of an answer."""
        from onnx import checker, helper

        outputs = [one for one in (answer.label, answer.probabilities, answer.scores) if one is not None]
        inputs, infos = self._inputs(outputs)
        writer = GraphWriter(self._emit, self._keep, inputs, self.dtype)
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
        checker.check_model(made)
        return made

    def _inputs(self, outputs: list[Formula]) -> tuple[dict[Any, str], list[Any]]:
        from onnx import TensorProto, helper

        names: dict[Any, str] = {}
        infos = []
        for leaf in leaves(outputs):
            if isinstance(leaf, Matrix):
                names["matrix"] = "X"
                infos.append(helper.make_tensor_value_info("X", self._number, [None, leaf.width]))
            elif leaf.name not in names:
                kind = TensorProto.STRING if leaf.kind == "text" else self._number
                name = leaf.name + "_" * (leaf.name in _OUTPUTS)
                names[leaf.name] = name
                infos.append(helper.make_tensor_value_info(name, kind, [None, 1]))
        if not infos:
            raise NotExportable(
                "The model answers the same for every row and reads no column; there is nothing to run."
            )
        return names, infos

    def _emit(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        self._count += 1
        name = f"softmargin:{self._count}"
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def _keep(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        key = (array.dtype.str, array.shape, array.tobytes() if array.dtype != object else tuple(array.ravel()))
        if key in self._kept:  # the levels of trees read the same tables
            return self._kept[key]
        self._count += 1
        name = self._kept[key] = f"softmargin:{self._count}"
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
