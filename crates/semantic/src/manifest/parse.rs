//! From YAML to a [`Manifest`].

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_core::PtyState;
use missiond_core::machines::Machine;
use missiond_yaml::{Fields, Node, unknown};
use regex::Regex;

use super::ManifestError;
use super::keys;
use super::{FORMAT, Hold, Manifest, NamedFingerprint};
use crate::dialog::DialogRule;
use crate::input::{AnswerKeys, InputRule, InterruptKey, NewlineKey, PromptRule};
use crate::reading::WaitingFor;
use crate::region::{RegionId, RegionRule, Without};
use crate::rule::Rule;
use crate::tool::{ToolPattern, ToolPhase};

/// A manifest is a page or two; more is a mistake or an attack.
const MAX_BYTES: usize = 256 << 10;
const DEFAULT_UNKNOWN_AFTER: Duration = Duration::from_secs(2);

pub(super) fn manifest(text: &str) -> Result<Manifest, ManifestError> {
    missiond_yaml::read_document(text, "a manifest", MAX_BYTES, |node| {
        Parser::default().manifest(node)
    })
}

#[derive(Default)]
pub(super) struct Parser {
    patterns: BTreeMap<String, String>,
    regions: Vec<RegionRule>,
    pub(super) fingerprints: Vec<NamedFingerprint>,
    pub(super) trackers: Vec<RegionId>,
}

impl Parser {
    fn manifest(mut self, node: Node<'_>) -> Option<Manifest> {
        let fields = node.fields("a manifest", keys::TOP)?;
        if let Some(format) = fields.require("manifest")
            && let Some(found) = format.integer(0..=i64::MAX)
            && found != FORMAT
        {
            format.problem(format!(
                "format {found} is not known, this build reads {FORMAT}"
            ));
        }
        let engine = fields.require("engine").and_then(|node| {
            let name = node.text()?;
            if let Err(error) = name.parse::<missiond_core::CliEngine>() {
                node.problem(error.to_string());
            }
            Some(name.to_owned())
        });
        let versions = fields
            .get("versions")
            .map(Node::one_or_more)
            .unwrap_or_default();
        let versions = versions
            .into_iter()
            .filter_map(|v| v.text().map(str::to_owned))
            .collect();
        for (name, _, node) in entries(&fields, "patterns") {
            if let Some(pattern) = self.expand(node) {
                self.patterns.insert(name.to_owned(), pattern);
            }
        }
        self.regions.push(RegionRule::whole_screen());
        for (name, line, node) in entries(&fields, "regions") {
            if self.regions.iter().any(|region| region.name == name) {
                fields.problem(format!("line {line}: region `{name}` exists already"));
            }
            let region = self.region(name, node);
            self.regions.push(region);
        }
        for (name, _, node) in entries(&fields, "fingerprints") {
            let fingerprint = self.fingerprint(name, node);
            self.fingerprints.extend(fingerprint);
        }
        let dialog = fields
            .get("dialog")
            .map(Node::one_or_more)
            .unwrap_or_default();
        let dialog = dialog
            .into_iter()
            .filter_map(|node| self.dialog(node))
            .collect();
        let permission = fields
            .get("permission")
            .and_then(|node| self.permission(node));
        let tools = fields.get("tools").and_then(Node::list).unwrap_or_default();
        let tools = tools
            .into_iter()
            .filter_map(|node| self.tool(node))
            .collect();
        let input = fields.get("input").map(|node| self.input(node));
        let holds = fields.get("hold").and_then(Node::list).unwrap_or_default();
        let holds = holds
            .into_iter()
            .filter_map(|node| self.hold(node))
            .collect();
        let unknown_after = fields
            .get("unknown_after_ms")
            .and_then(milliseconds)
            .unwrap_or(DEFAULT_UNKNOWN_AFTER);
        let rules = fields
            .require("rules")
            .and_then(Node::list)
            .unwrap_or_default();
        let mut rules: Vec<Rule> = rules
            .into_iter()
            .filter_map(|node| self.rule(node))
            .collect();
        for (index, rule) in rules.iter().enumerate() {
            if rules[..index].iter().any(|other| other.id == rule.id) {
                fields.problem(format!(
                    "line {}: rule `{}` exists already",
                    rule.line, rule.id
                ));
            }
        }
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        Some(Manifest {
            engine: engine?,
            versions,
            region_names: self
                .regions
                .iter()
                .map(|region| region.name.clone())
                .collect(),
            regions: self.regions,
            fingerprints: self.fingerprints,
            dialog,
            permission,
            tools,
            input: input.unwrap_or_default(),
            holds,
            unknown_after,
            rules,
            trackers: self.trackers,
        })
    }

