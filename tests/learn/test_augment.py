from __future__ import annotations

import torch

from prd_edge.learn.augment import GRAYSCALE_CHANCE, random_views


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def colourful(count: int, size: int = 32) -> torch.Tensor:
    return torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=generator(1))


def test_form_and_determinism() -> None:
    images = colourful(5)
    views = random_views(images, generator())
    assert views.shape == images.shape
    assert views.dtype == torch.uint8
    torch.testing.assert_close(random_views(images, generator()), views)
    assert not torch.equal(random_views(images, generator(2)), views)


def test_each_image_gets_its_own_view() -> None:
    images = colourful(1).expand(64, -1, -1, -1)
    views = random_views(images, generator())
    assert len({view.numpy().tobytes() for view in views}) > 60


def test_about_a_fifth_become_gray() -> None:
    views = random_views(colourful(2000, size=8), generator()).int()
    gray = ((views - views[..., :1]).abs() <= 1).flatten(1).all(dim=1).float().mean()
    assert abs(gray.item() - GRAYSCALE_CHANCE) < 0.04


def test_half_are_mirrored_and_shifts_stay_within_an_eighth() -> None:
    images = torch.zeros(1000, 32, 32, 3, dtype=torch.uint8)
    images[:, 16, 8] = 255  # one bright pixel, left of the middle
    views = random_views(images, generator()).int().sum(dim=3)  # (N, 32, 32)
    rows, columns = views.flatten(1).argmax(dim=1) // 32, views.flatten(1).argmax(dim=1) % 32
    assert (rows - 16).abs().max() == 4
    assert set(columns.tolist()) <= {*range(4, 13), *range(19, 28)}
    assert abs((columns > 16).float().mean().item() - 0.5) < 0.05
