"""Functions that a PostgreSQL store has besides its tables."""

from __future__ import annotations

FUNCTIONS = (
    # Functions that the statements shared with SQLite call by SQLite's names.
    "CREATE FUNCTION json_extract(doc text, place text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS"
    " $$ SELECT nullif(jsonb_path_query_first(replace(doc, '\\u0000', '')::jsonb, place::jsonpath), 'null'::jsonb) $$",
    "CREATE FUNCTION instr(hay text, needle text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS"
    " $$ SELECT strpos(hay, needle) $$",
    "CREATE FUNCTION glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
    " SELECT value ~ ('^' || replace(replace(regexp_replace(pattern, '([.+(){}|^$\\\\])', '\\\\\\1', 'g'),"
    " '*', '.*'), '?', '.') || '$') $$",
    "CREATE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
    " SELECT regexp_replace(normalize(lower(value COLLATE \"default\"), NFKD), '[\u0300-\u036f]', '', 'g') $$",
    # Numbers inside arrays that the shared statements write as bytes.
    "CREATE FUNCTION length_at(lengths bytea, field int) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
    " SELECT get_byte(lengths, 4 * field) + get_byte(lengths, 4 * field + 1) * 256::bigint"
    " + get_byte(lengths, 4 * field + 2) * 65536::bigint + get_byte(lengths, 4 * field + 3) * 16777216::bigint $$",
    "CREATE FUNCTION layout_chunks(layout bytea) RETURNS SETOF bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
    " SELECT (SELECT sum(get_byte(layout, 32 * at + k)::bigint << (8 * k))::bigint FROM generate_series(0, 6) k)"
    " FROM generate_series(0, length(layout) / 32 - 1) at $$",
)