    fn region(&self, name: &str, node: Node<'_>) -> RegionRule {
        let mut region = RegionRule {
            name: name.to_owned(),
            ..RegionRule::default()
        };
        let Some(fields) = node.fields("a region", keys::REGION) else {
            return region;
        };
        let reference = |key| fields.get(key).and_then(|node| self.region_id(node));
        let pattern = |key| fields.get(key).and_then(|node| self.pattern(node));
        let count = |key| {
            let count = fields.get(key)?.integer(1..=1000)?;
            usize::try_from(count).ok()
        };
        region.within = reference("within");
        region.above = reference("above");
        region.below = reference("below");
        region.from_last = pattern("from_last");
        region.from_first = pattern("from_first");
        region.after_last = pattern("after_last");
        region.until = pattern("until");
        region.through = pattern("through");
        region.first = count("first");
        region.last = count("last");
        let words = [
            ("nothing", Without::Nothing),
            ("everything", Without::Everything),
        ];
        if let Some(node) = fields.get("without") {
            region.without = node.word("value", &words).unwrap_or_default();
        }
        region
    }

    pub(super) fn region_id(&self, node: Node<'_>) -> Option<RegionId> {
        let name = node.text()?;
        let found = self.regions.iter().position(|region| region.name == name);
        if found.is_none() {
            let names: Vec<&str> = self.regions.iter().map(|region| &region.name[..]).collect();
            node.problem(unknown("region", name, "", &names));
        }
        found.map(RegionId)
    }

    /// Replaces `%{name}` by the named pattern.
    fn expand(&self, node: Node<'_>) -> Option<String> {
        let text = node.text()?;
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%{") {
            let Some((name, after)) = after.split_once('}') else {
                node.problem("`%{` is not closed by `}`");
                return None;
            };
            let Some(pattern) = self.patterns.get(name) else {
                let names: Vec<&str> = self.patterns.keys().map(String::as_str).collect();
                node.problem(unknown("pattern", name, "", &names));
                return None;
            };
            expanded.push_str(before);
            expanded.push_str(&format!("(?:{pattern})"));
            rest = after;
        }
        expanded.push_str(rest);
        Some(expanded)
    }

