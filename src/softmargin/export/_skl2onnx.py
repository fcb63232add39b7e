"""Pipelines with transformers that have no formula here: skl2onnx converts those, and asks us for our classifiers."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from softmargin.export._column_levels import column_levels, kind_of_levels
from softmargin.export._formula import Column, NotExportable
from softmargin.export._models import answer
from softmargin.export._onnx import GraphWriter, label_values, write_answer
from softmargin.export._rows import Rows
from softmargin.export._transformers import knows

__all__ = ["by_skl2onnx", "needs_skl2onnx", "register"]

_OPSET = 19
_CLASSIFIERS = (
    "AdditiveKernelClassifier",
    "BalancingSVC",
    "CoherenceClassifier",
    "CompositeLeastSquaresClassifier",
    "CompositeMarginClassifier",
    "MarginClassifier",
    "MulticategorySVC",
    "ProbabilisticSVC",
    "RobustSVC",
    "RuleBoostClassifier",
    "ScoreCalibrator",
    "TruncatedLogisticRegression",
    "TruncatedSoftmaxClassifier",
    "TunedClassifier",
)


def needs_skl2onnx(model: Any) -> bool:
    """Whether a pipeline has a transformer that only skl2onnx knows."""
    return isinstance(model, Pipeline) and not all(knows(step) for _, step in model.steps[:-1])


def by_skl2onnx(model: Pipeline, dtype: np.dtype[Any]) -> Any:
    """The ONNX model of a pipeline; its second output is the scores where there are no probabilities."""
    try:
        from skl2onnx import to_onnx
    except ImportError:
        raise ImportError(
            "this pipeline has transformers that only skl2onnx converts: pip install 'softmargin[export]'"
        ) from None
    register()
    last, found = model.steps[-1][1], None
    second = "probabilities" if hasattr(last, "predict_proba") else "scores"
    for kind in dict.fromkeys([dtype, np.dtype(np.float32)]):  # some of its converters know float32 only
        try:
            found = to_onnx(
                model,
                initial_types=_initial_types(model, kind),
                options={id(last): {"zipmap": False}},
                target_opset={"": _OPSET, "ai.onnx.ml": 3},
                naming=lambda name, used: {"output_label": "label", "output_probability": second}.get(name, name),
            )
            break
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
    if found is None:
        raise NotExportable(f"skl2onnx cannot convert this pipeline: {reason}")
    if kind != dtype:
        warnings.warn(f"skl2onnx converts this pipeline in float32 only ({reason})", UserWarning, stacklevel=4)
    return found


def _initial_types(model: Pipeline, dtype: np.dtype[Any]) -> list[tuple[str, Any]]:
    """One matrix of numbers or of texts, or one column per name where both occur."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    number = FloatTensorType if dtype == np.float32 else DoubleTensorType
    first = model.steps[0][1]
    if hasattr(first, "vocabulary_"):  # words of one column
        return [("X", StringTensorType([None, 1]))]
    names = [str(name) for name in getattr(first, "feature_names_in_", range(first.n_features_in_))]
    texts = {j for j, levels in column_levels(first, names).items() if kind_of_levels(levels) == "text"}
    if not texts:
        return [("X", number([None, len(names)]))]
    return [(name, (StringTensorType if j in texts else number)([None, 1])) for j, name in enumerate(names)]


def register() -> None:
    """Tell skl2onnx of this library's classifiers; it then converts any pipeline that holds them."""
    from skl2onnx import update_registered_converter

    library = import_module("softmargin")
    for name in _CLASSIFIERS:
        update_registered_converter(
            getattr(library, name),
            f"Softmargin{name}",
            _shapes,
            _convert,
            overwrite=True,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]},
        )


def _shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    labels = StringTensorType if label_values(model.classes_).dtype.kind == "O" else Int64TensorType
    operator.outputs[0].type = labels([None])
    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    operator.outputs[1].type = (DoubleTensorType if double else FloatTensorType)([None, len(model.classes_)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Our nodes between the tensors of skl2onnx."""
    from onnx import TensorProto, helper
    from skl2onnx.common.data_types import DoubleTensorType

    def emit(kind: str, inputs: list[str], **attributes: Any) -> str:
        name = scope.get_unique_variable_name("softmargin")
        container.add_node(kind, inputs, [name], op_version=_OPSET, **attributes)
        return name

    def keep(array: Any) -> str:
        name = scope.get_unique_variable_name("softmargin")
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        values = [str(one).encode() for one in array.ravel()] if kind == TensorProto.STRING else array.ravel().tolist()
        container.add_initializer(name, kind, list(array.shape), values)
        return name

    dtype = np.float64 if isinstance(operator.outputs[1].type, DoubleTensorType) else np.float32
    model = operator.raw_operator
    made = answer(model, Rows.read([Column(f"x{j}") for j in range(model.n_features_in_)]))
    number = TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
    x = emit("Cast", [operator.inputs[0].full_name], to=number)
    found = write_answer(GraphWriter(emit, keep, {"matrix": x}, dtype), emit, keep, made)
    second = found.get("probabilities", found["scores"])
    for name, output in ((found["label"], operator.outputs[0]), (second, operator.outputs[1])):
        container.add_node("Identity", [name], [output.full_name], op_version=_OPSET)
