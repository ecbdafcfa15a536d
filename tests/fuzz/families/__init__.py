"""What is fuzzed: each family is a function of a case, with its weight among all cases.

Valid series take a second, damaged files a few hundredths; the weights make both of them worth their time.
"""

from tests.fuzz.families.anchors import anchors
from tests.fuzz.families.arguments import arguments
from tests.fuzz.families.releases import manifests, releases
from tests.fuzz.families.settings import configs, hierarchies
from tests.fuzz.families.snapshots import csv, parquet
from tests.fuzz.families.valid import valid

FAMILIES = {
    "csv": (csv, 20),
    "parquet": (parquet, 12),
    "config": (configs, 18),
    "hierarchy": (hierarchies, 8),
    "manifest": (manifests, 12),
    "release": (releases, 12),
    "arguments": (arguments, 12),
    "anchor": (anchors, 3),
    "valid": (valid, 6),
}
