//! The graph of the board, drawn with lines or told to Graphviz.
//!
//! A task stands below one of the tasks it depends on: the one furthest from
//! the start, so that everything above it comes before it. What else it depends
//! on is named beside it.

use std::collections::BTreeMap;

use missiond_api::operations::board::{GraphNode, GraphReport};
use missiond_core::{BoardTaskStatus, TaskNumber};

use crate::output::Output;
use crate::term::{Paint, Style, printable};

pub(super) fn draw(output: &mut Output, report: &GraphReport) {
    if report.nodes.is_empty() {
        output.line("There is nothing to draw: no task is open, running or blocked.");
        return;
    }
    for line in lines(&report.nodes, output.paint) {
        output.line(line);
    }
    if report.left_out > 0 {
        output.line(format!("… and {} more tasks", report.left_out));
    }
}

pub(super) fn dot(output: &mut Output, report: &GraphReport) {
    output.line("digraph board {");
    output.line("  rankdir=LR; node [shape=box];");
    for node in &report.nodes {
        let label = quoted(&format!("{} {}", node.number, printable(&node.title)));
        let colour = match node.status {
            BoardTaskStatus::Open => "black",
            BoardTaskStatus::Running => "blue",
            BoardTaskStatus::Review => "purple",
            BoardTaskStatus::Done => "darkgreen",
            BoardTaskStatus::Failed => "red",
            BoardTaskStatus::Blocked => "orange",
        };
        output.line(format!(
            "  \"{}\" [label={label}, color={colour}];",
            node.number
        ));
        for on in &node.depends_on {
            output.line(format!("  \"{on}\" -> \"{}\";", node.number));
        }
    }
    output.line("}");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn lines(nodes: &[GraphNode], paint: Paint) -> Vec<String> {
    let levels = levels(nodes);
    let mut below: BTreeMap<Option<TaskNumber>, Vec<&GraphNode>> = BTreeMap::new();
    for node in nodes {
        let deepest = node
            .depends_on
            .iter()
            .max_by_key(|on| (levels.get(on), **on));
        below.entry(deepest.copied()).or_default().push(node);
    }
    let mut lines = Vec::with_capacity(nodes.len());
    // Without recursion: a chain may be as long as the board. What is pushed
    // last is drawn first.
    let mut open: Vec<(&GraphNode, String, String)> = Vec::new();
    let roots = below.remove(&None).unwrap_or_default();
    open.extend(
        roots
            .into_iter()
            .rev()
            .map(|node| (node, String::new(), String::new())),
    );
    while let Some((node, lead, indent)) = open.pop() {
        lines.push(format!("{lead}{}", described(node, &levels, paint)));
        let under = below.remove(&Some(node.number)).unwrap_or_default();
        let last = under.len().saturating_sub(1);
        for (place, child) in under.into_iter().enumerate().rev() {
            let (branch, more) = if place == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            open.push((
                child,
                format!("{indent}{branch}"),
                format!("{indent}{more}"),
            ));
        }
    }
    lines
}

/// How far each task is from the start: one more than the furthest it depends
/// on.
fn levels(nodes: &[GraphNode]) -> BTreeMap<TaskNumber, usize> {
    let mut levels: BTreeMap<_, _> = nodes.iter().map(|node| (node.number, 0)).collect();
    // A pass for each level there can be; most boards need few.
    for _ in 0..nodes.len() {
        let mut changed = false;
        for node in nodes {
            let deepest = node.depends_on.iter().filter_map(|on| levels.get(on)).max();
            let level = deepest.map_or(0, |level| level + 1);
            if levels.get(&node.number) != Some(&level) {
                levels.insert(node.number, level);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    levels
}

fn described(node: &GraphNode, levels: &BTreeMap<TaskNumber, usize>, paint: Paint) -> String {
    let style = match node.status {
        BoardTaskStatus::Open => Style::Dim,
        BoardTaskStatus::Running => Style::Cyan,
        BoardTaskStatus::Review => Style::Bold,
        BoardTaskStatus::Done => Style::Green,
        BoardTaskStatus::Failed => Style::Red,
        BoardTaskStatus::Blocked => Style::Yellow,
    };
    let status = paint.apply(style, node.status.as_str());
    let mut text = format!("{} {status}  {}", node.number, printable(&node.title));
    let deepest = node
        .depends_on
        .iter()
        .max_by_key(|on| (levels.get(on), **on));
    let others: Vec<_> = node
        .depends_on
        .iter()
        .filter(|on| Some(*on) != deepest)
        .map(ToString::to_string)
        .collect();
    if !others.is_empty() {
        text = format!("{text} (also after {})", others.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: i64, title: &str, on: &[i64]) -> GraphNode {
        GraphNode {
            number: TaskNumber(number),
            title: title.into(),
            status: BoardTaskStatus::Open,
            parent: None,
            depends_on: on.iter().copied().map(TaskNumber).collect(),
        }
    }

    #[test]
    fn a_diamond_is_drawn_once() {
        let nodes = [
            node(1, "top", &[]),
            node(2, "left", &[1]),
            node(3, "right", &[1]),
            node(4, "bottom", &[2, 3]),
            node(5, "alone", &[]),
        ];
        assert_eq!(
            lines(&nodes, Paint::plain()),
            [
                "T-1 open  top",
                "├─ T-2 open  left",
                "└─ T-3 open  right",
                "   └─ T-4 open  bottom (also after T-2)",
                "T-5 open  alone",
            ]
        );
    }

    #[test]
    fn a_long_chain_is_drawn_whole() {
        let nodes: Vec<_> = (1..=300)
            .map(|number| match number {
                1 => node(1, "x", &[]),
                number => node(number, "x", &[number - 1]),
            })
            .collect();
        assert_eq!(lines(&nodes, Paint::plain()).len(), 300);
    }

    #[test]
    fn quotes_do_not_end_a_label() {
        assert_eq!(quoted("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\"");
    }
}
