//! The real agent CLIs, at the versions of `tests/clis`, each in a real terminal
//! against a scripted model on this machine. `cargo xtask clis` installs them
//! into `target/clis`; MISSION_TEST_SKIP_CLIS leaves these tests out.
//!
//! Nothing here reaches a vendor: the keys are made up, each CLI has a home of
//! its own, and what would leave this machine is sent to a closed port.

use std::path::{Path, PathBuf};

use missiond_core::PtyState;
use missiond_model_server::{Api, Gate, ModelServer, Purpose, Reply};
use missiond_pty::Senses;
use missiond_semantic::{Size, WaitingFor};
use pty_process::blocking::Command;
use serde_json::{Value, json};

use crate::harness::binary;
use crate::watched::Watched;

const SIZE: Size = Size {
    columns: 120,
    rows: 40,
};
const KEY: &str = "test-key";
/// Port 9 discards; nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";
const PROMPT: &str = "what is the answer";
/// What the model has the CLI write.
const MADE: &str = "made by a tool";

#[test]
fn claude_code_answers_asks_and_exits() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let room = Room::new();
    let program = clis.file(&format!("@anthropic-ai/claude-code-{}/claude", platform()));
    let config = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": "9.9.9", "theme": "dark",
        "numStartups": 5, "autoUpdates": false,
        "officialMarketplaceAutoInstallAttempted": true,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {room.work().display().to_string(): {
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
        }},
    });
    room.write("home/.claude/.claude.json", &config.to_string());
    let command = room
        .command(&program)
        .args(["--permission-mode", "manual"])
        .env("CLAUDE_CONFIG_DIR", room.path("home/.claude"))
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", room.model.url())
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("HTTPS_PROXY", NOWHERE);
    let file = room.path("work/made.txt");
    let write = ("Write", json!({"file_path": file, "content": MADE}));
    room.converse("claude", command, Api::Anthropic, write, "/exit");
}

#[test]
fn codex_answers_asks_and_exits() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let room = Room::new();
    let work = room.work().display().to_string();
    let config = format!(
        r#"
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "{}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
[projects."{work}"]
trust_level = "trusted"
[tui.model_availability_nux]
"gpt-6.1-sol" = 9
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"#,
        room.model.url()
    );
    room.write("home/.codex/config.toml", &config);
    let command = room
        .command(Path::new("node"))
        .arg(clis.file("@openai/codex/bin/codex.js"))
        .arg("--no-daemon")
        .env("SCRIPTED_API_KEY", KEY)
        .env("HTTPS_PROXY", NOWHERE);
    let shell = json!({
        "cmd": format!("printf '{MADE}' > made.txt"), "yield_time_ms": 15_000,
        "sandbox_permissions": "require_escalated", "justification": "May it write a file?",
    });
    let shell = ("exec_command", shell);
    room.converse("codex", command, Api::Responses, shell, "/quit");
}

#[test]
fn gemini_cli_answers_asks_and_exits() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let room = Room::new();
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    room.write("home/.gemini/settings.json", &settings.to_string());
    let trusted = json!({room.work().display().to_string(): "TRUST_FOLDER"});
    room.write("home/.gemini/trustedFolders.json", &trusted.to_string());
    // It sends everything through a proxy, loopback too, so it gets none.
    let command = room
        .command(Path::new("node"))
        .arg(clis.file("@google/gemini-cli/bundle/gemini.js"))
        .args(["-m", "gemini-2.5-flash"])
        .env("GEMINI_API_KEY", KEY)
        .env("GOOGLE_GEMINI_BASE_URL", room.model.url())
        .env("GEMINI_TELEMETRY_ENABLED", "false");
    let write = json!({"file_path": "made.txt", "content": MADE});
    let write = ("write_file", write);
    room.converse("gemini", command, Api::Gemini, write, "/quit");
}

#[test]
fn opencode_answers_asks_and_exits() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let room = Room::new();
    let config = json!({
        "autoupdate": false, "share": "disabled",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("{}/v1", room.model.url()), "apiKey": KEY},
            "models": {"model": {
                "name": "Scripted model", "tool_call": true,
                "limit": {"context": 200_000, "output": 8000},
            }},
        }},
        "model": "scripted/model", "small_model": "scripted/model",
        "permission": {"edit": "ask", "bash": "ask"},
    });
    room.write("home/.config/opencode/opencode.json", &config.to_string());
    let program = clis.file(&format!("opencode-{}/bin/opencode", platform()));
    let command = room
        .command(&program)
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        .env("HTTPS_PROXY", NOWHERE);
    let file = room.path("work/made.txt");
    let write = ("write", json!({"filePath": file, "content": MADE}));
    room.converse("opencode", command, Api::Chat, write, "/exit");
}

