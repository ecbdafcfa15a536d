"""The contract suite over everything registered: a new model, grouper or format is picked up by itself."""

import pytest

from reveil.core import registry
from reveil.testing import check_format, check_grouper, check_model

MODELS = [example for cls in registry.everything("models").values() for example in cls.examples()]
GROUPERS = [example for cls in registry.everything("groupers").values() for example in cls.examples()]


@pytest.mark.parametrize("model", [*MODELS, MODELS[0] & MODELS[2]], ids=repr)
def test_model(model):
    check_model(model)


@pytest.mark.parametrize("grouper", GROUPERS, ids=repr)
def test_grouper(grouper):
    check_grouper(grouper)


@pytest.mark.parametrize("name", registry.names("formats"))
def test_format(name, tmp_path):
    check_format(registry.find("formats", name)(), tmp_path / f"t.{name}")


@pytest.mark.parametrize("group", registry.GROUPS)
def test_everything_registered_loads_and_is_documented(group):
    for name, thing in registry.everything(group).items():
        assert thing.__doc__, f"{group}.{name} says what it is"


@pytest.mark.parametrize("cls", [*registry.everything("models").values(), *registry.everything("guarantees").values()])
def test_promises_are_written_down(cls):
    for heading in ("Guarantee", "Assumes", "Does not protect against", "Source"):
        assert heading in cls.__doc__, f"{cls.__name__} says: {heading}"
