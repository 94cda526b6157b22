"""Frame codes: pairs are of one sign, a training follows from its seed, and stopping it changes nothing."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from signspot.cli.app import run
from signspot.corpus.isolated import FPS, IsolatedClip, pack
from signspot.embedding.exemplars import code_sign
from signspot.embedding.inputs import sign_in_context
from signspot.errors import OptionsError
from signspot.landmarks.features import ELBOWS, FACE, LEFT_HAND, RIGHT_HAND, WRISTS, mirror_features
from signspot.models.checkpoints import load_encoder
from signspot.models.frame_coder import CoderOptions, FrameCoder
from signspot.training.configuration import Compute
from signspot.training.landmark_encoder import (
    CoderOptimiser,
    FrameCodesConfig,
    FrameCodesTask,
    PairLearner,
    SourceOptions,
    WarpingConfig,
    choose_decoys,
    make_warping,
    open_sources,
    train_frame_codes,
    with_folders,
)
from signspot.training.loop import train
from signspot.training.pair_augmentation import UNCHANGED, Change, NewSigns, change, mirror_some, recombine
from signspot.training.pairs import (
    PairBatchOptions,
    PairSource,
    PairStore,
    cached_partners,
    choose_source,
    draw,
    likely_partners,
    store_clips,
)
from signspot.types import Segment

SMALL = CoderOptions(codes=16, width=16, blocks=1, embedding=12)
STEPS = 6
CONFIG = FrameCodesConfig(
    (SourceOptions("some", ("nowhere",)),), optimiser=CoderOptimiser(steps=STEPS, signs=8, warm_up=1), coder=SMALL
)


def numbered(signers: Sequence[int], words: Sequence[int], length: int = 20) -> PairStore:
    """Clips whose x is the number of the clip, whose y is the frame, with a sign from frame 5 to 14."""
    frames = np.ones((len(words), length, 69, 4), np.float16)
    frames[..., 0] = np.arange(len(words))[:, None, None]
    frames[..., 1] = np.arange(length)[:, None]
    first = np.arange(len(words) + 1) * length
    segments = np.tile([5, 15], (len(words), 1))
    return PairStore(frames.reshape(-1, 69, 4), first, segments, np.array(words), np.array(signers))


def trained_coder(config: FrameCodesConfig, sources: Sequence[PairSource], folder: Path, workers: int) -> FrameCoder:
    return train(FrameCodesTask(config, sources), folder, workers=workers).module.coder


def all_weights(coder: FrameCoder) -> torch.Tensor:
    return torch.cat([value.flatten().double() for value in coder.state_dict().values()])


def test_a_store_knows_where_signs_are_and_who_shows_them(store: PairStore, isolated_signs: list[IsolatedClip]) -> None:
    assert len(store.words) == 24
    assert [len(signers) for signers in store.by_word] == [3] * 8
    frames, first, last = sign_in_context(isolated_signs[4].landmarks, FPS)
    assert store.segments[4].tolist() == [first, last + 1]
    fetched = store.fetch(np.array([4, 4]), np.array([0.0, 1.0]))
    assert fetched.numpy() == pytest.approx(frames[[first, last]], abs=5e-3)


def test_features_between_frames_are_interpolated_and_clips_have_ends() -> None:
    fetched = numbered([0, 1], [0, 0]).fetch(np.array([1, 1, 1]), np.array([0.5, 9.0, -9.0]))
    assert fetched[:, 0, 0].tolist() == [1.0, 1.0, 1.0]
    assert fetched[:, 0, 1].tolist() == [9.5, 19.0, 0.0]  # halfway from 5 to 14, the clip's last frame, its first


def test_pairs_are_of_one_word_and_two_known_signers() -> None:
    store = numbered(signers=[0, 0, 1, -1, 2, 2, 3, 3], words=[0, 0, 0, 0, 1, 1, 2, 2])
    assert len(store.by_word) == 1  # the others have one signer each
    drawn_clips, mirrored = store.pairs(np.zeros(200, np.int64), np.random.default_rng(0))
    pairs = {tuple(sorted(pair)) for pair in np.stack([drawn_clips[:200], drawn_clips[200:]], axis=1).tolist()}
    assert pairs == {(0, 2), (1, 2)}
    assert not mirrored.any()
    with pytest.raises(OptionsError, match="none of 2 clips"):
        numbered([0, 0], [0, 0])


def test_partners_are_drawn_where_they_are_known() -> None:
    store = numbered(signers=[0, 1, 2], words=[0, 0, 0])
    store.partners = {0: [(2, True)], 2: [(0, True)]}
    drawn_clips, mirrored = store.pairs(np.zeros(50, np.int64), np.random.default_rng(0))
    assert set(drawn_clips.tolist()) == {0, 2}
    assert mirrored[50:].all()


def frames_of(store: PairStore, word: int) -> list[int]:
    """All frames of the signs of a word."""
    clips = np.flatnonzero(store.words == word)
    spans = [(int(store.first[clip]), *store.segments[clip].tolist()) for clip in clips]
    return [first + frame for first, start, end in spans for frame in range(start, end)]


def test_partners_leave_out_other_signs_and_know_mirrored_ones(isolated_signs: list[IsolatedClip]) -> None:
    """Another sign under the gloss of a one-handed one is nobody's partner; a left-handed signer's is, mirrored."""
    all_signs = store_clips(isolated_signs)
    one_handed = next(
        word for word in range(8) if not all_signs.frames[:, WRISTS[0], 1][frames_of(all_signs, word)].lt(1).any()
    )
    first, second = (np.flatnonzero(all_signs.words == word) for word in (one_handed, (one_handed + 1) % 8))
    odd, left = int(second[0]), int(first[2])
    all_signs.words[odd], all_signs.signers[odd] = one_handed, 99
    part = all_signs.frames[all_signs.first[left] : all_signs.first[left + 1]]
    part.copy_(torch.from_numpy(mirror_features(part.float().numpy())).half())
    partners = likely_partners(all_signs)
    same = {int(clip) for clip in first}
    for clip in same:
        partners_of_clip = dict(partners[clip])
        assert set(partners_of_clip) == same - {clip}
        assert all(is_mirrored == (left in (clip, other)) for other, is_mirrored in partners_of_clip.items())
    assert odd not in partners


def test_partners_are_kept_for_the_very_same_clips_only(store: PairStore, tmp_path: Path) -> None:
    partners = cached_partners(store, tmp_path)
    assert partners == likely_partners(store)
    (file,) = tmp_path.iterdir()
    before = file.stat().st_mtime_ns
    assert cached_partners(store, tmp_path) == partners
    assert file.stat().st_mtime_ns == before
    other = PairStore(store.frames.numpy(), store.first, store.segments, np.roll(store.words, 1), store.signers)
    cached_partners(other, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_no_change_changes_nothing(store: PairStore) -> None:
    x = store.frames[:40].float()
    assert torch.equal(change(x, np.zeros(40, np.int64), 1, UNCHANGED, np.random.default_rng(0)), x)


def test_a_performance_is_changed_in_all_its_frames_alike(store: PairStore) -> None:
    """Twice the same frame of one performance, once of another: the first two stay equal."""
    x = store.frames[30:31].float().expand(3, -1, -1)
    how = replace(Change(), jitter=0.0, finger_jitter=0.0)
    changed = change(x, np.array([0, 0, 1]), 2, how, np.random.default_rng(1))
    assert torch.equal(changed[0], changed[1])
    assert not torch.allclose(changed[0], changed[2])


def test_what_is_lost_is_zero(store: PairStore) -> None:
    x = store.frames[30:50].float()
    how = replace(UNCHANGED, lost_face=1.0, lost_elbow=1.0)
    changed = change(x, np.zeros(20, np.int64), 1, how, np.random.default_rng(0))
    assert not changed[:, FACE].any()
    assert not changed[:, list(ELBOWS)].any()
    assert torch.equal(changed[:, LEFT_HAND], x[:, LEFT_HAND])


def flags(*on: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(4), on)


def test_new_signs_take_what_their_recipe_says() -> None:
    """Four signs of one frame: other hand shapes, another left arm, another second half, another place."""
    x, other = torch.zeros(4, 69, 4), torch.zeros(4, 69, 4)
    x[..., 3] = other[..., 3] = 1.0
    x[..., 0], other[..., 0] = 1.0, 5.0
    other[:, LEFT_HAND, 0] += torch.arange(21.0)  # fingers point aside
    shift = np.zeros((4, 2))
    shift[3] = (0.5, -0.5)
    new = NewSigns(flags(0), flags(1), flags(2), flags(), shift)
    new_sign = recombine(x, other, new, np.arange(4), np.full(4, 0.9))
    assert new_sign[0, LEFT_HAND, 0].tolist() == [
        1.0 + finger for finger in range(21)
    ]  # its own place, the other shape
    assert new_sign[0, WRISTS[0], 0] == 1.0
    assert (new_sign[1, WRISTS[0], 0], new_sign[1, WRISTS[1], 0]) == (5.0, 1.0)
    assert torch.equal(new_sign[1, RIGHT_HAND], x[1, RIGHT_HAND])
    assert torch.equal(new_sign[2], other[2])
    assert new_sign[3, WRISTS[1], :2].tolist() == [1.5, -0.5]
    assert new_sign[3, ELBOWS[1], :2].tolist() == [1.25, -0.25]  # half as far
    assert new_sign[3, FACE.start, :2].tolist() == [1.0, 0.0]
    early = recombine(x, other, new, np.arange(4), np.full(4, 0.1))
    assert torch.equal(early[2], x[2])  # its first half is its own


def test_a_batch_is_of_one_source_and_has_pairs_of_signs() -> None:
    """Of two sources, in the proportion of their shares; context on both sides; all real signs different."""
    small, large = numbered([0, 1, 0, 1], [0, 0, 1, 1]), numbered([0, 1] * 30, np.repeat(np.arange(30), 2).tolist())
    sources = [PairSource(small, 0.25, 0.5, UNCHANGED), PairSource(large, 0.75, 0.0, UNCHANGED)]
    random = np.random.default_rng(0)
    chosen = [choose_source(sources, random) is sources[1] for _ in range(400)]
    assert np.mean(chosen) == pytest.approx(0.75, abs=0.06)
    options = PairBatchOptions(signs=10, context=3, spacing=2)
    real, mixed = draw(sources[1], options, random), draw(sources[0], options, random)
    assert len(real.first) == 20
    assert len(mixed.first) == 20  # two real signs, the others are made of them
    assert real.lengths.tolist() == [5] * 20  # ten frames
    assert len(real.x) == 20 * (5 + 2 * 3)
    assert real.first.tolist() == [3 + 11 * number for number in range(20)]
    owners = real.x[real.first, 0, 0].abs().long()  # clips 2k and 2k + 1 show word k
    assert torch.equal(owners[:10] // 2, owners[10:] // 2)
    assert (owners[:10] != owners[10:]).all()
    assert len(set((owners[:10] // 2).tolist())) == 10


def test_signs_of_unknown_frame_rate_are_shown_at_many_speeds() -> None:
    store = numbered([0, 1] * 30, np.repeat(np.arange(30), 2).tolist())
    store.is_timed = np.arange(60) % 2 == 0
    how = replace(UNCHANGED, unknown_speed=0.35)
    batch = draw(PairSource(store, 1.0, 0.0, how), PairBatchOptions(signs=30), np.random.default_rng(0))
    owners = batch.x[batch.first, 0, 0].abs().long()
    assert set(batch.lengths[owners % 2 == 0].tolist()) == {5}  # ten frames
    assert len(set(batch.lengths[owners % 2 == 1].tolist())) > 2


def test_both_performances_of_a_sign_are_mirrored_or_none() -> None:
    source = PairSource(numbered([0, 1] * 30, np.repeat(np.arange(1, 31), 2).tolist()), 1.0, 0.0, UNCHANGED)
    batch = draw(source, PairBatchOptions(signs=30), np.random.default_rng(0))
    signs = batch.x[batch.first, 0, 0].sign().view(2, 30)
    sided = batch.x[batch.first, 0, 0].abs().view(2, 30) > 0  # clip 0 has no side
    assert torch.equal(signs[0][sided.all(dim=0)], signs[1][sided.all(dim=0)])
    assert {-1.0, 1.0} <= set(signs.flatten().tolist())


def test_mirroring_some_frames(store: PairStore) -> None:
    x = store.frames[30:32].float()
    mirrored = mirror_some(x, np.array([True, False]))
    assert mirrored[0].numpy() == pytest.approx(mirror_features(x[:1].numpy())[0])
    assert torch.equal(mirrored[1], x[1])


def test_the_same_seed_gives_the_same_weights_and_another_does_not(store: PairStore, tmp_path: Path) -> None:
    sources = [PairSource(store)]
    one = trained_coder(CONFIG, sources, tmp_path / "one", workers=0)
    two = trained_coder(CONFIG, sources, tmp_path / "two", workers=1)
    three = trained_coder(replace(CONFIG, seed=2), sources, tmp_path / "three", workers=0)
    assert torch.equal(all_weights(one), all_weights(two))
    assert not torch.equal(all_weights(one), all_weights(three))


def test_it_learns_to_align_performances_of_one_sign(store: PairStore, tmp_path: Path) -> None:
    """On a batch that is none of the training's, the loss is lower than at the beginning."""
    how = CoderOptimiser(steps=40, signs=8, warm_up=5, lr=3e-3, average=0.9)
    config, sources = replace(CONFIG, optimiser=how), [PairSource(store, recombined=0.0)]
    task = FrameCodesTask(config, sources)
    task.initialise()
    learner = task.module

    def loss() -> float:
        with torch.no_grad():
            parts = [learner.eval().losses(task.batch(step), 0.0) for step in range(900, 904)]
        return float(np.mean([(aligned + embedded).item() for aligned, embedded, _ in parts]))

    before = loss()
    learner.coder = trained_coder(config, sources, tmp_path, workers=0)
    assert loss() < 0.8 * before


