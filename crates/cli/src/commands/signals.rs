//! Signals for a command that has taken the person's terminal.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// What a signal means for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Resized,
    /// It is to end, by the signal of this number.
    Ending(i32),
}

/// Signals are waited for from now on, so none comes before there is someone to give
/// the terminal back. `tell` says whether anybody still listens.
pub(super) fn watch(tell: impl Fn(Heard) -> bool + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let inside = runtime.enter();
    let mut resized = signal(SignalKind::window_change())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    drop(inside);
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let ending = tokio::select! {
                    _ = resized.recv() => None,
                    _ = terminate.recv() => Some(SignalKind::terminate()),
                    _ = hang_up.recv() => Some(SignalKind::hangup()),
                    _ = interrupt.recv() => Some(SignalKind::interrupt()),
                    _ = quit.recv() => Some(SignalKind::quit()),
                };
                let heard = match ending {
                    Some(kind) => Heard::Ending(kind.as_raw_value()),
                    None => Heard::Resized,
                };
                if !tell(heard) {
                    return;
                }
            }
        });
    });
    Ok(())
}
