"""Define the queries of the exported tables about explanations: votes, baselines, boxes, order."""

from collections.abc import Sequence
from typing import Any

from theodolite_study.export.answer_columns import (
    AnswerColumn,
    get_answer_columns,
    get_description_block,
    get_people_columns,
    get_regions_block,
)
from theodolite_study.export.people_queries import (
    CONSENTS,
    OUTCOMES,
    PAYOUTS,
    build_answers_query,
    build_comments_query,
    build_participants_query,
    build_rankings_query,
)
from theodolite_study.export.snapshot import Moments, StudySnapshot
from theodolite_study.export.table_query import (
    Cells,
    TableQuery,
    build_cells,
    build_number_sql,
    build_seconds_sql,
    quote_literal,
)
from theodolite_study.model.instrument import STAGES


def build_table_queries(study: StudySnapshot, *, texts: bool, moments: Moments) -> list[TableQuery]:
    """Return the queries of all tables that are rows of the database.

    Args:
        study: Of which study.
        texts: Whether what people wrote is told.
        moments: How moments are told.
    """
    columns: dict[Any, list[AnswerColumn]] = {
        stage: [c for c in get_answer_columns(study.instruments, stage) if texts or not c.open]
        for stage in STAGES
    }
    return [
        _instances(study), build_participants_query(get_people_columns(study.instruments)),
        _votes(columns["after"], moments), _baselines(study, columns["before"], texts=texts),
        _boxes(study), _checks(columns["after"]), build_answers_query(columns),
        build_rankings_query(study), build_comments_query(study, texts=texts),
        _design(), _order(moments),
        CONSENTS, OUTCOMES, PAYOUTS,
    ]  # fmt: skip


def _instances(study: StudySnapshot) -> TableQuery:
    needs = study.newest["settings"].get("needs", {})
    asks: Cells = {
        f"_asks_{block}": ("flag", f"coalesce(i.shown -> {quote_literal(part)}, 'null') <> 'null'")
        for block, part in needs.items()
    }
    cells: Cells = {
        "instance": ("text", "i.key"), "image_key": ("text", "i.image_key"),
        "technique": ("text", "i.technique"), "modality": ("text", "i.modality"),
        "predicted": ("text", "coalesce(i.shown #>> '{shown,predicted}', 'unknown')"),
        "image": ("text", "i.shown #>> '{shown,image}'"),
        "map": ("text", "i.shown #>> '{shown,map}'"),
        "concepts": ("json", "nullif(i.shown #> '{shown,concepts}', 'null')::text"),
        "_image": ("whole", "dense_rank() over (order by i.image_key) - 1"),
    }  # fmt: skip
    return TableQuery("instances", cells | asks, "from real i order by i.n")


