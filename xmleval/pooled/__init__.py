"""Pool the scores of all rows, and sweep them for the curve of all entries and for label curves.

A curve needs every score, best first. `states.score_runs` adds the scores of each block to a
`Store`, which has collections for relevant and for irrelevant entries:

- `Values` has float32 scores of all entries: few as arrays, many `Ordered` by bucket, and `Packed`
  as counts of distinct scores when the memory limit is reached.
- `Pile` has everything else, as keys: float64 scores, and (label, score) pairs, which are `Grouped`
  by label if a block has many. At the memory limit, its arrays are spilled to a `SortedRun` on
  disk. If packed values still take too much memory, they are spilled to the pile, too.
- At the end, `Buckets` or `PileRanges` split the scores into ranges, which threads sort and sweep.
  Each range gives a `PartialCurve`. They add up to a `Curve`, and `Curves` has up to three: of the
  scores, and with the worst and the best scores of unlisted labels.

::

    while blocks are added              at the end

    float32 scores of all entries
      |
      v
    Values: few > Ordered > Packed ---> Buckets ----> value_curves --+
      |                                                              |
      | at last, or if few                                           +--> PartialCurve --> Curves
      v                                                              |
    Pile: arrays > SortedRun ---------> PileRanges -> curves --------+
      ^                                     |
      |                                     +-------> columns ----------> LabelCurves
    float64 scores; (label, score) keys

`Values` are swept as a pile where they are few, or where some of them were spilled. `cuts` sweeps
either for the best threshold, and `jackknife_curves` without each group of rows. If rows have
weights, `KeySums` and `WeightRanges` take the place of `Pile` and `PileRanges`.
"""
