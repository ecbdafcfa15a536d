"""One case: its dice, its folder, and every command it runs, checked."""

from tests.fuzz.checks import Place, said
from tests.fuzz.running import placed, run


class Case:
    """What a family works with; ``found`` is what did not hold, ``ran`` every command."""

    def __init__(self, dice, world):
        self.dice, self.world = dice, world
        self.found, self.ran = [], []
        self.folder = self.place = None

    def begin(self, base=None):
        """Begin with a copy of a base, or with an empty folder."""
        self.folder = self.world.fresh() if base is None else self.world.copied(base)
        return self.folder

    def do(self, *asked, remedy=False):
        """Run a command in the folder and check it."""
        with placed(self.folder) as temporary:
            place = Place(self.folder)
            ran = run(*asked)
            self.ran.append(ran)
            self.found += said(ran, remedy=remedy)
            self.found += place.changed(ran, temporary)
        return ran
