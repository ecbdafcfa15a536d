"""What a steward says of the releases to come, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answers:
    """What is known of the releases to come; None: nobody said.

    ``again``: the table is published again; ``changing``: sensitive values change; ``leaving``: people leave or return;
    ``ever``: the question is whether somebody *ever* had a value; ``parts``: recipients get parts of the people;
    ``recipients``: several get other columns.
    """

    again: bool | None = None
    changing: bool | None = None
    leaving: bool | None = None
    ever: bool = False
    parts: bool = False
    recipients: bool = False

    @property
    def several(self) -> bool:
        """Whether more than one release about the same people is to come, by what was said."""
        return bool(self.again or self.changing or self.leaving or self.ever or self.parts or self.recipients)

    @property
    def once(self) -> bool:
        """Whether it was said that there is one release and no other."""
        return self.again is False and not self.several

    @property
    def columns_only(self) -> bool:
        """Whether releases differ in their columns alone: the same people with the same values."""
        stays = self.leaving is False or (self.leaving is None and not self.again)
        return self.recipients and not self.parts and not self.changing and not self.ever and stays
