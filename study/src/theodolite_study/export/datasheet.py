"""Write the data sheet of an export: what the data are, how they were collected, their limits."""

from collections.abc import Mapping
from typing import Any

from theodolite.ext.studies import TABLES
from theodolite_study.export.agreement import HEADLINE

FILES = {
    "votes": "a row for each person's ratings of an explanation",
    "baselines": "what people saw before the explanation, in their words",
    "boxes": "what they framed; a point has width and height 1",
    "instances": "the explanations",
    "participants": "who took part: pseudonym, how they ended, what they told about themselves "
    "where enough people share it, numbers of votes",
    "answers": "what people answered at the end, and in their words about themselves",
    "comments": "words that nobody had to write",
    "consents": "who agreed to which form: SHA-256 of its bytes, version and language",
    "outcomes": "how many people left in which way",
    "payouts": "how much was owed and paid for what, without anybody's id",
    "checks": "practice items and hidden checks, which have one right answer, and whether it came",
    "rankings": "what people put in order after the study; place 1 came first",
    "aggregates": "for each explanation and question: n, mode (the lowest if several tie, then "
    "`mode_tie`), median, mean, and how often each answer was given",
    "design": "the seats of each explanation: who was planned, who filled them",
    "order": "what came first: places of own answer, explanation and ratings, and the seconds "
    "between them; no times of day",
}
MOMENT_NOTES = {
    "of the study": "Places (`at_order`, table `order`) are those in one order of everybody's "
    "moments, and seconds are exact: who knows when somebody was there may find them. Export with "
    "`--public` before giving it away.",
    "of each person": "Places (`at_order`, table `order`) are those among the person's own, and "
    "seconds are whole ones.",
}
OTHER_FILES = {
    "agreement.json": "how far people agree, with intervals and what chance would give",
    "material.jsonl": "everything that was shown, changed images, practice and checks included",
    "images/": "the images, named by their SHA-256",
    "versions.json": "what was asked in which words: instrument, texts, consents and settings of "
    "each version, as they were frozen when it opened",
    "manifest.json": "digests of all files, numbers, versions, seeds",
}


MORE_OF_VOTES = {
    "version": "number of the version that was answered",
    "language": "of the pages",
    "condition": "to which the person was assigned",
    "consent_sha256": "of the form under which the vote was given",
    "visible_before": "seconds that the page was looked at, as the browser says",
    "visible_after": "the same of the page with the explanation",
    "viewport": "pixels of the window",
    "pointer": "coarse: a finger; fine: a mouse",
    "pasted": "whether something was pasted",
    "moves": "how often something was moved to its place; 0: sent as it lay",
    "shown_before": "in which order blocks and options were shown",
    "shown_after": "the same, with the sides of comparisons",
}


def format_datasheet(
    version: Mapping[str, Any],
    content: Mapping[str, Any],
    agreed: Mapping[str, Any],
    numbers: Mapping[str, Any],
) -> str:
    """Write the data sheet as Markdown.

    Args:
        version: The newest version, as it is exported.
        content: Of the manifest.
        agreed: How far people agree.
        numbers: Images, techniques, modes and ties, and how often people met an image.
    """
    parts = [
        f"# {_escaped_line(content['study']['title'])}",
        "\n".join(f"- {note}" for note in content["notes"]),
        "## What it is",
        _what(version, content, numbers),
        "## Who",
        _who(version, content),
        "## How",
        _how(content),
        "## How far people agree",
        _agreement(agreed),
        "## Files",
        _files(content),
        "## Columns",
        _columns(content),
        "## Limits and traps",
        "\n".join(f"- {trap}" for trap in _traps(content, numbers)),
        "## Whom to ask",
        _escaped_line(_text(version, "contact") or "The study names nobody."),
    ]
    return "\n\n".join(parts) + "\n"


def _escaped_line(text: str) -> str:
    """Put a researcher's text on one line, so that it cannot become headings or lists."""
    line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in line)


def _text(version: Mapping[str, Any], key: str) -> str:
    return str(version["texts"].get(key, {}).get(version["default_language"], ""))


def _what(
    version: Mapping[str, Any], content: Mapping[str, Any], numbers: Mapping[str, Any]
) -> str:
    named = ", ".join(_escaped_line(name) for name in numbers["techniques"])
    questions = "\n".join(
        f"- {name}, 1 to {points}: {_escaped_line(_text(version, f'{name}.text'))}"
        for name, points in content["questions"].items()
    )
    return (
        f"People's votes on {content['votes']['instances']:,} explanations of "
        f"{numbers['images']:,} images, made by {len(numbers['techniques']):,} techniques: "
        f"{named}. Questions on a scale:\n\n{questions}\n\nA question about a changed image is "
        "asked where there is one to compare with. `versions.json` has all questions and texts."
    )


