//! A daemon whose agents run behind a wall, as one user or another.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{give_to, own_user};
use crate::harness::{TestHome, text, wait_for};

/// A home with a daemon of one user, and a folder in which its agents work.
pub(super) struct Stage {
    user: u32,
    pub(super) home: TestHome,
    pub(super) work: tempfile::TempDir,
}

impl Stage {
    pub(super) fn new(user: u32, sandbox: &str, policy: &str) -> Self {
        let config = format!("[sandbox]\nruns = \"guarded\"\n{sandbox}");
        let home = TestHome::with_config(&config);
        let file = home.home().config_dir().join("policy.toml");
        std::fs::write(&file, policy).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let work = tempfile::Builder::new().prefix("reach-").tempdir().unwrap();
        std::fs::create_dir(home.path().join("person")).unwrap();
        give_to(home.path(), user);
        give_to(work.path(), user);
        let stage = Self { user, home, work };
        stage.json(&["daemon", "start"]);
        stage
    }

    /// The home of the person.
    pub(super) fn person(&self) -> PathBuf {
        self.home.path().join("person")
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let own = self.person().join(".local/bin");
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            own.display()
        );
        let mut command = self.home.command(args);
        command
            .env("PATH", path)
            .env("HOME", self.person())
            .current_dir(self.work.path());
        if self.user != own_user() {
            command.uid(self.user).gid(self.user);
        }
        command
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        let args = [&["--json"], args].concat();
        let output = self.command(&args).output().unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    pub(super) fn write(&self, name: &str, contents: &str) {
        std::fs::write(self.file(name), contents).unwrap();
        give_to(&self.file(name), self.user);
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// An agent whose turn is to run this script.
    pub(super) fn start(&self, script: &str) -> Value {
        self.write("try.sh", script);
        self.write(
            "script.yaml",
            "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      \
             - run: {argv: [sh, try.sh]}\n",
        );
        let folder = self.work.path().to_str().unwrap();
        let options = ["run", "try", "--engine", "rehearsal", "--cwd", folder];
        let rest = ["--name", "agent", "--", "script.yaml", "--speed", "50"];
        self.json(&[&options[..], &rest[..]].concat())
    }

    pub(super) fn wait_for(&self, file: &str) {
        wait_for(file, || self.file(file).exists());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // As its user: the daemon is nobody else's to stop.
        let _ = self.command(&["daemon", "stop", "--force"]).output();
    }
}