def write_signs(clips: Sequence[IsolatedClip], folder: Path) -> str:
    """Clips in a file, as importers write them."""
    words = sorted({clip.word for clip in clips})
    labels = [(words.index(clip.word), int(clip.signer), number) for number, clip in enumerate(clips)]
    folder.mkdir()
    arrays: Any = pack(labels, [clip.landmarks for clip in clips])
    np.savez(folder / "signs_1.npz", allow_pickle=False, **arrays)
    return str(folder)


TOML = """
kind = "frame_codes"
name = "mine"
licence = "CC0-1.0"
decoys = "two"
[[sources]]
name = "one"
folders = ["nowhere"]
share = 0.25
recombined = 0.5
[[sources]]
name = "two"
folders = ["nowhere"]
likely_pairs = true
[optimiser]
steps = 2
signs = 8
[coder]
codes = 16
width = 16
blocks = 1
embedding = 12
"""


def test_one_command_goes_from_corpora_to_an_encoder_with_decoys(
    isolated_signs: list[IsolatedClip], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    one, two = write_signs(isolated_signs[:12], tmp_path / "first"), write_signs(isolated_signs, tmp_path / "second")
    folders = ["--source", f"one={one}", "--source", f"two={two}", "--workers", "0"]
    monkeypatch.setattr(
        sys, "argv", ["signspot", "train", str(tmp_path / "mine.toml"), *folders, "--out", str(tmp_path / "run")]
    )
    with pytest.raises(SystemExit) as stopped:
        run()
    assert not stopped.value.code
    encoder = load_encoder(tmp_path / "run" / "mine.safetensors")
    assert encoder.card["licence"] == "CC0-1.0"
    assert [source["folders"] for source in encoder.card["config"]["sources"]] == [["first"], ["second"]]
    trunk = encoder.module.trunk
    assert isinstance(trunk, FrameCoder)
    assert trunk.decoys.shape == (24, 2, 16, 16)
    views = code_sign(encoder, *sign_in_context(isolated_signs[0].landmarks, FPS), mirror=True)
    assert views.codes is not None
    assert views.codes.shape == (2, 16, 16)


def test_sources_are_opened_as_their_options_say(isolated_signs: list[IsolatedClip], tmp_path: Path) -> None:
    one, two = write_signs(isolated_signs[:12], tmp_path / "first"), write_signs(isolated_signs, tmp_path / "second")
    options = (SourceOptions("one", (one,), 0.25, 0.5), SourceOptions("two", (two,), likely_pairs=True))
    sources, held_out, decoys = open_sources(replace(CONFIG, sources=options, decoys="two"))
    assert [(source.share, source.recombined) for source in sources] == [(0.25, 0.5), (1.0, 0.0)]
    assert [source.store.partners is not None for source in sources] == [False, True]
    assert [len(source.store.by_word) for source in sources] == [4, 8]
    assert (len(decoys), held_out) == (len(isolated_signs), [])


def test_the_best_weights_are_those_that_fit_signers_who_taught_nothing(
    isolated_signs: list[IsolatedClip], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signers = sorted({clip.signer for clip in isolated_signs})
    others = tuple(f"9{signer}" for signer in signers)  # they sign as those who teach do
    clips = [*isolated_signs, *(replace(clip, signer=f"9{clip.signer}") for clip in isolated_signs)]
    source = SourceOptions("some", (write_signs(clips, tmp_path / "signs"),), held_out=others)
    config = replace(CONFIG, sources=(source,), compute=Compute(validate_every=2))
    opened: list[list[PairSource]] = []

    class Watched(FrameCodesTask):
        def __init__(self, config: FrameCodesConfig, sources: Sequence[PairSource], held_out: Sequence[PairSource]):
            opened.extend([[*sources], [*held_out]])
            super().__init__(config, sources, held_out)

        def validate(self, module: PairLearner) -> dict[str, float]:
            hits = super().validate(module)
            assert super().validate(module) == hits, "always the same signs"
            measured.append(hits["hits"])
            return hits

    measured: list[float] = []
    monkeypatch.setattr("signspot.training.landmark_encoder.FrameCodesTask", Watched)
    encoder = train_frame_codes(config, tmp_path / "run", workers=0)
    ((taught,), (validation,)) = opened
    assert len(taught.store.words) == len(validation.store.words) == len(isolated_signs)
    assert (validation.recombined, validation.change) == (0.0, UNCHANGED)
    assert len(measured) == STEPS // 2
    assert encoder.card["validation"] == {"hits": max(measured)}


def test_a_sign_in_a_sentence_is_where_its_clip_says_and_never_a_decoy(isolated_signs: list[IsolatedClip]) -> None:
    cut = [replace(clip, segment=Segment(0.4, 0.8)) for clip in isolated_signs[:3]]
    store = store_clips([*cut, *isolated_signs[3:]])
    assert store.segments[:3].tolist() == [[10, 21]] * 3
    assert cut[0].word not in {clip.word for clip in choose_decoys([*cut, *isolated_signs[3:]], 0)}


def test_mistakes_in_sources_are_named() -> None:
    with pytest.raises(OptionsError, match=r"'some'.*nowhere.*--source some=FOLDER"):
        open_sources(CONFIG)
    with pytest.raises(OptionsError, match="wlasl"):
        with_folders(CONFIG.sources, {"wlasl": ["here"]})
    with pytest.raises(OptionsError, match="some, some"):
        replace(CONFIG, sources=CONFIG.sources * 2)
    with pytest.raises(OptionsError, match="held_out"):
        replace(CONFIG, compute=Compute(validate_every=1))
    with pytest.raises(OptionsError, match="'other'"):
        replace(CONFIG, decoys="other")
    with pytest.raises(OptionsError, match="got 2"):
        WarpingConfig((SourceOptions("one", ()), SourceOptions("two", ())))
    with pytest.raises(OptionsError):
        WarpingConfig(())


def test_warping_learns_nothing_and_follows_from_its_seed(isolated_signs: list[IsolatedClip], tmp_path: Path) -> None:
    source = SourceOptions("signs", (write_signs(isolated_signs[:12], tmp_path / "signs"),))
    one, two = (make_warping(WarpingConfig((source,))) for _ in range(2))
    assert one.hash == two.hash
    assert one.hash != make_warping(WarpingConfig((source,), seed=2)).hash
    assert one.card["config"]["sources"][0]["folders"] == ["signs"]
