//! From YAML to a [`Script`].

use std::time::Duration;

use missiond_yaml::{Fields, Node, Value, read_document, unknown};
use regex::Regex;
use serde_json::Value as Json;

use super::keys;
use super::{
    AfterRetries, Ask, Call, Crash, Edit, FORMAT, Failure, FileText, PlanEntry, Run, Say, Script,
    ScriptError, Shape, Signal, Step, Template, Turn, Usage, Uses, When,
};

const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: usize = 8;
const MAX_TIMES: i64 = 100_000;
/// A day: longer is a mistake or a `hang`.
const MAX_SECONDS: f64 = 86_400.0;
const USUAL_RATE: f64 = 120.0;
const USUAL_TAIL: i64 = 5;
const MAX_TOKENS: i64 = 1_000_000_000;

const CRASHES: &[(&str, Crash)] = &[
    ("abort", Crash::Abort),
    ("kill", Crash::Kill),
    ("segv", Crash::Segv),
];

pub(super) fn script(name: &str, text: &str) -> Result<Script, ScriptError> {
    read_document(text, "a script", MAX_BYTES, |node| whole(name, node))
}

fn whole(name: &str, node: Node<'_>) -> Option<Script> {
    let fields = node.fields("a script", keys::TOP)?;
    if let Some(format) = fields.require("rehearsal")
        && let Some(found) = format.integer(0..=i64::MAX)
        && found != FORMAT
    {
        format.problem(format!(
            "format {found} is not known, this build reads {FORMAT}"
        ));
    }
    fields.get("description").map(Node::text);
    let startup = fields.get("startup").and_then(seconds).unwrap_or_default();
    let turns = fields.require("turns")?.list()?;
    if turns.is_empty() {
        fields.problem("a script needs at least one turn");
    }
    Some(Script {
        name: name.to_owned(),
        turns: turns.into_iter().filter_map(turn).collect(),
        startup,
    })
}

fn turn(node: Node<'_>) -> Option<Turn> {
    let fields = node.fields("a turn", keys::TURN)?;
    let when = fields.get("when").and_then(when).unwrap_or(When::Any);
    let uses = match fields.get("uses") {
        None => Uses::AtMost(1),
        Some(node) if node.is_text() => node.word("number of uses", &[("always", Uses::Always)])?,
        Some(node) => Uses::AtMost(whole_number(node, 1..=MAX_TIMES)?),
    };
    Some(Turn {
        when,
        uses,
        steps: steps(fields.require("steps")?, 0)?,
    })
}

fn when(node: Node<'_>) -> Option<When> {
    if node.is_text() {
        return node.word("prompt", &[("any", ())]).map(|()| When::Any);
    }
    let fields = node.fields("`when`", keys::WHEN)?;
    match (fields.get("contains"), fields.get("matches")) {
        (Some(text), None) => Some(When::Contains(text.text()?.to_owned())),
        (None, Some(pattern)) => match Regex::new(pattern.text()?) {
            Ok(regex) => Some(When::Matches(regex)),
            Err(error) => {
                let said = error.to_string();
                let reason = said.lines().last().unwrap_or_default().trim();
                pattern.problem(format!("this is not a regular expression: {reason}"));
                None
            }
        },
        _ => {
            fields.problem("say either `contains` or `matches`");
            None
        }
    }
}

fn steps(node: Node<'_>, depth: usize) -> Option<Vec<Step>> {
    if depth > MAX_DEPTH {
        node.problem(format!("steps are nested deeper than {MAX_DEPTH}"));
        return None;
    }
    let items = node.list()?;
    Some(
        items
            .into_iter()
            .filter_map(|item| step(item, depth))
            .collect(),
    )
}

