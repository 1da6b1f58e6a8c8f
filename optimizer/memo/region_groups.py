"""Which group has the joins of a region: found by the region's leaves, its predicate, and what binds the outer columns it reads.

Leaves are groups, so keys change when groups are merged: those that name the group that went, and no others.
"""

from optimizer.algebra.scalars import Predicate
from optimizer.memo.group import Binders, Group, Region

RegionKey = tuple[tuple[int, ...], Predicate, Binders]


class RegionGroups:
    """Groups by region. `parent`: by the id of a group, that of the one it became part of, or its own; the memo's, which would
    hold itself if it gave its `find`."""

    def __init__(self, parent: list[int]) -> None:
        self._parent = parent
        self._group: dict[RegionKey, int] = {}
        self._owners: dict[RegionKey, set[int]] = {}  # all groups of a region: one, until other groups become its leaves
        self._key: dict[int, RegionKey] = {}  # of each group with a region
        self._over: dict[int, set[int]] = {}  # by leaf: groups whose region has it, or had it
        self._found: list[RegionKey] = []  # since the last merge, of joins in groups whose own region is another

    def group(self, key: RegionKey) -> int | None:
        """The group of a region, of several the oldest one."""
        found = self._group.get(key)
        return None if found is None else self._find(found)

    def _find(self, gid: int) -> int:
        """The id that stands for that of a group after merges."""
        while self._parent[gid] != gid:
            gid = self._parent[gid]
        return gid

    def found(self, key: RegionKey, gid: int) -> None:
        """A join of the region is in a group, whatever the group's own region is. That is known until groups are merged."""
        if key not in self._group:
            self._group[key] = gid
            self._found.append(key)

    def add(self, group: Group) -> None:
        """A group with a region; its leaves become the ids that stand for them now."""
        assert group.region is not None
        group.region = region = Region(tuple(sorted(map(self._find, group.region.leaves))), group.region.predicate)
        bound = tuple([each for each in group.binders if group.outer >> each[0] & 1])
        key = self._key[group.id] = region.leaves, region.predicate, bound
        owners = self._owners.setdefault(key, set())
        owners.add(group.id)
        self._group[key] = min(owners)
        for leaf in region.leaves:
            self._over.setdefault(leaf, set()).add(group.id)

    def merged(self, keep: Group, gone: Group, groups: list[Group]) -> None:
        """`gone`, one of `groups`, has become part of `keep`, which has its region unless it had one."""
        for key in self._found:
            self._settle(key)
        self._found.clear()
        self._remove(gone.id)
        if keep.region is not None and keep.id not in self._key:
            self.add(keep)
        for gid in self._over.pop(gone.id, ()):
            if gid in self._key:
                self._remove(gid)
                self.add(groups[gid])

    def _remove(self, gid: int) -> None:
        key = self._key.pop(gid, None)
        if key is not None:
            self._owners[key].remove(gid)
            self._settle(key)

    def _settle(self, key: RegionKey) -> None:
        """A key stands for the oldest of the groups whose region it is."""
        owners = self._owners.get(key)
        if owners:
            self._group[key] = min(owners)
        else:
            self._owners.pop(key, None)
            self._group.pop(key, None)
