//! `mission uninstall`: everything that missiond brought onto this machine, taken off
//! again. Without `--yes` it is only listed.
//!
//! The order matters: what would start a daemon again goes first, then the daemon and
//! the agents, then their files, and last the program, which can be run again until
//! then if anything fails. Folders are removed whole, so each is looked at first
//! ([`ours`]).

mod ours;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use missiond_api::Home;
use missiond_config::Config;
use missiond_core::ErrorCode;
use missiond_daemon::Instance;
use missiond_os::processes::signal_each;
use missiond_os::programs::own_program;
use missiond_pty::host::{HostFiles, HostRecord};
use missiond_toolhub::{ChangedSince, ImportClient, RegisterError, registered_files, undo};
use rustix::process::Signal;
use serde_json::json;

use super::service::Service;
use crate::args::UninstallArgs;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::packaged::{PackageManager, manager_of};
use crate::process::{self, Force};
use crate::term::counted;

/// Longer than a host gives its program to end by itself.
const AGENT_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

pub(super) fn run(
    args: &UninstallArgs,
    home: &Home,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let inventory = Inventory::take(home, args.keep_data)?;
    if args.yes {
        let _progress = Progress::start(output, "removing missiond");
        inventory.remove(home)?;
    }
    let done = args.yes;
    let value = json!({
        "done": done,
        "daemon": inventory.daemon,
        "agents": inventory.agents.len(),
        "worktrees": inventory.worktrees,
        "service": inventory.service.as_ref().map(|service| &service.unit),
        "registered_with": inventory.registered,
        "folders": inventory.folders,
        "files": inventory.files,
        "database": inventory.database,
        "package_command": inventory.manager.as_ref().map(|manager| &manager.remove),
    });
    output.result(&value, |output, _| inventory.show(output, done));
    Ok(ExitCode::SUCCESS)
}

/// What there is to remove.
#[derive(Debug)]
struct Inventory {
    daemon: bool,
    agents: Vec<HostRecord>,
    service: Option<Service>,
    /// The files of agent CLIs that `mission init` changed.
    registered: Vec<PathBuf>,
    /// In the order in which they are removed.
    folders: Vec<PathBuf>,
    worktrees: Vec<PathBuf>,
    /// Completions, manual and the program itself.
    files: Vec<PathBuf>,
    /// A database that is not in our folders, which stays.
    database: Option<String>,
    /// Who takes the program away instead.
    manager: Option<PackageManager>,
}

impl Inventory {
    fn take(home: &Home, keep_data: bool) -> Result<Self, Failure> {
        let program = own_program()?.canonicalize()?;
        let manager = manager_of(&program);
        let mut files = completions();
        if manager.is_none() {
            files.extend(installed_with(&program));
            files.extend(program_files(&program));
        }
        let config = Config::load(&home.config_file()).unwrap_or_default();
        let folders = if keep_data {
            Vec::new()
        } else {
            let folders = folders(home);
            ours::check(home, &config, &folders)?;
            files.extend(ours::logs_elsewhere(&config, home));
            folders
        };
        let records = HostFiles::records(&home.slots_dir())?;
        Ok(Self {
            daemon: Instance::is_held(home)?,
            agents: records.into_iter().filter(HostRecord::is_alive).collect(),
            service: Service::installed(),
            registered: registered_files(&home.init_dir()).map_err(not_undone)?,
            folders,
            worktrees: if keep_data {
                Vec::new()
            } else {
                worktrees(&home.worktrees_dir())
            },
            files,
            database: (!config.database.url.is_empty())
                .then(|| missiond_daemon::database_url(&config, home))
                .and_then(|url| Some(url.ok()?.to_string())),
            manager,
        })
    }

