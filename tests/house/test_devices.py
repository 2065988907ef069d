"""`pytest --device`: its tables name what there is, and its choice is the one that is said."""

import types

import devices
import pytest
from places import ROOT


@pytest.mark.parametrize("part", [*devices.TELLING, *devices.ELSEWHERE, *devices.MISTAKEN])
def test_tables_name_files_and_tests(part):
    path, _, name = part.partition("::")
    found = [p for p in (ROOT / "tests").rglob("*") if p.relative_to(ROOT / "tests").as_posix().startswith(path.rstrip("/"))]
    assert found or (ROOT / path).is_dir()  # a room whose tests are still to come
    assert any(f"def {name}" in p.read_text() for p in found if p.suffix == ".py") if name else True


class Item:
    def __init__(self, name, marks=()):
        self.nodeid, self.marks, self.added = f"tests/{name}", marks, []

    def get_closest_marker(self, name):
        return name if name in self.marks else None

    def add_marker(self, mark):
        self.added.append(mark.kwargs["reason"])


def chosen(device, *items):
    left, hook = [], types.SimpleNamespace(pytest_deselected=lambda items: left.extend(items))
    config = types.SimpleNamespace(getoption={"--device": device}.get, hook=hook)
    items = list(items)
    devices.select(config, items)
    return [i.nodeid.removeprefix("tests/") for i in items], [i.nodeid.removeprefix("tests/") for i in left], items


def test_the_most_telling_come_first_and_others_are_left_out():
    given = [Item("house/test_style.py::test_a"), Item("tracer/regions/test_b.py::test_c"), Item("ir/test_ops.py::test_xla_is_numpy[add]")]
    given += [Item("tracer/values/test_d.py::test_e", ["as_numpy"]), Item("backends/test_native.py::test_f")]
    kept, left, items = chosen("gpu", *given)
    assert kept == ["ir/test_ops.py::test_xla_is_numpy[add]", "tracer/regions/test_b.py::test_c", "backends/test_native.py::test_f"]
    assert left == ["house/test_style.py::test_a", "tracer/values/test_d.py::test_e"]
    assert [i.added for i in items] == [[], [], [devices.MACHINE_CODE]]


def test_nothing_changes_where_no_device_is_asked_for():
    kept, left, items = chosen(None, Item("house/test_style.py::test_a"), Item("backends/test_native.py::test_f"))
    assert len(kept) == 2 and left == [] and all(i.added == [] for i in items)


def test_what_xla_gets_wrong_on_cpus_is_asked_of_a_card():
    name = "backends/test_restored.py::test_nan_is_where_it_has_to_be[across]"
    (card,), (likeness,) = chosen("gpu", Item(name))[2], chosen("like-gpu", Item(name))[2]
    assert card.added == [] and likeness.added == [devices.NAN]
