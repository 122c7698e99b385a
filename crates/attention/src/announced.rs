//! What the programs of agents have said they are about to do, by a hook that runs
//! before each tool, and have not ended yet.
//!
//! A screen shows what is asked in rows that somebody else can draw over. The hook has
//! the input the program will run, so a decision is about that, and the screen only says
//! which of the announced uses its dialog is for. Nothing of this outlives the daemon:
//! what was announced to an earlier one is nobody's word any more.

use std::collections::{HashMap, VecDeque};

use missiond_core::{PermissionAsked, SlotId};
use missiond_guard::permissions::{Argument, Request, Verdict};
use parking_lot::Mutex;

/// A program works on few tools at once; of one that never ends them the oldest go.
const MOST_IN_SLOT: usize = 32;
/// Characters of a command or an argument that are kept for people.
const LONGEST_ASKED: usize = 8_000;

/// One use of a tool that a hook has announced.
#[derive(Debug, Clone)]
pub struct AnnouncedUse {
    /// The name of the tool in the words of the program's hooks.
    pub tool: String,
    /// The program's id of the call, where it has one.
    pub call: Option<String>,
    pub digest: String,
    /// What rules decide on: all of it, as the program will run it.
    pub request: Request,
    /// What allowed it when it was announced.
    pub allowed: Option<Allowed>,
}

/// A decision that is on record under its number.
#[derive(Debug, Clone)]
pub struct Allowed {
    pub decision: i64,
    pub verdict: Verdict,
}

impl AnnouncedUse {
    /// The same for people and records; a very long one is cut, and then says so.
    #[must_use]
    pub fn asked(&self) -> PermissionAsked {
        let mut asked = of_request(&self.request);
        for text in [&mut asked.command, &mut asked.argument]
            .into_iter()
            .flatten()
        {
            if let Some((end, _)) = text.char_indices().nth(LONGEST_ASKED) {
                text.truncate(end);
                asked.shown_in_part = true;
            }
        }
        PermissionAsked {
            cwd: Some(self.request.base.folder.clone()),
            digest: Some(self.digest.clone()),
            ..asked
        }
    }

    /// Whether a dialog that shows this can be the one for it. Spaces say nothing,
    /// because rows are wrapped: what is decided on is the announced text.
    #[must_use]
    pub fn is_shown_by(&self, shown: &PermissionAsked) -> bool {
        if shown.shown_in_part {
            return false;
        }
        let own = of_request(&self.request);
        if let (Some(shown), Some(own)) = (&shown.command, &own.command) {
            return without_spaces(shown) == without_spaces(own);
        }
        if let Some(path) = &shown.path {
            let path = self.request.base.absolute(path);
            return self.request.paths.contains(&path);
        }
        if own.command.is_some() || shown.command.is_some() {
            return false;
        }
        let name = |name: &Option<String>| name.as_deref().map(letters);
        let same_tool = name(&shown.tool) == name(&own.tool);
        let argument = shown.argument.as_deref().map(letters).unwrap_or_default();
        let own_argument = own.argument.as_deref().map(letters).unwrap_or_default();
        same_tool && name(&shown.server) == name(&own.server) && own_argument.contains(&argument)
    }
}

