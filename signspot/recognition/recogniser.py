"""Recognisers: a trunk and a classifier of K words, from and to files, and what they say of clips."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from signspot.corpus.corpus import CorpusVideo
from signspot.embedding.inputs import footage_landmarks, landmark_clips, sign_features, sign_frames
from signspot.errors import CheckpointError, EmptyVideoError, FormatError, OptionsError, VideoError
from signspot.io.checks import check_list, check_text, parse_json
from signspot.io.files import atomic_write, cache_folder
from signspot.landmarks.features import VERSION as FEATURES
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import is_pose_file
from signspot.landmarks.signing import check_signing, dominant_hand
from signspot.landmarks.video_estimation import Source, landmarks_of
from signspot.models.checkpoints import (
    HEADER as ENCODER_HEADER,
)
from signspot.models.checkpoints import (
    load_encoder,
    load_network,
    read_header,
)
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import SignEncoder
from signspot.models.inception import InceptionTrunk
from signspot.models.registry import build
from signspot.types import Segment

FPS = 25.0
VOCABULARY = "vocabulary"  # of the card of an encoder of pixels, in its config: the words of its classifier
_NO_RECOGNISER = "{} holds no recogniser. Train one with: signspot train configs/recogniser.toml"
_HEADER = "signspot_recogniser"  # under which the card stands in the safetensors header
_CLIPS = 512  # that are classified at once
_WINDOWS = 2048  # of a video, that are classified at once
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recognised:
    """A word that a clip may show."""

    word: str
    probability: float


@dataclass(frozen=True)
class Recogniser:
    """A network that tells K words apart."""

    name: str
    words: tuple[str, ...]  # K
    module: SignEncoder = field(repr=False)  # whose trunk sees
    head: nn.Linear = field(repr=False)  # (features) → (K)
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)  # data, config, metrics …

    @torch.inference_mode()
    def logits(self, clips: Floats, domain: str = "continuous") -> Floats:
        """(N, F, J, C) clips to (N, K)."""
        parts = [
            self.head(self.module.features(torch.from_numpy(clips[start : start + _CLIPS]), domain))  # type: ignore[arg-type]
            for start in range(0, len(clips), _CLIPS)
        ]
        logits: Floats = torch.cat(parts).numpy()
        return logits

    @torch.inference_mode()
    def of_windows(self, frames: Floats) -> Floats:
        """(T, J, C) continuous signing to (T - F + 1, K): the logits of every window, all in one pass."""
        compute = self.module.window_features()
        count = len(frames) - self.module.trunk.frames + 1
        signing = torch.from_numpy(np.ascontiguousarray(frames, np.float32))
        parts = [
            self.head(compute(signing, range(start, min(count, start + _WINDOWS))))
            for start in range(0, count, _WINDOWS)
        ]
        logits: Floats = torch.cat(parts).numpy()
        return logits

    def of_frames(self, frames: Floats) -> Floats:
        """(T, J, C) continuous signing to (K,): logits averaged over all windows; a short stretch repeats its ends."""
        short = max(0, self.module.trunk.frames - len(frames))
        padded = np.pad(frames, ((short // 2, short - short // 2), (0, 0), (0, 0)), mode="edge")
        return np.asarray(self.of_windows(padded).mean(axis=0))

    def of_stretches(self, frames: Floats, stretches: Sequence[range]) -> Floats:
        """Classify many stretches of one video, each as `of_frames` does; the video passes through the trunk once.

        Args:
            frames: (T, J, C) the whole video.
            stretches: the frames of each; those before the first and after the last of the video repeat these.

        Returns:
            (N, K) logits.
        """
        length = self.module.trunk.frames
        ends = [(s.start, s.stop) for s in (_at_least(stretch, length) for stretch in stretches)]
        before = max(0, -min(first for first, _ in ends))
        after = max(0, max(last for _, last in ends) - len(frames))
        windows = self.of_windows(np.pad(frames, ((before, after), (0, 0), (0, 0)), mode="edge"))
        sums = np.concatenate([np.zeros((1, windows.shape[1])), np.cumsum(windows, axis=0, dtype=np.float64)])
        rows = [(first + before, last + before - length + 1) for first, last in ends]
        means: Floats = np.stack([(sums[b] - sums[a]) / (b - a) for a, b in rows]).astype(np.float32)
        return means

    def of_video(self, video: CorpusVideo, stretches: Sequence[Segment]) -> Floats:
        """(N, K) logits of stretches of one video, averaged over the windows of each."""
        landmarks = footage_landmarks(video, cache_folder() / "landmarks").resampled(FPS)
        signing, origin = features(landmarks, mirror=dominant_hand(landmarks) == "left"), float(landmarks.times[0])
        firsts = [round((segment.start - origin) * FPS) for segment in stretches]
        ranges = [range(a, a + round(segment.duration * FPS)) for a, segment in zip(firsts, stretches, strict=True)]
        return self.of_stretches(signing, ranges)

    def of_sign(self, sign: Floats) -> Floats:
        """(T, J, C) isolated sign to (K,): logits averaged over clips of it, as a dictionary's are seen."""
        return np.asarray(self.logits(landmark_clips(sign, self.module.trunk.frames), "dictionary").mean(axis=0))

    def recognise(
        self, source: Source, segment: Segment | None = None, *, top: int = 5, cache: Path | None = None
    ) -> list[Recognised]:
        """Say which words a clip may show, the likeliest first.

        Args:
            source: a video path, a `.pose` path or landmarks.
            segment: a stretch of continuous signing; None: the whole clip shows one isolated sign.
            top: how many words.
            cache: folder of landmarks, or None.

        Raises:
            OptionsError: fewer than one word is wanted.
            EmptyVideoError: no frame lies in the segment.
            LandmarksError: nobody is in view, or no hand.
        """
        if top < 1:
            raise OptionsError(f"at least 1 word is wanted; got {top}")
        landmarks = landmarks_of(source, cache)
        check_signing(landmarks, "the clip" if isinstance(source, Landmarks) else Path(source).name)
        if segment is None:
            logits = self.of_sign(sign_features(landmarks, FPS, right_handed=True))
        else:
            logits = self.of_frames(stretch_features(landmarks, segment))
        return _likeliest(self.words, logits, top)


