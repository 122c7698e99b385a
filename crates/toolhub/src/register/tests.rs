//! Registering in files as people have them, and taking it back.

use super::*;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn roots(&self) -> ConfigRoots {
        let home = self.folder.path().join("home");
        ConfigRoots {
            config: home.join(".config"),
            project: home.join("project"),
            home,
        }
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.roots().home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn register(&self, client: Client) -> Result<Plan, RegisterError> {
        self.register_as(client, "/bin/mission")
    }

    fn register_as(&self, client: Client, command: &str) -> Result<Plan, RegisterError> {
        let registration = Registration {
            command: PathBuf::from(command),
            args: vec!["mcp".to_owned(), "serve".to_owned()],
            env: BTreeMap::new(),
        };
        let plan = plan(client, &self.roots(), &registration, &self.backups())?;
        apply(&plan, &self.backups())?;
        Ok(plan)
    }

    fn undo(&self, client: Client, changed: ChangedSince) -> Vec<UndoOutcome> {
        let undone = undo(&self.backups(), &[client], changed).unwrap();
        undone.into_iter().map(|undone| undone.outcome).collect()
    }
}

const FILES: [(Client, &str, &str); 6] = [
    (
        Client::ClaudeCode,
        ".claude.json",
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": {}\n}",
    ),
    (
        Client::Gemini,
        ".gemini/settings.json",
        "{\n  // my theme\n  \"theme\": \"x\",\n}\n",
    ),
    (
        Client::Codex,
        ".codex/config.toml",
        "# mine\nmodel = \"o\" # best\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\ntheme = \"a\"\n",
    ),
    (
        Client::OpenCode,
        ".config/opencode/opencode.jsonc",
        "{\n\t\"mcp\": { /* none */ }\n}\n",
    ),
    (
        Client::Cursor,
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}",
    ),
    (
        Client::VsCode,
        ".config/Code/User/mcp.json",
        "{\r\n    \"servers\": {\r\n        \"a\": {}\r\n    },\r\n    \"inputs\": []\r\n}\r\n",
    ),
];

#[test]
fn every_client_finds_our_server_and_every_file_is_restored_byte_for_byte() {
    for (client, file, text) in FILES {
        let machine = Machine::new();
        let path = machine.write(file, text);
        let mode: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        fs::set_permissions(&path, mode.clone()).unwrap();
        machine.register(client).unwrap();
        let found = crate::import::find(client, &machine.roots()).unwrap();
        let ours = found.iter().find(|found| found.name == "mission");
        let entry = ours.unwrap_or_else(|| panic!("{client:?}")).entry.clone();
        let entry = entry.unwrap();
        assert_eq!(entry.command.as_deref(), Some("/bin/mission"), "{client:?}");
        assert_eq!(entry.args, ["mcp", "serve"], "{client:?}");
        // Again, it is the same.
        let changed = fs::read(&path).unwrap();
        assert!(machine.register(client).unwrap().changes_nothing());
        assert_eq!(fs::read(&path).unwrap(), changed);
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::Restored]
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{client:?}");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(machine.undo(client, ChangedSince::Leave).is_empty());
    }
}

use std::os::unix::fs::PermissionsExt;

#[test]
fn what_was_not_there_is_not_there_afterwards() {
    for (client, _, _) in FILES {
        let machine = Machine::new();
        fs::create_dir_all(machine.roots().home).unwrap();
        let plan = machine.register(client).unwrap();
        assert!(plan.file.exists() && plan.before.is_none());
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::Removed]
        );
        let left = fs::read_dir(machine.roots().home).unwrap().count();
        assert_eq!(left, 0, "{client:?}");
    }
}

#[test]
fn what_somebody_changed_since_is_theirs() {
    for (client, file, text) in FILES {
        let machine = Machine::new();
        let path = machine.write(file, text);
        machine.register(client).unwrap();
        let edited = format!("{}\n", fs::read_to_string(&path).unwrap());
        fs::write(&path, &edited).unwrap();
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::ChangedSince]
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
        assert_eq!(
            machine.undo(client, ChangedSince::TakeOut),
            [UndoOutcome::TakenOut]
        );
        let rest = fs::read_to_string(&path).unwrap();
        assert_eq!(find(client, &rest).unwrap(), None);
        assert!(
            same_besides(parse(client, &rest).ok(), parse(client, text).ok()),
            "{rest}"
        );
    }
}

/// A crash between keeping what a file was and changing it, and one between
/// restoring it and forgetting that.
#[test]
fn a_crash_in_between_leaves_nothing_to_repair_by_hand() {
    for (client, file, text) in FILES {
        let machine = Machine::new();
        let path = machine.write(file, text);
        machine.register(client).unwrap();
        let record = machine.backups().join(format!("{}.json", client.name()));
        let kept = fs::read(&record).unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::NothingToDo]
        );
        fs::write(&record, kept).unwrap();
        machine.register(client).unwrap();
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::Restored]
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_program_that_moved_is_registered_anew_and_undone_to_the_beginning() {
    for (client, file, text) in FILES {
        let machine = Machine::new();
        let path = machine.write(file, text);
        machine.register(client).unwrap();
        machine.register_as(client, "/opt/mission").unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("/opt/mission"));
        assert_eq!(
            machine.undo(client, ChangedSince::Leave),
            [UndoOutcome::Restored]
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn somebody_elses_server_of_our_name_and_broken_files_are_left_alone() {
    let machine = Machine::new();
    let text = "{\"mcpServers\": {\"mission\": {\"command\": \"control\"}}}";
    let path = machine.write(".cursor/mcp.json", text);
    let refused = machine.register(Client::Cursor).unwrap_err();
    assert!(matches!(refused, RegisterError::Taken { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    for (client, file, text) in [
        (Client::Gemini, ".gemini/settings.json", "{ \"theme\": "),
        (Client::Codex, ".codex/config.toml", "model = "),
        (Client::ClaudeCode, ".claude.json", "{\"mcpServers\": [1]}"),
    ] {
        let path = machine.write(file, text);
        let refused = machine.register(client).unwrap_err();
        assert!(
            matches!(refused, RegisterError::Strange { .. }),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(
            undo(&machine.backups(), &[client], ChangedSince::Leave)
                .unwrap()
                .is_empty()
        );
    }
}