    pub(super) fn pattern(&self, node: Node<'_>) -> Option<Regex> {
        let expanded = self.expand(node)?;
        match regex::RegexBuilder::new(&expanded)
            .size_limit(1 << 20)
            .build()
        {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let text = error.to_string();
                let summary = text.lines().last().unwrap_or_default().trim();
                node.problem(format!(
                    "`{expanded}` is not a regular expression: {summary}"
                ));
                None
            }
        }
    }

    fn fingerprint(&self, name: &str, node: Node<'_>) -> Option<NamedFingerprint> {
        let fields = node.fields("a fingerprint", keys::FINGERPRINT)?;
        let region = self.region_id(fields.require("in")?);
        let hash = fields.require("hash")?;
        let hash = match hash.text()?.parse() {
            Ok(hash) => hash,
            Err(error) => {
                hash.problem(format!("{error}"));
                return None;
            }
        };
        Some(NamedFingerprint {
            name: name.to_owned(),
            region: region?,
            hash,
        })
    }

    fn dialog(&self, node: Node<'_>) -> Option<DialogRule> {
        let fields = node.fields("a dialog", keys::DIALOG)?;
        let region = self.region_id(fields.require("in")?);
        let cursor = fields
            .get("cursor")
            .and_then(Node::text)
            .unwrap_or_default();
        let tool = fields
            .get("tool")
            .map(Node::one_or_more)
            .unwrap_or_default();
        let with_group = |key| {
            let node = fields.get(key)?;
            let pattern = self.pattern(node)?;
            if !pattern.capture_names().any(|name| name == Some(key)) {
                node.problem(format!("the pattern has no group `(?P<{key}>…)`"));
            }
            Some(pattern)
        };
        let (buttons, letters) = (with_group("buttons"), with_group("letters"));
        if cursor.is_empty() && buttons.is_none() && letters.is_none() {
            fields.problem(
                "a dialog needs `cursor`, the glyphs that mark an option, `buttons` or `letters`",
            );
        }
        Some(DialogRule {
            region: region?,
            cursor: cursor.to_owned(),
            tool: tool
                .into_iter()
                .filter_map(|node| self.pattern(node))
                .collect(),
            buttons,
            letters,
        })
    }

    fn input(&self, node: Node<'_>) -> InputRule {
        let mut rule = InputRule::default();
        let Some(fields) = node.fields("`input`", keys::INPUT) else {
            return rule;
        };
        let prompts = fields.get("prompt").map(Node::one_or_more);
        let prompts = prompts.unwrap_or_default().into_iter();
        rule.prompts = prompts.filter_map(|node| self.prompt(node)).collect();
        rule.by_line = fields
            .get("by_line")
            .and_then(Node::boolean)
            .unwrap_or(false);
        rule.pasted = fields.get("pasted").and_then(|node| self.pattern(node));
        rule.newline = fields
            .get("newline")
            .and_then(|node| node.word("key", &NewlineKey::NAMES));
        if let Some(pause) = fields.get("enter_pause_ms").and_then(milliseconds) {
            rule.enter_pause = pause;
        }
        if let Some(node) = fields.get("answer") {
            rule.answer = node
                .word("way to answer", &AnswerKeys::NAMES)
                .unwrap_or(rule.answer);
        }
        rule.escaped = fields.get("escaped").and_then(|node| self.pattern(node));
        if let Some(node) = fields.get("interrupt") {
            rule.interrupt = node
                .word("key", &InterruptKey::NAMES)
                .unwrap_or(rule.interrupt);
        }
        rule
    }

    fn prompt(&self, node: Node<'_>) -> Option<PromptRule> {
        let fields = node.fields("a prompt", keys::PROMPT)?;
        let region = fields.require("in").and_then(|node| self.region_id(node));
        let mark = fields.require("mark").and_then(|node| self.pattern(node));
        let placeholder = fields
            .get("placeholder")
            .and_then(|node| self.pattern(node));
        Some(PromptRule {
            region: region?,
            mark: mark?,
            repeated: fields
                .get("repeated")
                .and_then(Node::boolean)
                .unwrap_or(false),
            placeholder,
        })
    }

    fn tool(&self, node: Node<'_>) -> Option<ToolPattern> {
        let fields = node.fields("a tool line", keys::TOOL_LINE)?;
        let region = self.region_id(fields.require("in")?);
        let (phase, pattern) = match (fields.get("running"), fields.get("finished")) {
            (Some(pattern), None) => (ToolPhase::Running, pattern),
            (None, Some(pattern)) => (ToolPhase::Finished, pattern),
            _ => {
                fields.problem("a tool line has either `running` or `finished`");
                return None;
            }
        };
        let name = fields.get("name").and_then(Node::text).map(str::to_owned);
        Some(ToolPattern {
            region: region?,
            pattern: self.pattern(pattern)?,
            phase,
            name,
        })
    }

    fn rule(&mut self, node: Node<'_>) -> Option<Rule> {
        let fields = node.fields("a rule", keys::RULE)?;
        let id = fields.require("id").and_then(Node::text).map(str::to_owned);
        let state = fields.require("state").and_then(state);
        let priority = fields
            .require("priority")
            .and_then(|node| node.integer(0..=1000));
        let confidence = fields.require("confidence").and_then(Node::fraction);
        let reason = fields
            .require("reason")
            .and_then(Node::text)
            .map(str::to_owned);
        let waiting: Vec<_> = WaitingFor::ALL.iter().map(|w| (w.name(), *w)).collect();
        let waiting_for = fields
            .get("waiting_for")
            .and_then(|node| node.word("value", &waiting));
        let when = fields
            .require("when")
            .and_then(|node| self.condition(node, 0));
        Some(Rule {
            id: id?,
            state: state?,
            priority: i32::try_from(priority?).ok()?,
            confidence: confidence?,
            reason: reason?,
            waiting_for,
            when: when?,
            line: fields.line(),
        })
    }

    fn hold(&mut self, node: Node<'_>) -> Option<Hold> {
        let fields = node.fields("a hold", keys::HOLD)?;
        let states = |key| {
            let nodes = fields.get(key).map(Node::one_or_more).unwrap_or_default();
            nodes.into_iter().filter_map(state).collect()
        };
        let (from, to) = (states("from"), states("to"));
        let time = fields.require("ms").and_then(milliseconds)?;
        let when = match fields.get("when") {
            Some(node) => Some(self.condition(node, 0)?),
            None => None,
        };
        Some(Hold {
            from,
            to,
            time,
            when,
        })
    }
}

fn entries<'a>(fields: &Fields<'a>, key: &str) -> Vec<(&'a str, usize, Node<'a>)> {
    fields
        .get(key)
        .and_then(|node| node.entries(&format!("`{key}`")))
        .unwrap_or_default()
}

pub(super) fn state(node: Node<'_>) -> Option<PtyState> {
    let words: Vec<_> = PtyState::ALL
        .iter()
        .map(|state| (state.name(), *state))
        .collect();
    node.word("state", &words)
}

pub(super) fn milliseconds(node: Node<'_>) -> Option<Duration> {
    let value = node.integer(0..=600_000)?;
    u64::try_from(value).ok().map(Duration::from_millis)
}
