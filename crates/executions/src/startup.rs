//! The questions a CLI asks at its start that the launch has answered already.
//!
//! Each is answered once; what comes again is for the person. Which are left
//! stands in a file of the launch, so that a daemon that takes over answers what
//! the one before was allowed to answer and no more.

use std::io;
use std::path::PathBuf;

use missiond_adapters::{PlannedFile, StartupDialog, StartupQuestion, adapter};
use missiond_core::{CliEngine, ExecutionId};
use missiond_os::files;
use missiond_runtime::blocking;
use missiond_semantic::Dialog;
use parking_lot::{Mutex, MutexGuard};

use crate::context::Context;

const FILE: &str = "startup.json";

#[derive(Debug, Default)]
pub(super) struct Startup {
    dialogs: Mutex<Dialogs>,
}

#[derive(Debug, Default)]
struct Dialogs {
    left: Vec<StartupDialog>,
    under_way: Option<StartupDialog>,
}

impl Startup {
    pub(super) fn expect(&self, dialogs: Vec<StartupDialog>) {
        self.dialogs().left = dialogs;
    }

    /// The one that fits; it is under way until [`Startup::done`].
    pub(super) fn begin(&self, dialog: &Dialog) -> Option<StartupDialog> {
        let mut dialogs = self.dialogs();
        let index = dialogs.left.iter().position(|known| asks(known, dialog))?;
        let known = dialogs.left.remove(index);
        dialogs.under_way = Some(known);
        Some(known)
    }

    pub(super) fn done(&self) {
        self.dialogs().under_way = None;
    }

    pub(super) fn answers(&self, dialog: &Dialog) -> bool {
        let dialogs = self.dialogs();
        let mut known = dialogs.left.iter().chain(&dialogs.under_way);
        known.any(|known| asks(known, dialog))
    }

    fn questions(&self) -> Vec<StartupQuestion> {
        let dialogs = self.dialogs();
        dialogs.left.iter().map(|known| known.question).collect()
    }

    fn dialogs(&self) -> MutexGuard<'_, Dialogs> {
        self.dialogs.lock()
    }
}

/// What the launch may answer, as the file its folder keeps.
pub(super) fn planned(folder: &std::path::Path, dialogs: &[StartupDialog]) -> PlannedFile {
    let questions: Vec<_> = dialogs.iter().map(|known| known.question).collect();
    PlannedFile {
        path: folder.join(FILE),
        contents: written(&questions),
    }
}

impl Context {
    fn startup_file(&self, execution: ExecutionId) -> PathBuf {
        self.launch_folder(execution).join(FILE)
    }

    /// What an earlier daemon left to be answered. Without the file nothing is.
    pub(super) async fn startup_left(
        &self,
        execution: ExecutionId,
        engine: &CliEngine,
    ) -> Vec<StartupDialog> {
        let text = match tokio::fs::read_to_string(self.startup_file(execution)).await {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::warn!(%execution, %error, "startup answers not read");
                return Vec::new();
            }
        };
        let questions: Vec<StartupQuestion> = match serde_json::from_str(&text) {
            Ok(questions) => questions,
            Err(error) => {
                tracing::warn!(%execution, %error, "startup answers not read");
                return Vec::new();
            }
        };
        let known = adapter(engine);
        let known = known.startup_dialogs().iter();
        known
            .filter(|dialog| questions.contains(&dialog.question))
            .copied()
            .collect()
    }

    /// Keeps what is left. After the answer, not before: a daemon that dies in
    /// between finds the same question on the screen and may say the same again.
    pub(super) async fn keep_startup(&self, execution: ExecutionId, startup: &Startup) {
        let left = written(&startup.questions());
        let file = self.startup_file(execution);
        let kept = blocking(move || files::replace_private_unsynced(&file, left.as_bytes())).await;
        if let Err(error) = kept {
            tracing::warn!(%execution, %error, "startup answer not recorded");
        }
    }
}

fn written(questions: &[StartupQuestion]) -> String {
    serde_json::to_string(questions).unwrap_or_default()
}

fn asks(known: &StartupDialog, dialog: &Dialog) -> bool {
    words_of(known, dialog).is_some()
}

/// The words by which a start-up question is known, if this is it.
pub(super) fn words_of(known: &StartupDialog, dialog: &Dialog) -> Option<&'static str> {
    let asked = format!("{} {} {}", dialog.title, dialog.text, dialog.question);
    known
        .asks
        .iter()
        .find(|asks| asked.contains(**asks))
        .copied()
}
