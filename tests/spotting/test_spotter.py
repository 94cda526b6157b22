"""The whole pipeline: spottings of the synthetic corpus, mirrored, cached, refined, and every user mistake."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.tracks import write_track
from signspot.errors import DictionaryError, EncoderMismatchError, OptionsError, TrackError
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.encoder import Encoder
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Match, Spotter, exemplars_of, with_chances
from signspot.types import Exemplar, Grid, Segment, Track


def exemplar(word: str, embedding: np.ndarray, encoder: Encoder, number: int = 1, **more: Any) -> Exemplar:
    unit = (embedding / np.linalg.norm(embedding)).astype(np.float32)
    return Exemplar(word, f"{word}_{number}", embedding=unit, encoder=encoder.hash, **more)


def random_track(encoder: Encoder, frames: int = 200) -> Track:
    embeddings = np.random.default_rng(0).normal(size=(frames - 15, 256)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    return Track(embeddings, Grid(25.0, 16, 1, frames), encoder.hash, "news.mp4", "d")


def test_what_was_planted_is_found(encoder: Encoder) -> None:
    """Exemplars equal to windows 40 and 150 of a track are found there, with score 1, and nowhere else."""
    track, spotter = random_track(encoder), Spotter(encoder)
    apple = exemplar("apple", track.embeddings[40], encoder, variant="b")
    pear = [exemplar("pear", track.embeddings[150], encoder), exemplar("pear", -track.embeddings[40], encoder, 2)]
    spottings = spotter.spot(track, [apple, *pear], SpotOptions(threshold=0.9))
    assert [(s.word, s.time, s.exemplar, s.variant) for s in spottings] == [
        ("apple", (40 + 8) / 25, "apple_1", "b"),
        ("pear", (150 + 8) / 25, "pear_1", ""),
    ]
    assert spottings[0].score == pytest.approx(1, abs=1e-5)
    assert spottings[0].video == "news.mp4"
    assert spottings[0].start < spottings[0].time < spottings[0].end


def test_all_uses_are_reported_and_top_keeps_the_best(encoder: Encoder) -> None:
    track, spotter = random_track(encoder), Spotter(encoder)
    twice = track.embeddings.copy()
    mixed = twice[100] + 0.4 * twice[60]
    twice[100] = mixed / np.linalg.norm(mixed)
    twice[20] = twice[60]
    planted = replace(track, embeddings=twice)
    word = exemplar("apple", twice[60], encoder)
    assert len(spotter.spot(planted, word, SpotOptions(threshold=0.65))) == 3
    best = spotter.spot(planted, word, SpotOptions(threshold=0.65, top=2))
    assert [round(s.time * 25) - 8 for s in best] == [20, 60]


def test_mirrored_exemplars_find_left_handed_signing_and_say_so(encoder: Encoder, signing: Any) -> None:
    footage = signing.exemplars["apple"]
    left = footage.mirrored()
    spotter = Spotter(encoder)
    embedder = ExemplarEmbedder(encoder)
    plain, mirrored = embedder.embed_source(footage, mirror=True).embeddings
    of_left = embedder.embed_source(left).embeddings[0]
    assert of_left @ mirrored == pytest.approx(1, abs=1e-3)
    assert of_left @ plain < of_left @ mirrored
    track = Track(of_left[None], Grid(25.0, 16, 1, 16), encoder.hash, "left.mp4")
    pair = Gallery.of((Exemplar("apple", "a"),), np.stack([plain, mirrored])[None])
    (hit,) = spotter.spot(track, pair, SpotOptions(threshold=0.9))
    assert hit.mirrored


def test_words_of_a_dictionary_and_a_dictionary(encoder: Encoder, signing: Any, tmp_path: Path) -> None:
    for word, landmarks in signing.exemplars.items():
        write_landmarks(landmarks, tmp_path / f"{word}.pose")
    dictionary = {word: [Exemplar(word, word, tmp_path / f"{word}.pose")] for word in signing.exemplars}
    spotter = Spotter(encoder)
    every = spotter.spot(signing.footage, dictionary, SpotOptions(threshold=0.0))
    assert {s.word for s in every} == set(dictionary)
    one = spotter.spot(signing.footage, dictionary["apple"], SpotOptions(threshold=0.0))
    same = [s for s in every if s.word == "apple"]
    assert [replace(s, score=0.0) for s in one] == [replace(s, score=0.0) for s in same]
    assert [s.score for s in one] == pytest.approx([s.score for s in same], abs=2e-6)  # products of other sizes
    assert one == spotter.spot(signing.footage, dictionary["apple"], threshold=0.0), "options as keywords"
    assert [s.time for s in every] == sorted(s.time for s in every)


def test_the_same_seed_gives_the_same_spottings(encoder: Encoder, signing: Any) -> None:
    spotter = Spotter(encoder)
    embed = [spotter.embed_exemplar(signing.exemplars["name"], seed=seed) for seed in (1, 1, 2)]
    assert (embed[0] == embed[1]).all()
    assert (embed[0] != embed[2]).any()
    assert np.linalg.norm(embed[0]) == pytest.approx(1, abs=1e-5)


def test_tracks_and_exemplars_are_remembered_by_content(encoder: Encoder, signing: Any, tmp_path: Path) -> None:
    source, cache = tmp_path / "s.pose", tmp_path / "cache"
    write_landmarks(signing.footage, source)
    spotter = Spotter(encoder, cache)
    first = spotter.embed(source)
    (entry,) = (cache / "tracks" / encoder.hash).iterdir()
    source.rename(tmp_path / "renamed.pose")
    calls: list[int] = []
    again = spotter.embed(tmp_path / "renamed.pose", progress=lambda done, total: calls.append(done))
    assert calls == []
    assert (again.embeddings == first.embeddings).all()
    entry.write_bytes(b"damaged")
    assert (spotter.embed(tmp_path / "renamed.pose").embeddings == first.embeddings).all()
    one = spotter.embed_exemplar(tmp_path / "renamed.pose")
    (entry,) = (cache / "exemplars" / encoder.hash).iterdir()
    entry.write_bytes(b"damaged")
    assert (spotter.embed_exemplar(tmp_path / "renamed.pose") == one).all()


def test_a_track_of_another_encoder_is_refused(encoder: Encoder, tmp_path: Path) -> None:
    foreign = replace(random_track(encoder), encoder="feedbeef")
    word = exemplar("apple", np.ones(256), encoder)
    with pytest.raises(EncoderMismatchError, match="feedbeef"):
        Spotter(encoder).spot(foreign, word)
    write_track(foreign, tmp_path / "t.safetensors")
    with pytest.raises(EncoderMismatchError):
        Spotter(encoder).spot(tmp_path / "t.safetensors", word)
    with pytest.raises(TrackError):
        Spotter(encoder).spot(tmp_path / "none.safetensors", word)


def test_an_embedding_of_another_encoder_without_a_video_is_refused(encoder: Encoder) -> None:
    stranger = replace(exemplar("apple", np.ones(256), encoder), encoder="public-i3d_mlp")
    with pytest.raises(EncoderMismatchError):
        Spotter(encoder).spot(random_track(encoder), stranger)


def test_unreadable_exemplars_are_left_out_and_named(
    encoder: Encoder, signing: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_landmarks(signing.exemplars["apple"], tmp_path / "good.pose")
    (tmp_path / "bad.pose").write_bytes(b"nonsense")
    both = [Exemplar("apple", "bad", tmp_path / "bad.pose"), Exemplar("apple", "good", tmp_path / "good.pose")]
    gallery = Spotter(encoder).gallery(both)
    assert [e.id for e in gallery.exemplars] == ["good"]
    assert "'bad'" in caplog.text
    with pytest.raises(DictionaryError, match="apple"):
        Spotter(encoder).gallery(both[:1])
    with pytest.raises(DictionaryError):
        Spotter(encoder).gallery([])


def test_refining_a_coarse_track_finds_the_stride_1_peak(rgb_encoder: Encoder, colour_video: Path) -> None:
    spotter = Spotter(rgb_encoder)
    fine = spotter.embed(colour_video)
    word = Exemplar("apple", "a", embedding=fine.embeddings[37].astype(np.float32), encoder=rgb_encoder.hash)
    (expected,) = spotter.spot(fine, word, SpotOptions(threshold=0.9, top=1))
    (coarse,) = spotter.spot(colour_video, word, SpotOptions(threshold=0.9, top=1, stride=8))
    (refined,) = spotter.spot(colour_video, word, SpotOptions(threshold=0.9, top=1, stride=8, refine=True))
    assert round(expected.time * 25) - 8 == 37
    assert refined.time == expected.time
    assert refined.score == pytest.approx(expected.score, abs=2e-3)
    assert coarse.time != expected.time
    with pytest.raises(OptionsError):
        spotter.spot(spotter.embed(colour_video, 8), word, SpotOptions(stride=8, refine=True))


def test_an_rgb_exemplar_is_cut_to_its_segment(rgb_encoder: Encoder, colour_video: Path) -> None:
    embedder = ExemplarEmbedder(rgb_encoder)
    early = embedder.embed_source(colour_video, Segment(0, 1)).embeddings
    late = embedder.embed_source(colour_video, Segment(2, 3)).embeddings
    assert early.shape == (1, 12)
    assert float(early[0] @ late[0]) < 0.95


def test_what_is_not_an_exemplar_is_named() -> None:
    with pytest.raises(OptionsError, match="'a'"):
        exemplars_of("apple")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"threshold": 1.5}, {"stride": 0}, {"overlap": -1.0}, {"top": 0}, {"margin": 2.0}, {"overlap": float("nan")}),
        {"threshold": 0.5, "false_alarms_per_hour": 1.0},
    ],
)
def test_impossible_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionsError):
        SpotOptions(**wrong)


def test_tracks_in_the_cache_are_bounded(
    encoder: Encoder, signing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest unused tracks go; what was just made or used stays."""
    cache = tmp_path / "cache"
    spotter, tracks = Spotter(encoder, cache), cache / "tracks" / encoder.hash
    entries = {}
    for number, name in enumerate("abc"):
        write_landmarks(signing.footage[: 40 + number], tmp_path / f"{name}.pose")
        before = set(tracks.glob("*"))
        spotter.embed(tmp_path / f"{name}.pose")
        (entries[name],) = set(tracks.glob("*")) - before
        os.utime(entries[name], (1000 + number, 1000 + number))
    spotter.embed(tmp_path / "a.pose")  # used again
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", str(entries["a"].stat().st_size + entries["c"].stat().st_size))
    spotter.embed(tmp_path / "a.pose")
    assert set(tracks.iterdir()) == {entries["a"], entries["c"]}
    monkeypatch.setenv("SIGNSPOT_CACHE_LIMIT", "1 kB")
    assert len(spotter.embed(tmp_path / "b.pose")) == len(spotter.embed(tmp_path / "b.pose"))
    assert entries["c"] not in tracks.iterdir()
    assert entries["a"] in tracks.iterdir()  # used a moment ago


def test_a_sign_that_decoys_are_as_near_to_is_not_in_the_dictionary() -> None:
    """A strength of -1 is a score of a half; decoys have -1 on average, give or take 0.1."""
    gallery = Gallery.of([Exemplar("a", "a"), Exemplar("b", "b")], np.eye(2, dtype=np.float32))
    others = np.array([-1.1, -0.9])
    high = 1 / (1 + 0.5**4)  # a strength of -0.5: five deviations above decoys
    matches = [Match("a", high, "a"), Match("b", 0.5, "b")]
    sure, chance = with_chances(matches, gallery, lambda exemplars: others)
    assert sure.chance == pytest.approx(2 * 2.87e-7, rel=0.01)
    assert chance.chance == pytest.approx(0.75)  # one of two words, each with a half
    assert (sure.is_known, chance.is_known, matches[1].is_known) == (True, False, True)
