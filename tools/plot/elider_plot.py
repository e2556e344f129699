#!/usr/bin/env python3
"""Plots benchmark results (files written with --json) as one PNG or SVG.

Runs whose configurations differ only in the seed form a group. The plot shows each group's median, with the minimum and maximum
as an error bar. Each benchmark has separate panels, because different benchmarks run different transactions. `elider plot` runs
this script. Exit codes: 0 success, 1 a library is missing or the plot cannot be written, 2 an argument is wrong or a file was not
written by a benchmark.
"""
import argparse
import json
import os
import statistics
import sys
import textwrap

# Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
SPEAKS_FOR_ITSELF = {"benchmark", "workload", "mix", "index", "distribution"}
NOT_A_DIFFERENCE = {"seed", "round", "commit", "compiler", "build", "machine", "history", "sync_used", "htm_used"}
SYSTEM_PYTHON = "/usr/bin/python3"
MEMORY_PARTS = ["rows", "versions", "blocks", "indexes", "free"]


class Problem(Exception):
    """An error: a message of one line for the user, and the exit code."""

    def __init__(self, words, code=1):
        super().__init__(words)
        self.code = code


def is_run(run):
    return isinstance(run, dict) and "throughput_txns_per_s" in run and isinstance(run.get("configuration"), dict)


def read(path):
    """Returns the list of results in a file. If the file does not contain any, raises a Problem that names the file."""
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}", 2) from error
    except (ValueError, RecursionError) as error:
        raise Problem(f"{path}: not JSON: {error}", 2) from error
    if isinstance(result, dict) and "figures" in result and "configuration" in result:
        return [result]
    runs = result.get("runs", [result]) if isinstance(result, dict) else [result]  # `elider-lab elision` writes several runs
    if not isinstance(runs, list) or not runs or not all(is_run(run) for run in runs):
        raise Problem(f"{path}: not a benchmark's result (it lacks throughput_txns_per_s or configuration)", 2)
    return runs


class Group:
    """Runs with the same configuration, apart from the seed."""

    def __init__(self, configuration):
        self.configuration = configuration
        self.runs = []
        self.label = ""

    def throughputs(self):
        return [run["throughput_txns_per_s"] for run in self.runs]


def key_of(configuration, ignored=frozenset()):
    kept = {name: value for name, value in configuration.items() if name not in NOT_A_DIFFERENCE and name not in ignored}
    return json.dumps(kept, sort_keys=True)


def group_runs(results):
    groups = {}
    for result in results:
        configuration = result["configuration"]
        groups.setdefault(key_of(configuration), Group(configuration)).runs.append(result)
    ordered = sorted(groups.values(), key=lambda group: group.configuration.get("threads", 0))
    label_groups(ordered)
    return ordered


def differing(groups):
    """Returns the names of the settings whose values differ between the groups."""
    names = []
    for group in groups:
        names += [name for name in group.configuration if name not in names]
    return [
        name
        for name in names
        if name not in NOT_A_DIFFERENCE and len({json.dumps(g.configuration.get(name), sort_keys=True) for g in groups}) > 1
    ]


