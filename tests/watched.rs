//! A program in a real terminal, read as a slot's program is: bytes into a
//! `Session` with the engine's manifest, readings out. Everything a test does
//! is waited for on the screen, in the readings or in a file.

use std::io::{Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use missiond_core::PtyState;
use missiond_pty::{OutputFilter, Session, TimedReading};
use missiond_semantic::{Catalogue, Reading, Size};
use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::harness::PATIENCE;

const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Watched {
    pub(crate) session: Session,
    pub(crate) readings: Vec<TimedReading>,
    began: Instant,
    output: Receiver<Vec<u8>>,
    pty: Arc<Pty>,
    child: Child,
}

impl Watched {
    pub(crate) fn start(engine: &str, command: Command, size: Size, filter: OutputFilter) -> Self {
        let catalogue = Catalogue::shipped().unwrap();
        let manifest = catalogue.get(engine).expect("it has a manifest").clone();
        let (pty, pts) = open().unwrap();
        pty.resize(pty_process::Size::new(size.rows, size.columns))
            .unwrap();
        let child = command
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .spawn(pts)
            .unwrap();
        let pty = Arc::new(pty);
        let (sender, output) = channel();
        let reader = Arc::clone(&pty);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            // A terminal whose program has ended cannot be read.
            while let Ok(count) = (&*reader).read(&mut bytes) {
                if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            session: Session::new(size, manifest).with_output_filter(filter),
            readings: Vec::new(),
            began: Instant::now(),
            output,
            pty,
            child,
        }
    }

    pub(crate) fn send(&mut self, keys: impl AsRef<[u8]>) {
        (&*self.pty).write_all(keys.as_ref()).unwrap();
    }

    pub(crate) fn resize(&mut self, size: Size) {
        let at = self.began.elapsed();
        self.pty
            .resize(pty_process::Size::new(size.rows, size.columns))
            .unwrap();
        self.session.resize(size, at, &mut self.readings);
    }

    /// Asks the program to end.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
    }

    /// The modes of the terminal, as the program has left them.
    pub(crate) fn modes(&self) -> rustix::termios::Termios {
        rustix::termios::tcgetattr(&*self.pty).unwrap()
    }

    pub(crate) fn reading(&self) -> &Reading {
        self.session.reader().current()
    }

    /// The states read so far, each once in a row.
    pub(crate) fn states(&self) -> Vec<PtyState> {
        let mut states: Vec<_> = self.readings.iter().map(|r| r.reading.state).collect();
        states.dedup();
        states
    }

    pub(crate) fn screen_text(&mut self) -> String {
        let rows = &self.session.screen().rows;
        let rows: Vec<_> = rows.iter().map(|row| row.text.trim_end()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    pub(crate) fn wait_for_text(&mut self, text: &str) {
        self.wait_for(&format!("`{text}` on the screen"), |watched| {
            watched.screen_text().contains(text)
        });
    }

    /// Reads on until it is so.
    pub(crate) fn wait_for(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            if Instant::now() > deadline {
                let states = self.states();
                let screen = self.screen_text();
                panic!("waited in vain for {what}; read {states:?}; on the screen:\n{screen}");
            }
            self.read_on();
        }
    }

    /// Waits until the program has ended by itself, with all it had to say.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let mut status = None;
        self.wait_for("the program to end", |watched| {
            status = watched.child.try_wait().unwrap();
            status.is_some()
        });
        // Until the terminal has nothing more: the kernel hangs it up when the program
        // that leads its session has ended.
        while let Ok(bytes) = self.output.recv_timeout(PATIENCE) {
            self.feed(&bytes);
        }
        let at = self.began.elapsed();
        self.session.exited(at, &mut self.readings);
        status.unwrap()
    }

    fn read_on(&mut self) {
        let due = self.session.deadline();
        let until_due = due.map_or(LOOK, |due| due.saturating_sub(self.began.elapsed()));
        match self.output.recv_timeout(until_due.min(LOOK)) {
            Ok(bytes) => self.feed(&bytes),
            Err(RecvTimeoutError::Timeout) => {}
            // Ended: time goes on all the same.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        let now = self.began.elapsed();
        self.session.advance_to(now, &mut self.readings);
    }

    fn feed(&mut self, bytes: &[u8]) {
        let at = self.began.elapsed();
        self.session.feed(bytes, at, &mut self.readings);
        let replies = self.session.terminal().take_replies();
        if !replies.is_empty() {
            let _ = (&*self.pty).write_all(&replies);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The program leads the session of its terminal, and thereby a group.
        if matches!(self.child.try_wait(), Ok(None)) {
            let pid = Pid::from_raw(self.child.id().cast_signed());
            if let Some(pid) = pid {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
