//! Ctrl-C and TERM end what a measurement started before they end it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use missiond_api::Home;
use missiond_console::failure::Failure;
use missiond_core::ErrorCode;
use tokio::signal::unix::{SignalKind, signal};

use super::fleet::kill_slots;
use crate::temporary::Mission;

/// The exit code for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

#[derive(Debug)]
pub(crate) struct Watch(Arc<Watched>);

#[derive(Debug)]
struct Watched {
    mission: Mission,
    /// The home of the daemon that runs now. Held while something is started, so
    /// that nothing starts behind the back of the end.
    folder: Mutex<Option<PathBuf>>,
}

impl Watch {
    pub(crate) fn start(mission: &Mission) -> Result<Self, Failure> {
        let watch = Self(Arc::new(Watched {
            mission: mission.clone(),
            folder: Mutex::default(),
        }));
        let watched = Arc::clone(&watch.0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (mut interrupt, mut terminate) = {
            let _entered = runtime.enter();
            let interrupt = signal(SignalKind::interrupt())?;
            (interrupt, signal(SignalKind::terminate())?)
        };
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            watched.end();
        });
        Ok(watch)
    }

    /// The program whose daemons are watched over.
    pub(crate) fn mission(&self) -> &Mission {
        &self.0.mission
    }

    /// A daemon is about to run in this folder.
    pub(crate) fn over(&self, folder: &Path) {
        *self.0.folder() = Some(folder.to_owned());
    }

    /// Its daemon and slots are gone.
    pub(crate) fn over_nothing(&self) {
        *self.0.folder() = None;
    }

    /// Starts something, unless the end has begun.
    pub(crate) fn start_something<T>(
        &self,
        start: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let folder = self.0.folder();
        if folder.is_none() {
            return Err(Failure::new(ErrorCode::Cancelled, "interrupted"));
        }
        start()
    }
}

impl Watched {
    fn folder(&self) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut watched = self.folder();
        if let Some(folder) = watched.take() {
            kill_slots(&Home::under(&folder));
            let stop = ["daemon", "stop", "--force"];
            if let Ok(mut stop) = self.mission.command(&folder, &stop) {
                let _ = stop.output();
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
        std::process::exit(INTERRUPTED);
    }
}
