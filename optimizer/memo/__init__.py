"""The memo: groups of equivalent expressions, shared by everything that uses them.

In: trees and rule results. Out: groups of multi-expressions, without duplicates, merged when a rule shows two to be one.
Read `group` (the data), `memo` (insert, intern, merge), `region_groups` (how a join finds its group), `binding` (what a rule gets
to see).
"""
