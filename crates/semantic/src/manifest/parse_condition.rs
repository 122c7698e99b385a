//! From YAML to the conditions of rules and holds.

use missiond_yaml::{Fields, Node, unknown};

use super::keys;
use super::parse::{Parser, milliseconds, state};
use crate::keys::Key;
use crate::paste::Paste;
use crate::rule::{Condition, RowTest};
use crate::screen::Style;
use crate::tool::ToolPhase;

const MAX_DEPTH: usize = 8;

impl Parser {
    pub(super) fn condition(&mut self, node: Node<'_>, depth: usize) -> Option<Condition> {
        if depth > MAX_DEPTH {
            node.problem(format!("conditions are nested deeper than {MAX_DEPTH}"));
            return None;
        }
        if !node.is_mapping() {
            let items = node.list()?;
            return Some(single(self.conditions(items, depth), Condition::All));
        }
        let fields = node.fields("a condition", keys::CONDITION)?;
        if fields.is_empty() {
            fields.problem("a condition must say something");
        }
        let mut all = Vec::new();
        if let Some(node) = fields.get("all") {
            all.push(Condition::All(self.conditions(node.list()?, depth)));
        }
        if let Some(node) = fields.get("any") {
            all.push(Condition::Any(self.conditions(node.list()?, depth)));
        }
        if let Some(node) = fields.get("not") {
            all.push(Condition::Not(Box::new(self.condition(node, depth + 1)?)));
        }
        self.rows(&fields, &mut all);
        self.signals(&fields, &mut all);
        Some(single(all, Condition::All))
    }

    fn conditions(&mut self, nodes: Vec<Node<'_>>, depth: usize) -> Vec<Condition> {
        nodes
            .into_iter()
            .filter_map(|node| self.condition(node, depth + 1))
            .collect()
    }

    fn rows(&self, fields: &Fields<'_>, all: &mut Vec<Condition>) {
        let style = fields.get("style").and_then(|node| {
            let words = [
                ("bold", Style::BOLD),
                ("dim", Style::DIM),
                ("inverse", Style::INVERSE),
                ("coloured", Style::COLOURED),
                ("filled", Style::FILLED),
            ];
            node.word("style", &words)
        });
        let mut tests = Vec::new();
        let pattern = |key| fields.get(key).and_then(|node| self.pattern(node));
        tests.extend(pattern("has").map(|pattern| RowTest::Has(pattern, style)));
        tests.extend(pattern("first").map(RowTest::First));
        tests.extend(pattern("last").map(RowTest::Last));
        tests.extend(pattern("says").map(RowTest::Says));
        if let Some(node) = fields.get("exists") {
            match node.boolean() {
                Some(true) => tests.push(RowTest::Exists),
                Some(false) => node.problem("write `not: {in: …, exists: true}` instead"),
                None => {}
            }
        }
        let Some(node) = fields.get("in") else {
            if !tests.is_empty() {
                fields.problem("`in` is missing: say which region the rows are in");
            }
            return;
        };
        if tests.is_empty()
            && ["has", "first", "last", "says"]
                .iter()
                .all(|k| fields.get(k).is_none())
        {
            node.problem("`in` needs one of `has`, `first`, `last`, `says` or `exists`");
        }
        let Some(region) = self.region_id(node) else {
            return;
        };
        all.extend(
            tests
                .into_iter()
                .map(|test| Condition::Rows { region, test }),
        );
    }

    fn signals(&mut self, fields: &Fields<'_>, all: &mut Vec<Condition>) {
        let pattern = |key| fields.get(key).and_then(|node| self.pattern(node));
        all.extend(pattern("title").map(Condition::Title));
        all.extend(pattern("status").map(Condition::Status));
        if let Some(node) = fields.get("progress") {
            let words: Vec<_> = ["none", "percent", "error", "busy", "paused"]
                .map(|name| (name, name))
                .to_vec();
            let names = node.one_or_more().into_iter();
            let names = names.filter_map(|node| node.word("progress", &words).map(str::to_owned));
            all.push(Condition::Progress(names.collect()));
        }
        let flag = |key| fields.get(key).and_then(Node::boolean);
        all.extend(flag("alternate").map(Condition::Alternate));
        all.extend(flag("cursor_visible").map(Condition::CursorVisible));
        all.extend(flag("dialog").map(Condition::Dialog));
        if let Some(region) = fields
            .get("cursor_in")
            .and_then(|node| self.region_id(node))
        {
            all.push(Condition::CursorIn(region));
        }
        if let Some(node) = fields.get("paste") {
            let asked = node.one_or_more().into_iter();
            let asked = asked.filter_map(|node| node.word("paste", &Paste::NAMES));
            all.push(Condition::Paste(asked.collect()));
        }
        if let Some(node) = fields.get("was") {
            all.push(Condition::Was(
                node.one_or_more().into_iter().filter_map(state).collect(),
            ));
        }
        if let Some(node) = fields.get("tool") {
            all.extend(
                node.word("tool phase", &ToolPhase::NAMES)
                    .map(Condition::Tool),
            );
        }
        if let Some(node) = fields.get("changed") {
            all.extend(self.changed(node));
        }
        if let Some(node) = fields.get("fingerprint") {
            all.extend(self.fingerprint_condition(node));
        }
        all.extend(fields.get("sent").and_then(sent));
        all.extend(fields.get("unanswered").and_then(unanswered));
    }

    fn changed(&mut self, node: Node<'_>) -> Option<Condition> {
        let fields = node.fields("changed", keys::CHANGED)?;
        let region = fields.require("in").and_then(|node| self.region_id(node));
        let within = fields.require("within_ms").and_then(milliseconds);
        let (region, within) = (region?, within?);
        let tracker = self.trackers.iter().position(|tracked| *tracked == region);
        let tracker = tracker.unwrap_or_else(|| {
            self.trackers.push(region);
            self.trackers.len() - 1
        });
        Some(Condition::Changed {
            region,
            within,
            tracker,
        })
    }

    fn fingerprint_condition(&self, node: Node<'_>) -> Option<Condition> {
        let name = node.text()?;
        let Some(known) = self.fingerprints.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = self.fingerprints.iter().map(|f| &f.name[..]).collect();
            node.problem(unknown("fingerprint", name, "", &names));
            return None;
        };
        let name = name.to_owned();
        Some(Condition::Fingerprint {
            name,
            region: known.region,
            hash: known.hash,
        })
    }
}

fn single(mut conditions: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => join(conditions),
    }
}

fn sent(node: Node<'_>) -> Option<Condition> {
    let fields = node.fields("sent", keys::SENT)?;
    let test = fields
        .require("key")
        .and_then(|node| node.word("key", &Key::NAMES));
    let within = fields.require("within_ms").and_then(milliseconds);
    Some(Condition::Sent {
        test: test?,
        within: within?,
    })
}

fn unanswered(node: Node<'_>) -> Option<Condition> {
    let fields = node.fields("unanswered", keys::UNANSWERED)?;
    let after = fields.require("after_ms").and_then(milliseconds);
    let within = fields.require("within_ms").and_then(milliseconds);
    Some(Condition::Unanswered {
        after: after?,
        within: within?,
    })
}
