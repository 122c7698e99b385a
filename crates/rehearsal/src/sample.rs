//! The small repository of the demo, its five tasks and the scripts of the
//! agents that do them.

use std::env::vars_os;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use missiond_core::{Check, CliEngine, ErrorCode, Permission, TaskDraft};
use missiond_os::environment::{Child, inherited};
use missiond_os::files::create_private_dir;

/// Why the sample could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("git cannot be run: {0}; the demo needs git in PATH")]
    NoGit(io::Error),
    #[error("git {args} failed: {why}")]
    Git { args: String, why: String },
    #[error("{} is full of demos: remove some", .0.display())]
    Full(PathBuf),
}

impl SampleError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Write { .. } => ErrorCode::StorageUnavailable,
            Self::NoGit(_) => ErrorCode::NotFound,
            Self::Git { .. } => ErrorCode::Internal,
            Self::Full(_) => ErrorCode::Conflict,
        }
    }
}

/// A new folder among the demos, which only its owner can read.
pub fn fresh_folder(demos: &Path) -> Result<PathBuf, SampleError> {
    let refused = |path: &Path, error| SampleError::Write {
        path: path.to_owned(),
        error,
    };
    create_private_dir(demos).map_err(|error| refused(demos, error))?;
    for number in 1..10_000 {
        let folder = demos.join(number.to_string());
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(&folder, error)),
        }
    }
    Err(SampleError::Full(demos.to_owned()))
}

const FILES: [(&str, &str); 12] = [
    ("README.md", include_str!("sample/README.md")),
    ("bin/greet", include_str!("sample/bin/greet")),
    ("lib/hello.sh", include_str!("sample/lib/hello.sh")),
    ("tests/run.sh", include_str!("sample/tests/run.sh")),
    ("tests/expect.sh", include_str!("sample/tests/expect.sh")),
    ("tests/hello.sh", include_str!("sample/tests/hello.sh")),
    ("tests/version.sh", include_str!("sample/tests/version.sh")),
    ("tests/bye.sh", include_str!("sample/tests/bye.sh")),
    ("tests/hola.sh", include_str!("sample/tests/hola.sh")),
    ("tests/shout.sh", include_str!("sample/tests/shout.sh")),
    ("tests/help.sh", include_str!("sample/tests/help.sh")),
    (".gitignore", "*.swp\n"),
];

/// A task of the demo.
#[derive(Debug)]
pub struct DemoTask {
    /// Its name, which is also that of its test and its script.
    pub name: &'static str,
    pub title: &'static str,
    description: &'static str,
    /// Names of tasks that must be done first.
    pub after: &'static [&'static str],
    script: &'static str,
}

/// In an order in which each comes after those it depends on.
pub const TASKS: [DemoTask; 5] = [
    DemoTask {
        name: "version",
        title: "Say which version it is",
        description: "Add lib/version.sh, so that `sh bin/greet version` prints `greet 1.0`.",
        after: &[],
        script: include_str!("sample/scripts/version.yaml"),
    },
    DemoTask {
        name: "bye",
        title: "Say goodbye",
        description: "Add lib/bye.sh, so that `sh bin/greet bye Ada` prints `Goodbye, Ada!`.",
        after: &["version"],
        script: include_str!("sample/scripts/bye.yaml"),
    },
    DemoTask {
        name: "hola",
        title: "Greet in Spanish",
        description: "Add lib/hola.sh, so that `sh bin/greet hola Ada` prints `Hola, Ada!`.",
        after: &["version"],
        script: include_str!("sample/scripts/hola.yaml"),
    },
    DemoTask {
        name: "shout",
        title: "Greet loudly",
        description: "Add lib/shout.sh, so that `sh bin/greet shout Ada` prints HELLO, ADA with one \
                      or three exclamation marks. Ask how many before you begin.",
        after: &["bye"],
        script: include_str!("sample/scripts/shout.yaml"),
    },
    DemoTask {
        name: "help",
        title: "List all commands",
        description: "Add lib/help.sh, so that `sh bin/greet help` prints the names of all \
                      commands on one line, in order. All tests must pass then.",
        after: &["hola", "shout"],
        script: include_str!("sample/scripts/help.yaml"),
    },
];

/// Where the parts of one demo are.
#[derive(Debug, Clone)]
pub struct Stage {
    pub folder: PathBuf,
    pub repository: PathBuf,
    scripts: PathBuf,
}

impl Stage {
    /// Writes everything below a folder that is made for it.
    pub fn build(folder: &Path) -> Result<Self, SampleError> {
        let stage = Self {
            folder: folder.to_owned(),
            repository: folder.join("greet"),
            scripts: folder.join("scripts"),
        };
        for (name, text) in FILES {
            write(&stage.repository.join(name), text)?;
        }
        for task in &TASKS {
            write(
                &stage.scripts.join(format!("{}.yaml", task.name)),
                task.script,
            )?;
        }
        git(
            &stage.repository,
            &["init", "--quiet", "--initial-branch=main"],
        )?;
        git(&stage.repository, &["add", "--all"])?;
        git(
            &stage.repository,
            &["commit", "--quiet", "-m", "Greet the world"],
        )?;
        Ok(stage)
    }

    /// A task as it is put on the board.
    #[must_use]
    pub fn draft(&self, task: &DemoTask, engine: Option<&CliEngine>) -> TaskDraft {
        let rehearsal: Option<CliEngine> = "rehearsal".parse().ok();
        let script = self.scripts.join(format!("{}.yaml", task.name));
        let mut check = Check::of(vec!["sh".to_owned(), "tests/run.sh".to_owned()]);
        if !task.after.contains(&"hola") {
            check.run.push(task.name.to_owned());
        }
        check.timeout_secs = 30;
        TaskDraft {
            title: Some(task.title.to_owned()),
            description: Some(task.description.to_owned()),
            repository: Some(self.repository.clone()),
            touches: Some(vec![format!("lib/{}.sh", task.name)]),
            engine: engine.cloned().or(rehearsal),
            args: engine.is_none().then(|| vec![script.display().to_string()]),
            permission: engine.map(|_| Permission::AcceptEdits),
            checks: Some(vec![check]),
            labels: Some(vec!["demo".to_owned()]),
            ..TaskDraft::default()
        }
    }

    /// Whether all tests pass on the branch everything was merged into.
    #[must_use]
    pub fn tests_pass(&self) -> bool {
        let mut tests = Command::new("sh");
        tests.arg("tests/run.sh").current_dir(&self.repository);
        tests.env_clear().envs(inherited(Child::Command, vars_os()));
        tests.output().is_ok_and(|output| output.status.success())
    }
}

fn write(path: &Path, text: &str) -> Result<(), SampleError> {
    let written = (|| -> io::Result<()> {
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        std::fs::write(path, text)
    })();
    written.map_err(|error| SampleError::Write {
        path: path.to_owned(),
        error,
    })
}

/// Whatever a person's own settings are: nobody is asked to sign, and no hook runs.
const SETTINGS: [&str; 4] = [
    "user.name=mission demo",
    "user.email=demo@localhost",
    "commit.gpgSign=false",
    "core.hooksPath=/dev/null",
];

/// Runs git on the repository of this folder and no other: nothing of git's variables
/// is inherited.
fn git(folder: &Path, args: &[&str]) -> Result<(), SampleError> {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(inherited(Child::Command, vars_os()))
        .env("LC_ALL", "C");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.args(args).current_dir(folder);
    let output = command.output().map_err(SampleError::NoGit)?;
    if output.status.success() {
        return Ok(());
    }
    Err(SampleError::Git {
        args: args.join(" "),
        why: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