def short(value):
    if isinstance(value, dict):
        return " ".join(f"{name} {short(each)}" for name, each in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def label_groups(groups):
    names = [name for name in differing(groups) if name not in ("shares", "warmup_seconds")]
    for group in groups:
        parts = []
        for name in names:
            value = group.configuration.get(name)
            if value not in (None, ""):
                parts.append(short(value) if name in SPEAKS_FOR_ITSELF else f"{name} {short(value)}")
        group.label = "\n".join(parts) or str(group.configuration.get("benchmark", "run"))


def benchmark_of(result):
    return str(result["configuration"].get("benchmark", "benchmark"))


def benchmarks_of(results):
    """Returns the names of the benchmarks without duplicates, in the order of the files."""
    return list(dict.fromkeys(benchmark_of(result) for result in results))


def sizes_of(groups):
    """Describes a benchmark's size, such as "tpcc, 2 warehouses". Omits sizes that differ between groups, because the labels show them."""
    first, differs = groups[0].configuration, differing(groups)
    parts = [str(first.get("benchmark", "benchmark"))]
    if "warehouses" in first and "warehouses" not in differs:
        parts.append(f"{first['warehouses']} warehouse{'' if first['warehouses'] == 1 else 's'}")
    if "records" in first and not {"records", "value_bytes"} & set(differs):
        parts.append(f"{first['records']:,} records of {first.get('value_bytes', '?')} bytes")
    return ", ".join(parts)


def spread(values):
    """Returns the median, and its distances from the minimum and the maximum."""
    middle = statistics.median(values)
    return middle, middle - min(values), max(values) - middle


def unit_of(value):
    for unit, scale in (("M", 1e6), ("K", 1e3)):
        if value >= scale:
            return unit, scale
    return "", 1.0


def draw_bars(axes, labels, values, colours=None):
    """Draws a bar for each median throughput, with the minimum and maximum as an error bar and the value as a label."""
    spreads = [spread(each) for each in values]
    unit, scale = unit_of(max(middle for middle, _, _ in spreads))
    heights = [middle / scale for middle, _, _ in spreads]
    errors = [[low / scale for _, low, _ in spreads], [high / scale for _, _, high in spreads]]
    axes.set_xlim(-0.7, max(len(labels), 4) - 0.3)
    bars = axes.bar(range(len(labels)), heights, yerr=errors, capsize=3, color=colours or COLOURS[0], width=0.6)
    axes.bar_label(bars, labels=[f"{height:.3g}" for height in heights], padding=2, fontsize=8)
    axes.set_xticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylabel(f"throughput ({unit + ' ' if unit else ''}transactions/s)")
    axes.margins(y=0.15)


def draw_throughput(axes, groups):
    threads = {group.configuration.get("threads") for group in groups}
    if len(threads) > 1 and None not in threads:
        draw_over_threads(axes, groups)
    else:
        draw_bars(axes, [group.label for group in groups], [group.throughputs() for group in groups])
    axes.set_title("Throughput", fontsize=10)


def draw_over_threads(axes, groups):
    lines = {}
    for group in groups:
        lines.setdefault(key_of(group.configuration, {"threads"}), []).append(group)
    unit, scale = unit_of(max(max(group.throughputs()) for group in groups))
    for position, line in enumerate(lines.values()):
        line.sort(key=lambda group: group.configuration["threads"])
        spreads = [spread(group.throughputs()) for group in line]
        label = "\n".join(part for part in line[0].label.split("\n") if not part.startswith("threads ")) or "median, min, max"
        axes.errorbar(
            [group.configuration["threads"] for group in line],
            [middle / scale for middle, _, _ in spreads],
            yerr=[[low / scale for _, low, _ in spreads], [high / scale for _, _, high in spreads]],
            marker="o", capsize=3, color=COLOURS[position % len(COLOURS)], label=label.replace("\n", ", "),
        )
    axes.set_xlabel("threads")
    axes.set_xticks(sorted({group.configuration["threads"] for group in groups}))
    axes.set_ylabel(f"throughput ({unit + ' ' if unit else ''}transactions/s)")
    axes.margins(x=0.1)
    axes.set_ylim(0, 1.15 * max(max(group.throughputs()) for group in groups) / scale)
    axes.legend(fontsize=8, loc="lower right")


def draw_latency(axes, groups):
    """Draws p50, p99 and p99.9 of each transaction type, each as the median over the group's runs."""
    rows = []
    for group in groups:
        for name in group.runs[0].get("latency_us", {}):
            points = [
                [run["latency_us"][name][q] for run in group.runs if name in run.get("latency_us", {})]
                for q in ("p50", "p99", "p99_9")
            ]
            head = f"{name}\n{group.label}" if len(groups) > 1 else name
            rows.append((head.replace("\n", ", "), [statistics.median(each) for each in points]))
    if not rows:
        return False
    for at, (_, (p50, p99, p99_9)) in enumerate(rows):
        axes.plot([p50, p99_9], [at, at], color="#BBBBBB", linewidth=2, zorder=1)
        for value, marker, colour in ((p50, "o", COLOURS[0]), (p99, "s", COLOURS[1]), (p99_9, "D", COLOURS[5])):
            axes.scatter([max(value, 1e-3)], [at], marker=marker, color=colour, zorder=2, s=28)
    for marker, colour, label in (("o", COLOURS[0], "p50"), ("s", COLOURS[1], "p99"), ("D", COLOURS[5], "p99.9")):
        axes.scatter([], [], marker=marker, color=colour, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    low, high = axes.get_xlim()
    axes.xaxis.set_minor_formatter("{x:g}" if high < 20 * low else "")
    axes.tick_params(axis="x", which="both", labelsize=8)
    axes.margins(y=0.2)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("latency (µs)")
    axes.set_title("Latency by transaction", fontsize=10)
    axes.legend(fontsize=8)
    return True


def draw_aborts(axes, groups):
    """Draws the aborts of each group's first run by cause, as a share of all attempts."""
    causes = []
    for group in groups:
        causes += [c for c, n in group.runs[0].get("aborts", {}).items() if c != "total" and n > 0 and c not in causes]
    if not causes:
        return False
    bottoms = [0.0] * len(groups)
    for position, cause in enumerate(causes):
        shares = []
        for group in groups:
            run = group.runs[0]
            attempts = run["committed"] + run["aborts"].get("total", 0)
            shares.append(100 * run["aborts"].get(cause, 0) / attempts if attempts else 0.0)
        axes.bar(range(len(groups)), shares, bottom=bottoms, label=cause, color=COLOURS[position % len(COLOURS)], width=0.6)
        bottoms = [bottom + share for bottom, share in zip(bottoms, shares)]
    axes.set_xticks(range(len(groups)), [group.label for group in groups], fontsize=8)
    axes.set_xlim(-0.7, max(len(groups), 4) - 0.3)
    axes.set_ylabel("aborts (% of attempts)")
    axes.set_title("Aborts by cause", fontsize=10)
    axes.legend(fontsize=8)
    return True


def draw_memory(axes, groups):
    """Draws the memory in use in each group's first run, by part."""
    with_memory = [group for group in groups if group.runs[0].get("memory_bytes", {}).get("total", 0) > 0]
    if not with_memory:
        return False
    bottoms = [0.0] * len(with_memory)
    for position, part in enumerate(MEMORY_PARTS):
        sizes = [group.runs[0]["memory_bytes"].get(part, 0) / 1e6 for group in with_memory]
        if not any(sizes):
            continue
        axes.bar(range(len(with_memory)), sizes, bottom=bottoms, label=part, color=COLOURS[position], width=0.6)
        bottoms = [bottom + size for bottom, size in zip(bottoms, sizes)]
    axes.set_xticks(range(len(with_memory)), [group.label for group in with_memory], fontsize=8)
    axes.set_xlim(-0.7, max(len(with_memory), 4) - 0.3)
    axes.set_ylabel("memory in use (MB)")
    axes.set_title("Memory by part", fontsize=10)
    axes.legend(fontsize=8)
    return True


def workload_title(run):
    """Describes the workload, such as "workload a: 50% read, 50% update, zipfian". Older results contain only a mix."""
    if run.get("workload", "mix") == "mix":
        return f"{run['mix']} read / read-modify-write"
    shares = ", ".join(f"{share:g}% {kind}" for kind, share in run["shares"].items())
    return f"workload {run['workload']}: {shares}, {run['distribution']}"


def draw_compare(axes, result, run):
    stores = run["stores"]
    draw_bars(axes, list(stores), [of_store["throughput_txns_per_s"]["runs"] for of_store in stores.values()], COLOURS[: len(stores)])
    axes.set_title(f"{workload_title(run)}, {result['configuration'].get('threads')} threads", fontsize=10)


def draw_figure(axes, result, figure):
    """Draws a reproduction of a published figure. The title quotes the published result. A wide x axis is logarithmic."""
    points = [point["x"] for line in figure["series"] for point in line["points"] if point["x"] > 0]
    for position, line in enumerate(figure["series"]):
        axes.plot(
            [point["x"] for point in line["points"]], [point["y"] for point in line["points"]],
            marker="o", markersize=3, color=COLOURS[position % len(COLOURS)], label=line["name"],
        )
    if points and max(points) / min(points) > 100:
        axes.set_xscale("log", base=10 if max(points) > 1e5 else 2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(figure["x"])
    axes.set_ylabel(figure["y"], fontsize=8)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    by = figure.get("regions_by") or result["configuration"]["regions_by"]
    published = textwrap.fill(f"by {by}; published: {figure['published']}", 90)
    axes.set_title(f"{figure['figure']}: {figure['title']}\n{published}", fontsize=8)


def panels_of(results):
    """Returns a list of functions, each of which draws a panel on the given axes and returns False if it did not draw anything."""
    compares = [result for result in results if "results" in result]
    runs = [result for result in results if "results" not in result and "figures" not in result]
    panels = []
    for result in results:
        for figure in result.get("figures", []):
            panels.append(lambda axes, result=result, figure=figure: draw_figure(axes, result, figure))
    for result in compares:
        for run in result["results"]:
            panels.append(lambda axes, result=result, run=run: draw_compare(axes, result, run))
    benchmarks = benchmarks_of(runs)
    for benchmark in benchmarks:
        groups = group_runs([run for run in runs if benchmark_of(run) == benchmark])
        about = f"{sizes_of(groups)}: " if len(benchmarks) > 1 else ""
        for draw in (draw_throughput, draw_latency, draw_aborts, draw_memory):
            panels.append(lambda axes, draw=draw, groups=groups, about=about: draw_titled(axes, draw, groups, about))
    return panels


def draw_titled(axes, draw, groups, about):
    """Draws a panel, and adds the prefix `about` to its title."""
    if draw(axes, groups) is False:
        return False
    axes.set_title(about + axes.get_title(), fontsize=10)
    return True


def footer(results):
    """Describes all machines and commits that produced the results, one per line."""
    seen = []
    for result in results:
        configuration = result["configuration"]
        machine = configuration.get("machine", {})
        line = (
            f"{machine.get('cpu', 'unknown processor')}, {machine.get('cpus', '?')} processors, "
            f"huge pages {machine.get('transparent_huge_pages', 'unknown')}; "
            f"commit {configuration.get('commit', 'unknown')}, {configuration.get('compiler', '')} {configuration.get('build', '')}"
        )
        if configuration.get("sync_used") == "elided":
            line += f"; regions by {configuration['htm_used']}"
        if line not in seen:
            seen.append(line)
    return "\n".join(seen)


def title_of(results):
    """Returns the benchmarks' names. If there is only one, adds its size, which the titles of the panels show otherwise."""
    benchmarks = benchmarks_of(results)
    return sizes_of(group_runs(results)) if len(benchmarks) == 1 else ", ".join(benchmarks)


def draw(pyplot, results, title, output):
    drawn = []
    panels = panels_of(results)
    pyplot.rcParams["svg.fonttype"] = "none"  # keeps text as text, instead of converting it to paths
    figure, grid = pyplot.subplots(len(panels), 1, figsize=(9, 3.2 * len(panels) + 1), squeeze=False)
    for axes, panel in zip(grid[:, 0], panels):
        axes.grid(axis="both", color="#E5E5E5", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if panel(axes) is False:
            figure.delaxes(axes)
        else:
            drawn.append(axes)
    # Panels without data do not leave a gap. More than four panels are placed in two columns.
    columns = 1 if len(drawn) <= 4 else 2
    rows = -(-len(drawn) // columns)
    for position, axes in enumerate(drawn):
        axes.set_subplotspec(pyplot.GridSpec(rows, columns, figure=figure)[position])
    figure.set_size_inches(9 if columns == 1 else 13, 3.2 * rows + 1)
    figure.suptitle(title or title_of(results), fontsize=12)
    lines = footer(results)
    figure.text(0.01, 0.005, lines, fontsize=7, color="#666666")
    figure.tight_layout(rect=(0, 0.012 + 0.14 * (lines.count("\n") + 1) / figure.get_figheight(), 1, 1 - 0.25 / figure.get_figheight()))
    figure.savefig(output, dpi=150)


def load_pyplot():
    """Imports matplotlib.pyplot. If this Python lacks it, runs the script with the system's Python, for which Debian packages it."""
    try:
        import matplotlib
    except ImportError:
        if os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) and os.access(SYSTEM_PYTHON, os.X_OK):
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        raise Problem("matplotlib is missing: install the Debian package python3-matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def main():
    parser = argparse.ArgumentParser(prog="elider plot")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    pyplot = load_pyplot()
    results = [result for path in arguments.files for result in read(path)]
    try:
        draw(pyplot, results, arguments.title, arguments.output)
    except OSError as error:
        raise Problem(f"{arguments.output}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError) as error:
        # The file's outer structure is right but an inner value is not, so a benchmark did not write the file.
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise Problem(f"{', '.join(arguments.files)}: not what a benchmark wrote ({words})", 2) from error


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        print(f"elider plot: {problem}", file=sys.stderr)
        sys.exit(problem.code)
