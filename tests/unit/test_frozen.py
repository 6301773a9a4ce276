"""Values that cannot be changed: how they are made, compared, copied and inherited from."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from inspect import signature

import pytest

from ricordo.frozen import frozen


@frozen
class Place:
    name: str
    floor: int = 0
    tags: list[str] = field(default_factory=list)


@frozen
class Wing:
    name: str


@frozen
class Floor(Wing):
    height: int = 0


class Attic(Floor):
    """A class below a frozen one that calls the constructor of a class above that one."""

    def __init__(self, name: str) -> None:
        Wing.__init__(self, name)


class Room(Place):
    """A class below a frozen one that is not frozen itself; it has a dictionary for more."""


@frozen
class Office(Place):
    desk: str = "none"


def test_a_value_is_of_its_own_class_and_cannot_be_changed() -> None:
    place = Place("office", 2)
    assert type(place) is Place
    assert (place.name, place.floor, place.tags) == ("office", 2, [])
    with pytest.raises(FrozenInstanceError, match="'floor'"):
        place.floor = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="'other'"):
        place.other = 3  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError, match="'name'"):
        del place.name
    assert (place.name, place.floor) == ("office", 2)


def test_every_value_has_a_list_of_its_own_unless_one_is_given() -> None:
    given = ["a"]
    assert Place("a").tags is not Place("b").tags
    assert Place("a", tags=given).tags is given


def test_a_class_below_a_frozen_one_keeps_its_class_and_its_fields() -> None:
    room = Room("kitchen", 1)
    assert type(room) is Room
    assert (room.name, room.floor, room.tags) == ("kitchen", 1, [])
    assert Attic("under the roof").name == "under the roof"
    office = Office("office", 2, desk="left")
    assert type(office) is Office
    assert (office.floor, office.desk) == (2, "left")
    with pytest.raises(FrozenInstanceError):
        office.desk = "right"  # type: ignore[misc]


def test_values_are_replaced_copied_pickled_and_turned_into_dictionaries() -> None:
    place = Place("office", 2, ["a"])
    assert replace(place, floor=3) == Place("office", 3, ["a"])
    for made in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert made == place
        assert type(made) is Place
    assert asdict(place) == {"name": "office", "floor": 2, "tags": ["a"]}
    assert place != Office("office", 2, ["a"])


def test_a_missing_or_unknown_field_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeError, match="name"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="roof"):
        Place("office", roof=1)  # type: ignore[call-arg]


def test_the_first_values_of_a_class_are_like_all_later_ones() -> None:
    assert [Office("a", desk=str(n)).desk for n in range(100)] == [str(n) for n in range(100)]
    for _ in range(100):
        assert Place("a", 1) == Place(name="a", floor=1, tags=[])
        with pytest.raises(TypeError, match="multiple values"):
            Place("a", name="b")  # type: ignore[misc]


def test_what_dataclasses_knows_of_a_class_is_complete() -> None:
    assert [(member.name, member.type) for member in fields(Office)] == [
        ("name", "str"), ("floor", "int"), ("tags", "list[str]"), ("desk", "str"),
    ]  # fmt: skip
    assert list(signature(Office).parameters) == ["name", "floor", "tags", "desk"]
    assert Office.__match_args__ == ("name", "floor", "tags", "desk")
