//! Entries of the ACP registry: how an agent that is published there is started here.

use std::collections::BTreeMap;

use missiond_config::AddedEngine;
use missiond_core::CliEngine;
use serde_json::Value;

/// The agent of an entry, or the one of this name in a whole registry. A package comes
/// before a program that would have to be downloaded.
pub(super) fn engine(entry: &Value, name: Option<&CliEngine>) -> Result<AddedEngine, String> {
    let entry = match entry["agents"].as_array() {
        Some(agents) => {
            let name = name.ok_or("it has many agents: say the name of one")?;
            let same = |agent: &&Value| agent["id"] == name.name();
            let found = agents.iter().find(same);
            found.ok_or_else(|| format!("it has no agent `{name}`"))?
        }
        None => entry,
    };
    let id = entry["id"].as_str().ok_or("the entry has no `id`")?;
    let name = match name {
        Some(name) => name.clone(),
        None => id
            .parse()
            .map_err(|error| format!("`{id}` is no name for an engine: {error}"))?,
    };
    let from = &entry["distribution"];
    let (command, args, source) = if from["npx"].is_object() {
        let (command, args) = package("npx", &["--yes"], "--package", &from["npx"])?;
        (command, args, &from["npx"])
    } else if from["uvx"].is_object() {
        let (command, args) = package("uvx", &[], "--from", &from["uvx"])?;
        (command, args, &from["uvx"])
    } else {
        let platform = platform();
        let binary = &from["binary"][&platform];
        let command = binary["cmd"]
            .as_str()
            .ok_or_else(|| format!("the entry has nothing for {platform}"))?;
        // What its archive has under this name; whoever adds it has put it into PATH.
        let command = command.rsplit('/').next().unwrap_or(command).to_owned();
        (command, words(&binary["args"])?, binary)
    };
    Ok(AddedEngine {
        name,
        command,
        args,
        env: variables(&source["env"])?,
    })
}

fn package(
    runner: &str,
    before: &[&str],
    option: &str,
    source: &Value,
) -> Result<(String, Vec<String>), String> {
    let package = source["package"]
        .as_str()
        .filter(|package| !package.is_empty() && !package.starts_with('-'))
        .ok_or_else(|| format!("`{runner}` of the entry names no package"))?;
    let mut args: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
    match source["cmd"].as_str() {
        Some(command) => args.extend([option, package, command].map(str::to_owned)),
        None => args.push(package.to_owned()),
    }
    args.extend(words(&source["args"])?);
    Ok((runner.to_owned(), args))
}

fn words(list: &Value) -> Result<Vec<String>, String> {
    let words = list.as_array().into_iter().flatten();
    words
        .map(|word| word.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| "`args` of the entry are no texts".to_owned())
}

fn variables(table: &Value) -> Result<BTreeMap<String, String>, String> {
    let entries = table.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect::<Option<_>>()
        .ok_or_else(|| "`env` of the entry has what is no text".to_owned())
}

/// As the registry names it: `linux-x86_64`, `darwin-aarch64`.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{system}-{}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn started(distribution: &Value) -> Result<Vec<String>, String> {
        let entry = json!({ "id": "mytool", "distribution": distribution });
        let engine = engine(&entry, None)?;
        assert_eq!(engine.name.name(), "mytool");
        Ok([vec![engine.command], engine.args].concat())
    }

    #[test]
    fn packages_are_run_by_their_runners_and_programs_by_their_names() {
        let npx = json!({"npx": {"package": "mytool@1.0.0", "args": ["--acp"]}, "binary": {}});
        assert_eq!(
            started(&npx).unwrap(),
            ["npx", "--yes", "mytool@1.0.0", "--acp"]
        );
        let uvx = json!({"uvx": {"package": "mytool", "cmd": "tool-acp"}});
        assert_eq!(
            started(&uvx).unwrap(),
            ["uvx", "--from", "mytool", "tool-acp"]
        );
        let platform = platform();
        let binary = json!({"binary": {platform: {"cmd": "./bin/mytool", "args": ["serve"]}}});
        assert_eq!(started(&binary).unwrap(), ["mytool", "serve"]);
    }

    #[test]
    fn what_cannot_be_started_is_said() {
        let elsewhere = json!({"binary": {"plan9-mips": {"cmd": "x"}}});
        assert!(started(&elsewhere).unwrap_err().contains("nothing for"));
        let option = json!({"npx": {"package": "--eval"}});
        assert!(started(&option).unwrap_err().contains("names no package"));
        let numbers = json!({"npx": {"package": "x", "args": [1]}});
        assert_eq!(
            started(&numbers).unwrap_err(),
            "`args` of the entry are no texts"
        );
    }

    #[test]
    fn one_is_taken_from_a_whole_registry_by_its_name() {
        let entry = |id: &str| json!({"id": id, "distribution": {"npx": {"package": id}}});
        let registry = json!({"version": "1.0.0", "agents": [entry("one"), entry("two")]});
        let two = "two".parse().unwrap();
        assert_eq!(
            engine(&registry, Some(&two)).unwrap().args,
            ["--yes", "two"]
        );
        assert!(
            engine(&registry, None)
                .unwrap_err()
                .contains("say the name")
        );
    }
}
