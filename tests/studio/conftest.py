import pytest

from tests.studio.served import KEY, fill, serving


@pytest.fixture(scope="package")
def hospital_studio(tmp_path_factory):
    """Serve the hospital to many tests, which leave it as it was or add releases of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REVEIL_KEY", KEY)
        with serving(fill(tmp_path_factory.mktemp("studio") / "records")) as served:
            yield served
