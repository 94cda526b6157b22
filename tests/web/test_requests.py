"""Requests that scripts and pages send: searches, dictionaries, comparisons, exports; over HTTP."""

import asyncio
import base64
import errno
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request

from signspot.annotation.run_spottings import spottings
from signspot.annotation.store import open_store
from signspot.corpus.corpus import open_corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.json_file import save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, SignspotError
from signspot.formats.elan import read_vocabulary
from signspot.formats.formats import format_names, read_spottings
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import load
from signspot.subtitles.reading import read_subtitles
from signspot.types import LabelSource, Segment
from signspot.web import dictionary_changes
from signspot.web.server import create_app
from signspot.web.server_state import Workbench, WorkbenchOptions
from tests.fixtures.limits import wait_until

from .conftest import Server, spotted


def test_the_page_gets_what_the_command_line_prints(server: Server) -> None:
    """One pipeline: peaks above any threshold are what a search with that threshold finds, rates included."""
    answer = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json
    spotter = load()
    exemplars = open_dictionary(server.folder / "dictionary")["river"]
    for threshold in (0.5, 0.7, 0.8):
        spottings = spotter.search(server.folder / "news.pose", exemplars, SpotOptions(threshold=threshold)).spottings
        listed = [hit for hit in answer["words"][0]["hits"] if hit["score"] >= threshold]
        assert [(hit["time"], hit["score"], hit["exemplar"], hit["false_alarms_per_hour"]) for hit in listed] == [
            (spotting.time, spotting.score, spotting.exemplar, spotting.false_alarms_per_hour) for spotting in spottings
        ]
    best = max(answer["words"][0]["hits"], key=lambda hit: hit["score"])
    curve = np.frombuffer(base64.b64decode(answer["words"][0]["curve"]), "<u2") / 65535
    assert abs(curve.max() - best["score"]) < 1e-4, "hits are peaks of the word's curve"
    usual = spotter.search(server.folder / "news.pose", exemplars).spottings
    at_first = [hit for hit in answer["words"][0]["hits"] if hit["score"] >= answer["words"][0]["threshold"]]
    assert [hit["time"] for hit in at_first] == [spotting.time for spotting in usual]
    assert {hit["video"] for hit in answer["words"][0]["hits"]} == {"news.mp4"}, "no path of this machine"


def test_a_hit_is_aligned_with_its_exemplar(server: Server) -> None:
    word = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]
    hit = max(word["hits"], key=lambda peak: peak["score"])
    query = f"exemplar={hit['exemplar']}&start={hit['start']}&end={hit['end']}&mirrored={hit['mirrored']}"
    shares = server.ask("GET", f"/api/alignment/news.mp4?dictionary=dictionary&{query}").json["shares"]
    assert len(shares) == round(25 * hit["end"]) - round(25 * hit["start"]) + 1
    assert shares == sorted(shares)
    assert shares[0] < 0.3 < 0.7 < shares[-1]


def test_captions_are_webvtt_without_markup(fresh: Server, tmp_path: Path) -> None:
    (fresh.folder / "news.vtt").write_text(
        "WEBVTT\n\n00:01.500 --> 01:02:03.250\n<b>A</b> river &lt;script&gt; --&gt; x\nand\n"
    )
    answer = fresh.ask("GET", "/api/captions/news.mp4")
    assert answer.headers["content-type"].startswith("text/vtt")
    assert "00:00:01.500 --> 01:02:03.250" in answer.text
    assert "<" not in answer.text
    assert answer.text.count("-->") == 1
    (tmp_path / "again.vtt").write_bytes(answer.body)
    listed = read_subtitles(fresh.folder / "news.vtt")
    assert [line.text for line in read_subtitles(tmp_path / "again.vtt")] == [line.text for line in listed]


def test_all_words_are_what_the_command_line_finds_of_a_dictionary(server: Server) -> None:
    answer = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary").json
    dictionary = open_dictionary(server.folder / "dictionary")
    spottings = load().search(server.folder / "news.pose", dictionary).spottings
    assert answer["searched"] == len(dictionary)
    hits = [hit for word in answer["words"] for hit in word["hits"] if hit["score"] >= word["threshold"]]
    assert sorted((hit["word"], hit["time"]) for hit in hits) == sorted(
        (spotting.word, spotting.time) for spotting in spottings
    )


