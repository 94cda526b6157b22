"""Data of the tables: a corpus, trunks trained on it as classifiers, their features; made when asked for."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from signspot.corpus.corpus import Corpus, with_split
from signspot.corpus.truth import WordSplit, split_words
from signspot.errors import OptionsError
from signspot.evaluation.labelled_corpus import RetrievalQuery, find_queries, labelled_queries
from signspot.io.files import content_digest, text_digest
from signspot.io.progress import Stage, quiet
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.training.corpus_subset import Item, collect_items, read_words
from signspot.training.item_batches import EmbeddingConfig
from signspot.training.landmark_clips import collect_signs
from signspot.training.recogniser import RecogniserConfig, train_recogniser
from signspot.training.trunk_features import TrunkFeatures, trunk_features
from signspot.types import Grid, Label
from signspot_synthetic.corpus_plan import CorpusOptions, options_as_json
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus

Setting = Literal["seen", "unseen"]  # whether the test words have labels in training (Sec. 4.2)
TrunkKind = Literal["dictionary", "continuous", "joint"]  # what a trunk was trained on
Vocabulary = Literal["labelled", "full"]  # whose exemplars are looked up: words with labels, or the whole dictionary
TestLabels = Literal["truth", "mouthings"]  # exact truth, or sure labels as in the paper (Sec. 4.1)
SETTINGS: tuple[Setting, ...] = get_args(Setting)
_SHARES: dict[TrunkKind, float] = {"dictionary": 1.0, "continuous": 0.0, "joint": 0.5}


@dataclass(frozen=True, slots=True)
class ReproductionSize:
    """Size of the synthetic corpus, and the lengths of training its trunks and embeddings."""

    corpus: CorpusOptions
    trunk: RecogniserConfig
    embedding: EmbeddingConfig
    device: str = "cpu"  # where networks run


@dataclass(frozen=True, slots=True)
class OtherLabels:
    """Labels of training videos in place of a corpus's own; found when they are needed."""

    name: str  # tells them from others
    find: Callable[[], Sequence[Label]]


def corpus_folder(options: CorpusOptions, out: Path) -> Path:
    """The folder of a synthetic corpus, which is shared by whoever asks for the same one."""
    return out / "corpora" / text_digest(json.dumps([options_as_json(options), GENERATOR_VERSION]))


