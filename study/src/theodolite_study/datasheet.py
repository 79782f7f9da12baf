"""The data sheet: what the data are, who gave them, how, and what not to do with them."""

from collections.abc import Mapping
from typing import Any

from theodolite.ext.studies import TABLES, Table
from theodolite_study.export_agreement import HEADLINE
from theodolite_study.export_rows import Snapshot

FILES = {
    "participants": "who took part: pseudonym, how they ended, bands where enough people share "
    "them, numbers of votes",
    "checks": "practice items and hidden checks, which have one right answer, and whether it came",
    "rankings": "what people put in order after the study; place 1 came first",
    "aggregates": "for each explanation and question: n, mode (the lowest if several tie, then "
    "`mode_tie`), median, mean, and how often each answer was given",
    "design": "the seats of each explanation: who was planned, who filled them",
    "order": "what came first: places of own answer, explanation and ratings, and the seconds "
    "between them; no times of day",
}
MOMENTS = {
    "of the study": "Places (`at_order`, table `order`) are those in one order of everybody's "
    "moments, and seconds are exact: who knows when somebody was there may find them. Export with "
    "`--public` before giving it away.",
    "of each person": "Places (`at_order`, table `order`) are those among the person's own, and "
    "seconds are whole ones.",
}
FURTHER = {
    "agreement.json": "how far people agree, with intervals and what chance would give",
    "instances.json": "everything that was shown, changed pictures, practice and checks included",
    "pictures/": "the pictures, named by their SHA-256",
    "protocol.yaml": "the study's settings and words, as they were frozen when it opened",
    "manifest.json": "digests of all files, numbers, versions, seeds",
}