def test_signs_edited_by_hand_are_stored_and_never_overwritten_unseen(fresh: Server) -> None:
    address = "/api/signs/news.mp4"
    assert fresh.ask("GET", address).json == {"version": 0, "signs": []}
    sign = spotted(word="lake", time=0.6, start=0.4, end=0.8, score=1.0, source="V", id="a1", note="one hand")
    assert fresh.ask("PUT", address, {"version": 0, "signs": [sign]}).json == {"version": 1}
    stale = fresh.ask("PUT", address, {"version": 0, "signs": []})
    assert stale.status == 409, "somebody else has changed them"
    stored = fresh.ask("GET", address).json
    assert (stored["version"], stored["signs"][0]["note"]) == (1, "one hand")
    assert fresh.ask("PUT", address, {"version": 10**30, "signs": [sign]}).status == 422
    for odd in ({"start": 0.9}, {"end": 1e308}, {"score": 7}, {"id": ""}, {"note": "x" * 3000}):
        answer = fresh.ask("PUT", address, {"version": 1, "signs": [{**sign, **odd}]})
        assert answer.status == 422, odd
    assert fresh.ask("PUT", "/api/signs/none.mp4", {"version": 0, "signs": []}).status == 404
    assert fresh.ask("PUT", address, {"version": 1, "signs": []}).json == {"version": 2}


def test_a_folder_that_is_removed_while_serving_is_noticed(fresh: Server) -> None:
    queue = fresh.queue(spotted())
    shutil.rmtree(fresh.folder / ".signspot")
    answer = fresh.decide(queue, 0)
    assert answer.status == 503
    assert "workbench.sqlite" in answer.text


def test_mistakes_are_one_line(server: Server) -> None:
    for path, status, part in (
        ("/api/spot/news.mp4?dictionary=dictionary&word=rivr", 404, "Did you mean 'river'?"),
        ("/api/spot/none.mp4?dictionary=dictionary&word=river", 404, "there is no video"),
        ("/api/spot/news.mp4?dictionary=none&word=river", 404, "there is no dictionary"),
        ("/api/queues/none/measures", 404, "no queue"),
        ("/api/queues/none/progress", 404, "no queue"),
        ("/api/queues/none/export?format=.csv", 404, "no queue"),
        ("/api/alignment/news.mp4?dictionary=dictionary&exemplar=river/video&start=1e308&end=2", 422, "start"),
        ("/api/skeleton/video/news.mp4?start=nan&end=inf", 422, "start"),
    ):
        answer = server.ask("GET", path)
        assert (answer.status, part in answer.text) == (status, True), (path, answer.text)
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("suffix", list(format_names()))
def test_every_format_is_exported(server: Server, suffix: str, tmp_path: Path) -> None:
    hits = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]["hits"][:3]
    answer = server.ask("POST", "/api/export", {"name": "../../x", "format": suffix, "rows": hits})
    assert answer.status == 200
    name = answer.headers["content-disposition"].partition('filename="')[2].rstrip('"')
    assert "/" not in name
    path = tmp_path / f"x{suffix}"
    path.write_bytes(answer.body)
    assert sorted(spotting.word for spotting in read_spottings(path)) == ["river"] * 3


