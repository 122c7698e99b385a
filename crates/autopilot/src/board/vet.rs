//! Looking at a task before it is put on the board: what could never be worked on
//! is refused with what to do, what may still come right is a warning.

use missiond_adapters::{
    Adapter, ProgramSource, StructuredOffer, find_program, known_engines, offer_for,
};
use missiond_config::EnginesConfig;
use missiond_core::{CliEngine, Controller, Finish, Isolation, Permission, TaskDraft};
use missiond_executions::adapter_of;
use missiond_rehearsal::{check_builtin, named_script};
use missiond_workspace::{Repository, WorkspaceError};

use super::BoardError;

/// The engine of rehearsal agents.
const REHEARSAL: &str = "rehearsal";

/// What is probably a mistake; refused when it surely is one.
pub(super) async fn vet(
    draft: &TaskDraft,
    engines: &EnginesConfig,
) -> Result<Vec<String>, BoardError> {
    let mut warnings = Vec::from_iter(vet_program(draft, engines)?);
    if draft.finish == Some(Finish::PullRequest) && !is_installed("gh") {
        let warning = "its pull request cannot be opened now: GitHub's command line `gh` is not \
                       installed";
        warnings.push(warning.to_owned());
    }
    let isolation = draft.isolation.unwrap_or(Isolation::Worktree);
    if let (Some(folder), Isolation::Worktree | Isolation::Shared) = (&draft.repository, isolation)
    {
        let repository = Repository::open(folder)
            .await
            .map_err(|error| refused(&error))?;
        if isolation == Isolation::Worktree {
            match repository.can_start_from(draft.base.as_deref()).await {
                Ok(()) => {}
                // There may be a commit or a branch by the time it is begun.
                Err(error @ (WorkspaceError::NoCommits(_) | WorkspaceError::DetachedHead(_))) => {
                    warnings.push(error.to_string());
                }
                Err(error) => return Err(refused(&error)),
            }
        }
    }
    Ok(warnings)
}

/// The same of the program alone that is to do it.
pub(super) fn vet_program(
    draft: &TaskDraft,
    engines: &EnginesConfig,
) -> Result<Option<String>, BoardError> {
    let args = draft.args.as_deref().unwrap_or_default();
    match &draft.engine {
        Some(engine) => {
            if engine.name() == REHEARSAL {
                vet_script(draft, args)?;
            }
            let adapter = adapter_of(engine, engines);
            let offer = offer_for(&*adapter, draft.control)?;
            let warning = vet_engine(&*adapter, offer, args)?;
            vet_permission(&*adapter, draft.permission)?;
            Ok(warning)
        }
        None => Ok(None),
    }
}

/// The same of a task that leaves it to the configuration who does it.
pub(super) fn vet_usual(
    engine: &CliEngine,
    control: Option<Controller>,
    engines: &EnginesConfig,
) -> Option<String> {
    let adapter = adapter_of(engine, engines);
    let warning = match offer_for(&*adapter, control) {
        Ok(offer) => vet_engine(&*adapter, offer, &[]).ok()??,
        Err(error) => error.to_string(),
    };
    Some(format!(
        "{warning}; a task that names no engine is given to that of `autopilot.engine`"
    ))
}

/// A script that is no built-in one is a file, which may come with the work.
fn vet_script(draft: &TaskDraft, args: &[String]) -> Result<(), BoardError> {
    let Some(script) = named_script(args).filter(|script| !script.contains(['/', '.'])) else {
        return Ok(());
    };
    let repository = draft.repository.as_deref();
    if repository.is_some_and(|folder| folder.join(script).exists()) {
        return Ok(());
    }
    Ok(check_builtin(script)?)
}

fn vet_engine(
    adapter: &dyn Adapter,
    offer: Option<StructuredOffer<'_>>,
    args: &[String],
) -> Result<Option<String>, BoardError> {
    let engine = adapter.engine();
    match adapter.source() {
        ProgramSource::FirstArgument if args.is_empty() => {
            let known = known_engines();
            let mut names: Vec<_> = known.iter().map(CliEngine::name).collect();
            names.push(REHEARSAL);
            Err(BoardError::UnknownEngine {
                engine,
                known: names.join(", "),
            })
        }
        ProgramSource::OwnBinary if args.is_empty() => Err(BoardError::NoScript),
        ProgramSource::Installed => {
            let program = offer.map_or(adapter.program(), |offer| offer.program);
            if is_installed(program) {
                return Ok(None);
            }
            let install = offer.and_then(|offer| offer.install);
            let install =
                install.map_or_else(String::new, |with| format!("; `{with}` installs it"));
            Ok(Some(format!(
                "the engine {engine} cannot run now: there is no program `{program}`{install}"
            )))
        }
        ProgramSource::FirstArgument | ProgramSource::OwnBinary => Ok(None),
    }
}

/// A program that is run as it is has no modes that could be chosen from outside; an
/// attempt with one would end before it began.
fn vet_permission(adapter: &dyn Adapter, permission: Option<Permission>) -> Result<(), BoardError> {
    let asks = permission.is_none_or(|permission| permission == Permission::Ask);
    let instead = match adapter.source() {
        _ if asks => return Ok(()),
        ProgramSource::Installed => return Ok(()),
        ProgramSource::OwnBinary => "its script says what it asks; leave `permission` out",
        ProgramSource::FirstArgument => {
            "pass the program's own arguments, and leave `permission` out"
        }
    };
    Err(BoardError::Permission {
        engine: adapter.engine(),
        mode: permission.map_or("ask", Permission::as_str),
        instead,
    })
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    find_program(program, &path).is_some()
}

fn refused(error: &WorkspaceError) -> BoardError {
    BoardError::Repository {
        message: error.to_string(),
    }
}
