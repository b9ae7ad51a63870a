"""A folder with a page that answers in the browser, from any static server and without a network.

The model is that of the format onnx; onnxruntime-web runs it (`web_runtime.py`).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from prd_edge.errors import InvalidInputError
from prd_edge.files import (
    make_directory,
    remove_empty_directory,
    replace_files,
)
from prd_edge.targets import refuse_parent

from .base import signed
from .certificate import Certificate
from .graph import metadata_of
from .onnx import OnnxExporter, classes_of
from .web_runtime import LICENCE, runtime_files

MODEL = "model.onnx"
CERTIFICATE = "certificate.json"
CARD = "MODEL_CARD.md"
_PAGE = ("index.html", "app.js", "worker.js", "style.css")


class WebExporter(OnnxExporter):
    name = "web"
    suffix = ""

    def certificate_path(self, target: Path) -> Path:
        return target / CERTIFICATE

    def certificate(self, target: Path) -> Certificate | None:
        return super().certificate(target) if os.path.isdir(target) else None

    def card_path(self, target: Path) -> Path:
        return target / CARD

    def write(self, target: Path, data: bytes, certificate: Certificate, card: bytes) -> None:
        page = files(__package__).joinpath("web_page")
        contents = {name: page.joinpath(name).read_bytes() for name in _PAGE}
        contents |= {f"runtime/{name}": code for name, code in runtime_files().items()}
        contents["runtime/LICENSE.txt"] = LICENCE.encode()
        contents["model.json"] = json.dumps(_about(data), ensure_ascii=False, indent=1).encode()
        contents[MODEL] = data
        contents[CERTIFICATE] = signed(certificate, data)
        contents[CARD] = card
        missing = [folder for folder in (target / "runtime", target) if not folder.exists()]
        try:
            make_directory(target / "runtime")
            placed = {target / name: content for name, content in contents.items()}
            replace_files(placed, writer=f"{os.getpid()}-")
        except (OSError, KeyboardInterrupt):
            for folder in missing:
                with suppress(OSError):
                    remove_empty_directory(folder)
            raise

    def _is_ours(self, target: Path) -> bool:
        certificate = self.certificate(target)
        return certificate is not None and certificate.format == self.name

    def read(self, target: Path) -> bytes:
        if not os.path.isdir(target):  # unlike Path's, never raises
            raise InvalidInputError(f"{target} is not a folder; name the one that was exported")
        return super().read(target / MODEL)

    def refuse_target(self, target: Path) -> None:
        if not target.name:
            raise InvalidInputError(f"{target} has no name of its own; name a folder to be made")
        if target.exists() and not target.is_dir():
            raise InvalidInputError(f"{target} is a file; name a folder")
        refuse_parent(target)
        if target.is_symlink() and not target.exists():
            raise InvalidInputError(f"{target} is a link that leads nowhere; name another folder")
        if target.exists() and any(target.iterdir()) and not self._is_ours(target):
            raise InvalidInputError(
                f"{target} is not empty and was not made by an export; name another folder"
            )
        runtime_files()  # it may have to be fetched: better to know before the work than after


def _about(data: bytes) -> dict[str, Any]:
    """What the page cannot ask the model itself."""
    said = metadata_of(data)
    return {"classes": classes_of(said), "version": said["version"]}
