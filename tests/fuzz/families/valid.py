"""Valid random series through every guarantee and method: refused with a reason, or published, verified and held."""

from tests.fuzz import pairs, tables
from tests.fuzz.checks import Finding


def valid(case):
    """Publish one to four releases of a random table, verify each, attack them all, and look at them."""
    dice, folder = case.dice, case.begin()
    many = dice.pick({1: 4, 2: 4, 3: 2, 4: 1})
    history = tables.History(dice, many)
    series = f'[series]\nname = "fuzz"\nseed = {dice.below(99)}\narchive = {"true" if dice.chance(0.7) else "false"}\n'
    series += 'vault = "fuzz.vault"\n' if dice.chance(0.4) else ""
    path = folder / "reveil.toml"
    kinds = pairs.draw(dice, path, series + history.columns(folder), history.values())
    config = ("-c", "reveil.toml")
    out, snapshots = [], []
    for number in range(1, many + 1):
        name = history.write(folder, number)
        target = f"r{number}.{dice.pick(['csv', 'csv', 'parquet'])}"
        again = ["--again"] if number > 1 and "vault =" in series and dice.chance(0.5) else []
        ran = case.do("publish", name, *config, "-o", target, *again, remedy=True)
        if ran.code == 0 and "already release" not in ran.err:
            verified = case.do("verify", target, name, *config, remedy=True)
            if verified.code != 0:
                case.found.append(Finding(f"verify: {' '.join(map(str, kinds))}: {_told(verified)}", str(verified)))
            out.append(target)
            snapshots.append(name)
        history.step()
    if not out:
        return
    audited = case.do("audit", *out, *config, "--truth", *snapshots, remedy=True)
    followed = "s0" in history.kinds and (history.person != "none" or len(out) == 1)
    # Publishing says so when what happened is not what the guarantee is for.
    covered = not any("does not cover" in ran.err for ran in case.ran)
    if (audited.code == 1 and covered) or (audited.code == 2 and followed):
        case.found.append(Finding(f"audit: {kinds[0]}: {_told(audited)}", f"{kinds} {audited}"))
    _look(case, dice, history, out, snapshots, followed=followed)


def _told(ran):
    lines = [line for line in ran.err.splitlines() if "BROKEN" in line or "error" in line] or [f"exit {ran.code}"]
    return "".join(ch for ch in lines[0] if not ch.isdigit())[:90]


def _look(case, dice, history, out, snapshots, *, followed):
    """Measure, ask, report and republish, now and then."""
    config, last = ("-c", "reveil.toml"), dice.below(len(out))
    remembered = (case.folder / "fuzz.vault").exists()
    if dice.chance(0.3):
        _fine(case, case.do("measure", snapshots[last], out[last], *config, "--queries", "5", remedy=True))
    if dice.chance(0.5):
        asked = tables.expression(dice, history)
        case.do("query", out[last], asked, *(config if dice.chance(0.5) else ()))
    if followed and (remembered or len(out) == 1) and dice.chance(0.12):
        _fine(
            case, case.do("report", *config, "-o", "out.html", "--releases", *out, "--truth", *snapshots, remedy=True)
        )
    if remembered and dice.chance(0.2):
        before = (case.folder / out[-1]).read_bytes()
        again = case.do("publish", snapshots[-1], *config, "-o", out[-1])
        if again.code != 0 or (case.folder / out[-1]).read_bytes() != before:
            case.found.append(Finding("the last release again is not the same", f"{again}: {again.err[:200]}"))
    if remembered and dice.chance(0.1):
        _fine(case, case.do("history", *config, "--check", "."))


def _fine(case, ran):
    if ran.code != 0:
        case.found.append(Finding(f"{ran.asked[0]} of a valid release: {_told(ran)}", f"{ran}: {ran.err[:300]}"))
