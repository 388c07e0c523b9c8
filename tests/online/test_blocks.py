"""A row's numbers do not depend on the rows around it."""

import numpy as np
import pytest

from ffml.base import Prediction
from ffml.online.blocks import BLOCK, SMALL_BLOCK, predict_rows


@pytest.mark.parametrize("rows", [0, 1, SMALL_BLOCK, SMALL_BLOCK + 1, BLOCK, BLOCK + 1])
def test_rows_are_predicted_in_blocks_of_one_size(rows):
    sizes = []

    def predict(x):
        sizes.append(len(x))
        return Prediction(x[:, 0], x[:, 1], x.sum(1))

    x = np.random.default_rng(0).normal(size=(rows, 2))
    said = predict_rows(predict, x)
    assert sizes == [SMALL_BLOCK if rows <= SMALL_BLOCK else BLOCK] * max(-(-rows // sizes[0]), 1)
    np.testing.assert_array_equal(said.logits, x[:, 0].astype(np.float32))
    np.testing.assert_array_equal(said.unpriced, x.sum(1).astype(np.float32))
