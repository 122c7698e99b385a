//! `mission upgrade`: another version in place of this one.
//!
//! Nothing is changed before the release is verified and its program has said which
//! version it is. From then on every step can be taken back, and is when the new
//! daemon does not come up ([`install`]). Agents are in processes of their own and go
//! on meanwhile.

mod archive;
mod candidate;
mod install;
mod newest;
mod source;
mod verify;

use std::process::ExitCode;

use missiond_api::Home;
use missiond_core::ErrorCode;
use missiond_os::programs::own_program;
use semver::Version;
use serde_json::json;

use crate::args::UpgradeArgs;
use crate::connect::startable_config;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::packaged::manager_of;
use candidate::Candidate;
use install::{Backup, Daemon, Installed, Migration};
use source::Source;
use verify::Assurance;
pub(in crate::commands) use verify::built_in_key;

/// Several times a release.
const RELEASE_LIMIT: usize = 256 << 20;

pub(super) fn run(
    args: &UpgradeArgs,
    home: &Home,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let program = own_program()?.canonicalize()?;
    if let Some(manager) = manager_of(&program) {
        let message = format!("{} belongs to {}", program.display(), manager.name);
        return Err(Failure::new(ErrorCode::Conflict, message)
            .hint(format!("`{}` upgrades it", manager.upgrade)));
    }
    let config = startable_config(home, "not installed")?;
    let own = env!("CARGO_PKG_VERSION");
    let source = match &args.source {
        Some(named) => Source::parse(named)?,
        None => newest::find(&config.upgrade.url)?,
    };
    let known = source.name().and_then(newest::version_of);
    let is_newer = known.is_none_or(|known| Version::parse(own).is_ok_and(|own| known > own));
    if args.source.is_none() && !args.yes && !args.downgrade && !is_newer {
        output.result(&json!({ "from": own, "to": own }), |output, _| {
            let place = &config.upgrade.url;
            output.line(format!(
                "mission {own} is installed, and {place} has nothing newer."
            ));
        });
        return Ok(ExitCode::SUCCESS);
    }
    let (candidate, assurance) = {
        let _progress = Progress::start(output, "verifying the release");
        let bytes = source
            .read(RELEASE_LIMIT)?
            .ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("{source} is not there")))?;
        let assurance = verify::verify(args, &config.upgrade.key, &source, &bytes)?;
        (Candidate::unpack(&bytes, &program)?, assurance)
    };
    is_wanted(args, own, &candidate)?;
    let backed_up = Backup::of(home, &config)?;
    if backed_up == Backup::NotOurs && !args.yes {
        let message = "not installed: the database is on a PostgreSQL server, which an upgrade does \
                       not back up, and the new version changes its schema when it starts";
        return Err(Failure::new(ErrorCode::Conflict, message)
            .hint("back it up (`pg_dump`), then --yes installs it"));
    }
    if assurance == Assurance::ChecksumOnly {
        output.notice("only the checksum was verified, not who made this release");
    }
    let version = candidate.version.to_string();
    let installed = {
        let _progress = Progress::start(output, "changing over");
        install::install(home, &config, &program, candidate)?
    };
    let Installed {
        before,
        database,
        daemon,
    } = &installed;
    let database_before = database.as_ref().map(|database| &database.before);
    let (pid, agents) = match daemon {
        Daemon::Restarted { pid, agents } => (Some(*pid), *agents),
        Daemon::WasNotRunning => (None, 0),
    };
    let value = json!({
        "from": own,
        "to": version,
        "program": program,
        "before": before,
        "database_before": database_before,
        "database_migrated": database.as_ref().is_some_and(Migration::has_changed),
        "database_backed_up": backed_up != Backup::NotOurs,
        "signed": assurance == Assurance::Signed,
        "daemon": pid,
        "agents": agents,
    });
    output.result(&value, |output, _| {
        say(output, own, &version, assurance, backed_up, &installed);
    });
    Ok(ExitCode::SUCCESS)
}

/// What was done, and what became of the daemon, the agents and the database.
fn say(
    output: &mut Output,
    own: &str,
    version: &str,
    assurance: Assurance,
    backed_up: Backup,
    installed: &Installed,
) {
    let verified = match assurance {
        Assurance::Signed => "its signature and checksum are right",
        Assurance::ChecksumOnly => "its checksum is right",
    };
    output.line(if own == version {
        format!("mission {own} is installed again: {verified}.")
    } else {
        format!("mission is upgraded from {own} to {version}: {verified}.")
    });
    match installed.daemon {
        Daemon::Restarted { pid, agents } => {
            let agents = match agents {
                0 => "No agent was running".to_owned(),
                1 => "1 agent kept running".to_owned(),
                n => format!("{n} agents kept running"),
            };
            output.line(format!(
                "{agents}; the daemon was restarted as {version} (process {pid})."
            ));
        }
        Daemon::WasNotRunning => {
            output.line(format!(
                "No daemon was running: the next one to start is {version}."
            ));
        }
    }
    let stopped = matches!(installed.daemon, Daemon::WasNotRunning);
    match &installed.database {
        Some(database) if database.has_changed() => output.line(format!(
            "The database was migrated (schema {} to {}).",
            database.from, database.to
        )),
        Some(_) if stopped => output.line("The database is migrated at that start, if need be."),
        Some(_) => output.line("The database needed no migration."),
        None if backed_up == Backup::NotOurs => {
            output.line("The PostgreSQL database is migrated by its first start, if need be.");
        }
        None => {}
    }
    output.line("Kept, for the way back (`mission docs upgrade-and-uninstall`):");
    output.line(format!("  {}", installed.before.display()));
    if let Some(database) = &installed.database {
        output.line(format!("  {}", database.before.display()));
    }
}

/// Whether this version is what a person means by an upgrade.
fn is_wanted(args: &UpgradeArgs, own: &str, candidate: &Candidate) -> Result<(), Failure> {
    let version = &candidate.version;
    let (message, hint) = match Version::parse(own).map(|own| version.cmp(&own)) {
        Ok(std::cmp::Ordering::Less) if !args.downgrade => (
            format!("not installed: {version} is older than {own}, which is installed"),
            "--downgrade installs it; a database that a newer version migrated it cannot open",
        ),
        Ok(std::cmp::Ordering::Equal) if !args.yes => (
            format!("not installed: {own} is installed already"),
            "--yes installs it again",
        ),
        _ => return Ok(()),
    };
    Err(Failure::new(ErrorCode::Conflict, message).hint(hint))
}