def test_a_dictionary_is_edited(fresh: Server, material: Path, tmp_path: Path) -> None:
    address = "/api/dictionaries/dictionary"
    change = {"word": "stream", "variant": "north", "signer": "Signer 7", "licence": "CC0", "segment": [0.2, 0.9]}
    assert fresh.ask("PATCH", f"{address}/exemplar?id=river/video", change).json["variant"] == "north"
    opened = open_dictionary(fresh.folder / "dictionary")
    changed = opened["stream"][0]
    assert (changed.signer, changed.licence, changed.variant) == ("Signer 7", "CC0", "north")
    assert changed.segment is not None
    assert (changed.segment.start, changed.segment.end) == (0.2, 0.9)
    video = (material / "dictionary" / "river" / "video.mp4").read_bytes()
    added = fresh.ask("PUT", f"{address}/exemplar?word=lake&file=..%2fmy.mp4&signer=Me", video)
    assert added.status == 200
    cut = fresh.ask("POST", f"{address}/cut", {"video": "news.mp4", "start": 0.5, "end": 1.0, "word": "name"})
    assert cut.status == 200
    opened = open_dictionary(fresh.folder / "dictionary")
    assert opened["lake"][0].signer == "Me"
    assert len(opened["name"]) == 2
    assert fresh.ask("DELETE", f"{address}/exemplar?id={added.json['id']}").status == 200
    assert "lake" not in open_dictionary(fresh.folder / "dictionary")
    assert fresh.ask("PATCH", f"{address}/exemplar?id=none", change).status in (404, 422)
    assert fresh.ask("PATCH", f"{address}/exemplar?id=river/video", {"word": " "}).status == 422
    (tmp_path / "x.ecv").write_bytes(fresh.ask("GET", f"{address}/vocabulary.ecv").body)
    assert set(read_vocabulary(tmp_path / "x.ecv").entries) == set(open_dictionary(fresh.folder / "dictionary"))


def test_nothing_is_replaced_by_a_cut(fresh: Server, material: Path) -> None:
    """Another end, a video of that name in another folder, an exemplar of that name: each has a file of its own."""
    (fresh.folder / "deep").mkdir()
    shutil.copy(material / "dictionary" / "river" / "video.mp4", fresh.folder / "deep" / "news.mp4")
    address = "/api/dictionaries/dictionary"
    content = (material / "news.mp4").read_bytes()
    first = fresh.ask("PUT", f"{address}/exemplar?word=lake&file=news@0.50.mp4", content).json["id"]
    ids = [first]
    for video, end in (("news.mp4", 1.0), ("news.mp4", 1.2), ("deep/news.mp4", 1.0)):
        cut = fresh.ask("POST", f"{address}/cut", {"video": video, "start": 0.5, "end": end, "word": "lake"})
        assert cut.status == 200
        ids.append(cut.json["id"])
    exemplars = {exemplar.id: exemplar.path for exemplar in open_dictionary(fresh.folder / "dictionary")["lake"]}
    assert sorted(exemplars) == sorted(ids)
    assert len({path.read_bytes() for path in exemplars.values() if path is not None}) == 4
    path_of_first = exemplars[first]
    assert path_of_first is not None
    assert path_of_first.read_bytes() == content


def test_a_new_exemplar_leaves_links_and_spellings_of_the_others(fresh: Server, material: Path) -> None:
    home = fresh.folder / "dictionary"
    opened = open_dictionary(home)
    links = {exemplar.id: f"https://example.org/{exemplar.word}" for exemplar in opened.exemplars}
    contents = replace(opened.contents, links=links, normalised={"river": "stream"})
    save_dictionary(Dictionary(contents), home)
    content = (material / "dictionary" / "river" / "river.pose").read_bytes()
    assert fresh.ask("PUT", "/api/dictionaries/dictionary/exemplar?word=lake&file=a.pose", content).status == 200
    cut = {"video": "news.mp4", "start": 0.5, "end": 1.0, "word": "lake"}
    assert fresh.ask("POST", "/api/dictionaries/dictionary/cut", cut).status == 200
    changed = open_dictionary(home)
    assert len(changed["lake"]) == 2
    assert {name: changed.contents.links.get(name) for name in links} == links
    assert changed.contents.normalised.get("river") == "stream"


