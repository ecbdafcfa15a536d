"""Every sabotaged publisher and every forged file is refused; no part of Reveil goes without a sabotage."""

from __future__ import annotations

import json

import pytest

from reveil.core import registry
from reveil.core.errors import VerificationError
from tests.sabotage import columns, forgeries, groupers, guarantees, limits, models
from tests.sabotage.evidence import FILE
from tests.sabotage.registry import KEY, SABOTAGES

AT_LEAST = 80
PARTS = ("models", "groupers", "recoders", "guarantees")
assert all((columns, forgeries, groupers, guarantees, limits, models))


@pytest.mark.parametrize(
    "sabotage",
    [pytest.param(own, id=own.name, marks=[pytest.mark.slow] if own.slow else []) for own in SABOTAGES.values()],
)
def test_it_is_refused(sabotage, monkeypatch, tmp_path):
    monkeypatch.setenv("REVEIL_KEY", KEY)
    with pytest.raises(VerificationError):
        sabotage.run(monkeypatch, tmp_path)


@pytest.mark.parametrize("group", PARTS)
def test_no_part_goes_without_a_sabotage(group):
    about = {own for sabotage in SABOTAGES.values() for own in sabotage.about}
    named = {f"{group.removesuffix('s')} {name}" for name in registry.names(group)}
    assert not named - about


def test_every_model_and_guarantee_has_a_judge():
    judges = set(registry.names("judges"))
    assert {*registry.names("models"), *registry.names("guarantees")} <= judges


def test_there_are_enough_of_them():
    assert len(SABOTAGES) >= AT_LEAST


def test_the_page_of_evidence_names_them_all():
    told = json.loads(FILE.read_text())
    assert set(told["each"]) == set(SABOTAGES), "run python -m tests.sabotage.evidence"
    assert told["all"]["tried"] == told["all"]["caught"] == len(SABOTAGES)