fn step(node: Node<'_>, depth: usize) -> Option<Step> {
    if node.is_text() {
        let words = [("hang", Step::Hang), ("crash", Step::Crash(Crash::Abort))];
        let text = node.text()?;
        let found = words.into_iter().find(|(word, _)| *word == text);
        if found.is_none() {
            node.problem(unknown("step", text, "", keys::STEPS));
        }
        return found.map(|(_, step)| step);
    }
    let entries = node.entries("a step")?;
    let [(key, _, value)] = entries[..] else {
        node.problem("a step has one key: what to do");
        return None;
    };
    Some(match key {
        "think" => Step::Think(think(value)?),
        "say" => Step::Say(say(value)?),
        "plan" => Step::Plan(plan(value)?),
        "ask" => Step::Ask(ask(value, depth)?),
        "run" => Step::Run(run(value)?),
        "write" => Step::Write(file_text(value)?),
        "append" => Step::Append(file_text(value)?),
        "edit" => Step::Edit(edit(value)?),
        "signal" => Step::Signal(signal(value)?),
        "call" => Step::Call(call(value)?),
        "question" => Step::Question(template(value)?),
        "error" => Step::Error(failure(value)?),
        "usage" => Step::Usage(usage(value)?),
        "usage_limit" => {
            let fields = value.fields("a usage limit", keys::USAGE_LIMIT)?;
            Step::UsageLimit {
                resets: template(fields.require("resets")?)?,
            }
        }
        "sleep" => Step::Sleep(seconds(value)?),
        "hang" => {
            value.word("way to hang", &[("forever", ())])?;
            Step::Hang
        }
        "flood" => {
            let fields = value.fields("a flood", keys::FLOOD)?;
            Step::Flood {
                lines: whole_number(fields.require("lines")?, 1..=1_000_000)?,
                text: optional(
                    &fields,
                    "text",
                    "the quick brown fox jumps over the lazy dog",
                )?,
            }
        }
        "exit" => Step::Exit(whole_number(value, 0..=255)?),
        "crash" => Step::Crash(value.word("way to crash", CRASHES)?),
        "repeat" => {
            let fields = value.fields("a repetition", keys::REPEAT)?;
            Step::Repeat {
                times: whole_number(fields.require("times")?, 1..=MAX_TIMES)?,
                steps: steps(fields.require("steps")?, depth + 1)?,
            }
        }
        other => {
            node.problem(unknown("step", other, "", keys::STEPS));
            return None;
        }
    })
}

/// The text says to readers of the script what the agent would be thinking.
/// Nobody else may see it.
fn think(node: Node<'_>) -> Option<Duration> {
    if !node.is_mapping() {
        return seconds(node);
    }
    let fields = node.fields("`think`", keys::THINK)?;
    fields.get("text").map(Node::text);
    seconds(fields.require("seconds")?)
}

fn say(node: Node<'_>) -> Option<Say> {
    if node.is_text() {
        return Some(Say {
            text: template(node)?,
            rate: USUAL_RATE,
        });
    }
    let fields = node.fields("`say`", keys::SAY)?;
    Some(Say {
        text: template(fields.require("text")?)?,
        rate: match fields.get("rate") {
            Some(rate) => rate.number(0.1..=1e6)?,
            None => USUAL_RATE,
        },
    })
}

fn plan(node: Node<'_>) -> Option<Vec<(Template, PlanEntry)>> {
    const STATES: &[(&str, PlanEntry)] = &[
        ("pending", PlanEntry::Pending),
        ("running", PlanEntry::Running),
        ("done", PlanEntry::Done),
    ];
    let entry = |node: Node<'_>| {
        if node.is_text() {
            return Some((template(node)?, PlanEntry::Pending));
        }
        let fields = node.fields("an entry of a plan", keys::PLAN_ENTRY)?;
        let state = match fields.get("state") {
            Some(state) => state.word("state", STATES)?,
            None => PlanEntry::Pending,
        };
        Some((template(fields.require("text")?)?, state))
    };
    node.list()?.into_iter().map(entry).collect()
}

fn ask(node: Node<'_>, depth: usize) -> Option<Ask> {
    let fields = node.fields("`ask`", keys::ASK)?;
    let tool = fields.require("tool")?;
    let name = tool.text()?;
    if name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c))
    {
        tool.problem("the name of a tool is made of letters, digits, `_`, `-` and `.`");
    }
    let answer = |key: &str| match fields.get(key) {
        Some(node) => steps(node, depth + 1).map(Some),
        None => Some(None),
    };
    Some(Ask {
        tool: name.to_owned(),
        args: optional(&fields, "args", "")?,
        question: optional(&fields, "question", "Do you want to go on?")?,
        allow: answer("allow")?.unwrap_or_default(),
        always: answer("always")?,
        deny: answer("deny")?,
    })
}

fn run(node: Node<'_>) -> Option<Run> {
    let usual = |argv| Run {
        argv,
        cwd: None,
        exit: None,
        tail: USUAL_TAIL as usize,
    };
    if node.is_list() {
        return Some(usual(argv(node)?));
    }
    let fields = node.fields("`run`", keys::RUN)?;
    let mut run = usual(argv(fields.require("argv")?)?);
    if let Some(cwd) = fields.get("cwd") {
        run.cwd = Some(template(cwd)?);
    }
    if let Some(exit) = fields.get("exit") {
        run.exit = Some(whole_number(exit, 0..=255)?);
    }
    if let Some(tail) = fields.get("tail") {
        run.tail = whole_number(tail, 0..=50)?;
    }
    Some(run)
}