def datasheet(
    study: Snapshot,
    content: Mapping[str, Any],
    agreed: Mapping[str, Any],
    made: Mapping[str, Table],
) -> str:
    """The sheet as Markdown, for people who were not there."""
    parts = [
        f"# {_plain(study.protocol.title)}",
        "\n".join(f"- {note}" for note in content["notes"]),
        "## What it is",
        _what(study, content),
        "## Who",
        _who(study, content),
        "## How",
        _how(study, content),
        "## How far people agree",
        _agreement(agreed),
        "## Files",
        _files(content),
        "## Columns",
        _columns(),
        "## Limits and traps",
        "\n".join(f"- {one}" for one in _traps(content, made)),
        "## Whom to ask",
        _plain(study.protocol.contact),
    ]
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Words of others in one line, so that they cannot become headings or pages of their own."""
    line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in line)


def _what(study: Snapshot, content: Mapping[str, Any]) -> str:
    real = study.of_kind("real").values()
    pictures = len({row.picture_key for row in real})
    techniques = sorted({row.technique for row in real})
    named = ", ".join(_plain(name) for name in techniques)
    questions = "\n".join(
        f"- {name}: {_plain(question.text)} (1: {_plain(question.low)}, 5: {_plain(question.high)})"
        for name, question in sorted(study.protocol.questions.items())
    )
    return (
        f"People's votes on {content['votes']['instances']:,} explanations of {pictures:,} "
        f"pictures, made by {len(techniques):,} techniques: {named}. Each vote answers these "
        f"questions with 1 to 5:\n\n{questions}\n\nQuestions 5 and 6 are asked where there is a "
        "changed picture to compare with."
    )


def _who(study: Snapshot, content: Mapping[str, Any]) -> str:
    people, each = content["people"], content["votes"]["by_person"]
    return (
        f"{people['taking_part']:,} people agreed to take part; {each['people']:,} of them gave "
        f"counted votes, between {each['fewest']:,} and {each['most']:,} each (median "
        f"{each['median']:g}). {people['withdrawn']:,} withdrew and are not in here. They came by "
        f"“{study.protocol.access.kind}”. They are not a sample of any population.\n\n"
        "People have random pseudonyms. There are no ids of platforms, no addresses and no times "
        f"of day. {MOMENTS[content['moments']]} Age band, gender and country were optional; they "
        "are left out for everybody who did not vote, and for everybody whose combination fewer "
        f"than {people['fewest_of_a_combination']} people who voted share "
        f"({people['bands_suppressed']:,} people here). This makes people hard to find and does "
        "not make the data anonymous: who knows what somebody answered, wrote or framed may "
        "recognise them."
    )


def _how(study: Snapshot, content: Mapping[str, Any]) -> str:
    said = study.protocol
    when = (
        "for each explanation"
        if said.baseline == "per_instance"
        else "once for each picture; at further explanations of it that answer is copied"
    )
    return (
        "Everybody first said in their own words what they see, and framed it "
        f"({when}). Only when that was stored could the explanation be seen; the server holds it "
        "back until then, and the database refuses any other order. Then they rated it. Each "
        f"explanation has {content['votes']['wanted_each']} seats, each filled by one vote of one "
        "person; votes that came when the seats were filled are kept as surplus "
        f"({content['votes']['surplus']:,}) and count nowhere.\n\n"
        f"Design: {said.design}, seed {said.seed}. Nobody's votes were left out because they "
        "differ from those of others. `theodolite study verify` proves the order, the number of "
        "votes, the digests and the aggregates from these files alone."
    )


def _agreement(agreed: Mapping[str, Any]) -> str:
    lines = ["| question | people | agreement | interval | by chance |", "|---|---|---|---|---|"]
    for name, found in agreed["questions"].items():
        score = found.get("scores", {}).get(HEADLINE, {})
        if score.get("value") is None:
            reason = score.get("reason", found.get("reason", ""))
            lines.append(f"| {name} | {found['raters']} | undefined: {reason} | | |")
            continue
        ends = score["interval"]
        shown = "" if ends is None else f"{ends['low']:.2f} to {ends['high']:.2f}"
        chance = score["null"]["value"]
        lines.append(
            f"| {name} | {found['raters']} | {score['value']:.2f} | {shown} | "
            f"{'' if chance is None else f'{chance:.2f}'} |"
        )
    said = "Quadratic kappa of each vote with the mode of the others' votes; 95 % intervals over "
    return said + "pictures. More of them in agreement.json.\n\n" + "\n".join(lines)


def _files(content: Mapping[str, Any]) -> str:
    core = {
        "votes": "a row for each person's ratings of an explanation",
        "baselines": "what people saw before the explanation, in their words",
        "boxes": "what they framed",
        "instances": "the explanations",
    }
    rows = [
        f"| {name}.parquet | {content['tables'][name]:,} | {says} |"
        for name, says in (core | FILES).items()
    ]
    rows += [f"| {name} | | {says} |" for name, says in FURTHER.items()]
    end = "" if content["csv"] is None else f"\n\nCSV beside each table: {content['csv']}"
    return "\n".join(["| file | rows | |", "|---|---|---|", *rows]) + end


def _columns() -> str:
    return "\n\n".join(
        f"`{table}`\n\n" + "\n".join(f"- `{column.name}`: {column.means}" for column in columns)
        for table, columns in TABLES.items()
    )


def _traps(content: Mapping[str, Any], made: Mapping[str, Table]) -> list[str]:
    votes, each = content["votes"], content["votes"]["by_person"]
    aggregates = made["aggregates"]
    rows = len(aggregates["mode_tie"])
    ties = sum(bool(tie) for tie in aggregates["mode_tie"])
    met = [
        index
        for index, counted in zip(
            made["votes"]["image_exposure_index"], made["votes"]["counted"], strict=True
        )
        if counted
    ]
    again = sum(index > 1 for index in met)
    given = votes["counted"]
    return [
        f"Numbers: {votes['instances']:,} explanations with {votes['wanted_each']} votes each need "
        f"{votes['wanted']:,} votes; {given:,} were given by {each['people']:,} people, "
        f"{given / max(each['people'], 1):.1f} each on average (column `votes` of participants).",
        f"Modes: {ties:,} of {rows:,} modes are tied (`mode_tie`); the lowest is given. With five "
        "votes on five answers a third of all patterns tie: use the histogram.",
        "Agreement with a mode that contains the rater's own vote (`qwk_vs_mode_incl`) is high by "
        "construction, 0.31 for votes at random; the headline leaves the rater out.",
        "Kappa is computed on all answers from 1 to 5, seen or not. Tools that number only the "
        "answers they see give other values. Undefined is null with a reason, never 0.",
        "Rank correlations of votes have ties: use a coefficient that handles them, and do not "
        "average it with its p-value.",
        f"Exposure: {again:,} of {len(met):,} counted votes are by somebody who had met the "
        f"picture before, up to {max(met, default=0)} times (`image_exposure_index`). What they "
        "say before the explanation is then not said blindly: take index 1 for that.",
        "A phone shows another picture than a large screen; seconds are those of the server's "
        "clock and include pauses.",
        "Ratings are opinions. They say whether people accept an explanation, not whether it is "
        "right about the network.",
    ]  # fmt: skip
