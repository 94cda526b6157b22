"""Experiments: measurements that are not part of the product, each run by `python -m experiments.NAME`.

The head of each says what it measures and on which data; --help has its options.

* `paper`: the tables of the paper, on synthetic corpora or on one of your own.
* `lsp`: real continuous signing, in a language that nothing here has learned from.
* `cross_validation`, `promised_false_alarms`, `unknown_signs`, `subtitled_streams`: isolated real signs, or joined.
* `applications.NAME`: archive_search, faux_amis, feedback, identify, mine, subtitle_timeline, variants, wake.
* `mouthing_video`, `lip_distortion`, `synthetic_realism`: how synthetic signing compares with real footage.
* `estimator_comparison`, `rgb_backends`: speed, and what it costs.
"""
