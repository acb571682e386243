"""Proposers that tests find under an importable name."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from handrail.records import Floats


class Recorder:
    """Proposes arms in turn, or by their features, and writes down what it is told."""

    made: ClassVar[list[Recorder]] = []

    def __init__(self, arms: int, seed: int, dim: int | None = None) -> None:
        self.arms, self.dim, self.seed = arms, dim, seed
        self.told: list[tuple[Any, ...]] = []
        Recorder.made.append(self)

    def select(self, features: Floats | None = None) -> int:
        if features is not None:
            assert features.shape == (self.arms, self.dim)
            return int(features[:, 0].argmax())
        return len(self.told) % self.arms

    def update(self, action: int, reward: float, features: Floats | None = None) -> None:
        self.told.append((action, reward))


class Stubborn:
    """Always proposes what it was made for."""

    proposal: Any = 0

    def __init__(self, arms: int, seed: int) -> None:
        self.arms = arms

    def select(self) -> Any:
        return self.proposal

    def update(self, action: int, reward: float) -> None:
        pass


class Last(Stubborn):
    """Always proposes the last arm."""

    def select(self) -> Any:
        return np.int64(self.arms - 1)


class OutOfRange(Stubborn):
    proposal = 17


class Half(Stubborn):
    proposal = 0.5


class Meddler:
    """Writes into what it is shown."""

    def __init__(self, arms: int, dim: int, seed: int) -> None:
        pass

    def select(self, features: Floats) -> int:
        features[:] = 0.0
        return 0

    def update(self, action: int, reward: float, features: Floats) -> None:
        pass


class Mute:
    """Cannot learn."""

    def __init__(self, arms: int, seed: int) -> None:
        pass

    def select(self) -> int:
        return 0


NOT_CALLABLE = 3