def test_a_refused_exemplar_leaves_nothing(fresh: Server, material: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (material / "dictionary" / "river" / "river.pose").read_bytes()
    before = sorted(fresh.folder.rglob("*"))
    address = "/api/dictionaries/{}/exemplar?word={}&file={}&new=true"
    assert fresh.ask("PUT", address.format("fresh", "%20", "a.pose"), content).status == 422, "no word"
    assert fresh.ask("PUT", address.format("fresh", "a", "a.srt"), (material / "news.vtt").read_bytes()).status == 422
    with monkeypatch.context() as patch:
        patch.setattr(dictionary_changes, "save_dictionary", full_disk)
        assert fresh.ask("PUT", address.format("fresh", "a", "a.pose"), content).status == 507
        cut = {"video": "news.mp4", "start": 0.5, "end": 1.0, "word": "lake"}
        assert fresh.ask("POST", "/api/dictionaries/dictionary/cut", cut).status == 507
    assert [path for path in sorted(fresh.folder.rglob("*")) if ".signspot" not in path.parts] == [
        path for path in before if ".signspot" not in path.parts
    ]
    assert fresh.ask("PUT", address.format("fresh", "a", "a.pose"), content).status == 200, "its name is free"


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/x")


def test_two_servers_lose_no_change_of_a_dictionary(
    fresh: Server, material: Path, serve: Callable[..., Server]
) -> None:
    other = serve(folder=fresh.folder)
    content = (material / "dictionary" / "river" / "river.pose").read_bytes()
    address = "/api/dictionaries/dictionary/exemplar?word=w{}&file=a.pose"
    with ThreadPoolExecutor(4) as people:
        answers = people.map(lambda k: (fresh, other)[k % 2].ask("PUT", address.format(k), content), range(8))
        assert [(answer.status, answer.text) for answer in answers if answer.status != 200] == []
    assert {f"w{k}" for k in range(8)} <= set(open_dictionary(fresh.folder / "dictionary"))


def test_odd_values_are_refused(server: Server) -> None:
    for byte_range in ("bytes=5-2", "bytes=999999999-"):
        assert server.ask("GET", "/api/media/news.mp4", Range=byte_range).status == 416
    part = server.ask("GET", "/api/media/news.mp4", Range="bytes=2-5")
    assert (part.status, part.body) == (206, (server.folder / "news.mp4").read_bytes()[2:6])
    odd = {"name": "odd", "rows": [spotted()], "dictionary": "\ud800"}
    assert server.ask("POST", "/api/queues", odd).status == 422
    queue = server.queue(spotted())
    assert server.decide(queue, 10**30, id="decision-odd").status == 422
    answer = server.decide(queue, 0, id="decision-odd").json
    assert (answer["id"], answer["standing"]["answer"]) == ("decision-odd", "yes")


def test_what_is_verified_goes_into_labels_and_exemplars(fresh: Server) -> None:
    """A yes and a no are labels that trainings and tests read; a yes becomes an exemplar, once."""
    videos = {"gone.mp4": (1.0,), "news.mp4": (1.0, 2.0, 3.0)}
    rows = [
        spotted(video=video, time=at, start=at - 0.3, end=at + 0.3, licence="CC0")
        for video, times in videos.items()
        for at in times
    ]
    queue = fresh.queue(*rows, name="my / queue", dictionary="dictionary")
    assert fresh.ask("POST", f"/api/queues/{queue}/labels").status == 422, "nobody has decided"

    for item, answer in enumerate(("yes", "no", "unsure"), 1):
        fresh.decide(queue, item, answer, start=item - 0.4, end=item + 0.4)
    assert fresh.ask("POST", f"/api/queues/{queue}/labels").json == {
        "file": f"labels/verified-my _ queue-{queue}.jsonl",
        "labels": 2,
    }
    labels = open_corpus(fresh.folder).labels()
    assert [(label.video, label.word, label.confidence, label.source, label.licence) for label in labels] == [
        ("news", "river", 1.0, LabelSource.VERIFIED, "CC0"), ("news", "river", 0.0, LabelSource.VERIFIED, "CC0"),
    ]  # fmt: skip
    fresh.decide(queue, 0, start=0.6, end=1.4)
    answer = fresh.ask("POST", f"/api/queues/{queue}/exemplars").json
    added = answer["exemplars"]
    assert len(added) == 1
    assert ["gone.mp4, 0.60-1.40 s" in sign for sign in answer["left_out"]] == [True], "the others are added"
    added = next(label for label in open_dictionary(fresh.folder / "dictionary")["river"] if label.id == added[0])
    assert (added.licence, "news.mp4, 0.60-1.40 s" in added.source) == ("CC0", True)
    assert fresh.ask("POST", f"/api/queues/{queue}/exemplars").json["exemplars"] == [], "each once"
    answer = fresh.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]
    assert "news@0.60" not in {exemplar["id"] for exemplar in answer["exemplars"]}, "it is not counted twice"


