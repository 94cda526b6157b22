"""Requests that scripts and pages send: searches, dictionaries, comparisons, exports; over HTTP."""

import errno
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from signspot.corpus.corpus import open_corpus
from signspot.dictionary.opening import open_dictionary
from signspot.errors import DictionaryError, SignspotError
from signspot.formats.elan import read_vocabulary
from signspot.formats.formats import format_names, read_spottings
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import load
from signspot.subtitles.reading import read_subtitles
from signspot.types import LabelSource, Segment
from signspot.web import editing
from signspot.web.workbench import Workbench, WorkbenchOptions

from .conftest import Server


def test_the_page_gets_what_the_command_line_prints(server: Server) -> None:
    """One pipeline: peaks above any threshold are what a search with that threshold finds, rates included."""
    told = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json
    spotter = load()
    exemplars = open_dictionary(server.folder / "dictionary")["river"]
    for threshold in (0.5, 0.7, 0.8):
        found = spotter.search(server.folder / "news.pose", exemplars, SpotOptions(threshold=threshold)).spottings
        shown = [hit for hit in told["words"][0]["hits"] if hit["score"] >= threshold]
        assert [(hit["time"], hit["score"], hit["exemplar"], hit["false_alarms_per_hour"]) for hit in shown] == [
            (spotting.time, spotting.score, spotting.exemplar, spotting.false_alarms_per_hour) for spotting in found
        ]
    usual = spotter.search(server.folder / "news.pose", exemplars).spottings
    at_first = [hit for hit in told["words"][0]["hits"] if hit["score"] >= told["words"][0]["threshold"]]
    assert [hit["time"] for hit in at_first] == [spotting.time for spotting in usual]
    assert {hit["video"] for hit in told["words"][0]["hits"]} == {"news.mp4"}, "no path of this machine"


def test_a_hit_is_aligned_with_its_exemplar(server: Server) -> None:
    told = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]
    hit = max(told["hits"], key=lambda each: each["score"])
    query = f"exemplar={hit['exemplar']}&start={hit['start']}&end={hit['end']}&mirrored={hit['mirrored']}"
    shares = server.ask("GET", f"/api/alignment/news.mp4?dictionary=dictionary&{query}").json["shares"]
    assert len(shares) == round(25 * hit["end"]) - round(25 * hit["start"]) + 1
    assert shares == sorted(shares)
    assert shares[0] < 0.3 < 0.7 < shares[-1]


def test_captions_are_webvtt_without_markup(own: Server, tmp_path: Path) -> None:
    (own.folder / "news.vtt").write_text(
        "WEBVTT\n\n00:01.500 --> 01:02:03.250\n<b>A</b> river &lt;script&gt; --&gt; x\nand\n"
    )
    answer = own.ask("GET", "/api/captions/news.mp4")
    assert answer.headers["content-type"].startswith("text/vtt")
    assert "00:00:01.500 --> 01:02:03.250" in answer.text
    assert "<" not in answer.text
    assert answer.text.count("-->") == 1
    (tmp_path / "again.vtt").write_bytes(answer.body)
    shown = own.ask("GET", "/api/subtitles/news.mp4").json
    assert [line.text for line in read_subtitles(tmp_path / "again.vtt")] == [line["text"] for line in shown]


