"""What to write instead of functions of DuckDB that there are not."""

INSTEAD = {
    "age": "date_sub('year', b, a) is how many years, date_sub('month', b, a) how many months (age may have one less "
    "where b is a 29th to 31st and the month of a is shorter); a - b is an INTERVAL of days",
    "to_timestamp": "it has a time zone; make_timestamp(CAST(x AS BIGINT) * 1000000) is the TIMESTAMP of x seconds since 1970",
    "octet_length": "strlen(x) is the number of bytes of a text",
    "format": "join the parts: name || ': ' || round(x, 2)",
    "printf": "join the parts: name || ': ' || round(x, 2)",
    "every": "write bool_and(x)",
    "approx_quantile": "write quantile_cont(x, 0.5)",
    "bit_not": "write ~a",
    "shift_left": "write a << n",
    "shift_right": "write a >> n",
    "iif": "write if(x, a, b)",
    **dict.fromkeys(("nvl", "isnull"), "write coalesce(a, b)"),
    "nvl2": "write CASE WHEN a IS NULL THEN c ELSE b END",
    "safe_cast": "write TRY_CAST(x AS type)",
    "convert": "write CAST(x AS type)",
    **dict.fromkeys(("dateadd", "adddate", "add_months", "timestampadd"), "write d + n * INTERVAL '1 month'"),
    "subdate": "write d - n * INTERVAL '1 day'",
    **dict.fromkeys(("timestampdiff", "months_between"), "write date_diff('month', a, b)"),
    **dict.fromkeys(("getdate", "curdate", "utc_timestamp"), "write current_date or now()"),
    **dict.fromkeys(("to_char", "date_format"), "write strftime(d, '%Y-%m-%d')"),
    **dict.fromkeys(("to_date", "str_to_date"), "write strptime(s, '%d.%m.%Y')::DATE"),
    **dict.fromkeys(("charindex", "locate"), "write instr(text, part)"),
    "regexp_like": "write regexp_matches(s, 'pattern')",
    "regexp_substr": "write regexp_extract(s, 'pattern')",
    "substring_index": "write split_part(s, ',', n)",
    "truncate": "write trunc(x, n)",
    "stdev": "write stddev(x)",
    **dict.fromkeys(("array_agg", "list", "array_to_string"), "there are no lists; string_agg(x, ',') makes a text"),
}

PIVOTS = {
    False: ("PIVOT", "write a column for each value: sum(x) FILTER (WHERE y = 1)"),
    True: ("UNPIVOT", "write a query for each column, with UNION ALL between: SELECT 'a' AS name, a AS value FROM t"),
}  # the word, and what to write, by whether columns become rows
DATES = "write d + i * INTERVAL '1 day' with FROM generate_series(0, n) AS g(i)"
COUNT_ROWS = "write SELECT count(*) FROM (SELECT DISTINCT a, b FROM t)"
A_VALUE = "write the value into the query, or ? and give it: Session.sql(text, values=[...])"
FUNCTIONS_PAGE = "docs/functions.md lists the functions there are"
DAYS = "write n * INTERVAL '1 day'"
