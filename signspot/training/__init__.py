"""Training: one loop, and a task for each kind of training.

Read `loop` first: a `Task` says what is learned and from what, `train` does everything else. The tasks, with the
modules of their data:

* `landmark_encoder`: the default encoder, by pairs of performances of a sign (`pairs`, changed by `pair_augmentation`)
* `embedding_mlp`: labels and subtitles (`corpus_subset`, `item_batches`), seen by a frozen trunk (`trunk_features`)
* `rgb`: clips of pixels (`rgb_clips`)
* `recogniser`: clips of landmarks (`landmark_clips`)
* `mouthing`: windows of lips
* `adapters`: subtitled footage (`adaptation_data`); `adaptation` cross-validates and keeps what gains

All of them share `configuration` (TOML files), `run_folder` (state, curve, events) and `distributed` (processes).
"""