def test_mistakes_are_one_line(server: Server) -> None:
    for path, status, part in (
        ("/api/spot/news.mp4?dictionary=dictionary&word=rivr", 404, "Did you mean 'river'?"),
        ("/api/spot/none.mp4?dictionary=dictionary&word=river", 404, "there is no video"),
        ("/api/spot/news.mp4?dictionary=none&word=river", 404, "there is no dictionary"),
        ("/api/spot/news.mp4?dictionary=dictionary", 422, "word"),
        ("/api/queues/none/measures", 200, "precision"),
        ("/api/queues/none/export?format=.csv", 404, "no queue"),
        ("/api/alignment/news.mp4?dictionary=dictionary&exemplar=river/film&start=1e308&end=2", 422, "start"),
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


def test_exports_saved_in_the_folder_are_not_replaced_once_edited(own: Server) -> None:
    hits = own.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]["hits"][:2]
    body = {"name": "x", "format": ".eaf", "rows": hits}
    assert own.ask("POST", "/api/save", body).json == {"files": ["exports/x.eaf"]}
    saved = own.folder / "exports" / "x.eaf"
    assert {spotting.video for spotting in read_spottings(saved)} == {str(own.folder / "news.mp4")}
    assert own.ask("POST", "/api/save", body).status == 200, "as signspot wrote it"
    saved.write_text(saved.read_text().replace("river", "stream"))
    assert own.ask("POST", "/api/save", body).status == 422
    assert "stream" in saved.read_text()


def test_a_dictionary_is_edited(own: Server, material: Path, tmp_path: Path) -> None:
    address = "/api/dictionaries/dictionary"
    change = {"word": "stream", "variant": "north", "signer": "Signer 7", "licence": "CC0", "segment": [0.2, 0.9]}
    assert own.ask("PATCH", f"{address}/exemplar?id=river/film", change).json["variant"] == "north"
    opened = open_dictionary(own.folder / "dictionary")
    made = opened["stream"][0]
    assert (made.signer, made.licence, made.variant) == ("Signer 7", "CC0", "north")
    assert made.segment is not None
    assert (made.segment.start, made.segment.end) == (0.2, 0.9)
    film = (material / "dictionary" / "river" / "film.mp4").read_bytes()
    added = own.ask("PUT", f"{address}/exemplar?word=lake&file=..%2fmy.mp4&signer=Me", film)
    assert added.status == 200
    cut = own.ask("POST", f"{address}/cut", {"video": "news.mp4", "start": 0.5, "end": 1.0, "word": "name"})
    assert cut.status == 200
    opened = open_dictionary(own.folder / "dictionary")
    assert opened["lake"][0].signer == "Me"
    assert len(opened["name"]) == 2
    assert own.ask("DELETE", f"{address}/exemplar?id={added.json['id']}").status == 200
    assert "lake" not in open_dictionary(own.folder / "dictionary")
    assert own.ask("PATCH", f"{address}/exemplar?id=none", change).status in (404, 422)
    assert own.ask("PATCH", f"{address}/exemplar?id=river/film", {"word": " "}).status == 422
    (tmp_path / "x.ecv").write_bytes(own.ask("GET", f"{address}/vocabulary.ecv").body)
    assert set(read_vocabulary(tmp_path / "x.ecv").entries) == set(open_dictionary(own.folder / "dictionary"))


def test_nothing_is_replaced_by_a_cut(own: Server, material: Path) -> None:
    """Another end, a video of that name in another folder, an exemplar of that name: each has a file of its own."""
    (own.folder / "deep").mkdir()
    shutil.copy(material / "dictionary" / "river" / "film.mp4", own.folder / "deep" / "news.mp4")
    address = "/api/dictionaries/dictionary"
    film = (material / "news.mp4").read_bytes()
    taken = own.ask("PUT", f"{address}/exemplar?word=lake&file=news-0.50-1.00.mp4", film).json["id"]
    ids = [taken]
    for video, end in (("news.mp4", 1.0), ("news.mp4", 1.2), ("deep/news.mp4", 1.0)):
        cut = own.ask("POST", f"{address}/cut", {"video": video, "start": 0.5, "end": end, "word": "lake"})
        assert cut.status == 200
        ids.append(cut.json["id"])
    exemplars = {each.id: each.path for each in open_dictionary(own.folder / "dictionary")["lake"]}
    assert sorted(exemplars) == sorted(ids)
    assert len({path.read_bytes() for path in exemplars.values() if path is not None}) == 4
    kept = exemplars[taken]
    assert kept is not None
    assert kept.read_bytes() == film


