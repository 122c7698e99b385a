//! The page of a key of the configuration, from its declaration.

use std::fmt::Write as _;

use missiond_config::{Config, KeySpec, KeyValue, Reload};
use missiond_core::{ConfigKind, DocKind};
use serde_json::Value;

use crate::markdown::{first_sentence, in_cell};
use crate::pages::{Mentions, Page};

pub(crate) fn pages(mentions: &Mentions) -> Vec<Page> {
    let keys = Config::default().describe();
    keys.iter().map(|key| page(key, mentions)).collect()
}

fn page(key: &KeyValue, mentions: &Mentions) -> Page {
    let name = key.spec.key;
    Page {
        path: format!("key/{name}"),
        title: name.to_owned(),
        kind: DocKind::Key,
        summary: first_sentence(key.spec.sentence),
        markdown: markdown(key) + &mentions.section(name),
        file: format!("docs/key/{name}.md"),
        name: Some(name),
        searched: Some(key.spec.sentence.to_owned()),
    }
}

fn markdown(key: &KeyValue) -> String {
    let spec = key.spec;
    let mut page = format!("# {}\n\n{}\n\n| | |\n|---|---|\n", spec.key, spec.sentence);
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(page, "| {name} | {} |", in_cell(value));
    };
    fact("type", type_name(spec.kind));
    fact("default", &format!("`{}`", key.default));
    if let Some(range) = spec.range {
        fact("range", &range.to_string());
    }
    if !spec.choices.is_empty() {
        let words: Vec<_> = spec
            .choices
            .iter()
            .map(|word| format!("`{word}`"))
            .collect();
        fact("one of", &words.join(", "));
    }
    fact(
        "takes effect",
        match spec.reload {
            Reload::Live => "at once (live), also with `mission daemon reload`",
            Reload::Restart => "when the daemon starts again",
        },
    );
    let (section, name) = spec.key.rsplit_once('.').unwrap_or(("", spec.key));
    let anchor = match section {
        "" => "without-a-section".to_owned(),
        section => section.replace('.', ""),
    };
    fact(
        "listed in",
        &format!("[the keys of this section](../reference/configuration.md#{anchor})"),
    );
    how_to_set(key, section, name, &mut page);
    page
}

fn how_to_set(key: &KeyValue, section: &str, name: &str, page: &mut String) {
    let KeySpec {
        key: full, kind, ..
    } = key.spec;
    let value = match &key.default_json {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let header = match section {
        "" => String::new(),
        section => format!("[{section}]\n"),
    };
    let _ = write!(
        page,
        "\n## How to set it\n\nAt the command line, which checks the value and writes it into the file; \
         this is the default:\n\n```sh\nmission config set {full} {}\nmission config get \
         {full}\nmission config unset {full}\n```\n\nIn the file that `mission config path` \
         names:\n\n```toml\n{header}{name} = {}\n```\n",
        quoted(&value),
        key.default,
    );
    if *kind == ConfigKind::Tables {
        let _ = write!(
            page,
            "\nEach of the list is a table of its own in the file, under `[[{full}]]`.\n"
        );
    }
    page.push_str(
        "\nOn the page it is under Settings; [settings](../guides/settings.md) says what else \
         can be done with a key.\n",
    );
}

fn type_name(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::Boolean => "true or false",
        ConfigKind::Integer => "whole number",
        ConfigKind::Number => "number",
        ConfigKind::Text => "text",
        ConfigKind::List => "list",
        ConfigKind::Tables => "list of tables",
    }
}

/// A word as a shell takes it.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', "'\\''"))
}
