"""Semi-real footage: streams joined of isolated signs, with made-up subtitles, written as a corpus that has its truth.

    python -m experiments.subtitled_streams lsa64/ OUT

Every sign is a real one; what lies between signs is not. Subtitles name three or four signs at a time, shifted, with
words that are not signed and without some that are. Exemplars are lent by signers who are not in the streams.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from signspot.corpus.corpus import FORMAT, VERSION, Corpus, CorpusVideo, Layout, open_corpus, video_as_json, write_json
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.corpus.truth import SignTruth, Splits, split_words, write_records, write_splits
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.json_file import save_dictionary
from signspot.errors import OptionsError
from signspot.evaluation.streams import STREAM_SIGNS, Stream, make_streams, placed
from signspot.landmarks.pose_file import write_landmarks
from signspot.types import Exemplar, Subtitle
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.language.subtitles import write_vtt

_SIGNS = (3, 4)  # that a subtitle names
_UNNAMED, _UNSIGNED = 0.15, 0.3  # share of signs that their subtitle does not name; of subtitles with a word too many


@dataclass(frozen=True, slots=True)
class SubtitledStreams:
    """Options of a corpus of streams."""

    exemplars: int = 2  # of a word, each by another signer
    test_share: float = 0.25  # of the signers in streams
    shift: float = 0.7  # seconds, standard deviation: by how much subtitles are late or early
    seed: int = 0


def make_stream_corpus(clips: Sequence[IsolatedClip], folder: Path, options: SubtitledStreams) -> Corpus:
    """Write a corpus: streams for training and for testing by different signers, a dictionary by others.

    Args:
        clips: of words by several signers; they are renamed by English words, so that subtitles can be read.
        folder: a new one.
        options: sizes, subtitles and the seed.

    Raises:
        OptionsError: the folder is there, or there are too few signers.
    """
    layout, random = Layout(folder), np.random.default_rng(options.seed)
    if folder.exists():
        raise OptionsError(f"{folder} is there already. Name a new folder")
    named = _renamed(clips, random)
    lent, signed = _lend(named, options.exemplars, random)
    words = sorted({clip.word for clip in lent} & {clip.word for clip in signed})
    signers = sorted({clip.signer for clip in signed})
    tested = set(random.permutation(np.array(signers))[: max(1, round(options.test_share * len(signers)))].tolist())
    videos = []
    for split in ("train", "test"):
        split_clips = [clip for clip in signed if clip.word in words and (clip.signer in tested) == (split == "test")]
        for name, signer, stream in _streams(split_clips, split, options.seed):
            videos.append(_write_stream(layout, name, signer, stream, words, options, random))
    dictionary_clips = [clip for clip in lent if clip.word in words]
    _write_dictionary(layout, dictionary_clips)
    chosen = split_words([words[int(index)] for index in random.permutation(len(words))], {}, random)
    ids = {split: tuple(video.id for video in videos if video.split == split) for split in ("train", "test")}
    write_splits(Splits(ids["train"], ids["test"], chosen), layout.splits)
    listed = [video_as_json(video, folder) for video in videos]
    write_json({"format": FORMAT, "version": VERSION, "videos": listed}, layout.corpus)
    return open_corpus(folder)


def _renamed(clips: Sequence[IsolatedClip], random: np.random.Generator) -> list[IsolatedClip]:
    """The clips with signers, each gloss replaced by an English word of its own."""
    glosses = sorted({clip.word for clip in clips})
    english = [word.word for word in vocabulary(2 * len(glosses)) if " " not in word.word and "-" not in word.word]
    drawn = random.permutation(len(english))[: len(glosses)]
    names = dict(zip(glosses, (english[int(index)] for index in drawn), strict=True))
    return [replace(clip, word=names[clip.word]) for clip in clips if clip.signer]


def _lend(
    clips: Sequence[IsolatedClip], exemplars: int, random: np.random.Generator
) -> tuple[list[IsolatedClip], list[IsolatedClip]]:
    """Clips for the dictionary, one per word and lender, and all clips of words by others than their lenders."""
    signers = sorted({clip.signer for clip in clips})
    order = {signers[int(index)]: rank for rank, index in enumerate(random.permutation(len(signers)))}
    by_word: defaultdict[str, defaultdict[str, list[IsolatedClip]]] = defaultdict(lambda: defaultdict(list))
    for clip in clips:
        by_word[clip.word][clip.signer].append(clip)
    lent: list[IsolatedClip] = []
    signed: list[IsolatedClip] = []
    for by_signer in by_word.values():
        ranked = sorted(by_signer, key=order.__getitem__)
        lent += [by_signer[signer][0] for signer in ranked[:exemplars]]
        signed += [clip for signer in ranked[exemplars:] for clip in by_signer[signer]]
    if not signed or len({clip.signer for clip in signed}) < 2:
        raise OptionsError(
            f"streams for training and testing need two signers besides those of the {exemplars} exemplars"
        )
    return lent, signed


def _streams(clips: Sequence[IsolatedClip], split: str, seed: int) -> Iterator[tuple[str, str, Stream]]:
    """Name, signer and stream: of one signer where there are enough signs by one, else of several."""
    pools: defaultdict[str, list[IsolatedClip]] = defaultdict(list)
    for clip in clips:
        pools[clip.signer].append(replace(clip, landmarks=placed(clip.landmarks)))
    few = [signer for signer, pool in pools.items() if len(pool) < STREAM_SIGNS]
    mixed = [clip for signer in few for clip in pools.pop(signer)]
    for signer, pool in [*sorted(pools.items()), *([("several", mixed)] if mixed else [])]:
        for number, stream in enumerate(make_streams(pool, seed)):
            yield f"{split}-{signer}-{number:02d}", signer, stream


def _write_stream(
    layout: Layout,
    name: str,
    signer: str,
    stream: Stream,
    words: Sequence[str],
    options: SubtitledStreams,
    random: np.random.Generator,
) -> CorpusVideo:
    signs = [
        SignTruth(
            name, number, true.word, true.segment.start, true.segment.end, "1", signer, (), True, False, False, None
        )
        for number, true in enumerate(stream.truth)
    ]
    write_records(signs, layout.truth("signs", name))
    subtitles = list(_subtitles(signs, words, options.shift, random))
    return CorpusVideo(
        id=name,
        landmarks=write_landmarks(stream.landmarks, layout.video(name, ".pose")),
        video=None,
        subtitles=write_vtt(subtitles, layout.video(name, ".vtt")),
        signer=signer,
        split=name.split("-")[0],
    )


def _subtitles(
    signs: Sequence[SignTruth], words: Sequence[str], shift: float, random: np.random.Generator
) -> Iterator[Subtitle]:
    first, before = 0, 0.0
    while first < len(signs):
        sentence = signs[first : first + int(random.integers(_SIGNS[0], _SIGNS[1] + 1))]
        first += len(sentence)
        named = [sign.word for sign in sentence if random.random() >= _UNNAMED]
        if random.random() < _UNSIGNED:
            named.append(words[int(random.integers(len(words)))])
        moved = float(random.normal(0, shift))
        start, end = max(before, sentence[0].start + moved), max(before + 0.5, sentence[-1].end + moved)
        before = end
        if named:
            text = " and ".join(named[int(index)] for index in random.permutation(len(named)))
            yield Subtitle(start, max(end, start + 0.5), text)


def _write_dictionary(layout: Layout, clips: Sequence[IsolatedClip]) -> None:
    exemplars = []
    for number, clip in enumerate(clips):
        name = f"{clip.word}-{number}"
        path = write_landmarks(clip.landmarks, layout.exemplar(name))
        exemplars.append(Exemplar(clip.word, name, path, signer=clip.signer))
    save_dictionary(Dictionary(exemplars), layout.dictionary)


def main() -> None:
    """Write a corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("isolated", type=Path, help="imported LSA64 or WLASL")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    make_stream_corpus(read_isolated(chosen.isolated), chosen.out, SubtitledStreams(seed=chosen.seed))


if __name__ == "__main__":
    main()
