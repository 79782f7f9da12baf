"""Define the queries of the exported tables about participants: answers, consents, outcomes,
pay."""

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite_study.export.answer_columns import AnswerColumn, get_comment_blocks, get_rankings
from theodolite_study.export.snapshot import StudySnapshot
from theodolite_study.export.table_query import (
    Cells,
    TableQuery,
    build_cell,
    build_number_sql,
    quote_literal,
)
from theodolite_study.model.instrument import STAGES


def build_participants_query(columns: Sequence[AnswerColumn]) -> TableQuery:
    closed = [column for column in columns if not column.open]
    own = {column.name: build_cell(column, "told.answers") for column in closed}
    same = ", ".join(what for _, what in own.values()) or "1"
    # who did not vote hides nobody, and nothing is told of them
    many = f"count(*) filter (where given.n > 0) over (partition by {same})"
    hidden: Cells = {
        name: (kind, f"case when given.n > 0 and {many} >= %(fewest)s then {what} end")
        for name, (kind, what) in own.items()
    }
    any_told = " or ".join(f"{what} is not null" for _, what in own.values()) or "false"
    cells: Cells = {
        "participant": ("text", "p.pseudonym"), "state": ("text", "p.state"),
        "outcome": ("text", "p.outcome"), "version": ("whole", "o.no"),
        "language": ("text", "p.language"), "condition": ("text", "c.key"), **hidden,
        "votes": ("whole", "given.counted"), "surplus_votes": ("whole", "given.n - given.counted"),
        "checks": ("whole", "checked.n"), "checks_passed": ("whole", "checked.passed"),
        "practice_items": ("whole", "(select count(*) from practice t"
                           " where t.participant_id = p.id and t.answers is not null)"),
        "most_of_a_image": ("whole", "coalesce(given.most, 0)"),
        "_hidden": ("flag", f"({any_told}) and not (given.n > 0 and {many} >= %(fewest)s)"),
    }  # fmt: skip
    return TableQuery("participants", cells, """
        from person p left join version o on o.id = p.version_id
        left join condition c on c.id = p.condition_id
        cross join lateral (select earlier_answers(p.id) as answers) told
        cross join lateral (
            select count(*) as n, count(*) filter (where v.counted) as counted,
                   max(a.image_exposure_index) as most
              from vote v join assignment a on a.id = v.assignment_id
              join slot s on s.id = v.slot_id
             where v.participant_id = p.id and s.round = %(round)s) given
        cross join lateral (
            select count(*) as n, count(*) filter (where g.passed) as passed
              from gold_result g join assignment a on a.id = g.assignment_id
             where a.participant_id = p.id) checked
        order by p.n""")  # fmt: skip


def build_answers_query(columns: Mapping[Any, Sequence[AnswerColumn]]) -> TableQuery:
    """Return the query of free texts and final answers; other answers are columns of
    `participants`, where rare ones are withheld."""
    blocks = [["end", column.block] for column in columns["end"]]
    blocks += [[s, column.block] for s in ("door", "about") for column in columns[s] if column.open]
    cells: Cells = {
        "participant": ("text", "p.pseudonym"), "stage": ("text", "w.stage"),
        "version": ("whole", "o.no"), "language": ("text", "p.language"),
        "block": ("text", "e.key"), "value": ("json", "e.value::text"),
        "shown": ("json", "(w.shown -> e.key)::text"),
        "moves": ("whole", build_number_sql("w.client -> 'moves'", exact=False) + "::bigint"),
    }  # fmt: skip
    pairs = ", ".join(f"({quote_literal(s)}, {quote_literal(b)})" for s, b in blocks) or "('', '')"
    return TableQuery("answers", cells, f"""
        from answer w join person p on p.id = w.participant_id
        join version o on o.id = w.version_id cross join lateral jsonb_each(w.answers) e
        where (w.stage, e.key) in ({pairs}) order by p.n, w.stage, e.key""")  # fmt: skip


