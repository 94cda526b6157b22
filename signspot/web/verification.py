"""Queues of spottings that people verify, their decisions, and measures of these."""

import hashlib
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from math import sqrt
from typing import Any, Literal, TypeVar, get_args

from sqlalchemy import (
    Connection,
    RowMapping,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from signspot.annotation.store import Database
from signspot.dictionary.dictionary import numbered, unique_ids
from signspot.errors import FormatError, OptionsError
from signspot.formats.spotting_rows import from_row
from signspot.io.checks import check_int, check_span, check_text, check_time, parse_json, quoted
from signspot.types import Decision as PlainDecision
from signspot.types import Exemplar, LabelSource, Spotting
from signspot.web import database_tables as tables
from signspot.web.folder import ServedFolder

T = TypeVar("T")
Answer = Literal["yes", "no", "unsure", "variant", "word"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
LEASE = 900.0  # seconds after which an item without a decision is handed to the next person
_MOST_SECONDS = 3600.0  # longest duration of a decision that is recorded
_LONGEST_NAME = 80  # letters of an annotator's name
OTHER_VARIANT = "other"  # name of another variant of a word where the person gave none
_COLUMNS = tuple(name for name in tables.items.c.keys() if name in {field.name for field in fields(Spotting)})  # noqa: SIM118
_OTHERS = tuple(field.name for field in fields(Spotting) if field.name not in (*_COLUMNS, "decision"))


@dataclass(frozen=True, slots=True)
class Item:
    """A spotting in a queue."""

    queue: str
    item: int  # its index
    spotting: Spotting


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about an item."""

    id: str  # chosen by the sender, so that sending a decision twice counts once
    queue: str
    item: int
    annotator: str
    answer: Answer
    word: str  # with the answer `word`: which word it is; with `variant`: the variant's name
    start: float  # of the sign, as the person left it
    end: float
    seconds: float  # that the person needed
    at: float = 0.0  # seconds since 1970
    withdrawn: float | None = None  # when it was undone

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise OptionsError(f"an answer is {', '.join(ANSWERS)}; got '{self.answer}'")
        if not self.id or len(self.id) > 64:
            raise OptionsError("a decision needs an id of 1 to 64 characters, chosen by the sender")
        if self.answer == "word" and not self.word.strip():
            raise OptionsError("the answer 'word' needs the right word: name it")
        checked_annotator(self.annotator)
        check_text(self.word, "the word")
        check_span(check_time(self.start, "start"), check_time(self.end, "end"), "the decision")

    @property
    def plain(self) -> PlainDecision:
        """The answer to "is this sign the word?", as all formats have it: another variant of the word is a yes."""
        return "yes" if self.answer in ("yes", "variant") else "unsure" if self.answer == "unsure" else "no"


def checked_annotator(name: str) -> str:
    """The name of a person who decides; one line of at most 80 letters.

    Raises:
        OptionsError: it is empty, too long, or holds control characters.
    """
    plain = check_text(name, "the name").strip()
    if not plain or len(plain) > _LONGEST_NAME or not plain.isprintable():
        raise OptionsError(f"a name has 1 to {_LONGEST_NAME} printable characters; got '{plain:.80}'")
    return plain


class Queues:
    """All queues of a workbench, in its database."""

    def __init__(self, database: Database):
        self._database = database
        self._turn = threading.Lock()

    def _write(self, work: Callable[[Connection], T]) -> T:
        """One transaction that writes; in SQLite one at a time, since waiting ones would poll the lock."""
        if self._database.url.get_backend_name() != "sqlite":
            return self._database.run(work)
        with self._turn:
            return self._database.run(work)

    def add(self, name: str, spottings: Iterable[Spotting], *, dictionary: str = "", share: float = 0.1) -> str:
        """Create a queue.

        Args:
            name: as people see it.
            spottings: in the order in which they are shown.
            dictionary: whose exemplars are shown beside them.
            share: of items that two people verify, to measure agreement; spread evenly.

        Returns:
            Its id.
        """
        if not 0 <= share <= 1:
            raise OptionsError(f"the share that two people verify is in [0, 1]; got {share}")
        check_text(name, "the name of the queue")
        check_text(dictionary, "the dictionary")
        queue = uuid.uuid4().hex[:12]
        rows = [_row(queue, index, spotting, share) for index, spotting in enumerate(spottings)]
        if not rows:
            raise OptionsError("a queue needs at least one spotting; got none")
        values = {"id": queue, "name": check_text(name, "the name").strip() or "?", "dictionary": dictionary}

        def work(connection: Connection) -> None:
            if not connection.execute(select(tables.queues.c.id).where(tables.queues.c.id == queue)).first():
                row = {**values, "share": share, "created": time.time()}
                connection.execute(insert(tables.queues).values(row))
                for start in range(0, len(rows), 1000):
                    connection.execute(insert(tables.items), rows[start : start + 1000])

        self._write(work)
        return queue

    def all(self) -> list[dict[str, Any]]:
        """Every queue with the number of its items and of those decided."""

        def work(connection: Connection) -> list[dict[str, Any]]:
            sizes = _counted(connection, select(tables.items.c.queue, func.count()).group_by(tables.items.c.queue))
            standing = select(tables.decisions.c.queue, func.count(tables.decisions.c.item.distinct())).where(
                tables.decisions.c.withdrawn.is_(None)
            )
            decided = _counted(connection, standing.group_by(tables.decisions.c.queue))
            rows = connection.execute(select(tables.queues).order_by(tables.queues.c.created.desc())).mappings()
            return [{**row, "items": sizes.get(row["id"], 0), "decided": decided.get(row["id"], 0)} for row in rows]

        return self._database.run(work)

    def progress(self, queue: str) -> dict[str, Any]:
        """How many items a queue has, how many are decided, and by whom."""

        def work(connection: Connection) -> dict[str, Any]:
            items, table = tables.items, tables.decisions
            standing = and_(table.c.queue == queue, table.c.withdrawn.is_(None))
            count = select(func.count()).select_from(items).where(items.c.queue == queue)
            decided = select(func.count(table.c.item.distinct())).where(standing)
            people = select(table.c.annotator, func.count()).where(standing).group_by(table.c.annotator)
            return {
                "items": connection.execute(count).scalar_one(),
                "decided": connection.execute(decided).scalar_one(),
                "people": _counted(connection, people.order_by(table.c.annotator)),
            }

        return self._database.run(work)

    def get(self, queue: str) -> dict[str, Any]:
        """One queue.

        Raises:
            FormatError: there is none of this id.
        """
        row = self._database.run(
            lambda connection: (
                connection.execute(select(tables.queues).where(tables.queues.c.id == queue)).mappings().first()
            )
        )
        if row is None:
            raise FormatError(f"there is no queue '{queue}'")
        return dict(row)

    def hand_out(self, queue: str, annotator: str, count: int = 3) -> list[Item]:
        """The next items of a person: those assigned to them already, then new ones that nobody else is assigned."""
        who = checked_annotator(annotator)
        return self._write(lambda connection: _hand_out(connection, queue, who, count))

    def decide(self, decision: Decision, *, if_new: bool = False) -> Decision | None:
        """Add a decision to the log; a later one about the same item withdraws the former, and none is ever removed.

        A decision that was sent before, with the same id, is not added again: it may have been undone meanwhile.

        Args:
            decision: the decision.
            if_new: add nothing where the person's standing decision says the same.

        Returns:
            The person's decision about the item that stands now; None: it was undone.

        Raises:
            FormatError: there is no such item.
            OptionsError: the id was used for another decision.
        """

        def work(connection: Connection) -> Decision | None:
            at = time.time()
            added = replace(decision, at=at, seconds=min(max(0.0, decision.seconds), _MOST_SECONDS))
            assignment, table = _of(tables.assignments, added), tables.decisions
            connection.execute(
                update(tables.assignments).where(assignment).values(decided=True)
            )  # takes the lock first
            standing = and_(_of(table, added), table.c.withdrawn.is_(None))
            row = connection.execute(select(table).where(standing)).mappings().first()
            before = None if row is None else _decision(row)
            sent = connection.execute(select(table).where(table.c.id == added.id)).mappings().first()
            if sent is not None:
                if _content(_decision(sent)) != _content(added):
                    raise OptionsError(
                        f"the id '{added.id}' was used for another decision: give each decision its own id"
                    )
                if before is None:
                    connection.execute(update(tables.assignments).where(assignment).values(decided=False))
                return before
            if if_new and before is not None and _content(before) == _content(added):
                return before
            key = and_(tables.items.c.queue == added.queue, tables.items.c.item == added.item)
            if not connection.execute(select(tables.items.c.item).where(key)).first():
                raise FormatError(f"there is no item {added.item} in the queue '{added.queue}'")
            connection.execute(update(table).where(standing).values(withdrawn=at))
            connection.execute(insert(table).values(asdict(added)))
            return added

        return self._write(work)

    def undo(self, queue: str, annotator: str) -> Item | None:
        """Withdraw a person's last standing decision and return its item to them; None: there is none.

        The withdrawn decision stays in the database.
        """
        who = checked_annotator(annotator)

        def work(connection: Connection) -> Item | None:
            table = tables.decisions
            mine = and_(table.c.queue == queue, table.c.annotator == who, table.c.withdrawn.is_(None))
            last = connection.execute(select(table).where(mine).order_by(table.c.at.desc()).limit(1)).mappings().first()
            if last is None:
                return None
            connection.execute(update(table).where(table.c.id == last["id"]).values(withdrawn=time.time()))
            assignment = _of(tables.assignments, _decision(last))
            again = update(tables.assignments).where(assignment).values(decided=False, at=time.time())
            connection.execute(again)
            key = and_(tables.items.c.queue == queue, tables.items.c.item == last["item"])
            return _item(connection.execute(select(tables.items).where(key)).mappings().one())

        return self._write(work)

    def items(self, queue: str) -> Iterator[Item]:
        """Every item of a queue, in order."""
        query = select(tables.items).where(tables.items.c.queue == queue).order_by(tables.items.c.item)
        return (_item(row) for row in self._database.rows(query, 1000))

    def decisions(self, queue: str, *, withdrawn: bool = False) -> list[Decision]:
        """Every standing decision of a queue by time; with those that were undone if they are wanted."""
        query = select(tables.decisions).where(tables.decisions.c.queue == queue).order_by(tables.decisions.c.at)
        if not withdrawn:
            query = query.where(tables.decisions.c.withdrawn.is_(None))
        return [_decision(row) for row in self._database.rows(query, 1000)]

    def confirmed(self, dictionary: str) -> list[Spotting]:
        """The signs that people agree are their words, in all queues of a dictionary; each once."""
        items, table = tables.items, tables.decisions
        here = select(tables.queues.c.id).where(tables.queues.c.dictionary == dictionary)
        standing = and_(table.c.queue.in_(here), table.c.withdrawn.is_(None))
        decisions: dict[str, list[Decision]] = {}
        for row in self._database.rows(select(table).where(standing).order_by(table.c.at), 1000):
            decisions.setdefault(row["queue"], []).append(_decision(row))
        decided = exists().where(and_(standing, table.c.queue == items.c.queue, table.c.item == items.c.item))
        items_of: dict[str, list[Item]] = {}
        for row in self._database.rows(select(items).where(decided).order_by(items.c.item), 1000):
            items_of.setdefault(row["queue"], []).append(_item(row))
        signs = (sign for queue in items_of for _, _, sign in verified(items_of[queue], decisions[queue]))
        return list({(sign.word, place_of(sign)): sign for sign in signs if sign.decision == "yes"}.values())

    def verified_videos(self) -> dict[str, tuple[int, int]]:
        """Of each video: how many of its spottings are in queues, and how many of them are decided."""

        def work(connection: Connection) -> dict[str, tuple[int, int]]:
            items, table = tables.items, tables.decisions
            decided = exists().where(
                and_(table.c.queue == items.c.queue, table.c.item == items.c.item, table.c.withdrawn.is_(None))
            )
            query = select(items.c.video, func.count()).group_by(items.c.video)
            all_items, with_decision = _counted(connection, query), _counted(connection, query.where(decided))
            return {video: (count, with_decision.get(video, 0)) for video, count in all_items.items()}

        return self._database.run(work)


def _hand_out(connection: Connection, queue: str, who: str, count: int) -> list[Item]:
    """Runs in one transaction whose first statement writes, so that two people never read the same free item."""
    table, items, now = tables.assignments, tables.items, time.time()
    late = and_(table.c.queue == queue, table.c.decided.is_(False), table.c.at < now - LEASE, table.c.annotator != who)
    mine = and_(table.c.queue == queue, table.c.annotator == who, table.c.decided.is_(False))
    connection.execute(update(table).where(mine).values(at=table.c.at))
    for row in connection.execute(select(table.c.item, table.c.annotator).where(late)).all():
        stale = and_(late, table.c.item == row.item, table.c.annotator == row.annotator)
        if connection.execute(delete(table).where(stale)).rowcount:
            here = and_(items.c.queue == queue, items.c.item == row.item)
            connection.execute(update(items).where(here).values(remaining=items.c.remaining + 1))
    numbers = connection.execute(select(table.c.item).where(mine).order_by(table.c.item).limit(count)).scalars().all()
    held_items = select(items).where(items.c.queue == queue, items.c.item.in_(numbers)).order_by(items.c.item)
    held = [_item(row) for row in connection.execute(held_items).mappings()] if numbers else []
    same = and_(table.c.queue == items.c.queue, table.c.item == items.c.item, table.c.annotator == who)
    free = (
        select(items)
        .where(items.c.queue == queue, items.c.remaining > literal_column("0"), ~exists().where(same))  # index `OPEN`
        .order_by(items.c.item)
        .limit(max(0, count - len(held)))
        .with_for_update(skip_locked=True)
    )
    fresh = [_item(row) for row in connection.execute(free).mappings()] if count > len(held) else []
    for item in fresh:
        here = and_(items.c.queue == queue, items.c.item == item.item)
        connection.execute(update(items).where(here).values(remaining=items.c.remaining - 1))
        handed = {"queue": queue, "item": item.item, "annotator": who, "at": now, "decided": False}
        connection.execute(insert(table).values(handed))
    return [*held, *fresh]


def _counted(connection: Connection, query: Select[Any]) -> dict[str, int]:
    return {str(name): int(count) for name, count in connection.execute(query)}


def _of(table: Any, decision: Decision) -> Any:
    return and_(table.c.queue == decision.queue, table.c.item == decision.item, table.c.annotator == decision.annotator)


def _content(decision: Decision) -> tuple[object, ...]:
    """The content of a decision, without its time and duration."""
    span = round(decision.start, 3), round(decision.end, 3)
    return decision.queue, decision.item, decision.annotator, decision.answer, decision.word, *span


def _row(queue: str, index: int, spotting: Spotting, share: float) -> dict[str, Any]:
    drawn = int(hashlib.sha256(f"{index}".encode()).hexdigest()[:8], 16) / 16**8
    values = {name: getattr(spotting, name) for name in _COLUMNS}
    rest = json.dumps({name: getattr(spotting, name) for name in _OTHERS})
    handed = {"remaining": 2 if drawn < share else 1, "rest": rest}
    return {"queue": queue, "item": index, **values, "source": str(spotting.source), **handed}


def _item(row: RowMapping) -> Item:
    """An item of a queue, out of the database.

    Raises:
        FormatError: it is damaged.
    """
    where = f"item {quoted(row['item'])} of the queue"
    rest = parse_json(check_text(row["rest"], where), where)
    if not isinstance(rest, dict):
        raise FormatError(f"{where} is damaged. Remove the queue and create it again")
    values = {name: row[name] for name in _COLUMNS} | {name: rest[name] for name in _OTHERS if name in rest}
    return Item(row["queue"], check_int(row["item"], where), from_row(values, where))


def _decision(row: RowMapping) -> Decision:
    """A decision, out of the database.

    Raises:
        FormatError: it is damaged.
    """
    try:
        return Decision(**{**row, "item": check_int(row["item"], "item")})
    except (TypeError, ValueError, AttributeError) as error:  # an OptionsError is a ValueError
        raise FormatError(f"the decision {quoted(row['id'])} is damaged: {error!s:.200}") from error


def verified(items: Iterable[Item], decisions: Sequence[Decision]) -> Iterator[tuple[Item, list[Decision], Spotting]]:
    """Each item with its decisions and the spotting that follows: source V where people agree, D where none decided.

    Where people disagree the decision is "unsure". A person's boundaries win; another variant has the name that they
    gave it, or "other"; a wrong word whose right one was named also gives a spotting of that word.
    """
    by_item: dict[int, list[Decision]] = {}
    for decision in decisions:
        by_item.setdefault(decision.item, []).append(decision)
    for item in items:
        of_item = by_item.get(item.item, [])
        if not of_item:
            yield item, of_item, item.spotting
            continue
        answers = {decision.plain for decision in of_item}
        agreed: PlainDecision = of_item[-1].plain if len(answers) == 1 else "unsure"
        last = of_item[-1]
        variant = (last.word or OTHER_VARIANT) if last.answer == "variant" else item.spotting.variant
        source = LabelSource.VERIFIED if agreed in ("yes", "no") else item.spotting.source
        spotting = replace(item.spotting, decision=agreed, source=source, start=last.start, end=last.end)
        spotting = replace(spotting, variant=variant, time=min(max(spotting.time, spotting.start), spotting.end))
        yield item, of_item, spotting
        named = next((decision for decision in reversed(of_item) if decision.answer == "word"), None)
        if named is not None and agreed == "no":
            right = replace(spotting, word=named.word, decision="yes", exemplar="", variant="", score=1.0)
            yield item, of_item, right


def place_of(confirmed: Spotting) -> str:
    """Where a confirmed sign is, which a dictionary names as the source of what was cut out there."""
    return f"{confirmed.video}, {confirmed.start:.2f}-{confirmed.end:.2f} s, verified"


def confirmed_exemplars(
    queues: Queues, folder: ServedFolder, dictionary: str, exemplars: Iterable[Exemplar]
) -> list[Exemplar]:
    """Signs that people confirmed in queues of a dictionary, as further exemplars, apart from its own.

    Args:
        queues: with their decisions.
        folder: that has the videos; signs in videos that are gone are left out.
        dictionary: its name.
        exemplars: the exemplars that it has; what was cut out of a video for it is no further one.
    """
    present, videos = list(exemplars), folder.listing().videos
    sources, taken = {exemplar.source for exemplar in present}, [exemplar.id for exemplar in present]
    signs = [sign for sign in queues.confirmed(dictionary) if sign.video in videos and place_of(sign) not in sources]
    named = unique_ids((sign.video for sign in signs), (sign.segment for sign in signs))
    ids = numbered([*taken, *named])[len(taken) :]
    return [
        replace(sign.as_exemplar(), id=name, path=videos[sign.video].source)
        for sign, name in zip(signs, ids, strict=True)
    ]


_Z = 1.959964  # of a 95 % interval


@dataclass(frozen=True, slots=True)
class Share:
    """A share of yes among yes and no, with its 95 % interval by Wilson's formula."""

    yes: int
    no: int
    unsure: int = 0

    @property
    def value(self) -> float | None:
        """The share; None where there is neither yes nor no."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share: (0, 1) without any decision."""
        count = self.yes + self.no
        if not count:
            return 0.0, 1.0
        share, square = self.yes / count, _Z * _Z
        middle = (share + square / (2 * count)) / (1 + square / count)
        half = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two people who decided about the same items."""

    one: str
    other: str
    items: int
    observed: float  # share of equal answers
    kappa: float | None  # Cohen's; None where chance alone would make all answers equal


@dataclass(frozen=True, slots=True)
class Person:
    """Counts of one annotator."""

    name: str
    decisions: int
    seconds: float  # median per decision


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of a queue's decisions."""

    items: int
    decided: int  # items with a standing decision
    precision: Share
    words: dict[str, Share]  # by word, those with most decisions first
    agreement: tuple[Agreement, ...]
    people: tuple[Person, ...]


def measure(items: Sequence[Item], decisions: Sequence[Decision]) -> Measures:
    """Measure a queue; where people disagree about an item, it counts as unsure."""
    answers: Counter[tuple[str, str]] = Counter()
    counted: set[int] = set()
    for item, item_decisions, spotting in verified(items, decisions):
        if item_decisions and item.item not in counted:
            counted.add(item.item)
            answers[item.spotting.word, spotting.decision] += 1
    words = {word: _share(answers, word) for word in dict.fromkeys(word for word, _ in answers)}
    ordered = dict(sorted(words.items(), key=lambda pair: (-(pair[1].yes + pair[1].no + pair[1].unsure), pair[0])))
    total = Share(*(sum(getattr(share, name) for share in words.values()) for name in ("yes", "no", "unsure")))
    return Measures(len(items), len(counted), total, ordered, tuple(agreements(decisions)), tuple(_people(decisions)))


def _share(answers: Counter[tuple[str, str]], word: str) -> Share:
    return Share(answers[word, "yes"], answers[word, "no"], answers[word, "unsure"])


def agreements(decisions: Iterable[Decision]) -> list[Agreement]:
    """Cohen's kappa of every two people who share items, on yes, no and unsure; most shared items first."""
    by_person: dict[str, dict[int, str]] = {}
    for decision in decisions:
        by_person.setdefault(decision.annotator, {})[decision.item] = decision.plain
    pairs_of_people = []
    for first, second in combinations(sorted(by_person), 2):
        shared = sorted(by_person[first].keys() & by_person[second].keys())
        if shared:
            pairs = [(by_person[first][item], by_person[second][item]) for item in shared]
            observed = sum(a == b for a, b in pairs) / len(pairs)
            pairs_of_people.append(Agreement(first, second, len(pairs), observed, cohens_kappa(pairs)))
    return sorted(pairs_of_people, key=lambda agreement: -agreement.items)


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Agreement beyond chance of (n,) pairs of answers: 1 is perfect, 0 is chance; None where chance is certain."""
    count = len(pairs)
    if not count:
        return None
    ones, others = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(ones[answer] * others[answer] for answer in ones) / count**2
    observed = sum(first == second for first, second in pairs) / count
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def _people(decisions: Iterable[Decision]) -> list[Person]:
    times: dict[str, list[float]] = {}
    for decision in decisions:
        times.setdefault(decision.annotator, []).append(decision.seconds)
    return [Person(name, len(seconds), sorted(seconds)[len(seconds) // 2]) for name, seconds in sorted(times.items())]
