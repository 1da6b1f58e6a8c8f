"""The style of pages to be read, light or dark as the reader's system is: reports, and two searches side by side.

Pictures stand on a light ground in both. Classes: `n` a number, `wide` a box in which a table scrolls, `minus` and `plus` what
only the first or the second has, `problem`, and `soft` for what matters less.
"""

PAGE_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1d2733;--soft:#5f6973;--line:#d5dae1;--tint:#f1f4f9;--link:#05508c;
--minus:#fbe0c4;--plus:#d6e6fa;--problem:#fde8e8}
@media(prefers-color-scheme:dark){:root{--ground:#14171c;--ink:#e4e7eb;--soft:#a4adb8;--line:#3a414b;--tint:#252b34;--link:#86b7ff;
--minus:#4a3113;--plus:#1b3557;--problem:#3b1d1b}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem;margin-bottom:.2rem}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
a,summary{color:var(--link)}summary{cursor:pointer}code{background:var(--tint);padding:0 .25em}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:2px 9px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
.n{text-align:right}.wide{overflow:auto;max-height:40rem;margin:.4rem 0 1.2rem}.wide :is(th,td){white-space:nowrap}
.wide tr:hover td{background:var(--tint)}
.wide th{position:sticky;top:0;background:var(--ground);border-bottom:2px solid var(--soft)}
img,svg{box-sizing:border-box;max-width:100%;height:auto;background:#fff;border-radius:8px;padding:10px}
.soft{color:var(--soft)}.minus{background:var(--minus)}.plus{background:var(--plus)}
.problem{background:var(--problem);border-left:4px solid #c00;padding:.4rem .8rem}
"""
