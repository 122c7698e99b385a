//! Rules as people write them: `allow git *`, `deny ~/.ssh/**`,
//! `ask Bash(git push:*)`, or objects with the fields a rule has.

use missiond_core::Timestamp;
use serde_json::{Map, Value};

use crate::permissions::{Effect, PathPattern, Pattern, Rule, decide};
use crate::tool_call::{self, ToolCall, canonical_tool, is_file_tool, is_shell_tool};

const MAX_RULES: usize = 1000;

/// Every rule that can be read, and what is wrong with the first that cannot.
pub(super) fn rules(value: &Value) -> (Vec<Rule>, Option<String>) {
    let mut read = Vec::new();
    let mut wrong = None;
    for (index, (effect, written)) in listed(value).into_iter().enumerate() {
        let rule = if index < MAX_RULES {
            rule(effect, written, &format!("rule-{}", index + 1))
        } else {
            Err(format!("there are more than {MAX_RULES} rules"))
        };
        match rule {
            Ok(rules) => read.extend(rules),
            Err(why) => {
                wrong.get_or_insert_with(|| format!("rule {} cannot be read: {why}", index + 1));
            }
        }
    }
    (read, wrong)
}

/// A list of rules, one alone, or lists by effect.
fn listed(value: &Value) -> Vec<(Option<&str>, &Value)> {
    match value {
        Value::Null => Vec::new(),
        Value::String(name) if name == "starter" => super::STARTER_RULES
            .iter()
            .map(|rule| (None, rule))
            .collect(),
        Value::Array(rules) => rules.iter().map(|rule| (None, rule)).collect(),
        Value::Object(lists) if lists.iter().all(|(key, list)| by_effect(key, list)) => lists
            .iter()
            .flat_map(|(key, list)| {
                let rules = list.as_array().into_iter().flatten();
                rules.map(move |rule| (Some(key.as_str()), rule))
            })
            .collect(),
        other => vec![(None, other)],
    }
}

fn by_effect(key: &str, list: &Value) -> bool {
    effect(key).is_some() && list.is_array()
}

fn effect(word: &str) -> Option<Effect> {
    match word.trim_end_matches(':').to_lowercase().as_str() {
        "allow" => Some(Effect::Allow),
        "ask" | "prompt" => Some(Effect::Ask),
        "deny" | "forbid" | "forbidden" => Some(Effect::Deny),
        _ => None,
    }
}

fn rule(listed: Option<&str>, written: &Value, name: &str) -> Result<Vec<Rule>, String> {
    let rules = match written {
        Value::String(text) => of_text(listed, text, name)?,
        Value::Object(fields) => of_fields(listed, fields, name)?,
        _ => return Err("it is neither a text nor an object".to_owned()),
    };
    for rule in &rules {
        rule.check().map_err(|error| error.to_string())?;
    }
    if let Value::Object(fields) = written {
        keeps_examples(&rules, fields)?;
    }
    Ok(rules)
}

/// Whether a rule does what its own examples say.
fn keeps_examples(rules: &[Rule], fields: &Map<String, Value>) -> Result<(), String> {
    let Some(effect) = rules.first().map(|rule| rule.effect) else {
        return Ok(());
    };
    for (list, falls) in [("match", true), ("not_match", false)] {
        let Some(examples) = fields.get(list).filter(|list| !list.is_null()) else {
            continue;
        };
        let examples = examples
            .as_array()
            .ok_or_else(|| format!("`{list}` is no list"))?;
        for example in examples {
            let tool = rules[0].tool.as_str();
            let call = ToolCall {
                tool: Some(if is_file_tool(tool) { tool } else { "Bash" }),
                server: None,
                argument: example,
                cwd: Some("/home/user/project"),
                home: Some("/home/user"),
            };
            let verdict = decide(rules, &call.request()?, Timestamp::from_micros(0));
            if (verdict.effect == effect && !verdict.rules.is_empty()) != falls {
                let text = example.as_str().unwrap_or_default();
                let does = if falls { "does not fall" } else { "falls" };
                return Err(format!(
                    "its example `{text}` {does} under it: {}",
                    verdict.reason
                ));
            }
        }
    }
    Ok(())
}

fn of_text(listed: Option<&str>, text: &str, name: &str) -> Result<Vec<Rule>, String> {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default();
    let (effect, rest) = match (listed.and_then(effect), effect(first)) {
        (Some(effect), _) => (effect, text),
        (None, Some(effect)) => (effect, text[first.len()..].trim()),
        // As agent CLIs write what is permitted.
        (None, None) if called(text).is_some() => (Effect::Allow, text),
        (None, None) => return Err(format!("`{text}` does not begin with allow, ask or deny")),
    };
    if rest.is_empty() {
        return Err(format!("`{text}` does not say what it is about"));
    }
    if let Some((tool, inner)) = called(rest) {
        return of_parts(effect, Some(tool), Some(inner), name);
    }
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if names_tool(word) {
        let after = after.trim();
        return of_parts(
            effect,
            Some(word),
            (!after.is_empty()).then_some(after),
            name,
        );
    }
    of_parts(effect, None, Some(rest), name)
}

/// `Tool(argument)`.
fn called(text: &str) -> Option<(&str, &str)> {
    let (tool, inner) = text.strip_suffix(')')?.split_once('(')?;
    let is_name = !tool.is_empty()
        && tool
            .chars()
            .all(|c| c.is_alphanumeric() || "_-*".contains(c));
    is_name.then_some((tool, inner))
}

