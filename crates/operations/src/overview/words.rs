//! What an agent does, in plain words.

use std::time::Duration;

use missiond_core::{PtyState, excerpt, one_line};
use missiond_journal::catalogue::TargetKind;
use missiond_journal::record::CurrentTarget;
use missiond_semantic::{Reading, ToolLine, ToolPhase};

use super::facts::JournalFacts;

/// More than this of a command or a path is cut.
const LONGEST: usize = 120;

/// Whether an agent belongs to a task, whose next words come from the autopilot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Task,
    Person,
}

/// What an agent does by what its terminal shows and its journal says.
pub(super) fn activity(
    reading: Option<&Reading>,
    journal: Option<&JournalFacts>,
    owner: Owner,
) -> String {
    let Some(reading) = reading else {
        return "Its terminal does not answer".to_owned();
    };
    match reading.state {
        PtyState::Starting => "Starts".to_owned(),
        PtyState::Idle => idle(journal, owner).to_owned(),
        PtyState::Thinking => running_target(journal).unwrap_or_else(|| "Thinks".to_owned()),
        PtyState::Responding => "Writes its answer".to_owned(),
        PtyState::ToolRunning => {
            let shown = reading.tool.as_ref();
            let shown = shown.filter(|tool| tool.phase == ToolPhase::Running);
            shown
                .and_then(tool_line)
                .or_else(|| running_target(journal))
                .or_else(|| reading.tool.as_ref().and_then(tool_line))
                .unwrap_or_else(|| "Runs a tool".to_owned())
        }
        PtyState::Confirming => match &reading.dialog {
            Some(dialog) if !dialog.question.trim().is_empty() => asks(&dialog.question),
            _ => "Asks something".to_owned(),
        },
        PtyState::SlashMenu => "Shows its menu of commands".to_owned(),
        PtyState::Error => format!("Shows an error: {}", cut(&reading.reason)),
        PtyState::Exited => "Has ended".to_owned(),
        PtyState::Unknown => "What it does cannot be told".to_owned(),
    }
}

/// What is asked, on one line.
pub(super) fn asks(question: &str) -> String {
    let line = question.lines().find(|line| !line.trim().is_empty());
    format!("Asks: {}", cut(line.unwrap_or(question)))
}

fn idle(journal: Option<&JournalFacts>, owner: Owner) -> &'static str {
    match (journal, owner) {
        (Some(journal), _) if journal.waits_for_words => "Is about to be told something",
        (Some(journal), _) if !journal.prompted => "Waits for its first words",
        (_, Owner::Task) => "Has ended its turn",
        (_, Owner::Person) => "Waits to be told something",
    }
}

/// What a tool works on, by the program's own report.
fn running_target(journal: Option<&JournalFacts>) -> Option<String> {
    let journal = journal.filter(|journal| journal.tool_runs)?;
    let CurrentTarget::On(target) = &journal.target else {
        return None;
    };
    let label = cut(target.label.as_str());
    Some(match target.kind {
        TargetKind::File if journal.changes_files => format!("Edits {label}"),
        TargetKind::File => format!("Reads {label}"),
        TargetKind::Command | TargetKind::Test => format!("Runs {label}"),
        TargetKind::Address => format!("Fetches {label}"),
        TargetKind::Artifact | TargetKind::Other => format!("Works on {label}"),
    })
}

/// A tool call as the screen shows it.
fn tool_line(tool: &ToolLine) -> Option<String> {
    let about = cut(&tool.arguments);
    let about = about.trim_matches(|c| matches!(c, '"' | '\'')).trim();
    let verb = match tool.name.to_lowercase().as_str() {
        "edit" | "multiedit" | "write" | "writing" | "wrote" | "update" | "create"
        | "apply_patch" | "writefile" | "notebookedit" => "Edits",
        "read" | "reading" | "readfile" | "view" => "Reads",
        "bash" | "run" | "running" | "ran" | "shell" | "exec" => "Runs",
        "grep" | "glob" | "search" | "searching" | "searched" | "websearch" => "Searches for",
        "fetch" | "fetching" | "fetched" | "webfetch" => "Fetches",
        "ls" | "list" | "listing" | "listed" => "Lists",
        "task" | "agent" => "Has a helper do",
        "tool" | "" => return (!about.is_empty()).then(|| format!("Runs {about}")),
        _ if about.is_empty() => return Some(format!("Uses {}", tool.name)),
        _ => return Some(format!("Uses {}: {about}", tool.name)),
    };
    Some(match about {
        "" => format!("Uses {}", tool.name),
        about => format!("{verb} {about}"),
    })
}

/// When something is to happen, as it may be said for a while.
pub(super) fn soon(left: Duration) -> String {
    match left.as_secs() {
        0..60 => "within a minute".to_owned(),
        60..3600 => format!("in about {} min", left.as_secs().div_ceil(60)),
        _ => format!("in about {} h", left.as_secs().div_ceil(3600)),
    }
}

/// On one line, and not too long.
pub(super) fn cut(text: &str) -> String {
    excerpt(&one_line(text), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(state: PtyState, tool: Option<(&str, &str)>) -> Reading {
        let mut reading = Reading::starting();
        reading.state = state;
        reading.tool = tool.map(|(name, arguments)| ToolLine {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            phase: ToolPhase::Running,
            row: 0,
        });
        reading
    }

    #[test]
    fn a_tool_call_is_said_by_what_it_does() {
        let tool = |name, about| {
            let reading = reading(PtyState::ToolRunning, Some((name, about)));
            activity(Some(&reading), None, Owner::Task)
        };
        assert_eq!(tool("Edit", "src/a.py"), "Edits src/a.py");
        assert_eq!(tool("Bash", "cargo test\n  --all"), "Runs cargo test --all");
        assert_eq!(tool("kb_search", "rust"), "Uses kb_search: rust");
        assert_eq!(tool("Read", ""), "Uses Read");
        let long = tool("Bash", &"word ".repeat(60));
        assert!(long.ends_with('…') && long.chars().count() < 130, "{long}");
    }

    #[test]
    fn a_state_without_a_tool_has_words_of_its_own() {
        let state = |state, owner| activity(Some(&reading(state, None)), None, owner);
        assert_eq!(state(PtyState::Thinking, Owner::Task), "Thinks");
        assert_eq!(state(PtyState::ToolRunning, Owner::Task), "Runs a tool");
        assert_eq!(state(PtyState::Idle, Owner::Task), "Has ended its turn");
        assert_eq!(
            state(PtyState::Idle, Owner::Person),
            "Waits to be told something"
        );
        assert_eq!(
            activity(None, None, Owner::Task),
            "Its terminal does not answer"
        );
    }
}