fn argv(node: Node<'_>) -> Option<Vec<Template>> {
    let items = node.list()?;
    if items.is_empty() {
        node.problem("say which program to run");
    }
    items.into_iter().map(template).collect()
}

fn file_text(node: Node<'_>) -> Option<FileText> {
    let fields = node.fields("a file", keys::FILE)?;
    Some(FileText {
        file: template(fields.require("file")?)?,
        text: template(fields.require("text")?)?,
    })
}

fn edit(node: Node<'_>) -> Option<Edit> {
    let fields = node.fields("an edit", keys::EDIT)?;
    Some(Edit {
        file: template(fields.require("file")?)?,
        replace: template(fields.require("replace")?)?,
        with: template(fields.require("with")?)?,
    })
}

fn signal(node: Node<'_>) -> Option<Signal> {
    let fields = node.fields("a signal", keys::SIGNAL)?;
    Some(Signal {
        kind: fields.require("type")?.text()?.to_owned(),
        payload: optional_shape(&fields, "payload")?,
    })
}

fn call(node: Node<'_>) -> Option<Call> {
    let fields = node.fields("a call", keys::CALL)?;
    Some(Call {
        tool: fields.require("tool")?.text()?.to_owned(),
        arguments: optional_shape(&fields, "arguments")?,
    })
}

fn usage(node: Node<'_>) -> Option<Usage> {
    let fields = node.fields("`usage`", keys::USAGE)?;
    let tokens = |key: &str| match fields.get(key) {
        Some(node) => whole_number(node, 0..=MAX_TOKENS),
        None => Some(0),
    };
    Some(Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_read: tokens("cache_read")?,
        cache_write: tokens("cache_write")?,
    })
}

fn failure(node: Node<'_>) -> Option<Failure> {
    let usual = |text| Failure {
        text,
        retries: 0,
        wait: Duration::from_secs(1),
        then: AfterRetries::Stop,
    };
    if node.is_text() {
        return Some(usual(template(node)?));
    }
    let fields = node.fields("an error", keys::ERROR)?;
    let mut failure = usual(template(fields.require("text")?)?);
    if let Some(retries) = fields.get("retries") {
        failure.retries = whole_number(retries, 0..=100)?;
    }
    if let Some(wait) = fields.get("wait") {
        failure.wait = seconds(wait)?;
    }
    if let Some(then) = fields.get("then") {
        let words = [
            ("stop", AfterRetries::Stop),
            ("recover", AfterRetries::Recover),
        ];
        failure.then = then.word("end of an error", &words)?;
    }
    Some(failure)
}

fn seconds(node: Node<'_>) -> Option<Duration> {
    node.number(0.0..=MAX_SECONDS).map(Duration::from_secs_f64)
}

fn whole_number<T: TryFrom<i64>>(
    node: Node<'_>,
    range: std::ops::RangeInclusive<i64>,
) -> Option<T> {
    node.integer(range)
        .and_then(|value| T::try_from(value).ok())
}

fn template(node: Node<'_>) -> Option<Template> {
    checked(node, node.text()?)
}

fn optional(fields: &Fields<'_>, key: &str, usual: &str) -> Option<Template> {
    match fields.get(key) {
        Some(node) => template(node),
        None => Template::parse(usual).ok(),
    }
}

fn checked(node: Node<'_>, text: &str) -> Option<Template> {
    Template::parse(text)
        .map_err(|problem| node.problem(problem))
        .ok()
}

fn optional_shape(fields: &Fields<'_>, key: &str) -> Option<Shape> {
    match fields.get(key) {
        Some(node) => shape(node, 0),
        None => Some(Shape::empty()),
    }
}

fn shape(node: Node<'_>, depth: usize) -> Option<Shape> {
    if depth > MAX_DEPTH {
        node.problem(format!("values are nested deeper than {MAX_DEPTH}"));
        return None;
    }
    Some(match node.value()? {
        Value::Null => Shape::Plain(Json::Null),
        Value::Boolean(value) => Shape::Plain(value.into()),
        Value::Integer(value) => Shape::Plain(value.into()),
        Value::Float(value) => Shape::Plain(value.into()),
        Value::Text(text) => Shape::Text(checked(node, text)?),
        Value::List(items) => Shape::List(
            items
                .into_iter()
                .map(|item| shape(item, depth + 1))
                .collect::<Option<_>>()?,
        ),
        Value::Map(entries) => Shape::Map(
            entries
                .into_iter()
                .map(|(key, _, value)| Some((key.to_owned(), shape(value, depth + 1)?)))
                .collect::<Option<_>>()?,
        ),
    })
}
