"""Adapting on a small corpus: it learns, goes on after a stop, makes an ordinary encoder, and tells mistakes."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch

from signspot.corpus.corpus import Corpus, open_corpus, with_split
from signspot.corpus.truth import read_splits
from signspot.errors import OptionsError
from signspot.io.progress import Progress
from signspot.landmarks.video_estimation import Source
from signspot.losses.watch_read_lookup import BACKGROUND, Bags
from signspot.models.checkpoints import save_encoder
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.training.adaptation import adapt, is_kept
from signspot.training.adaptation_data import EmbeddedFootage, read_footage
from signspot.training.adapters import AdapterChoice, Adapters, SegmentBatches, fold, losses, train_adapters
from signspot.types import Track
from tests.training.conftest import ADAPT as OPTIONS

BOTH = AdapterChoice(codes=True, embedding=True)


@pytest.fixture(scope="module")
def run(footage: EmbeddedFootage, spotter: Spotter, tmp_path_factory: pytest.TempPathFactory) -> tuple[Adapters, Path]:
    """Adapters that were learned without a stop, and their folder."""
    folder = tmp_path_factory.mktemp("run") / "mine"
    return train_adapters(spotter.encoder, SegmentBatches(footage, OPTIONS), folder), folder


def test_both_losses_fall(footage: EmbeddedFootage, spotter: Spotter, run: tuple[Adapters, Path]) -> None:
    batches, scale = SegmentBatches(footage, OPTIONS), alignment_scale(spotter.encoder)
    with torch.no_grad():
        before = [losses(Adapters(128, 256), batches[step], OPTIONS, scale) for step in range(3)]
        after = [losses(run[0], batches[step], OPTIONS, scale) for step in range(3)]
    assert sum(pair[0] for pair in after) < sum(pair[0] for pair in before) - 0.05
    assert sum(pair[1] for pair in after) < sum(pair[1] for pair in before) - 0.05


@pytest.mark.parametrize("bags", ["section", "figure", "released"])
def test_every_reading_of_the_bags_has_a_gradient(footage: EmbeddedFootage, spotter: Spotter, bags: Bags) -> None:
    adapters, options = Adapters(128, 256), replace(OPTIONS, bags=bags)
    sum(losses(adapters, SegmentBatches(footage, options)[0], options, alignment_scale(spotter.encoder))).backward()
    assert adapters.codes.grad is not None
    assert adapters.embedding.grad is not None
    assert float(adapters.codes.grad.abs().max()) > 0
    assert float(adapters.embedding.grad.abs().max()) > 0


def test_what_is_made_is_an_ordinary_encoder(
    footage: EmbeddedFootage, spotter: Spotter, subtitled: Corpus, run: tuple[Adapters, Path], tmp_path: Path
) -> None:
    card = {"licence": "CC0-1.0"}
    encoder = fold(spotter.encoder, run[0], BOTH, footage.gallery, "mine", card)
    saved = save_encoder(encoder, tmp_path / "mine.safetensors", half=True)
    assert saved.hash != spotter.encoder.hash
    loaded = load(tmp_path / "mine.safetensors", cache=False)
    assert loaded.encoder.contract.threshold == spotter.encoder.contract.threshold
    video = next(iter(subtitled.videos.values())).landmarks
    assert video is not None
    dictionary = subtitled.dictionary()
    result = loaded.search(video, dictionary.select(list(dictionary)[:3]))
    assert len(result.best) == 3
    assert decoys_of(loaded.encoder) is not None, "decoys came along"


@dataclass(frozen=True)
class RecordingSpotter(Spotter):
    """A spotter that lists the videos that it saw."""

    videos: list[str] = field(default_factory=list)

    def track(
        self, source: Source | Track, options: SpotOptions | None = None, progress: Progress | None = None
    ) -> Track:
        self.videos.append(Path(str(source)).stem)
        return super().track(source, options, progress)


@pytest.mark.parametrize("has_splits", [True, False])
def test_test_videos_are_not_looked_at(has_splits: bool, spotter: Spotter, subtitled: Corpus, tmp_path: Path) -> None:
    """With splits those of the corpus; without, a split by video is made, kept and used again."""
    splits = {name: ("test" if number % 3 == 0 else "train") for number, name in enumerate(sorted(subtitled.videos))}
    videos = {
        name: replace(video, split=splits[name] if has_splits else "") for name, video in subtitled.videos.items()
    }
    recording = RecordingSpotter(spotter.encoder, spotter.cache)
    options = replace(OPTIONS, steps=1, embeddings=False, held_out=0.5)
    corpus = replace(subtitled, videos=videos)
    adapted = adapt(recording, corpus, subtitled.dictionary(), tmp_path / "mine", options)
    if has_splits:
        test = {name for name, split in splits.items() if split == "test"}
    else:
        made_splits = read_splits(tmp_path / "mine" / "splits.json")
        test = set(made_splits.test)
        assert sorted((*made_splits.train, *made_splits.test)) == sorted(videos)
        assert {video.id for video in with_split(corpus, tmp_path / "mine" / "splits.json").in_split("test")} == test
    assert test
    assert set(recording.videos) == {name.rsplit("/", 1)[-1] for name in videos.keys() - test}
    assert (adapted.videos, adapted.test_videos) == (len(videos) - len(test), len(test))


def test_the_whole_of_it(spotter: Spotter, subtitled: Corpus, tmp_path: Path) -> None:
    """Both adapters are measured on segments and words that were held out, and kept by the rule and nothing else."""
    adapted = adapt(spotter, subtitled, subtitled.dictionary(), tmp_path / "mine", OPTIONS)
    assert adapted.learned >= 16
    assert adapted.labels > 0
    assert set(adapted.gains) == {"alignment", "embedding"}
    for match, is_in in (("alignment", adapted.kept.codes), ("embedding", adapted.kept.embedding)):
        assert is_in == is_kept(adapted.gains[match])
        assert {gain.group for gain in adapted.gains[match]} == {"all words", "learned words", "held-out words"}
        assert all(0 <= gain.before <= 1 and 0 <= gain.after <= 1 for gain in adapted.gains[match])
    assert (adapted.encoder is None) == (not adapted.kept)


def test_what_is_held_out_is_not_learned_from(footage: EmbeddedFootage) -> None:
    assert not {segment.video for segment in footage.learned} & {segment.video for segment in footage.held}
    assert 3 <= len(set(footage.gallery.words) - footage.words) <= 6
    batches, number = SegmentBatches(footage, OPTIONS), sorted(footage.gallery.words)
    for step in range(4):
        assert {number[word] for word in batches[step].word.tolist()} <= footage.words


def test_every_segment_and_every_word_is_held_out_in_one_turn(footage: EmbeddedFootage) -> None:
    turns = footage.turns(OPTIONS)
    assert len(turns) == 3
    segments = [segment for turn in turns for segment in turn.held]
    assert sorted(map(repr, segments)) == sorted(map(repr, footage.every))
    words = [word for turn in turns for word in set(footage.gallery.words) - turn.words]
    assert sorted(words) == sorted(footage.gallery.words)
    entire = footage.whole()
    assert (entire.learned, entire.held, entire.words) == (footage.every, (), frozenset(footage.gallery.words))
    assert len({part.digest for part in (*turns, entire)}) == 4


def test_embeddings_stay_as_they_are_unless_asked_for(
    footage: EmbeddedFootage, spotter: Spotter, tmp_path: Path
) -> None:
    options = replace(OPTIONS, embeddings=False, steps=2)
    adapters = train_adapters(spotter.encoder, SegmentBatches(footage, options), tmp_path)
    assert not adapters.embedding.detach().any()
    assert adapters.codes.detach().any()


def test_of_few_videos_the_last_part_is_held_out(spotter: Spotter, subtitled: Corpus) -> None:
    few = replace(subtitled, videos=dict(list(subtitled.videos.items())[:3]))
    footage = read_footage(spotter, few, subtitled.dictionary(), OPTIONS)
    for name in few.videos:
        learned = [segment.span.end for segment in footage.learned if segment.video == name]
        held_out = [segment.span.start for segment in footage.held if segment.video == name]
        assert max(learned) <= min(held_out)


def test_the_foreground_clip_is_where_the_label_is(footage: EmbeddedFootage) -> None:
    """In a batch with labels, ends of the foreground clip are within a second of the label, background ends are not."""
    batch, labelled = SegmentBatches(footage, OPTIONS)[0], [s for s in footage.learned if s.labels]
    assert labelled
    front = batch.clip_word != BACKGROUND
    assert 0 < int(front.sum()) <= OPTIONS.segments
    assert set(batch.clip_word[front].tolist()) <= set(batch.word[batch.foreground].tolist())
    for item in batch.clips.segment[front].tolist():
        clips = batch.clips.segment == item
        ends = [set(f[e].tolist()) for f, e in zip(batch.clips.frames[clips], batch.clips.is_end[clips], strict=True)]
        assert sum(len(end) for end in ends) == len(set().union(*ends)), "no end is in two clips"


def test_stages_are_shown(footage: EmbeddedFootage, spotter: Spotter, subtitled: Corpus) -> None:
    titles: list[str] = []

    @contextmanager
    def stage(title: str) -> Iterator[Progress]:
        titles.append(title)
        yield lambda done, total: None

    read_footage(spotter, subtitled, subtitled.dictionary(), OPTIONS, stage)
    assert titles == ["exemplars", "videos"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("no subtitles", "has no subtitles"),
        ("foreign words", "no word of the dictionary"),
        ("few words", "share 3 words"),
        ("little footage", "too little footage"),
    ],
)
def test_mistakes_are_reported_before_videos_are_seen(
    spoil: str, reason: str, spotter: Spotter, subtitled: Corpus, tmp_path: Path
) -> None:
    shutil.copytree(subtitled.folder, tmp_path / "copy")
    corpus, dictionary = open_corpus(tmp_path / "copy"), subtitled.dictionary()
    if spoil == "no subtitles":
        corpus = replace(corpus, videos={name: replace(v, subtitles=None) for name, v in corpus.videos.items()})
    elif spoil == "foreign words":
        for path in (tmp_path / "copy" / "videos").glob("*.vtt"):
            path.write_text("WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nzwei Wörter\n")
    elif spoil == "few words":
        dictionary = dictionary.select(list(dictionary)[:3])
    else:
        corpus = replace(corpus, videos=dict(list(corpus.videos.items())[:1]))

    def no_videos(title: str) -> AbstractContextManager[Progress]:
        assert title != "videos"
        return nullcontext(lambda done, total: None)

    with pytest.raises(OptionsError, match=reason):
        read_footage(spotter, corpus, dictionary, OPTIONS, no_videos)
