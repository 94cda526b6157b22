"""Data of the tables: a corpus, trunks trained on it as classifiers, their features; made when asked for."""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from experiments.paper.protocol import grids_of
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.evaluation.queries import RetrievalQuery, find_queries
from signspot.io.files import text_digest
from signspot.io.progress import Stage, quiet
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.contract import Encoder
from signspot.training.item_batches import EmbeddingConfig
from signspot.training.items import Item, collect_items, read_words
from signspot.training.recogniser import RecogniserConfig, train_trunk
from signspot.training.sign_clips import collect_signs
from signspot.training.trunk_features import TrunkFeatures, trunk_features
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus
from signspot_synthetic.options import CorpusOptions, options_as_json

Setting = Literal["seen", "unseen"]  # whether the test words have labels in training (Sec. 4.2)
TrunkKind = Literal["dictionary", "continuous", "joint"]  # what a trunk was trained on
Vocabulary = Literal["labelled", "full"]  # whose exemplars are looked up: words with labels, or the whole dictionary
SETTINGS: tuple[Setting, ...] = get_args(Setting)
_SHARES: dict[TrunkKind, float] = {"dictionary": 1.0, "continuous": 0.0, "joint": 0.5}


@dataclass(frozen=True, slots=True)
class ReproductionSize:
    """Size of the synthetic corpus, and the lengths of training its trunks and embeddings."""

    corpus: CorpusOptions
    trunk: RecogniserConfig
    embedding: EmbeddingConfig
    seeds: int
    device: str = "cpu"  # where networks run

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise OptionsError(f"seeds must be at least 1; got {self.seeds}")


class Setup:
    """A corpus with its trunks and features, each made once, in a folder."""

    def __init__(
        self,
        size: ReproductionSize,
        out: Path,
        corpus: Corpus | None = None,
        encoder: Encoder | None = None,
        stage: Stage = quiet,
    ):
        """Prepare; nothing is made yet.

        Args:
            size: of the synthetic corpus and the trainings.
            out: folder of everything; what is there already is not made again.
            corpus: one that exists already, with splits and with the truth about its test videos; None: the synthetic.
            encoder: whose trunk is frozen in both settings, in place of trained ones.
            stage: shows the progress of each stage.
        """
        self.size, self.out, self.stage, self.encoder = size, out, stage, encoder
        self._given = corpus
        self._features: dict[tuple[TrunkKind, Setting], TrunkFeatures] = {}
        self._trunks: dict[tuple[TrunkKind, Setting], Encoder] = {}
        self._queries: dict[str, list[RetrievalQuery]] = {}

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, whole and fit for the protocol."""
        if self._given is None:
            name = f"corpus-{text_digest(json.dumps([options_as_json(self.size.corpus), GENERATOR_VERSION]))}"
            with self.stage("synthetic corpus") as progress:
                return make_corpus(self.size.corpus, self.out / name, progress, workers=2)
        check_corpus(self._given)
        return self._given

    def identity(self, kind: TrunkKind, setting: Setting) -> dict[str, Any]:
        """Settings that features follow from, as plain values."""
        corpus = {"options": dict(self.corpus.options), "videos": list(self.corpus.videos)}
        return {"corpus": corpus, "trunk": self._trunk_identity(kind, setting)}

    def _trunk_identity(self, kind: TrunkKind, setting: Setting) -> Any:
        return self.encoder.hash if self.encoder is not None else self._trunk_config(kind, setting).as_dict()

    def _trunk_config(self, kind: TrunkKind, setting: Setting) -> RecogniserConfig:
        clips = replace(self.size.trunk.clips, dictionary=_SHARES[kind])
        return replace(self.size.trunk, name=f"{kind}-{setting}", clips=clips)

    def words(self, setting: Setting) -> tuple[str, ...]:
        """The words that have labels in training."""
        words = self.corpus.splits().words
        return words.all if setting == "seen" else words.train

    def trunk(self, kind: TrunkKind, setting: Setting) -> Encoder:
        """A trunk that has been trained as a classifier of the setting's words."""
        if self.encoder is not None:
            return self.encoder
        if (kind, setting) not in self._trunks:
            config = self._trunk_config(kind, setting)
            name = f"{kind}-{setting}-{text_digest(json.dumps(self.identity(kind, setting)))}"
            path = self.out / "trunks" / f"{name}.safetensors"
            if not path.is_file():
                with self.stage(f"trunk: {kind}, {setting} words") as progress:
                    signs = collect_signs(self.corpus, self.words(setting), self.corpus.splits().train, config.clips)
                    made = train_trunk(config, signs, self.out / "trunks" / name, progress, device=self.size.device)
                    save_encoder(made, path)
            self._trunks[kind, setting] = load_encoder(path, device=self.size.device)
        return self._trunks[kind, setting]

    def features(self, kind: TrunkKind, setting: Setting) -> TrunkFeatures:
        """Features of the corpus by a trunk; by one that no MLP is trained on, of test videos alone."""
        if (kind, setting) not in self._features:
            corpus = self.corpus
            if kind != "joint":
                corpus = replace(corpus, videos={video.id: video for video in corpus.in_split("test")})
            encoder = self.trunk(kind, setting)
            with self.stage(f"features: {kind}, {setting} words") as progress:
                self._features[kind, setting] = trunk_features(encoder, corpus, self.out / "features", progress)
        return self._features[kind, setting]

    def queries(self, features: TrunkFeatures) -> list[RetrievalQuery]:
        """The queries of the test words."""
        if features.encoder not in self._queries:
            self._queries[features.encoder] = find_queries(
                self.corpus, grids_of(features), self.corpus.splits().words.test
            )
        return self._queries[features.encoder]

    def items(self, setting: Setting, config: EmbeddingConfig, vocabulary: Vocabulary) -> list[Item]:
        """Training items of an embedding."""
        splits, labelled = self.corpus.splits(), self.words(setting)
        listed = labelled if vocabulary == "labelled" else splits.words.all
        subtitles = read_words(self.corpus, listed, splits.train)
        return collect_items(self.corpus.labels(list(splits.train)), subtitles, labelled, listed, config.items)


def check_corpus(corpus: Corpus) -> None:
    """See that a corpus has all that the protocol needs, before anything long is begun.

    Raises:
        FormatError: it has no splits.
        OptionsError: it has no training or test videos, no exemplar of a word, no labels, or no truth about test words.
    """
    splits = corpus.splits()
    for name, videos in (("training", splits.train), ("test", splits.test)):
        missing = [video for video in videos if video not in corpus.videos]
        if not videos or missing:
            what = f"lacks the {name} video '{missing[0]}'" if missing else f"has no {name} videos"
            raise OptionsError(f"{corpus.folder} {what}. Mend its splits.json")
    if len(splits.words.all) < 2 or not splits.words.test:
        raise OptionsError(
            f"{corpus.folder} has {len(splits.words.all)} words, {len(splits.words.test)} of them to test. "
            "Learning needs two, and one to test"
        )
    shown = {exemplar.word for exemplar in corpus.dictionary().exemplars}
    for word in splits.words.all:
        if word not in shown:
            raise OptionsError(f"the word '{word}' has no exemplar. Add one, or leave the word out of splits.json")
    if not corpus.labels(list(splits.train)):
        raise OptionsError(f"{corpus.folder} has no labels of its training videos. Spot mouthings or signs in it first")
    tested = set(splits.words.test)
    if not any(sign.word in tested for video in splits.test for sign in corpus.signs(video)):
        raise OptionsError(
            f"no test word is known to be signed in the {len(splits.test)} test videos of {corpus.folder}. "
            "The tables need the truth (truth/signs) about them"
        )
