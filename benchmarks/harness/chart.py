# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A chart of a run: how many times faster deplo is, and its bandwidth."""

from pathlib import Path

from .results import Results, geomean

_SERIES = (("eager", "PyTorch eager", "#4878a8"), ("compile", "torch.compile", "#d8843c"))


def draw(results: Results, path: Path) -> None:
    """Writes a chart; the suffix of `path` says the format: .png, .svg, .pdf.

    Raises:
        ValueError: no case has a time.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in results.rows if row.speedup("eager") is not None]
    if not rows:
        raise ValueError(f"{results.suite}-{results.dtype} has no case with a time")
    height = 0.32 * len(rows) + 1.6
    figure, (speed, bandwidth) = plt.subplots(
        1, 2, figsize=(11, height), sharey=True, width_ratios=(3, 2), layout="constrained"
    )
    places = range(len(rows))
    for i, (key, label, colour) in enumerate(_SERIES):
        values = [row.speedup(key) for row in rows]
        mean = geomean(values)
        if mean is None:
            continue
        offsets = [place + (i - 0.5) * 0.38 for place in places]
        shown = [value or 1.0 for value in values]
        speed.barh(
            offsets,
            [value - 1.0 for value in shown],
            left=1.0,
            height=0.36,
            color=colour,
            label=f"over {label} (geomean {mean:.2f})",
        )
    speed.axvline(1.0, color="black", linewidth=0.8)
    speed.set_xscale("log", base=2)
    speed.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    speed.set_xlabel("times faster (right of the line: deplo wins)")
    speed.set_yticks(list(places), [row.case for row in rows], fontsize=8)
    speed.invert_yaxis()
    speed.legend(
        loc="upper left", bbox_to_anchor=(0.0, -0.6 / height), ncols=2, frameon=False, fontsize=8
    )
    shares = [100 * (row.copy_share(results.copy_gbps) or 0.0) for row in rows]
    bandwidth.barh(list(places), shares, height=0.6, color="#6a9a5b")
    bandwidth.axvline(100.0, color="black", linewidth=0.8)
    bandwidth.set_xlabel(f"% of the bandwidth of a copy ({results.copy_gbps:.0f} GB/s)")
    figure.suptitle(f"{results.suite}, {results.dtype}, {results.device}", fontsize=10)
    figure.savefig(path, dpi=140)
    plt.close(figure)
