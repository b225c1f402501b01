"""What the folder of a run says, and whether it adds up."""

import collections
import json
import os
import re
import sqlite3

_TAKEN_BACK = re.compile(r"([\d,]+) URLs were taken back from agent (\S+)")
_BEFORE = "before the run was resumed: "


class Unbalanced(Exception):
    """The run lost something, has it twice, or came to something else."""


def _connect(folder):
    # Not read-only: what a killed coordinator left in the WAL can only be read by one that may write its index anew.
    return sqlite3.connect(f"file:{folder}/records.db?mode=rw", uri=True, timeout=30)


def committed(folder):
    """{index: (start, outcome)} of what a resumed run must not touch. Fetches that were cut short have another turn; lines
    that are no URL were not fetched, and are noted anew when the list is read anew."""
    if not os.path.exists(f"{folder}/records.db"):
        return {}
    connection = _connect(folder)
    try:
        rows = connection.execute(
            "SELECT idx, start_us, name FROM record JOIN outcome ON code = outcome"
            " WHERE name NOT IN ('cancelled', 'client_crashed', 'invalid_url')"
        )
        return {idx: (start, outcome) for idx, start, outcome in rows}
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):  # killed before the tables were made
            return {}
        raise
    finally:
        connection.close()


def counts(folder):
    """{(outcome, status): how many}."""
    connection = _connect(folder)
    try:
        rows = connection.execute("SELECT outcome, coalesce(status, 0), count(*) FROM records GROUP BY 1, 2")
        return {(outcome, status): count for outcome, status, count in rows}
    finally:
        connection.close()


def taken_back(log):
    """{agent: how many URLs} that a coordinator's log says were taken back."""
    found = collections.Counter()
    for count, agent in _TAKEN_BACK.findall(log):
        found[agent] += int(count.replace(",", ""))
    return found


def check(folder, urls, expected_counts, kept, told):
    """`urls`: the list, by index; None where the line is no URL. `kept`: from committed(), of earlier sessions. `told`:
    from taken_back(), of the last session."""
    connection = _connect(folder)
    try:
        rows = connection.execute("SELECT idx, url FROM record ORDER BY idx").fetchall()
    finally:
        connection.close()
    if [idx for idx, _ in rows] != list(range(len(urls))):
        seen = {idx for idx, _ in rows}
        missing = [i for i in range(len(urls)) if i not in seen]
        raise Unbalanced(f"{len(rows)} records of {len(seen)} indices, {len(urls)} URLs; missing: {missing[:20]}")
    for idx, url in rows:
        if urls[idx] is not None and url != urls[idx]:
            raise Unbalanced(f"index {idx} is {urls[idx]} in the list and {url} in the records")
    if (found := counts(folder)) != expected_counts:
        raise Unbalanced(f"outcomes differ from an undisturbed run's: {found} instead of {expected_counts}")
    now = committed(folder)
    changed = [idx for idx, record in kept.items() if now.get(idx) != record]
    if changed:
        raise Unbalanced(f"{len(changed)} records that were committed changed afterwards: {changed[:20]}")
    with open(f"{folder}/summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    if summary["end"] != "complete" or not summary["ledger"]["balanced"] or summary["totalUrls"] != len(urls):
        raise Unbalanced(f"the summary says: end {summary['end']}, ledger {summary['ledger']}")
    check_degraded(summary, told)
    return summary


def check_degraded(summary, told):
    """Whoever was disturbed is named, with what it lost; of an undisturbed run nothing is said."""
    earlier = summary["disturbed_earlier"]
    moved = {a["name"]: a["urls_moved"] for a in summary["agents"] if a["urls_moved"]}
    if any(moved.get(name, 0) < count for name, count in told.items()):
        raise Unbalanced(f"the log says that URLs were taken back: {told}, the summary: {moved}")
    disturbed = [a for a in summary["agents"] if a["lost"] or a["reconnects"] or a["urls_moved"]]
    marks = {mark["name"]: mark["text"] for mark in summary["marks"]}
    if not summary["degraded"] == bool(disturbed or earlier) == ("degraded" in marks):
        raise Unbalanced(
            f"degraded: {summary['degraded']}, marks: {marks}, but disturbed: {disturbed}, earlier: {earlier}"
        )
    # The ledger is of the whole run, the agents' figures are of its last session.
    if not summary["resumed"] and summary["ledger"]["requested_again"] > sum(moved.values()):
        raise Unbalanced(f"URLs were asked for again that nobody has lost: {summary['ledger']}, {summary['agents']}")
    now, _, before = marks.get("degraded", "").partition(_BEFORE)
    _check_said(disturbed, now.removesuffix("; "))
    _check_said(earlier, ": " + before)


def _check_said(disturbed, text):
    for agent in disturbed:
        lost = f", {agent['urls_moved']:,} URLs moved" if agent["urls_moved"] else ""
        said = _said_of(agent["name"], [a["name"] for a in disturbed], text)
        if not said or not said.endswith(lost):
            raise Unbalanced(f"who lost what is not said of {agent['name']}{lost}: {text}")


def _said_of(name, names, text):
    """The part of `text` that begins with that name and ends before the next; empty: nothing."""
    starts = sorted(match.start() for n in names for match in [re.search(rf"(?:: |; ){re.escape(n)} ", text)] if match)
    for start, end in zip(starts, [*starts[1:], None]):
        part = text[start + 2 : end]
        if part.startswith(f"{name} "):
            return part
    return ""
