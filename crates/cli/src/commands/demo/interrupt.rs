//! Ctrl-C and TERM: the demo ends what it started before it ends itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use missiond_core::ErrorCode;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// The exit code for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Whether the person wants it to end.
#[derive(Debug, Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(super) fn listen() -> Result<Self, Failure> {
        let wanted = Self(Arc::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (mut interrupt, mut terminate) = {
            let _entered = runtime.enter();
            let interrupt = signal(SignalKind::interrupt())?;
            (interrupt, signal(SignalKind::terminate())?)
        };
        let heard = wanted.clone();
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    // Who asks twice does not want to wait.
                    if heard.0.swap(true, Ordering::SeqCst) {
                        std::process::exit(INTERRUPTED);
                    }
                }
            });
        });
        Ok(wanted)
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.0.load(Ordering::SeqCst) {
            Err(Failure::new(
                ErrorCode::Cancelled,
                "the demo was interrupted",
            ))
        } else {
            Ok(())
        }
    }
}
