//! Whether a folder may be removed whole: it is missiond's, and nothing of anybody else is
//! in it. `MISSION_HOME` can name a project whose own `config` and `data` would go.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use missiond_api::Home;
use missiond_config::Config;
use missiond_core::ErrorCode;

use crate::failure::Failure;

/// What missiond keeps in each folder. A name that ends in `*` stands for all that begin
/// with it: databases have logs beside them, editors leave copies.
const IN_CONFIG: [&str; 6] = [
    "config.toml*",
    "policy.toml*",
    "mcp.toml*",
    "mcp.json*",
    "manifests",
    "templates",
];
const IN_DATA: [&str; 19] = [
    "mission.db*",
    "audit",
    "identity",
    "config_history.*",
    "logs",
    "recordings",
    "journals",
    "worktrees",
    "toolhub",
    "http",
    "init",
    "models",
    "exchange",
    "demos",
    "rehearsals",
    "tasks",
    "repository-programs",
    "bench*",
    "run",
];
const IN_RUN: [&str; 7] = [
    "daemon.sock",
    "daemon.lock",
    "daemon.pid",
    "slots",
    "launches",
    "egress",
    "login.html",
];

/// Refuses unless every folder may be removed.
pub(super) fn check(home: &Home, config: &Config, folders: &[PathBuf]) -> Result<(), Failure> {
    let socket = config.ipc.socket_path().map(Path::to_owned);
    let logs = logs_elsewhere(config, home);
    let log_folder = config.log.place(home.clone()).log_dir();
    let placed: Vec<_> = socket.into_iter().chain(logs).chain([log_folder]).collect();
    for folder in folders {
        let known: &[&str] = if folder == home.config_dir() {
            &IN_CONFIG
        } else if folder == home.data_dir() {
            &IN_DATA
        } else {
            &IN_RUN
        };
        if let Err(why) = may_go(folder, known, &placed) {
            let message = format!("nothing was removed: {} {why}", folder.display());
            return Err(Failure::new(ErrorCode::Conflict, message).hint(
                "take out what is not missiond's, or use --keep-data and remove the rest by hand",
            ));
        }
    }
    Ok(())
}

/// `placed` is what the configuration put elsewhere, which may be here.
fn may_go(folder: &Path, known: &[&str], placed: &[PathBuf]) -> Result<(), String> {
    let about = fs::symlink_metadata(folder).map_err(|error| format!("cannot be read: {error}"))?;
    if about.is_symlink() {
        return Err("is a link to another place".to_owned());
    }
    if !about.is_dir() {
        return Err("is not a folder".to_owned());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user".to_owned());
    }
    let real = folder
        .canonicalize()
        .map_err(|error| format!("cannot be read: {error}"))?;
    let person = std::env::var_os("HOME").map(PathBuf::from);
    let person = person.and_then(|home| home.canonicalize().ok());
    if real.parent().is_none() || person.is_some_and(|person| person.starts_with(&real)) {
        return Err("holds your home folder".to_owned());
    }
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot be read: {error}"))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot be read: {error}"))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_known(&name, known) && !placed.contains(&entry.path()) {
            return Err(format!("has `{name}` in it, which is not missiond's"));
        }
    }
    Ok(())
}

fn is_known(name: &str, known: &[&str]) -> bool {
    // A file that was being replaced when its writer died, or that an editor has open.
    let unfinished = name.starts_with('.') && (name.ends_with(".tmp") || name.ends_with(".swp"));
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    unfinished || known.iter().any(fits)
}

/// The files of a log that is not in the data folder; the folder itself is the person's.
pub(super) fn logs_elsewhere(config: &Config, home: &Home) -> Vec<PathBuf> {
    let log = config.log.place(home.clone()).log_file();
    if log == home.log_file() {
        return Vec::new();
    }
    missiond_log::files(&log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_home_has_is_ours() {
        let home = Home::under(Path::new("/home"));
        let config = [
            home.config_file(),
            home.policy_file(),
            home.manifests_dir(),
            home.templates_dir(),
        ];
        let data = [
            home.database(),
            home.database_before(),
            home.log_dir(),
            home.recordings_dir(),
            home.journals_dir(),
            home.audit_dir(),
            home.identity_dir(),
            home.worktrees_dir(),
            home.http_dir(),
            home.init_dir(),
            home.repository_programs_dir(),
            home.models_dir(),
            home.exchange_dir(),
        ];
        let run = [home.slots_dir(), home.egress_dir(), home.socket()];
        for (paths, folder, known) in [
            (&config[..], home.config_dir(), &IN_CONFIG[..]),
            (&data, home.data_dir(), &IN_DATA),
            (&run, home.run_dir(), &IN_RUN),
        ] {
            for path in paths {
                let inside = path.strip_prefix(folder).unwrap();
                let name = inside.iter().next().unwrap().to_string_lossy();
                assert!(is_known(&name, known), "{name}");
            }
        }
    }

    #[test]
    fn a_name_is_ours_as_a_whole_or_by_its_beginning() {
        for ours in [
            "mission.db",
            "mission.db-wal",
            "mission.db.before",
            "logs",
            ".12-3.tmp",
        ] {
            assert!(is_known(ours, &IN_DATA), "{ours}");
        }
        for foreign in ["logs2", "thesis.tex", ".git", ".env", "mission"] {
            assert!(!is_known(foreign, &IN_DATA), "{foreign}");
        }
    }

    #[test]
    fn a_link_and_the_folder_of_the_person_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        fs::create_dir(&real).unwrap();
        may_go(&real, &IN_RUN, &[]).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(
            may_go(&link, &IN_RUN, &[])
                .unwrap_err()
                .contains("is a link")
        );
        let root = may_go(Path::new("/"), &IN_RUN, &[]);
        assert!(root.is_err());
        fs::write(real.join("notes.txt"), "mine").unwrap();
        let foreign = may_go(&real, &IN_RUN, &[]).unwrap_err();
        assert!(foreign.contains("`notes.txt`"), "{foreign}");
        may_go(&real, &IN_RUN, &[real.join("notes.txt")]).unwrap();
    }
}