class Setup:
    """A corpus with its trunks and features, each made once, in a folder."""

    def __init__(
        self,
        size: ReproductionSize,
        out: Path,
        corpus: Corpus | None = None,
        encoder: Encoder | None = None,
        stage: Stage = quiet,
        labels: OtherLabels | None = None,
    ):
        """Prepare; nothing is made yet.

        Args:
            size: of the synthetic corpus and the trainings.
            out: folder of everything; what is there already is not made again.
            corpus: one that exists already; None: a synthetic one is made.
            encoder: whose trunk is frozen in both settings, in place of trained ones.
            stage: shows the progress of each stage.
            labels: of training videos, in place of the corpus's own.
        """
        self.size, self.out, self.stage, self.encoder = size, out, stage, encoder
        self.given, self._labels = corpus, labels
        self._features: dict[tuple[TrunkKind, Setting, int], TrunkFeatures] = {}  # of one seed: they are large
        self._queries: dict[str, dict[TestLabels, list[RetrievalQuery]]] = {}

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, whole, with training and test videos.

        Raises:
            OptionsError: one that is given has none of either.
        """
        if self.given is None:
            with self.stage("synthetic corpus") as progress:
                return make_corpus(self.size.corpus, corpus_folder(self.size.corpus, self.out), progress)
        corpus = with_split(self.given, self.out / "splits.json")
        if not corpus.in_split("train") or not corpus.in_split("test"):
            raise OptionsError(f"{corpus.folder} has no training or no test videos. Name them in its splits.json")
        return corpus

    @cached_property
    def words(self) -> WordSplit:
        """Words with labels in both settings, and test words; of a corpus that splits none, a quarter is for tests.

        Raises:
            OptionsError: the corpus lacks something that the protocol needs.
        """
        looked_up = {exemplar.word for exemplar in self.corpus.dictionary().exemplars}
        words = self.corpus.splits().words if self.corpus.layout.splits.is_file() else WordSplit()
        if not words.all:
            counts = Counter(label.word for label in self.labels if label.word in looked_up)
            words = split_words([word for word, _ in counts.most_common()], {}, np.random.default_rng(0))
        if len(words.all) < 2 or not words.test:
            raise OptionsError(
                f"{self.corpus.folder} has {len(words.all)} words, {len(words.test)} of them to test. "
                "Learning needs two, and one to test"
            )
        if missing := sorted(set(words.all) - looked_up):
            raise OptionsError(
                f"the word '{missing[0]}' has no exemplar. Add one, or leave the word out of splits.json"
            )
        return words

    @cached_property
    def labels(self) -> list[Label]:
        """Labels of the training videos.

        Raises:
            OptionsError: there are none.
        """
        videos = [video.id for video in self.corpus.in_split("train")]
        labels = self.corpus.labels(videos) if self._labels is None else list(self._labels.find())
        if not labels:
            raise OptionsError(
                f"{self.corpus.folder} has no labels of its training videos ({len(videos)}). "
                "Spot mouthings or signs in it first"
            )
        return labels

    @property
    def has_truth(self) -> bool:
        """Whether every sign of the test videos is known, as in a synthetic corpus."""
        return self.given is None or all(self.corpus.signs(video.id) for video in self.corpus.in_split("test"))

    @property
    def word_count(self) -> int:
        """The number of words; a synthetic corpus need not be made to know it."""
        return self.size.corpus.word_count if self.given is None else len(self.words.all)

    @property
    def corpus_identity(self) -> dict[str, Any]:
        """Settings that corpus and labels follow from; a synthetic corpus need not be made to know them."""
        if self.given is None:
            identity: dict[str, Any] = {"options": options_as_json(self.size.corpus), "version": GENERATOR_VERSION}
        else:
            identity = {"content": self._content}
        if self._labels is not None:
            identity["labels"] = self._labels.name
        return identity

    @cached_property
    def _content(self) -> str:
        """Names all files of the given corpus by what is in them."""
        corpus = self.corpus
        files = {path for video in corpus.videos.values() for path in (video.landmarks, video.video, video.subtitles)}
        files |= {exemplar.path for exemplar in corpus.dictionary().exemplars}
        files |= {path for part in ("labels", "truth") for path in (corpus.folder / part).rglob("*")}
        files |= {corpus.layout.splits}
        return text_digest(" ".join(sorted(content_digest(path) for path in files if path and path.is_file())))

    def identity(self, kind: TrunkKind, setting: Setting, seed: int) -> dict[str, Any]:
        """Settings that features follow from, as plain values."""
        trunk = self.encoder.hash if self.encoder is not None else self._trunk_config(kind, setting, seed).as_dict()
        return {"corpus": self.corpus_identity, "trunk": trunk}

    def _trunk_config(self, kind: TrunkKind, setting: Setting, seed: int) -> RecogniserConfig:
        clips = replace(self.size.trunk.clips, dictionary=_SHARES[kind])
        return replace(self.size.trunk, name=f"{kind}-{setting}", clips=clips, seed=seed)

    def labelled_words(self, setting: Setting) -> tuple[str, ...]:
        """The words that have labels in training."""
        return self.words.all if setting == "seen" else self.words.train

    def trunk(self, kind: TrunkKind, setting: Setting, seed: int) -> Encoder:
        """A trunk that has been trained as a classifier of the setting's words."""
        if self.encoder is not None:
            return self.encoder
        config = self._trunk_config(kind, setting, seed)
        name = f"{kind}-{setting}-{text_digest(json.dumps(self.identity(kind, setting, seed)))}"
        path = self.out / "trunks" / f"{name}.safetensors"
        if not path.is_file():
            with self.stage(f"trunk: {kind}, {setting} words") as progress:
                videos, words = [video.id for video in self.corpus.in_split("train")], self.labelled_words(setting)
                signs = collect_signs(self.corpus, words, videos, config.clips, labels=self.labels)
                trained = train_recogniser(config, signs, self.out / "trunks" / name, progress, self.size.device)
                save_encoder(make_encoder(config.name, trained.module, card=trained.card), path)
        return load_encoder(path, device=self.size.device)

    def features(self, kind: TrunkKind, setting: Setting, seed: int) -> TrunkFeatures:
        """Features of the corpus by a trunk; by one that no MLP is trained on, of test videos alone."""
        key = (kind, setting, seed)
        if key not in self._features:
            self._features = {other: features for other, features in self._features.items() if other[2] == seed}
            corpus = self.corpus
            if kind != "joint":
                corpus = replace(corpus, videos={video.id: video for video in corpus.in_split("test")})
            encoder = self.trunk(kind, setting, seed)
            with self.stage(f"features: {kind}, {setting} words") as progress:
                self._features[key] = trunk_features(encoder, corpus, self.out / "features", progress)
        return self._features[key]

    def queries(self, features: TrunkFeatures) -> dict[TestLabels, list[RetrievalQuery]]:
        """Queries of the test words, by the labels that say where they are signed.

        Raises:
            OptionsError: neither the truth about test videos is known, nor is there a sure label of a test word.
        """
        if features.encoder not in self._queries:
            grids: dict[str, Grid] = {name: windows.grid for name, windows in features.videos.items()}
            test = {video.id: video for video in self.corpus.in_split("test")}
            corpus = replace(self.corpus, videos=test)
            queries: dict[TestLabels, list[RetrievalQuery]] = {}
            if any(sign.word in self.words.test for video in test for sign in corpus.signs(video)):
                queries["truth"] = find_queries(corpus, grids, self.words.test)
            try:
                queries["mouthings"] = labelled_queries(corpus, grids, self.words.test)
            except OptionsError:
                if not queries:
                    raise
            self._queries[features.encoder] = queries
        return self._queries[features.encoder]

    def items(self, setting: Setting, config: EmbeddingConfig, vocabulary: Vocabulary) -> list[Item]:
        """Training items of an embedding."""
        labelled = self.labelled_words(setting)
        listed = labelled if vocabulary == "labelled" else tuple(sorted(self.corpus.dictionary()))
        subtitles = read_words(self.corpus, listed, [video.id for video in self.corpus.in_split("train")])
        return collect_items(self.labels, subtitles, labelled, listed, config.items)