@dataclass(frozen=True)
class RgbRecogniser:
    """A trunk that sees pixels and tells K words apart: what `signspot train` of the kind rgb makes."""

    words: tuple[str, ...]  # K
    encoder: Encoder = field(repr=False)  # whose trunk has a classifier

    @property
    def name(self) -> str:
        """What people call it."""
        return self.encoder.name

    @property
    def card(self) -> Mapping[str, Any]:
        """Data, config, metrics …."""
        return self.encoder.card

    @torch.inference_mode()
    def of_segment(self, video: Path, segment: Segment | None) -> Floats:
        """(K,) logits of a segment of a video, averaged over all windows; a short one repeats its last frame."""
        contract, trunk = self.encoder.contract, self.encoder.module.trunk
        assert isinstance(trunk, InceptionTrunk), "as it was loaded"
        frames = sign_frames(video, contract, segment)
        padded = frames[np.minimum(np.arange(max(len(frames), contract.frames)), len(frames) - 1)]
        total = np.zeros(len(self.words), np.float64)
        starts = range(len(padded) - contract.frames + 1)
        for first in range(0, len(starts), trunk.block):
            clips = np.stack([padded[start : start + contract.frames] for start in starts[first : first + trunk.block]])
            features = trunk(torch.from_numpy(clips).transpose(1, 2).to(self.encoder.device))
            total += trunk.classify(features).double().sum(dim=0).cpu().numpy()
        return np.asarray(total / len(starts), np.float32)

    def of_video(self, video: CorpusVideo, stretches: Sequence[Segment]) -> Floats:
        """(N, K) logits of stretches of one video.

        Raises:
            VideoError: it has no pixels.
        """
        path = video.video
        if path is None:
            raise VideoError(f"the recogniser '{self.name}' sees pixels; the video '{video.id}' has only landmarks")
        return np.stack([self.of_segment(path, Segment(max(0.0, segment.start), segment.end)) for segment in stretches])

    def recognise(
        self, source: Source, segment: Segment | None = None, *, top: int = 5, cache: Path | None = None
    ) -> list[Recognised]:
        """As `Recogniser.recognise`, of a video; it needs no landmarks.

        Raises:
            OptionsError: the source has no pixels, or fewer than one word is wanted.
            EmptyVideoError: no frame lies in the segment.
        """
        if top < 1:
            raise OptionsError(f"at least 1 word is wanted; got {top}")
        if isinstance(source, Landmarks) or is_pose_file(source):
            raise OptionsError(f"the recogniser '{self.name}' sees pixels, not landmarks. Give it the video itself")
        return _likeliest(self.words, self.of_segment(Path(source), segment), top)


def _likeliest(words: Sequence[str], logits: Floats, top: int) -> list[Recognised]:
    """The words of (K,) logits, the likeliest first."""
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = np.argsort(-chances, kind="stable")[:top]
    return [Recognised(words[word], round(float(chances[word]), 6)) for word in best.tolist()]


