//! Keys and sizes from the person to the slot, in order, on a connection and a
//! thread of their own: a daemon that hangs must not keep the person from
//! leaving.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use missiond_api::operations::compute::{SlotKeys, SlotKeysParams, SlotResize, SlotResizeParams};
use missiond_api::{Client, ClientError, Home};
use missiond_core::SlotId;
use missiond_semantic::Size;

/// Keys that wait for a daemon that hangs; a paste is far less.
const MOST_WAITING: usize = 4 << 20;
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
}

impl Typist {
    pub(super) fn start(home: Home, slot: SlotId, attachment: Arc<AtomicU64>) -> Self {
        let (work, received) = channel();
        let waiting = Arc::<AtomicUsize>::default();
        let thread = Thread {
            home,
            slot: slot.to_string(),
            attachment,
            waiting: Arc::clone(&waiting),
            client: None,
        };
        std::thread::spawn(move || thread.run(&received));
        Self { work, waiting }
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
    attachment: Arc<AtomicU64>,
    waiting: Arc<AtomicUsize>,
    client: Option<Client>,
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
        let params = SlotKeysParams {
            slot: self.slot.clone(),
            bytes: bytes.to_vec(),
        };
        self.with_client(|client| client.call::<SlotKeys>(&params).map(drop));
    }

    fn resize(&mut self, size: Size) {
        let attachment = self.attachment.load(Ordering::Acquire);
        // While there is no view, its size is told when it begins again.
        if attachment == 0 {
            return;
        }
        let params = SlotResizeParams {
            slot: self.slot.clone(),
            columns: size.columns,
            rows: size.rows,
            attachment: Some(attachment),
        };
        self.with_client(|client| client.call::<SlotResize>(&params).map(drop));
    }

    /// A connection that failed is not used again. What the daemon refuses, it
    /// refuses because the slot has ended, and the view is told that.
    fn with_client(&mut self, ask: impl FnOnce(&mut Client) -> Result<(), ClientError>) {
        let client = match self.client.take() {
            Some(client) => Ok(client),
            None => Client::connect(&self.home),
        };
        if let Ok(mut client) = client {
            let asked = ask(&mut client);
            if matches!(asked, Ok(()) | Err(ClientError::Api(_))) {
                self.client = Some(client);
            }
        }
    }
}
