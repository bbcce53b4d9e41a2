"""Folders take each other's place whole, also after a kill at the worst moment."""

from __future__ import annotations

import os

import pytest

from release.swap import recover, swap_in


def make(folder, text):
    folder.mkdir(parents=True)
    (folder / "file").write_text(text, encoding="utf-8")
    return folder


def test_new_folders_replace_old_ones_and_nothing_is_left_over(tmp_path):
    pairs = [(make(tmp_path / "new" / n, "new"), make(tmp_path / n, "old")) for n in ("a", "b")]
    swap_in(pairs)
    assert [(p / "file").read_text(encoding="utf-8") for _, p in pairs] == ["new", "new"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "new"]


def test_a_first_build_has_nothing_to_replace(tmp_path):
    swap_in([(make(tmp_path / "new", "new"), tmp_path / "deep" / "place")])
    assert (tmp_path / "deep" / "place" / "file").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_whatever_stops_a_swap_all_old_folders_come_back(tmp_path, monkeypatch, error):
    pairs = [(make(tmp_path / "new" / n, "new"), make(tmp_path / n, "old")) for n in ("a", "b")]
    rename = os.rename

    def stopped(source, target):
        if source == pairs[1][0]:
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "rename", stopped)
    with pytest.raises(error):
        swap_in(pairs)
    assert [(p / "file").read_text(encoding="utf-8") for _, p in pairs] == ["old", "old"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "new"]


def test_a_kill_between_the_two_renames_is_recovered(tmp_path):
    place = make(tmp_path / ".place.old", "old").with_name("place")  # set aside, and no further
    recover(place)
    assert (place / "file").read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["place"]
