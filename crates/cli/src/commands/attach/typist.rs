//! Keys and sizes from the person to the slot, in order, on a connection and a
//! thread of their own: a daemon that hangs must not keep the person from
//! leaving.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use missiond_api::operations::compute::{
    Columns, Rows, SlotKeys, SlotKeysParams, SlotResize, SlotResizeParams,
};
use missiond_api::{Client, ClientError, Home};
use missiond_core::{Bounded, List, SlotId};
use missiond_semantic::Size;

use super::view::Current;

/// Keys that wait for a daemon that hangs; a paste is far less.
const MOST_WAITING: usize = 4 << 20;
/// A daemon that hangs is not waited for any longer when the person leaves.
const LAST_KEYS: Duration = Duration::from_secs(1);
/// Keys in one request.
const AT_ONCE: usize = 16 << 10;

enum Work {
    Keys(Vec<u8>),
    Size(Size),
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Typist {
    work: Sender<Work>,
    waiting: Arc<AtomicUsize>,
    done: Receiver<()>,
}

impl Typist {
    pub(super) fn start(home: Home, slot: SlotId, current: Arc<Current>) -> Self {
        let (work, received) = channel();
        let waiting = Arc::<AtomicUsize>::default();
        let thread = Thread {
            home,
            slot: slot.to_string(),
            current,
            waiting: Arc::clone(&waiting),
            client: None,
        };
        let (finished, done) = channel();
        std::thread::spawn(move || {
            thread.run(&received);
            let _ = finished.send(());
        });
        Self {
            work,
            waiting,
            done,
        }
    }

    /// What was typed before the person left still goes to the program.
    pub(super) fn finish(self) {
        drop(self.work);
        let _ = self.done.recv_timeout(LAST_KEYS);
    }

    /// False when too much waits already: then it is dropped.
    pub(super) fn keys(&self, bytes: Vec<u8>) -> bool {
        let length = bytes.len();
        if self.waiting.load(Ordering::Acquire) + length > MOST_WAITING {
            return false;
        }
        self.waiting.fetch_add(length, Ordering::AcqRel);
        self.work.send(Work::Keys(bytes)).is_ok()
    }

    /// Also has the whole view painted anew.
    pub(super) fn size(&self, size: Size) {
        let _ = self.work.send(Work::Size(size));
    }
}

struct Thread {
    home: Home,
    slot: String,
    current: Arc<Current>,
    waiting: Arc<AtomicUsize>,
    /// With the generation of the view it was made for.
    client: Option<(Client, u64)>,
}

impl Thread {
    fn run(mut self, work: &Receiver<Work>) {
        while let Ok(work) = work.recv() {
            match work {
                Work::Keys(bytes) => {
                    for piece in bytes.chunks(AT_ONCE) {
                        self.press(piece);
                    }
                    self.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
                }
                Work::Size(size) => self.resize(size),
            }
        }
    }

    /// What is typed while the daemon is away is dropped: it was meant for what
    /// the person saw then.
    fn press(&mut self, bytes: &[u8]) {
        let Ok(bytes) = List::new(bytes) else {
            return;
        };
        let params = SlotKeysParams {
            slot: self.slot.clone(),
            bytes,
        };
        self.ask(|client, _| client.call::<SlotKeys>(&params).map(drop));
    }

    /// While there is no view, its size is told when it begins again.
    fn resize(&mut self, size: Size) {
        let slot = self.slot.clone();
        self.ask(|client, attachment| {
            let params = SlotResizeParams {
                slot,
                columns: Columns::clamped(size.columns.into()),
                rows: Rows::clamped(size.rows.into()),
                attachment: i64::try_from(attachment).ok().map(Bounded::clamped),
            };
            client.call::<SlotResize>(&params).map(drop)
        });
    }

    /// Asks on a connection to the daemon that has the view. What it refuses, it
    /// refuses because the slot has ended, and the view is told that.
    fn ask(&mut self, request: impl FnOnce(&mut Client, u64) -> Result<(), ClientError>) {
        let Some((attachment, generation)) = self.current.get() else {
            return;
        };
        let usable = self.client.take().filter(|(_, made)| *made == generation);
        let client = match usable {
            Some((client, _)) => Ok(client),
            None => Client::connect(&self.home),
        };
        if let Ok(mut client) = client {
            let asked = request(&mut client, attachment);
            if matches!(asked, Ok(()) | Err(ClientError::Api(_))) {
                self.client = Some((client, generation));
            }
        }
    }
}
