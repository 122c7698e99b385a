//! What a program says beside its picture.
//!
//! Turns tapped control strings into typed signals: progress (OSC 9;4), program
//! status (OSC 7501), desktop notifications (OSC 9 and 777). Text in them is
//! the program's own and is kept short and printable.

use missiond_semantic::{ProgramStatus, Progress};

use crate::control_scanner::Control;

const MAX_TEXT: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalSignal {
    Progress(Progress),
    Status(ProgramStatus),
    Notification(String),
    Bell,
}

pub(crate) fn signal_of(control: &Control) -> Option<TerminalSignal> {
    let Control::Osc(body) = control else {
        return None;
    };
    let text = String::from_utf8_lossy(body);
    let (number, rest) = text.split_once(';')?;
    match number {
        "9" => Some(match rest.strip_prefix("4;") {
            Some(progress) => TerminalSignal::Progress(progress_of(progress)?),
            None => TerminalSignal::Notification(printable(rest)),
        }),
        "777" => rest
            .strip_prefix("notify;")
            .map(|message| TerminalSignal::Notification(printable(message))),
        "7501" => status_of(rest).map(TerminalSignal::Status),
        _ => None,
    }
}

fn progress_of(text: &str) -> Option<Progress> {
    let mut fields = text.split(';');
    let percent = |field: Option<&str>| field.and_then(|f| f.parse().ok()).unwrap_or(0u8).min(100);
    match fields.next()? {
        "0" => Some(Progress::None),
        "1" => Some(Progress::Percent(percent(fields.next()))),
        "2" => Some(Progress::Error),
        "3" => Some(Progress::Busy),
        "4" => Some(Progress::Paused),
        _ => None,
    }
}

fn status_of(text: &str) -> Option<ProgramStatus> {
    let mut status = ProgramStatus::default();
    for field in text.split(':') {
        let Some((name, value)) = field.split_once('=') else {
            continue;
        };
        let value = printable(value);
        match name {
            "state" => status.state = value,
            "kind" => status.kind = Some(value),
            "app" => status.app = Some(value),
            _ => {}
        }
    }
    (!status.state.is_empty()).then_some(status)
}

fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TEXT)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(osc: &str) -> Option<TerminalSignal> {
        signal_of(&Control::Osc(osc.as_bytes().to_vec()))
    }

    #[test]
    fn reads_progress_status_and_notifications() {
        let cases = [
            ("9;4;3;0", Some(TerminalSignal::Progress(Progress::Busy))),
            (
                "9;4;1;42",
                Some(TerminalSignal::Progress(Progress::Percent(42))),
            ),
            ("9;4;0;", Some(TerminalSignal::Progress(Progress::None))),
            ("9;4;9", None),
            (
                "9;Approval requested",
                Some(TerminalSignal::Notification("Approval requested".into())),
            ),
            (
                "777;notify;Gemini;Approval",
                Some(TerminalSignal::Notification("Gemini;Approval".into())),
            ),
            (
                "7501;state=blocked:app=codex:kind=permission",
                Some(TerminalSignal::Status(ProgramStatus {
                    state: "blocked".into(),
                    kind: Some("permission".into()),
                    app: Some("codex".into()),
                })),
            ),
            ("7501;?", None),
            ("0;title", None),
        ];
        for (osc, expected) in cases {
            assert_eq!(signal(osc), expected, "{osc}");
        }
    }
}