def test_confirmed_signs_are_further_exemplars_of_the_next_search(fresh: Server) -> None:
    """Apart from the dictionary, whose files stay as they are; a search may do without them, and so may a run."""
    address = "/api/spot/news.mp4?dictionary=dictionary&word=river"

    def river(query: str = "") -> tuple[list[str], float]:
        word = fresh.ask("GET", address + query).json["words"][0]
        best = max(word["hits"], key=lambda hit: hit["score"])
        return [exemplar["id"] for exemplar in word["exemplars"]], best["score"]

    of_dictionary, before = river()
    hit = max(fresh.ask("GET", address).json["words"][0]["hits"], key=lambda hit: hit["score"])
    row = {"word": "river", "video": "news.mp4", **{name: hit[name] for name in ("time", "start", "end", "score")}}
    starts = [row["start"], max(0.0, row["start"] - 0.2), row["start"], row["start"] + 1.5]
    videos = ["news.mp4", "news.mp4", "gone.mp4", "news.mp4"]
    rows = [{**row, "start": start, "video": video} for start, video in zip(starts, videos, strict=True)]
    rows[3] |= {"time": row["time"] + 1.5, "end": row["end"] + 1.5}
    queue = fresh.queue(*rows, dictionary="dictionary")

    def decide(item: int, answer: str, later: float = 0.0) -> None:
        span = {"start": row["start"] + later, "end": row["end"] + later}
        assert fresh.decide(queue, item, answer, **span).status == 200

    assert river() == (of_dictionary, before), "nobody has decided"
    for item, answer in enumerate(("yes", "no", "yes")):
        decide(item, answer)
    confirmed = f"news@{row['start']:.2f}"
    assert river() == ([*of_dictionary, confirmed], before), "at once, but a sign is not compared with itself"
    decide(3, "yes", 1.5)
    with_it, score = river()
    assert with_it == [*of_dictionary, confirmed, f"news@{row['start'] + 1.5:.2f}"]
    assert score != before, "a word's score is of all its exemplars"
    assert river("&confirmed=false") == (of_dictionary, before)
    name = confirmed.replace("@", "%40")
    shares = f"exemplar={name}&start={row['start']}&end={row['end']}"
    assert fresh.ask("GET", f"/api/alignment/news.mp4?dictionary=dictionary&{shares}").json["shares"][-1] > 0.9
    assert fresh.ask("GET", f"/api/skeleton/exemplar/dictionary?id={name}").json["times"]
    assert fresh.ask("GET", f"/api/dictionaries/dictionary/span?id={name}").json["playable"]
    assert [exemplar.id for exemplar in open_dictionary(fresh.folder / "dictionary")["river"]] == of_dictionary
    scores: dict[str, list[float]] = {}
    for job, further in (("with", True), ("without", False)):
        request = {"kind": "annotate", "dictionary": "dictionary", "name": job, "words": ["river"]}
        fresh.ask("POST", "/api/jobs", {**request, "confirmed": further})
        wait_until(lambda: fresh.ask("GET", "/api/jobs").json[0]["state"] == "done", f"the run {job}")
        fresh.ask("POST", "/api/jobs/clear")
        with open_store(fresh.folder / "runs" / job) as store:
            scores[job] = [candidate.score for candidate in spottings(store, 0.0)]
    assert len(scores["with"]) == len(scores["without"]) == 1
    assert scores["with"] != scores["without"]