def _votes(columns: Sequence[AnswerColumn], moments: Moments) -> TableQuery:
    own = "partition by p.id" if moments == "of each person" else ""
    exact = moments == "of the study"
    wide = "(v.client ->> 'width') || 'x' || (v.client ->> 'height')"
    pasted = "coalesce({}.client -> 'pasted', 'false') not in ('false', '0', 'null', '[]', '{{}}')"
    cells: Cells = {
        "_instance": ("whole", "i.n"), "_person": ("whole", "p.n"),
        "instance": ("text", "i.key"), "technique": ("text", "i.technique"),
        "image_key": ("text", "i.image_key"), "participant": ("text", "p.pseudonym"),
        **build_cells(columns, "v.answers"),
        "counted": ("flag", "v.counted"), "position": ("whole", "a.position"),
        "image_exposure_index": ("whole", "a.image_exposure_index"),
        "seconds_before": ("number", "case when b.copied_from is null then "
                           f"{build_seconds_sql('a.leased_at', 'a.baseline_at', moments)} end"),
        "seconds_after": ("number", build_seconds_sql("a.revealed_at", "v.at", moments)),
        "at_order": ("whole", f"row_number() over ({own} order by v.at, a.id)"),
        "version": ("whole", "o.no"), "language": ("text", "p.language"),
        "condition": ("text", "c.key"), "consent_sha256": ("text", "encode(g.form_sha256, 'hex')"),
        "visible_before": ("number", build_number_sql("b.client -> 'seconds'", exact=exact)),
        "visible_after": ("number", build_number_sql("v.durations -> 'visible'", exact=exact)),
        "viewport": ("text", wide if exact else "null"),
        "pointer": ("text", "v.client ->> 'pointer'"),
        "pasted": ("flag", f"({pasted.format('b')} or {pasted.format('v')})"),
        "moves": ("whole", build_number_sql("v.client -> 'moves'", exact=False) + "::bigint"),
        "shown_before": ("json", "nullif(b.shown, '{}')::text"),
        "shown_after": ("json", "nullif(v.shown, '{}')::text"),
    }  # fmt: skip
    return TableQuery("votes", cells, """
        from vote v join slot s on s.id = v.slot_id join real i on i.id = v.instance_id
        join person p on p.id = v.participant_id join assignment a on a.id = v.assignment_id
        join baseline b on b.assignment_id = a.id join version o on o.id = v.version_id
        left join condition c on c.id = p.condition_id
        left join consent g on g.participant_id = p.id and g.version_id = v.version_id
        where s.round = %(round)s order by i.n, p.n""")  # fmt: skip


SEATED_SQL = """
    from baseline b join assignment a on a.id = b.assignment_id join slot s on s.id = a.slot_id
    join real i on i.id = a.instance_id join person p on p.id = a.participant_id"""
PAIR_CELLS: Cells = {"instance": ("text", "i.key"), "participant": ("text", "p.pseudonym")}


def _baselines(study: StudySnapshot, columns: Sequence[AnswerColumn], *, texts: bool) -> TableQuery:
    words, framed = get_description_block(study.instruments), get_regions_block(study.instruments)
    text = f"coalesce(b.answers ->> {quote_literal(words)}, '')" if texts and words else "''"
    further = [column for column in columns if column.block not in (words, framed)]
    cells = {
        **PAIR_CELLS, "text": ("text", text), "copied": ("flag", "b.copied_from is not null"),
        **build_cells(further, "b.answers"),
    }  # fmt: skip
    return TableQuery(
        "baselines", cells, f"{SEATED_SQL} where s.round = %(round)s order by i.n, p.n"
    )


def _boxes(study: StudySnapshot) -> TableQuery:
    """Return the query of boxes; points have no size and get width and height 1."""
    framed = quote_literal(get_regions_block(study.instruments) or "")
    sides: Cells = {
        side: ("number", f"coalesce((box ->> '{side}')::float8, 1)")
        for side in ("x", "y", "width", "height")
    }
    return TableQuery("boxes", {**PAIR_CELLS, "number": ("whole", "number"), **sides}, f"""
        {SEATED_SQL} cross join lateral jsonb_array_elements(coalesce(b.answers -> {framed}, '[]'))
            with ordinality as every(box, number)
        where s.round = %(round)s order by i.n, p.n, number""")  # fmt: skip


def _checks(columns: Sequence[AnswerColumn]) -> TableQuery:
    cells: Cells = {
        "participant": ("text", "p.pseudonym"), "instance": ("text", "i.key"),
        "kind": ("text", "i.kind"), "attempt": ("whole", "t.attempt"),
        "position": ("whole", "t.position"), "passed": ("flag", "t.passed"),
        **build_cells(columns, "t.answers"),
    }  # fmt: skip
    return TableQuery("checks", cells, """
        from (select participant_id, instance_id, attempt, null::int as position, passed, answers
                from practice where answers is not null
              union all
              select a.participant_id, a.instance_id, null, a.position, g.passed, g.answers
                from gold_result g join assignment a on a.id = g.assignment_id) t
        join person p on p.id = t.participant_id join instance i on i.id = t.instance_id
        order by p.n, i.kind <> 'training', t.attempt, t.position, i.key""")  # fmt: skip