    fn show(&self, output: &mut Output, done: bool) {
        let (ended, removed) = if done {
            ("Ended", "Removed")
        } else {
            ("Would end", "Would remove")
        };
        if self.daemon {
            output.line(format!("{ended} the daemon"));
        }
        for agent in &self.agents {
            output.line(format!(
                "{ended} the agent {} ({})",
                agent.name, agent.engine
            ));
        }
        if let Some(service) = &self.service {
            output.line(format!("{removed} {}", service.unit.display()));
        }
        for file in &self.registered {
            output.line(format!(
                "{removed} what `mission init` wrote into {}",
                file.display()
            ));
        }
        for path in self.folders.iter().chain(&self.files) {
            output.line(format!("{removed} {}", path.display()));
        }
        if !done && !self.worktrees.is_empty() {
            let count = counted(self.worktrees.len() as u64, "worktree", "worktrees");
            output.line(format!(
                "This holds {count} of agents: `mission worktree list` says what is in \
                 nowhere else"
            ));
        }
        if let Some(database) = &self.database {
            output.line(format!(
                "The database {database} stays: it is not in these folders"
            ));
        }
        if let Some(manager) = &self.manager {
            let (name, remove) = (manager.name, &manager.remove);
            output.line(format!(
                "The program belongs to {name}: `{remove}` removes it"
            ));
        }
        if !done {
            output.line("Nothing was done: --yes does it.");
        }
    }