/// Programs are written small; tools of agents are not, or are known by name.
fn names_tool(word: &str) -> bool {
    word.starts_with("mcp__")
        || (word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_alphanumeric() || c == '_'))
        || tool_call::is_tool_name(word)
}

fn of_fields(
    listed: Option<&str>,
    fields: &Map<String, Value>,
    name: &str,
) -> Result<Vec<Rule>, String> {
    let mut said = None;
    let (mut tool, mut argument, mut path, mut server) = (None, None, None, None);
    for (key, value) in fields {
        let Some(text) = value.as_str() else {
            match key.as_str() {
                "match" | "not_match" => continue,
                _ if value.is_null() => continue,
                _ => return Err(format!("`{key}` is not a text")),
            }
        };
        let slot = match key.as_str() {
            "effect" | "behavior" | "verdict" | "decision" | "action" => &mut said,
            "tool" | "toolName" | "tool_name" => &mut tool,
            "argument" | "pattern" | "command" | "ruleContent" | "rule" => &mut argument,
            "path" | "file" => &mut path,
            "server" => &mut server,
            "id" | "name" | "description" | "reason" => continue,
            _ => return Err(format!("`{key}` is not a field of a rule")),
        };
        if slot.replace(text).is_some() {
            return Err(format!("`{key}` says what another field has said"));
        }
    }
    let word = said
        .or(listed)
        .ok_or("it does not say allow, ask or deny (`effect`)")?;
    let effect = effect(word).ok_or_else(|| format!("`{word}` is not allow, ask or deny"))?;
    let mut rules = match (tool, argument) {
        (None, Some(text)) if path.is_none() && server.is_none() => {
            return of_text(Some(effect.as_str()), text, name);
        }
        (None, None) if path.is_some() || server.is_some() => {
            vec![Rule::new(name, effect, pattern("*")?)]
        }
        (tool, argument) => of_parts(effect, tool, argument, name)?,
    };
    for rule in &mut rules {
        if let Some(path) = path {
            rule.path = Some(path_pattern(path)?);
        }
        if let Some(server) = server {
            rule.server = Some(pattern(server)?);
        }
    }
    Ok(rules)
}

fn of_parts(
    effect: Effect,
    tool: Option<&str>,
    about: Option<&str>,
    name: &str,
) -> Result<Vec<Rule>, String> {
    let about = about.map(str::trim).filter(|text| !text.is_empty());
    let Some(tool) = tool else {
        let text = about.ok_or("it does not say what it is about")?;
        let on_path = || -> Result<Rule, String> {
            Ok(Rule {
                path: Some(path_pattern(text)?),
                ..Rule::new(name, effect, pattern("*")?)
            })
        };
        let of_command = || -> Result<Rule, String> {
            Ok(Rule {
                argument: Some(command_pattern(text)?),
                ..Rule::new(name, effect, pattern("Bash")?)
            })
        };
        return match looks_like_path(text) {
            Looks::Path => Ok(vec![on_path()?]),
            Looks::Command => Ok(vec![of_command()?]),
            // What forbids is taken in both ways.
            Looks::Either if effect == Effect::Allow => Ok(vec![of_command()?]),
            Looks::Either => Ok(vec![of_command()?, on_path()?]),
        };
    };
    let tool = canonical_tool(tool);
    if let Some((server, of_server)) = tool_call::server_and_tool(tool) {
        let mut rule = Rule::new(name, effect, pattern(of_server.unwrap_or("*"))?);
        rule.server = Some(pattern(server)?);
        rule.argument = about.filter(|text| *text != "*").map(pattern).transpose()?;
        return Ok(vec![rule]);
    }
    let mut rule = Rule::new(name, effect, pattern(tool)?);
    match about {
        None | Some("*") => {}
        Some(text) if is_shell_tool(tool) => rule.argument = Some(command_pattern(text)?),
        Some(text) if is_file_tool(tool) => rule.path = Some(path_pattern(text)?),
        Some(text) => {
            let host = text.strip_prefix("domain:");
            let text = host.map_or_else(|| text.to_owned(), |host| format!("*://{host}*"));
            rule.argument = Some(pattern(&text)?);
        }
    }
    Ok(vec![rule])
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// `git status:*` is how agent CLIs write a beginning that ends with a word.
fn command_pattern(text: &str) -> Result<Pattern, String> {
    match text.strip_suffix(":*") {
        Some(beginning) if !text.starts_with("re:") => pattern(&format!("{beginning}*")),
        _ => pattern(text),
    }
}

fn path_pattern(text: &str) -> Result<PathPattern, String> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    // Two slashes are how one agent CLI writes the root.
    let text = if text.starts_with("//") {
        &text[1..]
    } else {
        text
    };
    let text = text.strip_prefix("./").unwrap_or(text);
    let home = text
        .strip_prefix("$HOME")
        .or_else(|| text.strip_prefix("${HOME}"));
    let text = home.map_or_else(|| text.to_owned(), |rest| format!("~{rest}"));
    text.parse().map_err(|error| format!("{error}"))
}

enum Looks {
    Path,
    Command,
    Either,
}

fn looks_like_path(text: &str) -> Looks {
    if text.starts_with("re:") || text.contains(char::is_whitespace) {
        return Looks::Command;
    }
    let begins = ["~", "$HOME", "${HOME}", "./", "**", "//"];
    if begins.iter().any(|begin| text.starts_with(begin)) || text.contains("**") {
        return Looks::Path;
    }
    if text.starts_with(['/', '.']) || text.contains(['/', '.']) {
        return Looks::Either;
    }
    Looks::Command
}
