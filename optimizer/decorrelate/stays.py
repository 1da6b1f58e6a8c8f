"""Why an Apply is not removed."""


class Stays(Exception):
    """An Apply cannot be removed by a method; the reason is for people. Raised and caught within a method."""
