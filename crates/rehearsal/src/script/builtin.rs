//! The scripts that come with the program.

use missiond_core::nearest_name;

use super::Script;

/// A script that can be named instead of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    /// What it shows, in a few words.
    pub shows: &'static str,
    /// Its text, as a start for one's own.
    pub text: &'static str,
}

const BUILTIN: [Builtin; 6] = [
    Builtin {
        name: "hello",
        shows: "thinks and answers; any number of prompts",
        text: include_str!("../../scripts/hello.yaml"),
    },
    Builtin {
        name: "permission",
        shows: "asks before it runs a command",
        text: include_str!("../../scripts/permission.yaml"),
    },
    Builtin {
        name: "edit",
        shows: "writes a file, edits it and shows it",
        text: include_str!("../../scripts/edit.yaml"),
    },
    Builtin {
        name: "fail-then-fix",
        shows: "claims success while a check fails, then mends it when told",
        text: include_str!("../../scripts/fail-then-fix.yaml"),
    },
    Builtin {
        name: "trouble",
        shows: "errors, limits, floods and crashes on request",
        text: include_str!("../../scripts/trouble.yaml"),
    },
    Builtin {
        name: "signals",
        shows: "tells its execution what it does through MCP tools",
        text: include_str!("../../scripts/signals.yaml"),
    },
];

/// All of them, in the order in which they are best looked at.
#[must_use]
pub fn builtin_scripts() -> &'static [Builtin] {
    &BUILTIN
}

/// The script that the arguments of the rehearsal agent begin with. The whole command
/// line, as one would type it (`mission rehearse SCRIPT …`), is taken too.
#[must_use]
pub fn named_script(args: &[String]) -> Option<&str> {
    let script = match args {
        [_, command, rest @ ..] if command == "rehearse" => rest.first(),
        args => args.first(),
    };
    let script = script.map(String::as_str);
    script.filter(|script| !script.starts_with('-'))
}

/// Nothing that is built in is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no script `{name}`; {nearest}there are {known}")]
pub struct UnknownScript {
    name: String,
    nearest: String,
    known: String,
}

/// Refuses a name that is not one of a script that is built in.
pub fn check_builtin(name: &str) -> Result<(), UnknownScript> {
    let names: Vec<_> = BUILTIN.iter().map(|script| script.name).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let name: String = name.chars().take(64).collect();
    let nearest = nearest_name(&name, names.iter().copied());
    Err(UnknownScript {
        nearest: nearest.map_or_else(String::new, |near| format!("did you mean `{near}`? ")),
        name: name.escape_default().to_string(),
        known: names.join(", "),
    })
}

pub(super) fn find(name: &str) -> Option<Script> {
    let builtin = BUILTIN.iter().find(|builtin| builtin.name == name)?;
    Script::parse(name, builtin.text).ok()
}
