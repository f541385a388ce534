"""The experiments of Wu & Zhou 2017 (ICML), "A Unified View of Multi-Label Performance Measures".

``python -m scripts.limo synthetic`` and ``python -m scripts.limo benchmark`` train LIMO and its
baselines, evaluate them with `xmleval`, and write tables, figures and a verdict on each claim of
the paper.
"""
