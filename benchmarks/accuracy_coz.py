# SPDX-License-Identifier: MIT
"""What coz predicts of a change, where it can."""


def predict(bench, done):
    pass