/// Where `cargo xtask clis` has put them.
struct Clis {
    modules: PathBuf,
}

impl Clis {
    /// None when they are to be left out; a failure when they are missing.
    fn installed() -> Option<Self> {
        if std::env::var_os("MISSION_TEST_SKIP_CLIS").is_some_and(|value| !value.is_empty()) {
            eprintln!("the real CLIs are left out: MISSION_TEST_SKIP_CLIS is set");
            return None;
        }
        let binary = binary();
        let target = binary.parent().and_then(Path::parent).unwrap();
        let modules = target.join("clis/node_modules");
        assert!(
            modules.is_dir(),
            "the agent CLIs are not installed: run `cargo xtask clis`, or set \
             MISSION_TEST_SKIP_CLIS=1 to leave these tests out"
        );
        Some(Self { modules })
    }

    fn file(&self, path: &str) -> PathBuf {
        let file = self.modules.join(path);
        assert!(
            file.is_file(),
            "{} is missing: run `cargo xtask clis`",
            file.display()
        );
        file
    }
}

/// As the packages name it: `linux-x64`, `darwin-arm64`.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{machine}")
}

/// A home, a folder to work in and a model, for one CLI.
struct Room {
    folder: tempfile::TempDir,
    model: ModelServer,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("cli-").tempdir().unwrap();
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let room = Self {
            folder,
            model: ModelServer::start().unwrap(),
        };
        room.write("work/notes.txt", "some notes\n");
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        // Programs compare folders by their real path.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn work(&self) -> PathBuf {
        self.path("work")
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.path(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// The program with nothing of this process's environment but the path.
    fn command(&self, program: &Path) -> Command {
        let home = self.path("home");
        Command::new(program)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("DO_NOT_TRACK", "1")
            .env("NO_UPDATE_NOTIFIER", "1")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .current_dir(self.work())
    }

    /// A prompt that is answered, then one for which the CLI must ask
    /// permission. Every step is waited for: the model says nothing until the
    /// screen is read as thinking, and stops half-way until it is read as
    /// responding.
    fn converse(
        &self,
        engine: &str,
        command: Command,
        api: Api,
        (tool, arguments): (&str, Value),
        farewell: &str,
    ) {
        let (begin, finish) = (Gate::closed(), Gate::closed());
        let model = &self.model;
        model.reply(
            Reply::new()
                .hold(&begin)
                .say("The answer has two lines.\n\nThis is the first one of them.\n\n")
                .hold(&finish)
                .say("The second says forty-two."),
        );
        let mut cli = Watched::start(engine, command, SIZE, Senses::All);
        cli.wait_for_state(PtyState::Idle);
        cli.send(PROMPT);
        cli.wait_for_text(PROMPT);
        cli.press_until("\r", "the request", |_| !model.turns().is_empty());
        cli.wait_for_state(PtyState::Thinking);
        begin.open();
        cli.wait_for_text("The answer has two lines.");
        cli.wait_for_state(PtyState::Responding);
        finish.open();
        cli.wait_for_text("forty-two");
        cli.wait_for_state(PtyState::Idle);

        model.reply(Reply::new().call(tool, arguments));
        model.reply(Reply::new().say("It was written."));
        cli.send("now write the file");
        cli.wait_for_text("now write the file");
        cli.press_until("\r", "the second request", |_| model.turns().len() > 1);
        // Some report the question before they have drawn it.
        cli.wait_for("the options of a dialog", |cli| {
            cli.reading().state == PtyState::Confirming && cli.reading().dialog.is_some()
        });
        let asked = cli.reading().clone();
        assert_eq!(asked.waiting_for, Some(WaitingFor::Permission), "{asked:?}");
        let dialog = asked.dialog.expect("its options are read");
        assert!(dialog.options.len() >= 2, "{dialog:?}");
        assert_eq!(dialog.selected, Some(0), "{dialog:?}");
        assert!(!self.path("work/made.txt").exists());
        cli.press_until("\r", "the result of the tool", |_| model.turns().len() > 2);
        cli.wait_for_text("It was written.");
        cli.wait_for_state(PtyState::Idle);
        let made = std::fs::read_to_string(self.path("work/made.txt")).unwrap();
        assert_eq!(made.trim_end(), MADE);

        let turns = model.turns();
        let seen: Vec<_> = turns.iter().map(|turn| (turn.api, turn.purpose)).collect();
        assert_eq!(seen, [(api, Purpose::Turn); 3]);
        assert!(turns[0].body.to_string().contains(PROMPT));

        cli.send(farewell);
        cli.wait_for_text(farewell);
        cli.press_until("\r", "the end", Watched::has_ended);
        assert_eq!(cli.wait_for_exit().code(), Some(0));
        assert_eq!(cli.reading().state, PtyState::Exited);
    }
}