def _design() -> TableQuery:
    cells: Cells = {
        "instance": ("text", "i.key"),
        "seat": ("whole", "row_number() over (partition by i.n order by s.slot_no, c.id)"),
        "planned_row": ("whole", "s.reserved_for"),
        "planned_position": ("whole", "s.planned_position"),
        "participant": ("text", "p.pseudonym"),
        "position": ("whole", "case when p.id is not null then a.position end"),
        "state": ("text", "case when p.id is not null then 'filled' else 'open' end"),
        "condition": ("text", "c.key"),
    }  # fmt: skip
    return TableQuery("design", cells, """
        from slot s join real i on i.id = s.instance_id
        left join assignment a on a.id = s.assignment_id and s.state = 'filled'
        left join person p on p.id = a.participant_id
        left join condition c on c.id = s.condition_id
        where s.round = %(round)s order by i.n, s.slot_no, s.condition_id""")  # fmt: skip


def _order(moments: Moments) -> TableQuery:
    """Return the query of the order: own answer, explanation, ratings.

    Places in one order of all moments, or in one of each person's own: who knows when somebody was
    there might find them in an order of everybody. Equal moments are in the order that the database
    allows alone.
    """
    own = "partition by participant_id" if moments == "of each person" else ""
    cells: Cells = {
        "instance": ("text", "i.key"), "participant": ("text", "p.pseudonym"),
        "kind": ("text", "i.kind"), "position": ("whole", "t.position"),
        "image_exposure_index": ("whole", "t.image_exposure_index"), "state": ("text", "t.state"),
        "copied": ("flag", "coalesce(b.copied_from is not null, false)"),
        "baseline_order": ("whole", "t.said"), "reveal_order": ("whole", "t.shown"),
        "vote_order": ("whole", "t.voted"),
        "seconds_baseline_to_reveal": (
            "number", build_seconds_sql("t.baseline_at", "t.revealed_at", moments)),
        "seconds_reveal_to_vote": ("number", build_seconds_sql("t.revealed_at", "t.at", moments)),
    }  # fmt: skip
    return TableQuery("order", cells, f"""
        from (
            select id, participant_id, instance_id, position, image_exposure_index, state,
                   baseline_at, revealed_at, at,
                   min(place) filter (where stage = 0 and moment is not null) as said,
                   min(place) filter (where stage = 1) as shown,
                   min(place) filter (where stage = 2) as voted
              from (
                select a.*, row_number() over ({own} order by moment, stage, a.id) as place,
                       stage, moment
                  from (select a.*, coalesce(v.at, g.at) as at from assignment a
                          left join slot s on s.id = a.slot_id
                          left join vote v on v.assignment_id = a.id
                          left join gold_result g on g.assignment_id = a.id
                         where a.participant_id in (select id from person)
                           and coalesce(s.round, %(round)s) = %(round)s) a
                 cross join lateral (values (0, a.baseline_at), (1, a.revealed_at), (2, a.at))
                     as every(stage, moment)
                 where moment is not null or stage = 0) placed
             group by id, participant_id, instance_id, position, image_exposure_index, state,
                      baseline_at, revealed_at, at) t
        join person p on p.id = t.participant_id join instance i on i.id = t.instance_id
        left join baseline b on b.assignment_id = t.id order by p.n, t.position""")  # noqa: S608  # fmt: skip


MATERIAL = """
    select jsonb_strip_nulls(jsonb_build_object(
        'key', key, 'image_key', image_key, 'technique', technique, 'modality', modality,
        'kind', kind, 'shown', shown, 'meta', nullif(meta, '{}'), 'check', record -> 'check'))::text
      from instance where study_id = %(study)s order by place, key collate "C" """
MOMENTS_OF_LOG = """
    select id, at, kind, object from log
     where study_id = %(study)s and kind in (7, 8, 9) order by id"""
"""Query of the log entries about order. Later entries, such as a new export, do not matter."""
