-- Logins for one database. Run once, as a superuser, with the passwords in the environment: anybody
-- on the machine can read what is on a command line.
--   read -rs OWNER_PASSWORD; export OWNER_PASSWORD
--   psql -v database=theodolite < deploy/roles.sql
-- A login without a password comes by the socket only (peer).
--
-- theodolite_owner        makes and changes the tables. Nothing that runs has its password.
-- theodolite_server       serves people: it calls the steps, and has no right on any table.
-- theodolite_desk_server  serves researchers.
-- theodolite_jobs_server  pays, hears from platforms, writes exports.
\set ON_ERROR_STOP on
set log_statement = 'none';  -- passwords are in the next ones
set log_min_duration_statement = -1;
\set owner_password ''
\set server_password ''
\set desk_password ''
\set jobs_password ''
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD
\getenv desk_password DESK_PASSWORD
\getenv jobs_password JOBS_PASSWORD
select length(:'owner_password') < 20 as weak \gset
\if :weak
    do $$ begin raise exception 'OWNER_PASSWORD is missing or short: openssl rand -hex 32'; end $$;
\endif
select format('create role %I nologin', name)
from unnest(array['theodolite_withdraw', 'theodolite_steps', 'theodolite_serve', 'theodolite_jobs',
                  'theodolite_desk']) as name
where name not in (select rolname from pg_roles) \gexec
select format('create role %I login', name)
from unnest(array['theodolite_owner', 'theodolite_server', 'theodolite_desk_server',
                  'theodolite_jobs_server']) as name
where name not in (select rolname from pg_roles) \gexec
alter role theodolite_owner password :'owner_password';
select format('alter role %I password %L', name, nullif(password, ''))
from (values ('theodolite_server', :'server_password'), ('theodolite_desk_server', :'desk_password'),
             ('theodolite_jobs_server', :'jobs_password')) as given(name, password) \gexec

grant theodolite_withdraw, theodolite_steps, theodolite_serve, theodolite_jobs, theodolite_desk
      to theodolite_owner with admin option;
grant theodolite_serve to theodolite_server;
grant theodolite_desk to theodolite_desk_server;
grant theodolite_jobs to theodolite_jobs_server;
-- also through a pooler, which passes no settings on
alter role theodolite_server set statement_timeout = '5s';
alter role theodolite_server set lock_timeout = '4s';
alter role theodolite_server set idle_in_transaction_session_timeout = '15s';

select format('create database %I owner theodolite_owner template template0 encoding utf8', :'database')
where :'database' not in (select datname from pg_database) \gexec
select format('revoke all on database %I from public', :'database') \gexec
select format('grant connect on database %I to theodolite_owner, theodolite_server, '
              'theodolite_desk_server, theodolite_jobs_server', :'database') \gexec
