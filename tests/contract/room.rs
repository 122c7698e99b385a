//! A home, a folder to work in, a model and a daemon for one agent CLI. Nothing
//! here reaches a vendor: the keys are made up, and what would leave this
//! machine is sent to a closed port.

use std::path::{Path, PathBuf};

use missiond_model_server::ModelServer;

use crate::harness::{TestHome, binary};

pub(crate) const KEY: &str = "test-key";
/// Port 9 discards; nobody listens there.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:9";

/// Where `cargo xtask clis` has put the CLIs.
pub(crate) struct Clis {
    modules: PathBuf,
}

impl Clis {
    /// None when they are to be left out; a failure when they are missing.
    pub(crate) fn installed() -> Option<Self> {
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

    /// A program from PyPI; none where no Python is that runs it, which is a failure where
    /// everything must hold.
    pub(crate) fn python(&self, name: &str) -> Option<PathBuf> {
        let environment = self.modules.parent().unwrap().join("python");
        if !environment.is_dir() && std::env::var_os("CI").is_none() {
            eprintln!("{name} is left out: `cargo xtask clis` has not installed it");
            return None;
        }
        let program = environment.join("bin").join(name);
        assert!(
            program.is_file(),
            "{name} is missing: run `cargo xtask clis`"
        );
        Some(program)
    }

    pub(crate) fn file(&self, path: &str) -> PathBuf {
        let file = self.modules.join(path);
        assert!(
            file.is_file(),
            "{} is missing: run `cargo xtask clis`",
            file.display()
        );
        file.canonicalize().unwrap()
    }
}

/// As the packages name it: `linux-x64`, `darwin-arm64`.
pub(crate) fn platform() -> String {
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

pub(crate) struct Room {
    pub(crate) home: TestHome,
    folder: tempfile::TempDir,
    pub(crate) model: ModelServer,
    /// Its agent is behind a wall.
    pub(crate) is_walled: bool,
}

impl Room {
    /// With the program under the name that the engine looks for.
    pub(crate) fn new(name: &str, program: &Path) -> Self {
        Self::configured(name, program, "")
    }

    /// With this configuration of the daemon.
    pub(crate) fn configured(name: &str, program: &Path, config: &str) -> Self {
        let home = TestHome::with_config(config);
        Self::of(name, program, home, ModelServer::start().unwrap())
    }

    /// With a wall around the agent, in which its model is all that it reaches.
    pub(crate) fn walled(name: &str, program: &Path) -> Self {
        let model = ModelServer::start().unwrap();
        let url = model.url();
        let (_, port) = url.rsplit_once(':').unwrap();
        let config = format!("[sandbox]\nruns = \"guarded\"\nports = [{port}]\n");
        let home = TestHome::with_config(&config);
        let policy = format!("[[network]]\nallow = \"127.0.0.1:{port}\"\n");
        let file = home.home().policy_file();
        std::fs::write(&file, policy).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, private).unwrap();
        let mut room = Self::of(name, program, home, model);
        room.is_walled = true;
        room
    }

    fn of(name: &str, program: &Path, home: TestHome, model: ModelServer) -> Self {
        home.start();
        let folder = tempfile::Builder::new().prefix("cli-").tempdir().unwrap();
        for name in ["home", "work", "tmp", "bin"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(program, folder.path().join("bin").join(name)).unwrap();
        let room = Self {
            home,
            folder,
            model,
            is_walled: false,
        };
        room.write("work/notes.txt", "some notes\n");
        room
    }

    /// Another program that the engine looks for.
    pub(crate) fn install(&self, name: &str, program: &Path) {
        std::os::unix::fs::symlink(program, self.path("bin").join(name)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Programs compare folders by their real path.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The only recording there is.
    pub(crate) fn recording(&self) -> PathBuf {
        let folder = self.home.home().recordings_dir();
        let mut files = std::fs::read_dir(folder).unwrap();
        files.next().unwrap().unwrap().path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.path(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// What every CLI finds in its environment.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let place = |name: &str| self.path(name).display().to_string();
        let path = std::env::var("PATH").unwrap();
        vec![
            ("PATH", format!("{}:{path}", place("bin"))),
            ("HOME", place("home")),
            ("XDG_CONFIG_HOME", place("home/.config")),
            ("XDG_DATA_HOME", place("home/.local/share")),
            ("XDG_CACHE_HOME", place("home/.cache")),
            ("XDG_STATE_HOME", place("home/.local/state")),
            ("TMPDIR", place("tmp")),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
            ("DO_NOT_TRACK", "1".to_owned()),
            ("NO_UPDATE_NOTIFIER", "1".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ]
    }
}
