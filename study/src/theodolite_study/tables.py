"""The tables of a study. What must never happen is forbidden here, by constraint."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP, UUID

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

APP, WITHDRAW = "theodolite_app", "theodolite_withdraw"
KEPT = ("baseline", "vote", "event")
"""What the server may add to, and never change or delete."""
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")


def _number() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _moment(name: str, *, nullable: bool = True, now: bool = False) -> Column[object]:
    default = func.clock_timestamp() if now else None
    return Column(name, TIMESTAMP(timezone=True), nullable=nullable, server_default=default)


def _one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} in ({listed})", name=column)


def _to(column: str, kind: type = BigInteger, *, nullable: bool = False) -> Column[object]:
    name, target = column.split(" -> ")
    return Column(name, kind, ForeignKey(target), nullable=nullable)


study = Table(
    "study",
    metadata,
    Column("id", UUID(as_uuid=True), primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False, server_default="draft"),
    Column("protocol", JSONB, nullable=False),
    Column("protocol_sha256", LargeBinary, nullable=False),
    Column("origin", JSONB, nullable=False),
    Column("legend", Text, nullable=False),
    Column("n_votes", SmallInteger, nullable=False),
    Column("lease_seconds", Double, nullable=False),
    Column("quota", Integer, nullable=False),
    Column("keys_id", Text, nullable=False),
    _moment("opened_at"),
    _moment("closed_at"),
    _one_of("state", "draft", "open", "paused", "closed", "archived"),
    CheckConstraint("n_votes between 1 and 50", name="n_votes"),
    CheckConstraint("lease_seconds > 0", name="lease"),
)

asset = Table(
    "asset",
    metadata,
    _number(),
    _to("study_id -> study.id", UUID),
    Column("file", Text, nullable=False),
    Column("mime", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    UniqueConstraint("study_id", "file"),
    _one_of("mime", "image/png", "image/jpeg", "image/webp"),
    CheckConstraint("file ~ '^[0-9a-f]{64}[.](png|jpg|webp)$'", name="file"),
)

instance = Table(
    "instance",
    metadata,
    _number(),
    _to("study_id -> study.id", UUID),
    Column("key", Text, nullable=False),
    Column("picture_key", Text, nullable=False),
    Column("technique", Text, nullable=False),
    Column("modality", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("record", JSONB, nullable=False),
    UniqueConstraint("study_id", "key"),
    _one_of("modality", "saliency", "concept"),
    _one_of("kind", "real", "training", "gold"),
)

participant = Table(
    "participant",
    metadata,
    Column("id", UUID(as_uuid=True), primary_key=True),
    _to("study_id -> study.id", UUID),
    Column("platform", Text, nullable=False),
    Column("person", LargeBinary, nullable=False),
    Column("sealed_id", LargeBinary),
    Column("pseudonym", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="landed"),
    Column("quota", Integer, nullable=False),
    Column("design_row", Integer),
    Column("preview", Boolean, nullable=False, server_default=text("false")),
    Column("withdrawal_sha256", LargeBinary, unique=True),
    Column("bar_token", LargeBinary),
    Column("flags", JSONB, nullable=False, server_default=text("'[]'")),
    _moment("created_at", nullable=False, now=True),
    _moment("finished_at"),
    UniqueConstraint("study_id", "platform", "person"),
    UniqueConstraint("study_id", "pseudonym"),
    UniqueConstraint("study_id", "design_row"),
    _one_of(
        "state", "landed", "consented", "training", "active", "finished", "screened_out",
        "declined", "withdrawn",
    ),
)  # fmt: skip

consent = Table(
    "consent",
    metadata,
    Column("participant_id", UUID, ForeignKey("participant.id"), primary_key=True),
    Column("form_sha256", LargeBinary, nullable=False),
    _moment("given_at", nullable=False, now=True),
)

demographic = Table(
    "demographic",
    metadata,
    Column("participant_id", UUID, ForeignKey("participant.id"), primary_key=True),
    Column("age_band", Text),
    Column("gender", Text),
    Column("country", Text),
)

staff = Table(
    "staff",
    metadata,
    _number(),
    _to("study_id -> study.id", UUID),
    Column("name", Text, nullable=False),
    Column("password_hash", Text),
    Column("totp_sealed", LargeBinary),
    Column("totp_last_step", BigInteger, nullable=False, server_default="0"),
    Column("enrol_sha256", LargeBinary, unique=True),
    _moment("enrol_expires_at"),
    Column("failures", Integer, nullable=False, server_default="0"),
    _moment("locked_until"),
    Column("disabled", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("study_id", "name"),
)

session = Table(
    "session",
    metadata,
    Column("token_sha256", LargeBinary, primary_key=True),
    Column("participant_id", UUID, ForeignKey("participant.id", ondelete="CASCADE")),
    Column("staff_id", BigInteger, ForeignKey("staff.id", ondelete="CASCADE")),
    _moment("created_at", nullable=False, now=True),
    _moment("last_seen", nullable=False, now=True),
    _moment("expires_at", nullable=False),
    CheckConstraint("(participant_id is null) <> (staff_id is null)", name="one_owner"),
    Index(None, "participant_id"),
)

slot = Table(
    "slot",
    metadata,
    _number(),
    _to("study_id -> study.id", UUID),
    _to("instance_id -> instance.id"),
    Column("slot_no", SmallInteger, nullable=False),
    Column("rnd", Double, nullable=False),
    Column("state", Text, nullable=False, server_default="open"),
    Column(
        "assignment_id",
        BigInteger,
        ForeignKey("assignment.id", use_alter=True, deferrable=True, initially="DEFERRED"),
    ),
    _moment("lease_expires_at"),
    Column("reserved_for", Integer),
    Column("planned_position", Integer),
    UniqueConstraint("instance_id", "slot_no"),
    _one_of("state", "open", "leased", "filled"),
    CheckConstraint("(state = 'open') = (assignment_id is null)", name="open_is_nobodys"),
    CheckConstraint("(state = 'leased') = (lease_expires_at is not null)", name="lease_ends"),
    Index("slot_claim", "study_id", "slot_no", "rnd", postgresql_where=text("state <> 'filled'")),
    Index(
        "slot_planned",
        "study_id",
        "reserved_for",
        "planned_position",
        postgresql_where=text("state <> 'filled'"),
    ),
    Index("slot_held", "assignment_id", unique=True),
)

assignment = Table(
    "assignment",
    metadata,
    _number(),
    _to("participant_id -> participant.id", UUID),
    _to("instance_id -> instance.id"),
    _to("slot_id -> slot.id", nullable=True),
    Column("picture_key", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("image_exposure_index", Integer, nullable=False),
    Column("state", Text, nullable=False, server_default="leased"),
    _moment("leased_at", nullable=False, now=True),
    _moment("baseline_at"),
    _moment("revealed_at"),
    _moment("finished_at"),
    Column("reason", Text),
    UniqueConstraint("instance_id", "participant_id"),
    UniqueConstraint("participant_id", "position"),
    _one_of("state", "leased", "revealed", "submitted", "lost", "surplus", "released", "checked"),
    CheckConstraint(
        "state not in ('revealed', 'submitted', 'surplus', 'checked') or baseline_at is not null",
        name="own_answer_first",
    ),
    CheckConstraint(
        # unknown is not false to a check: both have to be there
        "revealed_at is null or coalesce(baseline_at < revealed_at, false)",
        name="then_the_explanation",
    ),
    CheckConstraint(
        "state not in ('submitted', 'surplus', 'checked') "
        "or coalesce(revealed_at <= finished_at, false)",
        name="then_the_ratings",
    ),
    Index(
        "one_live",
        "participant_id",
        unique=True,
        postgresql_where=text("state in ('leased', 'revealed')"),
    ),
)

baseline = Table(
    "baseline",
    metadata,
    Column("assignment_id", BigInteger, ForeignKey("assignment.id"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("boxes", JSONB, nullable=False),
    Column("client", JSONB, nullable=False),
    Column("copied_from", BigInteger),
    Column("payload_sha256", LargeBinary, nullable=False),
    _moment("at", nullable=False, now=True),
    CheckConstraint("length(text) between 1 and 4000", name="text"),
)

draft = Table(
    "draft",
    metadata,
    Column("assignment_id", BigInteger, ForeignKey("assignment.id"), primary_key=True),
    Column("content", JSONB, nullable=False),
    _moment("at", nullable=False, now=True),
)

vote = Table(
    "vote",
    metadata,
    _number(),
    Column("assignment_id", BigInteger, ForeignKey("assignment.id"), nullable=False, unique=True),
    _to("slot_id -> slot.id"),
    _to("instance_id -> instance.id"),
    _to("participant_id -> participant.id", UUID),
    Column("counted", Boolean, nullable=False),
    *(Column(name, SmallInteger) for name in QUESTIONS),
    Column("idem_key", UUID(as_uuid=True), nullable=False),
    Column("payload_sha256", LargeBinary, nullable=False),
    Column("durations", JSONB, nullable=False),
    Column("client", JSONB, nullable=False),
    _moment("at", nullable=False, now=True),
    *(CheckConstraint(f"{name} between 1 and 5", name=name) for name in QUESTIONS),
    Index("vote_fills_slot", "slot_id", unique=True, postgresql_where=text("counted")),
    Index(
        "vote_once", "instance_id", "participant_id", unique=True, postgresql_where=text("counted")
    ),
    Index(None, "participant_id"),
)

practice = Table(
    "practice",
    metadata,
    _number(),
    _to("participant_id -> participant.id", UUID),
    _to("instance_id -> instance.id"),
    Column("attempt", SmallInteger, nullable=False),
    Column("baseline", JSONB, nullable=False),
    Column("answers", JSONB),
    Column("passed", Boolean),
    _moment("baseline_at", nullable=False, now=True),
    _moment("revealed_at"),
    _moment("answered_at"),
    UniqueConstraint("participant_id", "instance_id", "attempt"),
    CheckConstraint("revealed_at is null or baseline_at < revealed_at", name="order"),
    CheckConstraint("answers is null or revealed_at is not null", name="then_the_answers"),
)

gold_result = Table(
    "gold_result",
    metadata,
    Column("assignment_id", BigInteger, ForeignKey("assignment.id"), primary_key=True),
    Column("answers", JSONB, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("payload_sha256", LargeBinary, nullable=False),
    Column("durations", JSONB, nullable=False),
    _moment("at", nullable=False, now=True),
)

post_study = Table(
    "post_study",
    metadata,
    Column("participant_id", UUID, ForeignKey("participant.id"), primary_key=True),
    Column("answers", JSONB, nullable=False),
    _moment("at", nullable=False, now=True),
)

event = Table(
    "event",
    metadata,
    _number(),
    Column("study_id", UUID, ForeignKey("study.id")),
    _moment("at", nullable=False, now=True),
    Column("actor", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("object", Text, nullable=False, server_default=""),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'")),
    Index(None, "study_id", "kind"),
)

invite = Table(
    "invite",
    metadata,
    Column("code_sha256", LargeBinary, primary_key=True),
    _to("study_id -> study.id", UUID),
)

barred = Table(
    "barred",
    metadata,
    Column("study_id", UUID, ForeignKey("study.id"), primary_key=True),
    Column("token", LargeBinary, primary_key=True),
)

seen_token = Table(
    "seen_token",
    metadata,
    Column("token_sha256", LargeBinary, primary_key=True),
    _moment("expires_at", nullable=False),
)

webhook = Table(
    "webhook",
    metadata,
    Column("event_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    _moment("at", nullable=False, now=True),
)

export_run = Table(
    "export_run",
    metadata,
    _number(),
    _to("study_id -> study.id", UUID),
    Column("manifest_sha256", LargeBinary, nullable=False),
    _moment("at", nullable=False, now=True),
)
