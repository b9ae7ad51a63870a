"""Rules of the layout that the import linter cannot see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "prd_edge"
# They write files of the user's choosing, never into a store.
WRITE_ELSEWHERE = {"files.py", "demo_data/__init__.py"}
WRITING_CALLS = {
    "fsync", "link", "makedirs", "mkdir", "remove", "rename", "replace", "rmdir", "rmtree",
    "save_file", "symlink_to", "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
HARMLESS_OWNERS = {"files", "writer", "bank", "self", "runtime", "Runtime"}


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_only_one_module_writes(path: Path) -> None:
    if str(path.relative_to(PACKAGE)) in WRITE_ELSEWHERE:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in WRITING_CALLS:
            owner = node.func.value
            is_text = node.func.attr in ("replace", "remove") and len(node.args) != 1
            name = owner.id if isinstance(owner, ast.Name) else ""
            by_call = isinstance(owner, ast.Call)  # Runtime.open(store).remove(label)
            assert is_text or by_call or name in HARMLESS_OWNERS, (
                f"{path.name}:{node.lineno} writes; only files.py may"
            )
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            modes = [arg.value for arg in node.args[1:] if isinstance(arg, ast.Constant)]
            assert not any(set("wax+") & set(str(mode)) for mode in modes)


def test_files_stay_small_enough_to_read() -> None:
    long = {p.name: n for p in PACKAGE.rglob("*.py") if (n := p.read_text().count("\n")) > 300}
    assert long == {}
