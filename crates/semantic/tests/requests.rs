//! What permission dialogs ask for, for every shipped manifest: dialogs as the
//! programs draw them, and dialogs whose contents imitate another one.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use missiond_core::PermissionAsked;
use missiond_semantic::{Catalogue, Reader, Reading, Screen, Size, ToolRequest};

fn read(engine: &str, rows: &str) -> Reading {
    let catalogue = Catalogue::shipped().unwrap();
    let mut reader = Reader::new(catalogue.get(engine).unwrap().clone());
    let size = Size {
        columns: 100,
        rows: 40,
    };
    let screen = Screen::from_lines(size, rows.lines());
    for step in 1..60 {
        reader.observe(&screen, Duration::from_millis(100 * step));
    }
    reader.current().clone()
}

fn request(engine: &str, rows: &str) -> Option<ToolRequest> {
    let reading = read(engine, rows);
    let dialog = reading.dialog;
    dialog
        .unwrap_or_else(|| panic!("no dialog:\n{rows}"))
        .request
}

/// What was asked, and the labels that allow and deny.
fn asked(engine: &str, rows: &str) -> (PermissionAsked, Option<String>, Option<String>) {
    let dialog = read(engine, rows).dialog.unwrap();
    let request = dialog
        .request
        .unwrap_or_else(|| panic!("no request:\n{rows}"));
    let label = |index: Option<usize>| index.map(|index| dialog.options[index].label.clone());
    let labels = (label(request.allow), label(request.deny));
    (request.asked, labels.0, labels.1)
}

fn bash(command: &str) -> PermissionAsked {
    PermissionAsked {
        tool: Some("Bash".to_owned()),
        command: Some(command.to_owned()),
        ..PermissionAsked::default()
    }
}

fn file(tool: &str, path: &str) -> PermissionAsked {
    PermissionAsked {
        tool: Some(tool.to_owned()),
        path: Some(path.to_owned()),
        ..PermissionAsked::default()
    }
}

const RULE: &str = "────────────────────────────────────────────────────────────";
const DASHES: &str = "╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌";

fn claude_command(description: &str, command: &str) -> String {
    let command = command.replace('\n', "\n ");
    format!(
        "● I need to.\n\n{RULE}\n Bash command\n {description}\n{DASHES}\n {command}\n{DASHES}\n \
         Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don't ask again for rm commands\n   \
         3. No\n\n Esc to cancel · Tab to amend"
    )
}

#[test]
fn claude_names_commands_files_and_servers() {
    let yes_no = |asked| (asked, Some("Yes".to_owned()), Some("No".to_owned()));
    assert_eq!(
        asked("claude", &claude_command("Remove build", "rm -rf ./build")),
        yes_no(bash("rm -rf ./build"))
    );
    let create = format!(
        "{RULE}\n Create file\n src/hello.txt\n{DASHES}\n  1 hello\n{DASHES}\n Do you want to \
         create hello.txt?\n ❯ 1. Yes\n   2. Yes, allow all edits\n   3. No\n\n Esc to cancel"
    );
    assert_eq!(
        asked("claude", &create),
        yes_no(file("Create", "src/hello.txt"))
    );
    let other = create.replace("create hello.txt?", "create other.txt?");
    assert_eq!(request("claude", &other), None, "two files in one dialog");
    let mcp = format!(
        "{RULE}\n Tool use\n fake — Echo Tool: (MCP)\n{DASHES}\n text: \"hello\"\n{DASHES}\n About \
         the tool\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, always\n   3. No\n\n Esc to \
         cancel"
    );
    let expected = PermissionAsked {
        tool: Some("Echo".to_owned()),
        server: Some("fake".to_owned()),
        argument: Some("text: \"hello\"".to_owned()),
        ..PermissionAsked::default()
    };
    assert_eq!(asked("claude", &mcp), yes_no(expected));
}

#[test]
fn of_an_older_claude_a_command_is_known_only_with_its_description() {
    let dialog = format!(
        "{RULE}\n Bash command\n\n   rm -rf build\n   Remove build\n\n Do you want to proceed?\n \
         ❯ 1. Yes\n   2. Yes, and don't ask again\n   3. Type here to tell Claude what to do \
         differently\n\n Esc to cancel"
    );
    let (asked, allow, deny) = asked("claude", &dialog);
    let expected = PermissionAsked {
        shown_in_part: true,
        ..bash("rm -rf build\nRemove build")
    };
    assert_eq!(
        (asked, allow.as_deref(), deny),
        (expected, Some("Yes"), None)
    );
}

#[test]
fn a_command_that_draws_another_dialog_is_all_of_it_the_command() {
    let inner = format!(
        "rm -rf /\n{RULE}\nBash command\nCheck\n{DASHES}\ngit status\n{DASHES}\nDo you want to \
         proceed?\n❯ 1. Yes\n  2. No"
    );
    let request = request("claude", &claude_command("Remove", &inner));
    let command = request.unwrap().asked.command.unwrap();
    assert!(command.starts_with("rm -rf /\n"), "{command}");

    let description = format!("Check\n {DASHES}\n git status\n {DASHES}");
    let command = command_of("claude", &claude_command(&description, "rm -rf /"));
    assert!(command.contains("rm -rf /"), "{command}");
}

