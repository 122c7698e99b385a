//! Markers in what a program has written, byte by byte. A screen is looked at
//! now and then: what scrolled past in between is only in the output. What was
//! written while no daemon ran is read from the recording.

use std::path::Path;
use std::sync::Arc;

use missiond_journal::marker::{Broken, Expected, ParsedMarker, StreamDecoder};
use missiond_pty::CastError;
use missiond_pty::host::{RecordedEvent, Recording};
use missiond_runtime::blocking;
use missiond_slots::{Listener, SlotCommand};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::run::Run;
use crate::context::Context;

/// Output before the listening began that is read again, at most.
const AGAIN: u64 = 16 << 20;
/// Output that is kept while that is read. Reading takes a moment; a program
/// that writes more than this in it loses nothing but a marker.
const KEPT: usize = 8 << 20;
/// Markers that wait to be taken. A file full of false ones has more.
const WAITING: usize = 1024;

#[derive(Debug)]
pub(super) struct MarkerListener(Mutex<State>);

#[derive(Debug)]
struct State {
    decoder: StreamDecoder,
    /// What came while the past is still read; none when it has been.
    kept: Option<Vec<u8>>,
    found: Vec<ParsedMarker>,
}

impl MarkerListener {
    pub(super) fn new(expected: Expected) -> Self {
        Self(Mutex::new(State {
            decoder: StreamDecoder::new(expected, Broken::LeftToTheScreen),
            kept: Some(Vec::new()),
            found: Vec::new(),
        }))
    }

    /// Listens to the slot of a run, and reads what it wrote before.
    pub(super) async fn listen(self: &Arc<Self>, context: &Context, run: &Run) {
        let Some(open) = context.slots.find(&run.slot.to_string()) else {
            return;
        };
        let listener = Arc::clone(self) as Arc<dyn Listener>;
        let (done, begun) = oneshot::channel();
        let command = SlotCommand::Listen { listener, done };
        if open.commands.send(command).await.is_err() {
            return;
        }
        let Ok(begun) = begun.await else {
            return;
        };
        let (heard, recording) = (Arc::clone(self), open.record.recording.clone());
        let past = blocking(move || heard.catch_up(&recording, begun)).await;
        if let Err(error) = past {
            tracing::warn!(execution = %run.id, %error, "earlier output of execution not read");
        }
    }

    /// What was found since the last time.
    pub(super) fn drain(&self) -> Vec<ParsedMarker> {
        std::mem::take(&mut self.state().found)
    }

    /// What is left when nothing more comes.
    pub(super) fn drain_last(&self) -> Vec<ParsedMarker> {
        let mut state = self.state();
        let last = state.decoder.finish();
        state.found.extend(last);
        std::mem::take(&mut state.found)
    }

    fn catch_up(&self, recording: &Path, until: u64) -> Result<(), CastError> {
        let read = self.read_past(recording, until);
        let mut state = self.state();
        if let Some(kept) = state.kept.take() {
            state.read(&kept);
        }
        read
    }

    fn read_past(&self, recording: &Path, until: u64) -> Result<(), CastError> {
        let reader = Recording::open(recording)?.read_from(until.saturating_sub(AGAIN))?;
        let mut at = reader.position();
        for event in reader {
            let (_, RecordedEvent::Output(bytes)) = event? else {
                continue;
            };
            // The rest is heard.
            let left = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            self.state().read(&bytes[..bytes.len().min(left)]);
            at += bytes.len() as u64;
            if at >= until {
                break;
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl Listener for MarkerListener {
    fn handle_output(&self, bytes: &[u8]) {
        let mut state = self.state();
        match &mut state.kept {
            Some(kept) if kept.len() + bytes.len() <= KEPT => kept.extend_from_slice(bytes),
            Some(_) => {}
            None => state.read(bytes),
        }
    }
}

impl State {
    fn read(&mut self, bytes: &[u8]) {
        let found = self.decoder.push(bytes);
        let room = WAITING.saturating_sub(self.found.len());
        self.found.extend(found.into_iter().take(room));
    }
}