def _who(version: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    people, each = content["people"], content["votes"]["by_person"]
    access = version["settings"].get("access", {}).get("kind", "link")
    return (
        f"{people['taking_part']:,} people agreed to take part; {each['people']:,} of them gave "
        f"counted votes, between {each['fewest']:,} and {each['most']:,} each (median "
        f"{each['median']:g}). {people['withdrawn']:,} withdrew and are not in here. They came by "
        f"“{access}”. They are not a sample of any population.\n\n"
        "People have random pseudonyms. There are no ids of platforms, no addresses and no times "
        f"of day. {MOMENT_NOTES[content['moments']]} What people told about themselves is left out "
        "for everybody who did not vote, and for everybody whose combination fewer "
        f"than {people['fewest_of_a_combination']} people who voted share "
        f"({people['bands_suppressed']:,} people here). This makes people hard to find and does "
        "not make the data anonymous: who knows what somebody answered, wrote or framed may "
        "recognize them."
    )


def _how(content: Mapping[str, Any]) -> str:
    when = (
        "once for each image; at further explanations of it that answer is copied"
        if content["study"]["baseline"] == "once_per_image"
        else "for each explanation"
    )
    return (
        "Everybody first said in their own words what they see, and framed it, as far as it was "
        f"asked ({when}). Only when that was stored could the explanation be seen; the "
        "server holds it back until then, and the database refuses any other order. Then they "
        f"rated it. Each explanation has {content['votes']['wanted_each']} seats, each filled by "
        "one vote of one person; votes that came when the seats were filled are kept as surplus "
        f"({content['votes']['surplus']:,}) and count nowhere.\n\n"
        f"Design: {content['study']['design']}, seed {content['seeds']['design']}. Nobody's votes "
        "were left out because they differ from those of others. `theodolite study verify` proves "
        "the order, the number of votes, the digests and the aggregates from these files alone."
    )


def _agreement(agreed: Mapping[str, Any]) -> str:
    lines = ["| question | people | agreement | interval | by chance |", "|---|---|---|---|---|"]
    for name, question in agreed["questions"].items():
        score = question.get("scores", {}).get(HEADLINE, {})
        if score.get("value") is None:
            reason = score.get("reason", question.get("reason", ""))
            lines.append(f"| {name} | {question['raters']} | undefined: {reason} | | |")
            continue
        ends = score["interval"]
        interval = "" if ends is None else f"{ends['low']:.2f} to {ends['high']:.2f}"
        chance = score["null"]["value"]
        lines.append(
            f"| {name} | {question['raters']} | {score['value']:.2f} | {interval} | "
            f"{'' if chance is None else f'{chance:.2f}'} |"
        )
    introduction = (
        "Quadratic kappa of each vote with the mode of the others' votes; 95 % intervals over "
    )
    return introduction + "images. More of them in agreement.json.\n\n" + "\n".join(lines)


def _files(content: Mapping[str, Any]) -> str:
    rows = [
        f"| {name}.parquet | {content['tables'][name]:,} | {says} |" for name, says in FILES.items()
    ]
    rows += [f"| {name} | | {says} |" for name, says in OTHER_FILES.items()]
    end = "" if content["csv"] is None else f"\n\nCSV beside each table: {content['csv']}"
    return "\n".join(["| file | rows | |", "|---|---|---|", *rows]) + end


def _columns(content: Mapping[str, Any]) -> str:
    means = {name: {c.name: c.means for c in columns} for name, columns in TABLES.items()}
    votes = {n: m for n, m in means["votes"].items() if n[0] != "q" or n in content["questions"]}
    means["votes"] = votes | MORE_OF_VOTES
    return (
        "\n\n".join(
            f"`{table}`\n\n" + "\n".join(f"- `{name}`: {says}" for name, says in columns.items())
            for table, columns in means.items()
        )
        + "\n\nEach block of the instrument is a further column of its table, by its name."
    )


def _traps(content: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    votes, each = content["votes"], content["votes"]["by_person"]
    met = numbers["exposures"]
    again, counted = sum(met[2:]), votes["counted"]
    return [
        f"Numbers: {votes['instances']:,} explanations with {votes['wanted_each']} votes each need "
        f"{votes['wanted']:,} votes; {counted:,} were given by {each['people']:,} people, "
        f"{counted / max(each['people'], 1):.1f} each on average (column `votes` of participants).",
        f"Modes: {numbers['ties']:,} of {numbers['modes']:,} modes are tied (`mode_tie`); the "
        "lowest is given. With five votes on five answers a third of all patterns tie: use the "
        "histogram.",
        "Agreement with a mode that contains the rater's own vote (`qwk_vs_mode_incl`) is high by "
        "construction, 0.31 for random ratings; the headline leaves the rater out.",
        "Kappa is computed on all answers of the scale, seen or not. Tools that number only the "
        "answers they see give other values. Undefined is null with a reason, never 0.",
        "Rank correlations of votes have ties: use a coefficient that handles them, and do not "
        "average it with its p-value.",
        f"Exposure: {again:,} of {sum(met):,} counted votes are by somebody who had met the "
        f"image before, up to {max(len(met) - 1, 0)} times (`image_exposure_index`). What they "
        "say before the explanation is then not said blindly: take index 1 for that.",
        "A phone shows another image than a large screen; seconds are those of the server's "
        "clock and include pauses.",
        "Ratings are opinions. They say whether people accept an explanation, not whether it is "
        "right about the network.",
    ]  # fmt: skip
