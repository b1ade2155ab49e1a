"""A metatask is the same however a sandbox gets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.ensemble.transport import Place, to_arrays
from runner.errors import InputError
from runner.metatask import Metatask, files
from runner.metatask.fingerprint import fingerprint
from tests.ensemble.conftest import made


def test_arrays_hold_all_that_a_file_holds(metatask: Metatask, tmp_path: Path) -> None:
    other = replace(made(2, seed=5), name="other")
    together = {
        **to_arrays(metatask, fingerprint(metatask)),
        **to_arrays(other, fingerprint(other)),
    }
    for one in (metatask, other):
        found = Place(fingerprint(one), None).opened(together)
        assert fingerprint(found) == fingerprint(one)
        assert (found.name, found.classes, found.models) == (one.name, one.classes, one.models)
        path = tmp_path / f"{one.name}.arrow"
        digest = files.write(one, path)
        mapped = Place(digest, str(path)).opened({})
        assert fingerprint(mapped) == fingerprint(found)
        assert mapped.features.equals(found.features)


def test_arrays_of_predictions_are_not_copied(metatask: Metatask) -> None:
    arrays = to_arrays(metatask, "f")
    assert np.shares_memory(arrays["f.tested.confidences"], metatask.tested.confidences)
    found = Place("f", None).opened(arrays)
    assert np.shares_memory(found.tested.confidences, metatask.tested.confidences)


def test_a_file_that_was_replaced_meanwhile_is_refused(metatask: Metatask, tmp_path: Path) -> None:
    path = tmp_path / "metatask.arrow"
    place = Place(files.write(metatask, path), str(path))
    files.write(made(2), path)
    with pytest.raises(InputError, match="was replaced by another metatask"):
        place.opened({})
