from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError
from prd_edge.manifest import FileRecord, Manifest

MANIFEST = Manifest(
    version="000002",
    parent="000001",
    created="2026-01-02T03:04:05+00:00",
    action="learn-session",
    software="prd-edge 0.1.0",
    config=StoreConfig(),
    encoder=EncoderSpec("efficientnet_lite0", 224, (80, 1280), "Apache-2.0"),
    classes={"Tasse ☕": 3, "コップ": 20},
    identities={"Tasse ☕": "0011223344556677", "コップ": "8899aabbccddeeff"},
    metrics={"holdout_accuracy": 0.875, "drift": {}},
    files={"encoder.onnx": FileRecord.of(b"graph")},
)
DATA = MANIFEST.to_bytes()


def test_round_trip() -> None:
    assert Manifest.from_bytes(DATA) == MANIFEST
    assert Manifest.from_bytes(DATA).to_bytes() == DATA


def test_every_flipped_bit_is_noticed() -> None:
    for position in range(len(DATA) * 8):
        damaged = bytearray(DATA)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(StoreError):
            Manifest.from_bytes(bytes(damaged))


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_anything_else_gives_a_typed_error(data: bytes) -> None:
    with pytest.raises(StoreCorruptError):
        Manifest.from_bytes(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(json.loads(DATA))), json_values)
def test_a_manifest_with_a_foreign_value_gives_a_typed_error(key: str, value: object) -> None:
    body = json.loads(DATA)
    if body[key] == value:
        return
    body[key] = value
    with pytest.raises(StoreError):
        Manifest.from_bytes(json.dumps(body).encode())


def test_a_newer_schema_is_refused_with_what_to_do() -> None:
    with pytest.raises(StoreError, match=r"newer prd-edge.*schema 99.*upgrade"):
        Manifest.from_bytes(replace(MANIFEST, schema=99).to_bytes())


def test_unknown_and_wrong_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="unknown settings: colour"):
        StoreConfig.from_dict({"colour": 1})
    with pytest.raises(InvalidInputError, match="image_size is '224'"):
        StoreConfig.from_dict({"image_size": "224"})
    with pytest.raises(InvalidInputError, match="keep_versions is 0"):
        StoreConfig(keep_versions=0)
