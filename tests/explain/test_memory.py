"""`pullback.memory`: what a graph keeps alive."""

import pullback


def test_values_are_counted_once_and_sorted():
    x = pullback.ones(1000, requires_grad=True)
    big = x.exp()  # keeps its output
    y = (big * big).sum() + big.sin().sum()  # mul and sin keep the same memory
    report = pullback.memory(y)
    assert report.total == 4000 and report.entries[0].bytes == 4000 and report.entries[0].holders == 3
    assert report.by_operation() and not report.freed
    assert [entry.bytes for entry in report.entries] == sorted((entry.bytes for entry in report.entries), reverse=True)


def test_leaves_are_told_apart_and_views_count_their_memory():
    weight = pullback.ones(10, 10, requires_grad=True)
    constant = pullback.ones(50, 10)
    report = pullback.memory((weight[0] * constant[0]).sum())
    shown = {entry.tensor: entry for entry in report.entries}
    assert report.total == constant.numel() * 4  # the view keeps all of it
    report = pullback.memory((weight * 2 * weight).sum())
    leaf = next(entry for entry in report.entries if entry.leaf)
    assert leaf.tensor == "weight" and leaf.bytes == 400 and report.leaves == 400
    assert shown


def test_lines_text_and_freed_graphs():
    x = pullback.ones(8, requires_grad=True)
    with pullback.explaining.record():
        y = x.exp().sum()
    report = pullback.memory(y)
    assert "test_memory.py:" in str(report) and "exp" in str(report) and "32 B" in report.table()
    y.backward()
    report = pullback.memory(y)
    assert report.total == 0 and report.freed == 1 and "freed" in str(report)
    assert pullback.memory((x * 2).sum())._repr_html_().startswith("<pre>")
