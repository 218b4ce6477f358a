"""Which estimator decides inside of a wrapper, and whether its ``predict`` can differ from its highest probability."""

from __future__ import annotations

from typing import Any

# Estimators of scikit-learn that hand on what a fitted estimator of theirs says, and the attribute that it is in.
_PASSED_ON = {
    "BaseSearchCV": "best_estimator_",
    "FrozenEstimator": "estimator",
    "RFE": "estimator_",
    "RFECV": "estimator_",
    "SelfTrainingClassifier": "estimator_",
    "StackingClassifier": "final_estimator_",
}


def deciding(model: Any) -> Any:
    """Return the estimator whose answers a model hands on: the last step of a pipeline, the best of a search."""
    # Terminates: every turn goes to an estimator inside the last one.
    while True:
        name = sklearn_class(model, ("Pipeline", *_PASSED_ON))
        if name == "Pipeline":
            model = model.steps[-1][1]
        elif name is not None and hasattr(model, _PASSED_ON[name]):
            model = getattr(model, _PASSED_ON[name])
        else:
            return model


def can_differ(model: Any) -> bool:
    """Return whether the class of a model says that its predict need not be the class of highest probability.

    The probabilities of a support vector machine are fitted on top of its scores (Platt), by which it decides.
    """
    last = deciding(model)
    if sklearn_class(last, ("OneVsRestClassifier",)):
        return any(can_differ(one) for one in getattr(last, "estimators_", ()))
    return sklearn_class(last, ("BaseSVC",)) is not None


def sklearn_class(model: Any, names: tuple[str, ...]) -> str | None:
    """Return the first of some names that a class of scikit-learn has which a model is of; None if there is none."""
    own = {one.__name__ for one in type(model).__mro__ if one.__module__.startswith("sklearn.")}
    return next((name for name in names if name in own), None)
