//! Why the board did not do what it was asked.

use missiond_adapters::PlanError;
use missiond_core::{Alternative, CliEngine, DraftError, ErrorCode, IllegalMove};
use missiond_exchange::ImportError;
use missiond_rehearsal::UnknownScript;
use missiond_store::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// A template or a repository's defaults.
    #[error("{file}{place}: {message}", place = line.map(|line| format!(", line {line}")).unwrap_or_default())]
    File {
        file: String,
        line: Option<usize>,
        message: String,
    },
    #[error("there is no template `{name}`; {known}")]
    NoTemplate { name: String, known: String },
    #[error("there is no folder {0}: name the repository the task is to be done in")]
    NoRepository(String),
    /// A repository or a base that no worktree can be made of.
    #[error("{message}")]
    Repository { message: String },
    #[error(
        "there is no engine `{engine}`; there are {known}. To run another program, name it after \
         `--`: `mission task add … --engine {engine} -- PROGRAM ARGUMENTS`"
    )]
    UnknownEngine { engine: CliEngine, known: String },
    #[error(
        "the rehearsal agent follows a script: name one after `--`, such as `-- fail-then-fix` \
         (`mission rehearse --list`)"
    )]
    NoScript,
    #[error("{engine} has no permission mode `{mode}`: {instead}")]
    Permission {
        engine: CliEngine,
        mode: &'static str,
        instead: &'static str,
    },
    /// What is to drive it does not fit its engine.
    #[error(transparent)]
    Control(#[from] PlanError),
    #[error(transparent)]
    UnknownScript(#[from] UnknownScript),
    #[error("{0} is named twice: each engine with its model tries a task once")]
    SameEngineTwice(Alternative),
    #[error(
        "each of several engines works in a worktree of its own: leave the isolation out, or say \
         `worktree`"
    )]
    SharedAlternatives,
    #[error("the note is empty: say something")]
    EmptyNote,
    /// Nothing of the file was kept.
    #[error("{0}; nothing was imported")]
    Import(ImportError),
    #[error(
        "{} on the board already, so nothing was imported; to have them twice, import with \
         `--again`",
        match count { 1 => "the task of this file is".to_owned(), n => format!("all {n} tasks of this file are") }
    )]
    KnownAlready { count: usize },
    #[error("{message}")]
    Exchange { message: String },
    #[error("step {place} (`{key}`): {message}")]
    Step {
        place: usize,
        key: String,
        message: String,
    },
}

impl BoardError {
    /// The move the task does not have, if that is why.
    #[must_use]
    pub const fn illegal_move(&self) -> Option<&IllegalMove> {
        match self {
            Self::Store(StoreError::IllegalMove(illegal)) => Some(illegal),
            _ => None,
        }
    }

    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::File { .. } => ErrorCode::InvalidConfig,
            Self::NoTemplate { .. } => ErrorCode::NotFound,
            Self::KnownAlready { .. } => ErrorCode::Conflict,
            Self::Draft(_)
            | Self::Import(_)
            | Self::Exchange { .. }
            | Self::NoRepository(_)
            | Self::Repository { .. }
            | Self::UnknownEngine { .. }
            | Self::NoScript
            | Self::Permission { .. }
            | Self::Control(_)
            | Self::SharedAlternatives
            | Self::SameEngineTwice(_)
            | Self::UnknownScript(_)
            | Self::EmptyNote
            | Self::Step { .. } => ErrorCode::InvalidParams,
        }
    }
}
