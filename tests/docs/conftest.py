"""Pages may turn jax's 64-bit types on, as their readers do; other tests find the setting as it was."""

import jax
import pytest


@pytest.fixture(autouse=True)
def setting_of_jax():
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)
