"""What features are worth, whatever a method makes of them: read off by a fresh classifier."""

from __future__ import annotations

import numpy as np

from incremental.methods.base import Embeds
from incremental.streams import Session, Stream

_PICTURES = 500  # of a session, about, that means are taken of
_RIDGE = 1e-3  # of the mean square of the features


def linear_probe(method: Embeds, stream: Stream, session: Session) -> float:
    """Accuracy, in per cent, of a ridge regression onto the session's classes (Davari et al. 2022
    fit a logistic one)."""
    x, y, test, truth = _features(method, stream, session, every=1)
    classes, targets = np.unique(y, return_inverse=True)
    middle = x.mean(axis=0)
    x, test = x - middle, test - middle
    gram = x.T @ x
    gram[np.diag_indices(len(gram))] += _RIDGE * np.trace(gram) / len(gram) + 1e-12
    weights = np.linalg.solve(gram, x.T @ (np.eye(len(classes))[targets] - 1 / len(classes)))
    return 100 * float((classes[(test @ weights).argmax(axis=1)] == truth).mean())


def nearest_means(method: Embeds, stream: Stream, session: Session) -> float:
    """Accuracy, in per cent, by the cosine to the means of the session's own pictures."""
    every = max(1, len(session.rows) // _PICTURES)
    x, y, test, truth = _features(method, stream, session, every)
    classes = np.unique(y)
    means = np.stack([x[y == own].mean(axis=0) for own in classes])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    return 100 * float((classes[(test @ means.T).argmax(axis=1)] == truth).mean())


def _features(
    method: Embeds, stream: Stream, session: Session, every: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (
        method.features(stream.train, session.rows[::every]).astype(np.float64),
        session.labels[::every],
        method.features(stream.test, session.test_rows).astype(np.float64),
        session.test_labels,
    )