def build_rankings_query(study: StudySnapshot) -> TableQuery:
    names = [quote_literal(name) for name in get_rankings(study.instruments, "end")]
    cells: Cells = {
        "participant": ("text", "p.pseudonym"), "question": ("text", "e.key"),
        "place": ("whole", "r.place"),
        "item": ("text", "coalesce(t.body, r.item)"),
        "item_number": ("whole", "m.number - 1"),
    }  # fmt: skip
    return TableQuery("rankings", cells, f"""
        from answer w join person p on p.id = w.participant_id
        join version o on o.id = w.version_id cross join lateral jsonb_each(w.answers) e
        cross join lateral jsonb_array_elements_text(
            case when e.key in ({', '.join(names) or "''"}) then e.value else '[]' end)
            with ordinality as r(item, place)
        cross join lateral (
            select number from jsonb_array_elements(o.instrument -> 'end') page,
                   jsonb_array_elements(page -> 'blocks') block,
                   jsonb_array_elements_text(block -> 'items') with ordinality as one(item, number)
             where block ->> 'name' = e.key and one.item = r.item) m
        left join wording t on t.version_id = o.id and t.language = o.default_language
             and t.key = e.key || '.item.' || r.item
        where w.stage = 'end' order by p.n, e.key, r.place""")  # noqa: S608  # fmt: skip


def build_comments_query(study: StudySnapshot, *, texts: bool) -> TableQuery:
    names = {
        stage: ", ".join(map(quote_literal, get_comment_blocks(study.instruments, stage))) or "''"
        for stage in STAGES
    }
    cells: Cells = {
        "participant": ("text", "p.pseudonym"), "instance": ("text", "i.key"),
        "stage": ("text", "t.stage"), "block": ("text", "e.key"),
        "text": ("text", "e.value #>> '{}'"),
    }  # fmt: skip
    every = ", ".join(names.values())
    return TableQuery("comments", cells, f"""
        from (select participant_id, null::bigint as instance_id, stage, answers from answer
              union all select a.participant_id, a.instance_id, 'before', b.answers
                from baseline b join assignment a on a.id = b.assignment_id
                join slot s on s.id = a.slot_id and s.round = %(round)s
               where b.copied_from is null and b.answers ?| array[{names['before']}]
              union all select v.participant_id, v.instance_id, 'after', v.answers
                from vote v join slot s on s.id = v.slot_id and s.round = %(round)s
               where v.answers ?| array[{names['after']}]) t
        join person p on p.id = t.participant_id left join instance i on i.id = t.instance_id
        cross join lateral jsonb_each(t.answers) e
        where e.key in ({every}) and {str(texts).lower()}
        order by p.n, t.stage, i.place, e.key""")  # noqa: S608  # fmt: skip


CONSENTS = TableQuery(
    "consents",
    {
        "participant": ("text", "p.pseudonym"), "version": ("whole", "o.no"),
        "language": ("text", "g.language"), "sha256": ("text", "encode(g.form_sha256, 'hex')"),
    },
    "from consent g join person p on p.id = g.participant_id join version o on o.id = g.version_id"
    " order by p.n, o.no",
)  # fmt: skip
OUTCOMES = TableQuery(
    "outcomes",
    {
        "version": ("whole", "o.no"), "outcome": ("text", "coalesce(t.outcome, 'inside')"),
        "people": ("whole", "count(*)"),
    },
    "from participant t join version o on o.id = t.version_id"
    " where o.id = any (%(versions)s) and not t.preview group by 1, 2 order by 1, 2",
)  # fmt: skip
PAYOUTS = TableQuery(
    "payouts",
    {
        "kind": ("text", "t.kind"), "outcome": ("text", "t.outcome"), "state": ("text", "t.state"),
        "currency": ("text", "t.currency"), "amount_minor": ("whole", "t.amount_minor"),
        "payouts": ("whole", "count(*)"),
    },
    "from payout t where t.study_id = %(study)s group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5",
)  # fmt: skip