def test_two_queues_of_one_name_export_labels_of_their_own(fresh: Server) -> None:
    exported = {}
    for answer in ("yes", "no"):
        queue = fresh.queue(spotted())
        assert fresh.decide(queue, 0, answer, id=f"decision-{answer}").status == 200
        exported[answer] = fresh.ask("POST", f"/api/queues/{queue}/labels").json["file"]
    assert exported["yes"] != exported["no"]
    confidences = {
        answer: json.loads((fresh.folder / name).read_text())["confidence"] for answer, name in exported.items()
    }
    assert confidences == {"yes": 1.0, "no": 0.0}


def test_a_plain_folder_gets_the_new_word_and_no_other(fresh: Server, material: Path) -> None:
    words = set(open_dictionary(fresh.folder / "dictionary"))
    pose = (fresh.folder / "dictionary" / "apple" / "apple.pose").read_bytes()
    added = fresh.ask("PUT", "/api/dictionaries/dictionary/exemplar?word=lake&file=x.pose", pose)
    assert added.status == 200, added.json
    assert set(open_dictionary(fresh.folder / "dictionary")) == {*words, "lake"}
    shutil.rmtree(fresh.folder / "dictionary")
    shutil.copytree(material / "dictionary", fresh.folder / "dictionary")
    cut = {"video": "news.mp4", "start": 0.5, "end": 1.0, "word": "pear"}
    assert fresh.ask("POST", "/api/dictionaries/dictionary/cut", cut).status == 200
    assert set(open_dictionary(fresh.folder / "dictionary")) == {*words, "pear"}


def test_the_script_in_the_docs_runs(server: Server) -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "use-the-workbench.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    names["ask"].__defaults__ = (None, server.address)
    queue = names["queue_of"]("news.mp4", "river")
    assert server.ask("GET", "/api/queues").json[0]["id"] == queue


def test_the_api_describes_itself(server: Server) -> None:
    described = server.ask("GET", "/openapi.json").json
    routes = [about for methods in described["paths"].values() for about in methods.values()]
    assert len(routes) > 30
    assert all(about.get("description") for about in routes)
    assert "/api/spot/{video}" in described["paths"]


def test_a_dictionary_that_lies_elsewhere_is_not_changed_by_itself_or_through_a_link(
    material: Path, tmp_path: Path
) -> None:
    for name_of_folder in ("served", "elsewhere"):
        shutil.copytree(material, tmp_path / name_of_folder)
    (tmp_path / "target").mkdir()
    (tmp_path / "served" / "dictionary" / "media").symlink_to(tmp_path / "target")
    before = {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()}
    other = tmp_path / "elsewhere" / "dictionary"
    bench = Workbench.open(WorkbenchOptions(tmp_path / "served", (other,), encoder="warping", pixels=False))
    try:
        exemplar = bench.searcher.dictionary("+dictionary").exemplars[0].id
        with pytest.raises(DictionaryError, match="outside of the served folder"):
            dictionary_changes.change(bench, "+dictionary", exemplar, {"word": "pear"})
        with pytest.raises(DictionaryError, match="outside of the served folder"):
            dictionary_changes.remove(bench, "+dictionary", exemplar)
        for name, part in (("+dictionary", "outside of the served folder"), ("dictionary", "leads out")):
            with pytest.raises(SignspotError, match=part):
                dictionary_changes.cut(bench, "news.mp4", Segment(0.5, 1.0), name, "pear", {})
    finally:
        bench.close()
    assert {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()} == before
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_server_without_file_descriptors_asks_to_try_again(number: int, tmp_path: Path) -> None:
    app = create_app(WorkbenchOptions(tmp_path))
    request = Request({"type": "http", "method": "POST", "path": "/api/videos", "headers": [], "app": app})
    handler: Any = app.exception_handlers[OSError]
    try:
        with ThreadPoolExecutor(1) as aside:  # in this thread, Playwright's loop may run
            answer = aside.submit(asyncio.run, handler(request, OSError(number, "no descriptor"))).result()
    finally:
        app.state.bench.close()
    assert (answer.status_code, "error" in json.loads(answer.body)) == (503, True)
