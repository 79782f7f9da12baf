"""Whether every link of a page answers; for a weekly job, as it asks other people's servers.

python live_links.py PAGE
"""

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 20


def fault(address: str) -> str:
    """Why it does not answer; nothing where it does."""
    request = urllib.request.Request(address, headers={"User-Agent": "theodolite-links"})
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()
    except (urllib.error.URLError, TimeoutError) as error:
        return f"{address}: {error}"
    return ""


text = Path(sys.argv[1]).read_text("utf-8")
links = sorted(set(re.findall(r"https://[^\s)\"}]+", text)))
faults = list(filter(None, map(fault, links)))
print(f"{len(links)} links, {len(faults)} dead")
sys.exit("\n".join(faults) or 0)
