-- Two logins for one database. Run once, as a superuser, with the passwords in the environment:
-- anybody on the machine can read what is on a command line.
--   read -rs OWNER_PASSWORD; export OWNER_PASSWORD
--   psql -v database=theodolite < deploy/roles.sql
-- Without SERVER_PASSWORD the server's login comes by the socket only (peer).
--
-- theodolite_owner   makes and changes the tables, loads studies. Nothing that runs has its password.
-- theodolite_server  serves people. It adds to what people said; it cannot change the tables, and
--                    changes answers only as theodolite_withdraw, which withdrawal uses.
\set ON_ERROR_STOP on
set log_statement = 'none';  -- passwords are in the next ones
set log_min_duration_statement = -1;
\set owner_password ''
\set server_password ''
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD
select length(:'owner_password') < 20 as weak \gset
\if :weak
    do $$ begin raise exception 'OWNER_PASSWORD is missing or short: openssl rand -hex 32'; end $$;
\endif
select format('create role %I nologin', name)
from unnest(array['theodolite_app', 'theodolite_withdraw']) as name
where name not in (select rolname from pg_roles) \gexec
select 'create role theodolite_owner login'
where 'theodolite_owner' not in (select rolname from pg_roles) \gexec
select 'create role theodolite_server login noinherit'
where 'theodolite_server' not in (select rolname from pg_roles) \gexec
alter role theodolite_owner password :'owner_password';
select format('alter role theodolite_server password %L', nullif(:'server_password', '')) \gexec

grant theodolite_app, theodolite_withdraw to theodolite_owner with admin option;
grant theodolite_app, theodolite_withdraw to theodolite_server;

select format('create database %I owner theodolite_owner template template0 encoding utf8', :'database')
where :'database' not in (select datname from pg_database) \gexec
select format('revoke all on database %I from public', :'database') \gexec
select format('grant connect on database %I to theodolite_owner, theodolite_server', :'database') \gexec
\connect :database
-- to see which form the tables have, and to check a study
alter default privileges for role theodolite_owner in schema public
    grant select on tables to theodolite_server;
