"""The worked example of Demsar 2006 (Journal of Machine Learning Research 7, table 6)."""

from __future__ import annotations

MODELS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
ROWS = """
adult                   0.763 4    0.768 3    0.771 2    0.798 1
breast cancer           0.599 1    0.591 2    0.590 3    0.569 4
breast cancer wisconsin 0.954 4    0.971 1    0.968 2    0.967 3
cmc                     0.628 4    0.661 1    0.654 3    0.657 2
ionosphere              0.882 4    0.888 2    0.886 3    0.898 1
iris                    0.936 1    0.931 2.5  0.916 4    0.931 2.5
liver disorders         0.661 3    0.668 2    0.609 4    0.685 1
lung cancer             0.583 2.5  0.583 2.5  0.563 4    0.625 1
lymphography            0.775 4    0.838 3    0.866 2    0.875 1
mushroom                1.000 2.5  1.000 2.5  1.000 2.5  1.000 2.5
primary tumor           0.940 4    0.962 2.5  0.965 1    0.962 2.5
rheum                   0.619 3    0.666 2    0.614 4    0.669 1
voting                  0.972 4    0.981 1    0.9751 2   0.975 3
wine                    0.957 3    0.978 1    0.946 4    0.970 2
"""  # voting: both 0.975 in print; their ranks tell that more digits were known
LINES = [line.rsplit(None, 8) for line in ROWS.strip().splitlines()]
VALUES = {name: dict(zip(MODELS, map(float, cells[::2]), strict=True)) for name, *cells in LINES}
RANKS = {name: dict(zip(MODELS, map(float, cells[1::2]), strict=True)) for name, *cells in LINES}