    fn remove(&self, home: &Home) -> Result<(), Failure> {
        if let Some(service) = &self.service {
            service.remove()?;
            remove_empty_above(&service.unit);
        }
        // A person has asked for all of it: what they changed since stays, ours goes.
        undo(&home.init_dir(), &ImportClient::ALL, ChangedSince::TakeOut).map_err(not_undone)?;
        let (_, standstill) = process::stop_and_hold(home, Force::Kill)?;
        // The daemon may have started some since the list was made.
        for agent in HostFiles::records(&home.slots_dir())? {
            end_agent(home, &agent);
        }
        let repositories: BTreeSet<_> = self
            .worktrees
            .iter()
            .filter_map(|worktree| repository_of(worktree))
            .collect();
        for folder in &self.folders {
            remove_folder(folder)?;
            remove_empty_above(folder);
        }
        for repository in &repositories {
            forget_worktrees(repository);
        }
        drop(standstill);
        for file in &self.files {
            let gone = if file.is_dir() {
                fs::remove_dir_all(file)
            } else {
                fs::remove_file(file)
            };
            gone.or_else(missing_is_fine)
                .map_err(|error| at(file, &error))?;
            remove_empty_above(file);
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn not_undone(error: RegisterError) -> Failure {
    Failure::new(ErrorCode::InvalidConfig, error.to_string())
}

fn at(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{} cannot be removed: {error}", path.display());
    Failure::new(ErrorCode::StorageUnavailable, message)
}

fn missing_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// Removes the folders that held what is gone and hold nothing else, up to the home of the
/// person or the top of a prefix. Those of the system were there before and stay.
fn remove_empty_above(gone: &Path) {
    let person = std::env::var_os("HOME").map(PathBuf::from);
    let in_home = |folder: &Path| {
        let person = person.as_deref();
        person.is_some_and(|home| folder.starts_with(home) && folder != home)
    };
    // What an archive puts below a prefix.
    let in_prefix = |folder: &Path| {
        let mut up = folder.ancestors();
        folder.ends_with("bin") || up.any(|folder| folder.ends_with("share"))
    };
    for folder in gone.ancestors().skip(1) {
        let is_ours = in_home(folder) || in_prefix(folder) && !folder.starts_with("/usr");
        // A folder with something in it cannot be removed so.
        if !is_ours || fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// The folders of this home that are there; one that is in another goes with it.
fn folders(home: &Home) -> Vec<PathBuf> {
    let all = [home.run_dir(), home.data_dir(), home.config_dir()];
    all.into_iter()
        .filter(|folder| folder.exists())
        .map(Path::to_owned)
        .collect()
}

/// With the folder that `MISSION_HOME` names, if nothing else is in it.
fn remove_folder(folder: &Path) -> Result<(), Failure> {
    fs::remove_dir_all(folder)
        .or_else(missing_is_fine)
        .map_err(|error| at(folder, &error))?;
    let named = std::env::var_os("MISSION_HOME").map(PathBuf::from);
    if let Some(root) = named.filter(|root| folder.parent() == Some(root)) {
        let _ = fs::remove_dir(root);
    }
    Ok(())
}

/// Ends a program and its host, first asked and then not.
fn end_agent(home: &Home, agent: &HostRecord) {
    let files = HostFiles::new(&home.slots_dir(), agent.slot);
    let deadline = Instant::now() + AGENT_LIMIT;
    if agent.is_alive() {
        signal_each(&[agent.host_pid], Signal::TERM);
    }
    // A host whose program has ended waits for a daemon to tell it to.
    let has_ended = || {
        let record = fs::read(&files.record).ok();
        let record = record.and_then(|json| serde_json::from_slice::<HostRecord>(&json).ok());
        record.is_none_or(|record| record.exited.is_some())
    };
    while agent.is_alive() && !has_ended() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    if agent.is_alive() {
        signal_each(&[agent.host_pid], Signal::KILL);
        while agent.is_alive() && Instant::now() < deadline + AGENT_LIMIT {
            std::thread::sleep(POLL);
        }
    }
    agent.end_leftovers();
    files.remove();
}

/// The worktrees below a folder: each has a file `.git` that names its repository.
fn worktrees(folder: &Path) -> Vec<PathBuf> {
    /// Repository, then worktree; one more for whoever sorts them further.
    const DEPTH: usize = 3;
    let mut found = Vec::new();
    let mut level = vec![folder.to_owned()];
    for _ in 0..DEPTH {
        let entries = level.iter().filter_map(|folder| fs::read_dir(folder).ok());
        let below: Vec<_> = entries
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        let (worktrees, rest) = below
            .into_iter()
            .partition(|folder| folder.join(".git").is_file());
        found.extend::<Vec<PathBuf>>(worktrees);
        level = rest;
    }
    found
}

/// The git folder a worktree belongs to: `REPOSITORY/.git` of
/// `gitdir: REPOSITORY/.git/worktrees/NAME`.
fn repository_of(worktree: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(own.parent()?.parent()?.to_owned())
}

/// The repository drops the worktrees whose folders are gone. Branches stay: they are
/// the person's.
fn forget_worktrees(repository: &Path) {
    let _ = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(["worktree", "prune"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// The program, and what an upgrade kept of the one before it.
fn program_files(program: &Path) -> Vec<PathBuf> {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(".before");
    let before = program.with_file_name(name);
    let before = before.exists().then_some(before);
    before.into_iter().chain([program.to_owned()]).collect()
}

/// Completions in the person's own folders. A file that another program wrote has the
/// name of ours by chance.
fn completions() -> Vec<PathBuf> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else {
        return Vec::new();
    };
    let places = [
        ".zfunc/_mission",
        ".config/fish/completions/mission.fish",
        ".local/share/bash-completion/completions/mission",
        ".local/share/zsh/site-functions/_mission",
    ];
    ours(&home, &places)
}

/// What the archive of a release has beside the program, below the same prefix.
fn installed_with(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent();
    let Some(prefix) = folder.filter(|folder| folder.ends_with("bin")) else {
        return Vec::new();
    };
    let Some(prefix) = prefix.parent() else {
        return Vec::new();
    };
    let places = [
        "share/man/man1/mission.1",
        "share/bash-completion/completions/mission",
        "share/zsh/site-functions/_mission",
        "share/fish/vendor_completions.d/mission.fish",
    ];
    let mut found = ours(prefix, &places);
    // The person's own prefix is where completions were looked for already.
    let known = completions();
    found.retain(|file| !known.contains(file));
    let about = prefix.join("share/doc/mission");
    found.extend(about.join("LICENSE-APACHE").exists().then_some(about));
    found
}

fn ours(folder: &Path, places: &[&str]) -> Vec<PathBuf> {
    let signs = [
        "#compdef mission",
        "_mission()",
        "complete -c mission",
        ".TH mission 1",
    ];
    let is_ours = |file: &PathBuf| {
        fs::read_to_string(file).is_ok_and(|text| signs.iter().any(|sign| text.contains(sign)))
    };
    places
        .iter()
        .map(|place| folder.join(place))
        .filter(is_ours)
        .collect()
}