def stretch_features(landmarks: Landmarks, segment: Segment) -> Floats:
    """(T, J, C) features of a stretch of continuous signing, mirrored where the left hand leads.

    Raises:
        EmptyVideoError: no frame lies in it.
    """
    resampled = landmarks.resampled(FPS)
    inside = (resampled.times >= segment.start - 1e-6) & (resampled.times < segment.end - 1e-6)
    if not inside.any():
        raise EmptyVideoError(f"no frame lies between {segment.start:.2f} and {segment.end:.2f} s")
    return features(resampled, mirror=dominant_hand(resampled) == "left")[inside]


def _at_least(stretch: range, length: int) -> range:
    """The stretch, or as many frames around its middle as a clip has."""
    short = max(0, length - len(stretch))
    return range(stretch.start - short // 2, stretch.stop + short - short // 2)


def save_recogniser(recogniser: Recogniser, path: str | PathLike[str]) -> Path:
    """Write weights to a `.safetensors` file, with words and card in its header, and the card beside it as `.json`.

    Raises:
        OptionsError: the suffix is another.
        OutputError: it cannot be written.
    """
    target = Path(path)
    if target.suffix != ".safetensors":
        raise OptionsError(f"weights are written as .safetensors; got '{target.name}'")
    card = {
        **recogniser.card,
        "name": recogniser.name,
        "words": list(recogniser.words),
        "model": dict(recogniser.module.options),
        "landmark_features": FEATURES,
    }
    weights: dict[str, Tensor] = {f"trunk.{key}": value for key, value in recogniser.module.state_dict().items()}
    weights |= {f"head.{key}": value for key, value in recogniser.head.state_dict().items()}
    text = json.dumps(card, ensure_ascii=False, sort_keys=True)
    with atomic_write(target) as temporary:
        save_file({key: value.contiguous() for key, value in weights.items()}, temporary, metadata={_HEADER: text})
    with atomic_write(target.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return target


def load_recogniser(path: str | PathLike[str], device: str = "cpu") -> Recogniser | RgbRecogniser:
    """Load a recogniser: one of landmarks, or an encoder of pixels that was trained to tell words apart.

    Args:
        path: of its file.
        device: where one of pixels computes.

    Raises:
        CheckpointError: there is none, it is damaged, or it was trained on other landmark features.
    """
    file = Path(path)
    if not file.is_file():
        raise CheckpointError(f"no recogniser at '{file}'. Train one with: signspot train configs/recogniser.toml")
    texts = read_header(file)
    if _HEADER not in texts and ENCODER_HEADER in texts:
        return as_recogniser(load_encoder(file, device=device))
    if _HEADER not in texts:
        raise CheckpointError(_NO_RECOGNISER.format(file))
    try:
        card = parse_json(texts[_HEADER], file.name)
        if card["landmark_features"] != FEATURES:
            raise CheckpointError(f"{file.name} was trained on other landmark features. Train it again")
        words = tuple(check_text(word, "a word") for word in check_list(card["words"], "words"))
        if not words:
            raise CheckpointError(f"{file.name} knows no word. Train it again")
        networks = load_network(file, card["model"], lambda: _networks(card["model"], len(words)))
        name = check_text(card["name"], "the name")
    except (KeyError, TypeError, ValueError, RuntimeError, OptionsError, FormatError) as error:
        reason = f"its card lacks {error}" if isinstance(error, KeyError) else f"{error!s:.200}"
        raise CheckpointError(f"{file.name} does not fit a recogniser: {reason}") from error
    module, head = networks["trunk"], networks["head"]
    assert isinstance(module, SignEncoder)
    assert isinstance(head, nn.Linear)
    return Recogniser(name, words, module.eval(), head.eval(), card)


def as_recogniser(encoder: Encoder) -> RgbRecogniser:
    """An encoder of pixels that was trained to tell words apart, as a recogniser of them.

    Raises:
        CheckpointError: it has no classifier, or its card does not name the words.
    """
    learned = encoder.card.get("config")
    vocabulary = learned.get(VOCABULARY) if isinstance(learned, dict) else None
    if not vocabulary or len(vocabulary) != encoder.module.options.get("classes"):
        raise CheckpointError(_NO_RECOGNISER.format(f"'{encoder.name}'"))
    return RgbRecogniser(tuple(check_text(word, "a word") for word in vocabulary), encoder)


def _networks(options: Mapping[str, Any], words: int) -> nn.ModuleDict:
    """Trunk and classifier of so many words, without weights."""
    module = build("landmark", **options)
    return nn.ModuleDict({"trunk": module, "head": nn.Linear(module.trunk.dimension, words)})