fn of_request(request: &Request) -> PermissionAsked {
    let (command, argument) = match &request.argument {
        Some(Argument::Command(line)) => (Some(line.clone()), None),
        Some(Argument::Text(text)) => (None, Some(text.clone())),
        None => (None, None),
    };
    let is_file = command.is_none() && argument.is_none();
    PermissionAsked {
        tool: request.tool.clone(),
        server: request.server.clone(),
        command,
        argument,
        path: request.paths.first().filter(|_| is_file).cloned(),
        ..PermissionAsked::default()
    }
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Names and arguments of servers' tools are drawn with other signs around them.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The announced uses of all slots.
#[derive(Debug, Default)]
pub struct Announced(Mutex<HashMap<SlotId, VecDeque<AnnouncedUse>>>);

impl Announced {
    pub fn put(&self, slot: SlotId, one: AnnouncedUse) {
        let mut slots = self.0.lock();
        let uses = slots.entry(slot).or_default();
        if uses.len() == MOST_IN_SLOT {
            uses.pop_front();
        }
        uses.push_back(one);
    }

    /// Those that have not ended, oldest first.
    pub fn open(&self, slot: SlotId) -> Vec<AnnouncedUse> {
        let slots = self.0.lock();
        let uses = slots.get(&slot).into_iter().flatten();
        uses.cloned().collect()
    }

    /// Whether an approval of this may still be given: it is announced, or nothing ever
    /// was to this daemon.
    pub fn is_open(&self, slot: SlotId, digest: &str) -> bool {
        let slots = self.0.lock();
        let uses = slots.get(&slot);
        uses.is_none_or(|uses| uses.iter().any(|one| one.digest == digest))
    }

    /// One use is over: by its id, else the oldest of that tool.
    pub fn end(&self, slot: SlotId, call: Option<&str>, tool: &str) {
        self.remove(slot, |one| match (call, &one.call) {
            (Some(call), Some(own)) => own == call,
            _ => one.tool == tool,
        });
    }

    /// Its dialog was answered: the approval is used up.
    pub fn answered(&self, slot: SlotId, digest: &str) {
        self.remove(slot, |one| one.digest == digest);
    }

    /// A turn begins or is over, and nothing of the one before is open.
    pub fn end_all(&self, slot: SlotId) {
        if let Some(uses) = self.0.lock().get_mut(&slot) {
            uses.clear();
        }
    }

    pub fn forget(&self, slot: SlotId) {
        self.0.lock().remove(&slot);
    }

    fn remove(&self, slot: SlotId, is_it: impl Fn(&AnnouncedUse) -> bool) {
        let mut slots = self.0.lock();
        if let Some(uses) = slots.get_mut(&slot)
            && let Some(index) = uses.iter().position(is_it)
        {
            uses.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::CliEngine;
    use missiond_guard::ToolCall;
    use serde_json::{Value, json};

    use super::*;

    fn announced(tool: &str, input: &Value) -> AnnouncedUse {
        let call = ToolCall {
            tool: Some(tool),
            server: None,
            argument: input,
            cwd: Some("/work"),
            home: Some("/home/me"),
        };
        AnnouncedUse {
            tool: tool.to_owned(),
            call: Some("t1".to_owned()),
            digest: input.to_string(),
            request: Request {
                engine: CliEngine::Claude,
                ..call.request().unwrap()
            },
            allowed: None,
        }
    }

    fn command(line: &str) -> PermissionAsked {
        PermissionAsked {
            tool: Some("Bash".to_owned()),
            command: Some(line.to_owned()),
            ..PermissionAsked::default()
        }
    }

    #[test]
    fn a_dialog_is_for_the_use_it_shows_and_for_no_other() {
        let run = announced("Bash", &json!({"command": "touch one  two"}));
        assert!(run.is_shown_by(&command("touch one\ntwo")));
        assert!(!run.is_shown_by(&command("cargo test")));
        let unread = PermissionAsked {
            command: None,
            ..command("")
        };
        assert!(!run.is_shown_by(&unread));
        let long = announced("Bash", &json!({"command": "x".repeat(2 * LONGEST_ASKED)}));
        assert!(long.asked().shown_in_part);
        assert_eq!(long.asked().command.unwrap().len(), LONGEST_ASKED);
        let in_part = PermissionAsked {
            shown_in_part: true,
            ..command("touch one two")
        };
        assert!(!run.is_shown_by(&in_part));

        let write = announced(
            "Write",
            &json!({"file_path": "/work/a.txt", "content": "x"}),
        );
        let shown = |path: &str| PermissionAsked {
            tool: Some("Create".to_owned()),
            path: Some(path.to_owned()),
            ..PermissionAsked::default()
        };
        assert!(write.is_shown_by(&shown("a.txt")));
        assert!(!write.is_shown_by(&shown("b.txt")));
        assert!(!write.is_shown_by(&command("touch one two")));
        assert!(!run.is_shown_by(&shown("a.txt")));

        let search = announced("mcp__docs__full_text", &json!({"text": "hello"}));
        let shown = |server: &str, argument: &str| PermissionAsked {
            tool: Some("Full Text".to_owned()),
            server: Some(server.to_owned()),
            argument: Some(argument.to_owned()),
            ..PermissionAsked::default()
        };
        assert!(search.is_shown_by(&shown("docs", "text: \"hello\"")));
        assert!(!search.is_shown_by(&shown("other", "text: \"hello\"")));
        assert!(!search.is_shown_by(&shown("docs", "text: \"bye\"")));
    }

    #[test]
    fn what_is_over_vouches_for_nothing() {
        let (all, slot) = (Announced::default(), SlotId::generate());
        let one = announced("Bash", &json!({"command": "ls"}));
        assert!(all.is_open(slot, &one.digest), "an earlier daemon was told");
        all.put(slot, one.clone());
        all.put(slot, one.clone());
        all.answered(slot, &one.digest);
        assert_eq!(all.open(slot).len(), 1, "the same was asked twice");
        all.end(slot, Some("t9"), "Bash");
        assert_eq!(all.open(slot).len(), 1);
        all.end(slot, Some("t1"), "Bash");
        assert!(!all.is_open(slot, &one.digest));
        all.put(
            slot,
            AnnouncedUse {
                call: None,
                ..one.clone()
            },
        );
        all.end(slot, None, "Read");
        assert_eq!(all.open(slot).len(), 1);
        all.end(slot, None, "Bash");
        assert!(all.open(slot).is_empty());
        for _ in 0..=MOST_IN_SLOT {
            all.put(slot, one.clone());
        }
        assert_eq!(all.open(slot).len(), MOST_IN_SLOT);
        all.end_all(slot);
        assert!(all.open(slot).is_empty());
    }
}