def test_a_refused_exemplar_leaves_nothing_behind(own: Server, material: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (material / "dictionary" / "river" / "river.pose").read_bytes()
    before = sorted(own.folder.rglob("*"))
    put = "/api/dictionaries/{}/exemplar?word={}&file={}&new=true"
    assert own.ask("PUT", put.format("fresh", "%20", "a.pose"), content).status == 422, "no word"
    assert own.ask("PUT", put.format("fresh", "a", "a.srt"), (material / "news.vtt").read_bytes()).status == 422
    with monkeypatch.context() as patch:
        patch.setattr(editing, "save_dictionary", full_disk)
        assert own.ask("PUT", put.format("fresh", "a", "a.pose"), content).status == 507
    assert [path for path in sorted(own.folder.rglob("*")) if ".signspot" not in path.parts] == [
        path for path in before if ".signspot" not in path.parts
    ]
    assert own.ask("PUT", put.format("fresh", "a", "a.pose"), content).status == 200, "its name is free"


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/x")


def test_two_servers_lose_no_change_of_a_dictionary(own: Server, material: Path) -> None:
    other = Server(folder=own.folder).start()
    content = (material / "dictionary" / "river" / "river.pose").read_bytes()
    put = "/api/dictionaries/dictionary/exemplar?word=w{}&file=a.pose"
    try:
        with ThreadPoolExecutor(4) as people:
            answers = people.map(lambda k: (own, other)[k % 2].ask("PUT", put.format(k), content), range(8))
            assert [(answer.status, answer.text) for answer in answers if answer.status != 200] == []
    finally:
        other.stop()
    assert {f"w{k}" for k in range(8)} <= set(open_dictionary(own.folder / "dictionary"))


def test_odd_values_are_refused(server: Server) -> None:
    for wanted in ("bytes=5-2", "bytes=999999999-"):
        assert server.ask("GET", "/api/media/news.mp4", Range=wanted).status == 416
    part = server.ask("GET", "/api/media/news.mp4", Range="bytes=2-5")
    assert (part.status, part.body) == (206, (server.folder / "news.mp4").read_bytes()[2:6])
    row = {"word": "river", "video": "news.mp4", "time": 1.0, "start": 0.5, "end": 1.5, "score": 0.9}
    queue = {"name": "odd", "rows": [row]}
    assert server.ask("POST", "/api/queues", {**queue, "dictionary": "\ud800"}).status == 422
    made = server.ask("POST", "/api/queues", queue).json["id"]
    decision = {"id": "decision-odd", "annotator": "Ada", "answer": "yes", "start": 0.5, "end": 1.5}
    assert server.ask("POST", f"/api/queues/{made}/decisions", {**decision, "item": 10**30}).status == 422
    answer = server.ask("POST", f"/api/queues/{made}/decisions", {**decision, "item": 0}).json
    assert (answer["id"], answer["standing"]["answer"]) == ("decision-odd", "yes")


def test_what_is_verified_goes_into_labels_and_exemplars(own: Server) -> None:
    """A yes and a no are labels that trainings and tests read; a yes becomes an exemplar, once."""
    rows = [
        {"word": "river", "video": "news.mp4", "time": at, "start": at - 0.3, "end": at + 0.3, "score": 0.9}
        for at in (1.0, 2.0, 3.0)
    ]
    rows = [{**row, "licence": "CC0"} for row in rows]
    queue = own.ask("POST", "/api/queues", {"name": "my / queue", "dictionary": "dictionary", "rows": rows}).json["id"]
    assert own.ask("POST", f"/api/queues/{queue}/labels").status == 422, "nobody has decided"
    for item, answer in enumerate(("yes", "no", "unsure")):
        told = {"id": f"decision-{item}", "item": item, "annotator": "Ada", "answer": answer}
        own.ask("POST", f"/api/queues/{queue}/decisions", {**told, "start": item + 0.6, "end": item + 1.4})
    assert own.ask("POST", f"/api/queues/{queue}/labels").json == {
        "file": f"labels/verified-my _ queue-{queue}.jsonl",
        "labels": 2,
    }
    labels = open_corpus(own.folder).labels()
    assert [(each.video, each.word, each.confidence, each.source, each.licence) for each in labels] == [
        ("news", "river", 1.0, LabelSource.VERIFIED, "CC0"), ("news", "river", 0.0, LabelSource.VERIFIED, "CC0"),
    ]  # fmt: skip
    made = own.ask("POST", f"/api/queues/{queue}/exemplars").json["exemplars"]
    assert len(made) == 1
    added = next(each for each in open_dictionary(own.folder / "dictionary")["river"] if each.id == made[0])
    assert (added.licence, "news.mp4, 0.60-1.40 s" in added.source) == ("CC0", True)
    assert own.ask("POST", f"/api/queues/{queue}/exemplars").json["exemplars"] == [], "each once"


def test_two_queues_of_one_name_export_labels_of_their_own(own: Server) -> None:
    exported = {}
    for answer in ("yes", "no"):
        row = {"word": "river", "video": "news.mp4", "time": 1.0, "start": 0.5, "end": 1.5, "score": 0.9}
        queue = own.ask("POST", "/api/queues", {"name": "same", "rows": [row]}).json["id"]
        decision = {"id": f"decision-{answer}", "item": 0, "annotator": "Ada", "answer": answer, "start": 0, "end": 1}
        assert own.ask("POST", f"/api/queues/{queue}/decisions", decision).status == 200
        exported[answer] = own.ask("POST", f"/api/queues/{queue}/labels").json["file"]
    assert exported["yes"] != exported["no"]
    confidences = {
        answer: json.loads((own.folder / name).read_text())["confidence"] for answer, name in exported.items()
    }
    assert confidences == {"yes": 1.0, "no": 0.0}


def test_the_list_of_queues_tells_how_much_is_decided(server: Server) -> None:
    rows = [{"word": "river", "video": "news.mp4", "time": 1.0, "start": 0.5, "end": 1.5, "score": 0.9}] * 7
    assert server.ask("POST", "/api/queues", {"name": "seven", "rows": rows}).status == 200
    text = server.ask("GET", "/verify", Accept_Language="en").text
    assert "0 of 7 decided" in text
    assert "built-in" not in text


def test_comparisons(server: Server, material: Path) -> None:
    groups = server.ask("GET", "/api/variants/dictionary?word=river").json
    assert sorted(name for group in groups for name in group["exemplars"]) == ["river/film", "river/river"]
    assert server.ask("GET", "/api/faux-amis?dictionary=dictionary&other=dictionary").status == 200
    pose = (material / "dictionary" / "river" / "river.pose").read_bytes()
    found = server.ask("PUT", "/api/feedback?dictionary=dictionary&word=river&name=me.pose", pose).json
    assert (found["word"], found["rank"]) == ("river", 1)


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
    for place in ("served", "elsewhere"):
        shutil.copytree(material, tmp_path / place)
    (tmp_path / "target").mkdir()
    (tmp_path / "served" / "dictionary" / "media").symlink_to(tmp_path / "target")
    before = {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()}
    other = tmp_path / "elsewhere" / "dictionary"
    bench = Workbench.open(WorkbenchOptions(tmp_path / "served", (other,), encoder="warping", pixels=False))
    try:
        own = bench.searcher.dictionary("+dictionary").exemplars[0].id
        with pytest.raises(DictionaryError, match="outside of the served folder"):
            editing.change(bench, "+dictionary", own, {"word": "pear"})
        with pytest.raises(DictionaryError, match="outside of the served folder"):
            editing.remove(bench, "+dictionary", own)
        for name, told in (("+dictionary", "outside of the served folder"), ("dictionary", "leads out")):
            with pytest.raises(SignspotError, match=told):
                editing.cut(bench, "news.mp4", Segment(0.5, 1.0), name, "pear")
    finally:
        bench.close()
    assert {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()} == before
    assert list((tmp_path / "target").iterdir()) == []
