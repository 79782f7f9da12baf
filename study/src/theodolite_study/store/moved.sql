-- What 0.1.0 had, in the second form: each study becomes its first version. Nothing is rewritten that
-- proves something: digests of payloads, of the protocol and of the consent stay as they were made.

create function keys_of(items jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, public, pg_temp as $$
    select jsonb_agg('i' || (n - 1) order by n) from jsonb_array_elements(items) with ordinality as every(i, n)
$$;

-- The questions of a protocol of 0.1.0 as an instrument.
create function instrument_of(protocol jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, public, pg_temp as $$
    select jsonb_build_object(
        'door', '[]'::jsonb,
        'about', case when coalesce((protocol ->> 'demographics')::boolean, true) then
            jsonb_build_array(jsonb_build_object('blocks', jsonb_build_array(
                jsonb_build_object('name', 'age_band', 'kind', 'choice', 'required', false,
                    'options', '["18-24", "25-34", "35-44", "45-54", "55-64", "65"]'::jsonb),
                jsonb_build_object('name', 'gender', 'kind', 'choice', 'required', false,
                    'options', '["woman", "man", "another"]'::jsonb),
                jsonb_build_object('name', 'country', 'kind', 'text', 'required', false,
                    'least', 2, 'most', 2, 'lines', 1)))) else '[]'::jsonb end,
        'before', jsonb_build_array(jsonb_build_object('blocks', jsonb_build_array(
            jsonb_build_object('name', 'words', 'kind', 'text', 'required', true,
                'least', 1, 'most', 4000, 'lines', 3),
            jsonb_build_object('name', 'regions', 'kind', 'regions', 'required', true,
                'shapes', '["box"]'::jsonb, 'least', 0, 'most', 50, 'nothing', true)))),
        'after', jsonb_build_array(jsonb_build_object('blocks', (
            select jsonb_agg(jsonb_build_object('name', key, 'kind', 'likert', 'points', 5,
                                                'required', true) order by key)
              from jsonb_object_keys(protocol -> 'questions') key))),
        'end', case when protocol -> 'rankings' in ('{}', 'null') then '[]'::jsonb else
            jsonb_build_array(jsonb_build_object('blocks', (
                select jsonb_agg(jsonb_build_object('name', key, 'kind', 'ranking', 'required', true,
                                                    'items', keys_of(value -> 'items')) order by key)
                  from jsonb_each(protocol -> 'rankings')))) end)
$$;

insert into version (study_id, no, instrument, settings, n_votes, quota, lease_seconds, languages,
                     default_language, digest)
select id, 1, instrument_of(protocol), jsonb_strip_nulls(jsonb_build_object(
        'design', protocol -> 'design', 'panel', protocol -> 'panel',
        'same_picture_gap', protocol -> 'same_picture_gap',
        'same_picture_most', protocol -> 'same_picture_most', 'baseline', protocol -> 'baseline',
        'training', protocol -> 'training', 'checks', protocol -> 'checks',
        'access', (protocol -> 'access') - 'codes', 'minutes', protocol -> 'minutes',
        'smallest_width', protocol -> 'smallest_width', 'seed', protocol -> 'seed',
        'needs', '{"q5": "same", "q6": "different"}'::jsonb)),
    n_votes, greatest(quota, 1), lease_seconds, array[coalesce(protocol ->> 'language', 'en')],
    coalesce(protocol ->> 'language', 'en'), protocol_sha256
  from study where protocol is not null;

update study set title = protocol ->> 'title' where protocol is not null;

insert into wording (version_id, key, language, body)
select v.id, key, v.default_language, body from version v join study s on s.id = v.study_id,
    lateral (
        select name as key, s.protocol ->> name as body
          from unnest(array['title', 'welcome', 'instructions', 'thanks', 'contact']) name
        union all select 'words.text', s.protocol ->> 'before_text'
        union all select 'regions.text', s.protocol ->> 'before_boxes'
        union all select q.key || '.' || part, q.value ->> part
          from jsonb_each(s.protocol -> 'questions') q, unnest(array['text', 'low', 'high']) part
        union all select r.key || '.text', r.value ->> 'text' from jsonb_each(s.protocol -> 'rankings') r
        union all select r.key || '.item.i' || (n - 1), item
          from jsonb_each(s.protocol -> 'rankings') r,
               jsonb_array_elements_text(r.value -> 'items') with ordinality as every(item, n)
    ) texts where body is not null and body <> '' and v.no = 1;

insert into consent_text (version_id, language, shown, digest)
select v.id, v.default_language, convert_to(s.protocol ->> 'consent', 'UTF8'),
       sha256(convert_to(s.protocol ->> 'consent', 'UTF8'))
  from version v join study s on s.id = v.study_id;

insert into outcome (version_id, key, code, pay)
select v.id, key, s.protocol #>> array['access', 'codes', name], pay
  from version v join study s on s.id = v.study_id, (values
    ('finished', 'finished', 'reward'), ('ran_out', 'finished', 'reward'), ('stopped', 'screened_out', 'part'),
    ('declined', 'no_consent', 'none'), ('screened_out', 'screened_out', 'fee'),
    ('failed_practice', 'screened_out', 'fee'), ('failed_checks', 'screened_out', 'part'),
    ('timed_out', 'timed_out', 'part'), ('returned', 'returned', 'none'),
    ('full', 'screened_out', 'none'), ('withdrawn', 'no_consent', 'none')) as ways(key, name, pay);

update version v set state = case s.state when 'draft' then 'draft' when 'open' then 'open'
        when 'paused' then 'open' else 'closed' end,
       opened_at = s.opened_at, closed_at = s.closed_at
  from study s where s.id = v.study_id;

insert into picture (sha256, mime, width, height, bytes)
select distinct on (name) decode(name, 'hex'), mime, width, height, 0
  from asset, lateral (select split_part(file, '.', 1) as name) n
on conflict do nothing;

update instance i set shown = (i.record - 'check') || jsonb_build_object(
    'instruction', i.record #> '{check,instruction}', 'sizes', (
    select coalesce(jsonb_object_agg(a.file, jsonb_build_array(a.width, a.height)), '{}')
      from asset a where a.study_id = i.study_id and position(a.file in i.record::text) > 0));

-- Seats count from 1 now; by way of numbers that no seat has, as they are unique at every moment.
update slot set slot_no = -1 - slot_no;
update slot set slot_no = -slot_no;

insert into member (study_id, staff_id, role) select study_id, id, 'owner' from staff
 where study_id is not null;

-- Who declined leaves a keyed fingerprint, as the page says from now on.
insert into declined (study_id, token)
select study_id, bar_token from participant where state = 'declined' and octet_length(bar_token) = 32
on conflict do nothing;
delete from session where participant_id in (select id from participant where state = 'declined');
delete from event where actor in (select id::text from participant where state = 'declined')
   or object in (select id::text from participant where state = 'declined');
delete from participant where state = 'declined';

update participant p set version_id = v.id, language = v.default_language, promised = p.quota,
       outcome = case p.state when 'finished' then 'finished' when 'screened_out' then 'screened_out'
                              when 'withdrawn' then 'withdrawn' end,
       outcome_at = case when p.state = 'withdrawn' then null else p.finished_at end
  from version v where v.study_id = p.study_id;
update participant set promised = null, language = null where state = 'withdrawn';

update consent c set version_id = p.version_id, language = p.language
  from participant p where p.id = c.participant_id;
alter table consent alter version_id set not null, drop constraint consent_pkey;
alter table consent add constraint consent_pkey primary key (participant_id, version_id);
alter table consent add constraint consent_text_fkey
    foreign key (version_id, language) references consent_text (version_id, language);

update assignment a set version_id = p.version_id from participant p where p.id = a.participant_id;
update practice t set version_id = p.version_id, baseline = jsonb_build_object(
        'words', t.baseline -> 'text', 'regions', coalesce(t.baseline -> 'boxes', '[]'))
  from participant p where p.id = t.participant_id;

insert into answer (participant_id, version_id, stage, answers, payload_sha256, at)
select p.id, p.version_id, 'about', jsonb_strip_nulls(jsonb_build_object(
        'age_band', case d.age_band when '65 or older' then '65' else replace(d.age_band, '–', '-') end,
        'gender', d.gender, 'country', d.country)), sha256(''), coalesce(c.given_at, p.created_at)
  from participant p join version v on v.id = p.version_id
  left join demographic d on d.participant_id = p.id
  left join consent c on c.participant_id = p.id
 where p.state in ('training', 'active', 'finished', 'screened_out')
   and jsonb_array_length(v.instrument -> 'about') > 0;

insert into answer (participant_id, version_id, stage, answers, payload_sha256, at)
select p.id, p.version_id, 'end', (
        select jsonb_object_agg(key, (select jsonb_agg('i' || place order by n)
                 from jsonb_array_elements_text(value) with ordinality as every(place, n)))
          from jsonb_each(q.answers)), sha256(''), q.at
  from post_study q join participant p on p.id = q.participant_id;

update baseline set answers = jsonb_build_object('words', btrim(text, E' \t\n\r\f\v'), 'regions', boxes);
update vote v set version_id = p.version_id, answers = jsonb_strip_nulls(jsonb_build_object(
        'q1', q1, 'q2', q2, 'q3', q3, 'q4', q4, 'q5', q5, 'q6', q6))
  from participant p where p.id = v.participant_id;

-- The log of 0.1.0 is moved afterwards, in batches, while people take part: move_events.
create table moved_events (upto bigint not null);
insert into moved_events values (0);
create index event_actor on event (actor);
create index event_object on event (object);

-- Moves the next lines, in the order of their numbers; how many numbers it went on. Lines that say
-- who was served which picture are not taken along: addresses of pictures are signed now.
create function move_events(most integer) returns bigint language plpgsql
set search_path = public, pg_temp as $$
declare
    begun bigint; last_ bigint;
begin
    select upto into begun from moved_events for update;
    select max(id) into last_ from (select id from event where id > begun order by id limit most) next_;
    if last_ is null then return 0; end if;
    insert into log (study_id, at, participant_id, kind, object, detail)
    select e.study_id, e.at, p.id, coalesce(k.id, 99),
           case when e.object ~ '^[0-9]{1,18}$' then e.object::bigint end,
           case when k.id is null then e.detail || jsonb_build_object('kind', e.kind) else e.detail end
      from event e left join log_kind k on k.name = e.kind
      left join participant p on p.id::text = e.actor and p.state <> 'withdrawn'
     where e.id > begun and e.id <= last_ and e.kind <> 'explanation served' order by e.id;
    update moved_events set upto = last_;
    return last_ - begun;
end $$;
revoke execute on function move_events(integer) from public;

insert into place (version_id, no, state, participant_id)
select p.version_id, row_number() over (partition by p.version_id order by p.created_at, p.id),
       case when exists (select from vote where participant_id = p.id) then 'used' else 'taken' end, p.id
  from participant p where p.state in ('consented', 'training', 'active', 'finished') and not p.preview;
insert into place (version_id, no)
select v.id, coalesce((select max(no) from place where version_id = v.id), 0) + n
  from version v, lateral generate_series(1, least(20000, (
      select count(*) from slot where study_id = v.study_id))::integer) n;

insert into door (version_id, available) select id, st_available(id) from version;

insert into tally (version_id, what, shard, n)
select v.id, r.what, 0, r.n from version v, st_recount(v.id) r;

drop function instrument_of(jsonb);
drop function keys_of(jsonb);