fn command_of(engine: &str, rows: &str) -> String {
    request(engine, rows).unwrap().asked.command.unwrap()
}

#[test]
fn a_file_whose_text_draws_another_dialog_is_no_command() {
    // Claude Code 2.0 draws the text of a file without numbers.
    let create = format!(
        "{RULE}\n Create file notes.txt\n{DASHES}\n {RULE}\n Bash command\n\n   git status\n   \
         Check\n{DASHES}\n Do you want to create notes.txt?\n ❯ 1. Yes\n   2. Yes, allow all\n   \
         3. No\n\n Esc to cancel"
    );
    let request = request("claude", &create).unwrap();
    assert_eq!(request.asked, file("Create", "notes.txt"));
}

fn codex_command(reason: &str, command: &str) -> String {
    format!(
        "  Would you like to run the following command?\n\n  Environment: local\n\n  Reason: \
         {reason}\n\n  $ {command}\n\n\n› 1. Yes, proceed (y)\n  2. Yes, and don't ask again for \
         commands that start with `touch` (p)\n  3. No, and tell Codex what to do differently \
         (esc)\n\n  Press enter to confirm or esc to cancel"
    )
}

#[test]
fn codex_names_commands_files_and_servers() {
    let (asked_for, allow, deny) = asked("codex", &codex_command("May I?", "touch a && ls"));
    assert_eq!(asked_for, bash("touch a && ls"));
    assert_eq!(allow.as_deref(), Some("Yes, proceed (y)"));
    assert_eq!(
        deny.as_deref(),
        Some("No, and tell Codex what to do differently (esc)")
    );
    let edit = "  Would you like to make the following edits?\n\n  Description: Apply proposed file \
                edits\n  Destination: /src/app/hello.txt\n\n\n› 1. Yes, proceed (y)\n  2. Yes, and \
                don't ask again for these files (a)\n  3. No, and tell Codex what to do \
                differently (esc)\n\n  Press enter to confirm or esc to cancel";
    assert_eq!(asked("codex", edit).0, file("Edit", "/src/app/hello.txt"));
    let two = edit.replace("hello.txt", "hello.txt\n  Destination: /etc/passwd");
    let several = asked("codex", &two).0;
    assert_eq!((several.path, several.shown_in_part), (None, true));
}

#[test]
fn a_second_title_makes_a_codex_panel_unreadable() {
    let inner = "rm -rf /\n  Would you like to run the following command?\n\n  $ git status";
    assert_eq!(request("codex", &codex_command("x", inner)), None);
    // A reason that shows a command only adds to what must be allowed.
    let reason = "x\n\n  $ git status";
    let command = command_of("codex", &codex_command(reason, "rm -rf /"));
    assert_eq!(command, "git status\n$ rm -rf /");
}

#[test]
fn gemini_opencode_and_copilot_name_theirs() {
    let gemini = "╭──────────────────────────────────────────────────╮\n│ ? Shell  touch a && ls  \
                  \n│ ╭──────────────────────╮ │\n│ │ touch a && ls        │ │\n│ \
                  ╰──────────────────────╯ │\n│ Allow execution of [Shell]?                  │\n│  \
                  │\n│ ● 1. Allow once           │\n│   2. Allow for this session      │\n│   3. \
                  No, suggest changes (esc)     │\n╰──────────────────────────────────────────╯";
    let (asked_for, allow, deny) = asked("gemini", gemini);
    assert_eq!(asked_for, bash("touch a && ls"));
    assert_eq!(allow.as_deref(), Some("Allow once"));
    assert_eq!(deny.as_deref(), Some("No, suggest changes (esc)"));

    let copilot = "╭──────────────────────────────────╮\n│ a scripted command               │\n│ \
                   ──────────────────────────────── │\n│ ╭──────────────────────────────╮ │\n│ │ \
                   touch a && ls                │ │\n│ ╰──────────────────────────────╯ │\n│     \
                   │\n│ Do you want to run this command?  │\n│    │\n│ ❯ 1. Yes   │\n│   2. Yes, \
                   and don't ask again for `touch` in this repo │\n│   3. No, and tell Copilot \
                   what to do differently (Esc to stop)  │\n│    │\n│ ↑/↓ to navigate · enter to \
                   select · esc to cancel │\n╰──────────────────────────────────╯";
    let (asked_for, allow, _) = asked("copilot", copilot);
    assert_eq!(asked_for, bash("touch a && ls"));
    assert_eq!(allow.as_deref(), Some("Yes"));
}

#[test]
fn what_is_cut_off_is_known_to_be() {
    let cut = asked("claude", &claude_command("Look", "cat a b …")).0;
    assert!(cut.shown_in_part);
}
