//! A notification on the desktop, by the program the system has for it. What an
//! agent wrote is an argument of that program, never part of a script.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use missiond_core::{Question, QuestionOrigin};
use tokio::process::Command;

/// The program hands it on and ends.
const LIMIT: Duration = Duration::from_secs(10);
const LONGEST: usize = 300;

#[derive(Debug, thiserror::Error)]
pub(super) enum DesktopError {
    #[error("{program} cannot be run: {source}")]
    Program {
        program: &'static str,
        source: io::Error,
    },
    #[error("{0} said no: is there a desktop session?")]
    Refused(&'static str),
    #[error("{0} did not end")]
    Hangs(&'static str),
}

pub(super) async fn show(question: &Question) -> Result<(), DesktopError> {
    let (program, arguments) = command(question);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(LIMIT, command.status()).await;
    let status = ended
        .map_err(|_| DesktopError::Hangs(program))?
        .map_err(|source| DesktopError::Program { program, source })?;
    if status.success() {
        Ok(())
    } else {
        Err(DesktopError::Refused(program))
    }
}

#[cfg(not(target_os = "macos"))]
fn command(question: &Question) -> (&'static str, Vec<String>) {
    // The body is read as markup.
    let body = plain(&question.question)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let arguments = ["--app-name=mission", "--", &title(question), &body];
    ("notify-send", arguments.map(str::to_owned).to_vec())
}

#[cfg(target_os = "macos")]
fn command(question: &Question) -> (&'static str, Vec<String>) {
    let script = [
        "on run argv",
        "display notification (item 2 of argv) with title (item 1 of argv)",
        "end run",
    ];
    let mut arguments: Vec<String> = Vec::new();
    for line in script {
        arguments.extend(["-e".to_owned(), line.to_owned()]);
    }
    arguments.push(title(question));
    arguments.push(plain(&question.question));
    ("osascript", arguments)
}

fn title(question: &Question) -> String {
    match &question.origin {
        QuestionOrigin::Dialog { slot_name, .. } => {
            format!("{}: {slot_name} waits for you", question.number)
        }
        _ => format!("{} waits for you", question.number),
    }
}

fn plain(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    visible.take(LONGEST).collect()
}
