"""Who may import whom, read off the syntax tree: function-level imports are found, and refused."""

import ast
import collections
import re
import sys
import tomllib

import pytest
from places import ROOT

from wengert.ir import syntax

MAY = {
    "ir": {"ir", "numpy"},
    "autodiff": {"autodiff", "ir", "numpy"},
    "backends": {"backends", "ir", "numpy", "jax"},
    "tracer": {"tracer", "ir", "autodiff", "backends", "numpy", "jax"},
    "compat": {"compat", "wengert", "numpy", "scipy"},
}
ROOMS = """
common rewriter values extents numpy_api guards regions capture rules sharding program cache call blame plan view
export api interop profile scipy_api catalogue
""".split()  # of the tracer, each of which may import those before it
FILES = [p for room in MAY for p in sorted((ROOT / room).rglob("*.py"))]


def imports(path):
    """(what is imported, the node) for every import statement of a file, relative ones resolved to their room."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(syntax.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                yield node.module, node
                continue
            base = package[: len(package) - node.level + 1]
            if base:
                yield base[0], node
            else:
                yield from (((node.module or alias.name).split(".")[0], node) for alias in node.names)


def test_what_is_installed_has_every_package():
    """A checkout that is installed in place finds its folders itself; a copy has those that are listed."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    homes = [ROOT, *(ROOT / room for room in (*MAY, "examples"))]
    found = {p.parent for home in homes for p in (home.rglob("__init__.py") if home != ROOT else home.glob("__init__.py"))}
    assert sorted(listed) == sorted(".".join(("wengert", *p.relative_to(ROOT).parts)) for p in found)


def test_syntax_trees_are_made_in_one_place():
    """Those made beside each other by several threads are an error of some Pythons."""
    made = [p for p in [*FILES, ROOT / "__main__.py"] if "ast.parse(" in p.read_text().replace("As ast.parse", "")]
    assert [p.relative_to(ROOT).as_posix() for p in made] == ["ir/syntax.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    room = path.relative_to(ROOT).parts[0]
    tree = syntax.parse(path.read_text())
    nested = [
        n.lineno
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef | ast.Lambda)
        for n in ast.walk(f)
        if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    assert nested == [], f"imports inside functions at lines {nested}"
    for name, node in imports(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names:
            continue
        assert top in MAY[room], f"{room} may not import {name} (line {node.lineno})"
        assert name.count(".") == 0 or room != "compat" or top != "wengert", f"compat uses wengert's public names alone (line {node.lineno})"
        assert "_src" not in name and not top.startswith("jaxlib"), f"private interface of jax (line {node.lineno})"
        if room == "tracer" and top == "jax":
            alone = path.parts[-2:] == ("common", "pytree.py") and all(a.name == "tree_util" for a in node.names)
            assert alone, f"jax in the tracer (line {node.lineno})"


def room_of(parts):
    """The place of a module among the rooms of the tracer; None outside it, and for the tracer's own face."""
    return ROOMS.index(parts[1]) if parts[:1] == ("tracer",) and len(parts) > 1 else None


@pytest.mark.parametrize("path", sorted((ROOT / "tracer").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_of_the_tracer_import_downwards(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    here, package = room_of(parts[:-1]), parts[:-1]
    for node in ast.walk(syntax.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
        for there in {room_of((*base, alias.name)) if base == ("tracer",) else room_of(base) for alias in node.names} - {None}:
            assert there <= here, f"{path.relative_to(ROOT)}:{node.lineno}: {ROOMS[here]} may not import {ROOMS[there]}: {ast.unparse(node)}"


@pytest.mark.parametrize("room", [*MAY, *(f"tracer/{room}" for room in ROOMS)])
def test_every_room_states_its_promise(room):
    doc = ast.get_docstring(syntax.parse((ROOT / room / "__init__.py").read_text()))
    assert doc and 3 <= len(doc.splitlines()) <= 7


def test_every_module_of_the_tracer_is_in_a_room():
    assert {p.relative_to(ROOT / "tracer").parts[0] for p in (ROOT / "tracer").rglob("*.py")} == {*ROOMS, "__init__.py"}


OTHERS = [p for p in FILES if p.name != "installations.py" and p.relative_to(ROOT).parts[0] != "ir"]


@pytest.mark.parametrize("path", OTHERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_classes_of_other_modules_are_given_things_in_one_table_alone(path):
    body = syntax.parse(path.read_text()).body
    theirs = {a.asname or a.name for n in body if isinstance(n, ast.ImportFrom) and n.level for a in n.names}
    for node in body:
        for target in getattr(node, "targets", ()):
            for x in target.elts if isinstance(target, ast.Tuple) else [target]:
                text = f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(x)} = ... belongs in tracer/api/installations.py"
                assert not (isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id in theirs), text


def test_paths_in_the_documentation_exist():
    there = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py")]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for path in set(re.findall(r"`([\w/]+\.py)`", page.read_text())):
            assert "FAMILY" in path or any(p == path or f"wengert/{p}" == path or p.endswith("/" + path) for p in there), f"{page.name}: {path}"


def test_no_name_is_borne_by_many():
    """A class by one module alone, a function by two: a reader who looks a name up finds what it is. Handlers and hooks are named by others."""
    functions, classes = collections.defaultdict(list), collections.defaultdict(list)
    for path in sorted(p for room in ("ir", "autodiff", "backends", "tracer") for p in (ROOT / room).rglob("*.py")):
        for node in syntax.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path.name)
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                functions[node.name].append(path.name)
    assert not {name: found for name, found in functions.items() if len(found) > 2}
    assert not {name: found for name, found in classes.items() if len(found) > 1}
