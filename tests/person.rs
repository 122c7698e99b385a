//! A person at a terminal in which a command of ours runs: sees what it shows, types,
//! resizes, and finds the terminal as it was.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use missiond_pty::{Focus, Keys, Painter, Terminal, View};
use missiond_semantic::Size;
use rustix::termios::{LocalModes, Termios, tcgetattr};
use serde_json::Value;

use crate::harness::{TestHome, binary, wait_for, wait_for_exit};

/// A terminal with a command of ours in it.
pub(crate) struct Person {
    pty: pty_process::blocking::Pty,
    keyboard: File,
    before: Termios,
    pub(crate) terminal: Arc<Mutex<Terminal>>,
    pub(crate) child: Child,
}

impl Person {
    pub(crate) fn attach(home: &TestHome, size: (u16, u16), args: &[&str]) -> Self {
        Self::runs(home, size, &[&["slot", "attach"], args].concat(), &[])
    }

    /// Runs a command with these variables.
    pub(crate) fn runs(
        home: &TestHome,
        size: (u16, u16),
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::runs_program(&binary(), home, size, args, variables)
    }

    /// The same with any program, such as a shell.
    pub(crate) fn runs_program(
        program: &Path,
        home: &TestHome,
        size: (u16, u16),
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(size.1, size.0)).unwrap();
        let before = tcgetattr(&pty).unwrap();
        let child = pty_process::blocking::Command::new(program)
            .args(args)
            .env("MISSION_HOME", home.path())
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .spawn(pts)
            .unwrap();
        let file = || File::from(pty.as_fd().try_clone_to_owned().unwrap());
        let terminal = Arc::new(Mutex::new(Terminal::new(Size {
            columns: size.0,
            rows: size.1,
        })));
        terminal
            .lock()
            .unwrap()
            .feed(b"what was here\r\n", Duration::ZERO);
        let (mut screen, mut keyboard) = (file(), file());
        let shown = Arc::clone(&terminal);
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            // A terminal that is closed on the other side is an error to read.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                let mut shown = shown.lock().unwrap();
                shown.feed(&buffer[..count], Duration::ZERO);
                // As any terminal does, it answers what it is asked.
                let _ = keyboard.write_all(&shown.take_replies());
            }
        });
        Self {
            keyboard: file(),
            pty,
            before,
            terminal,
            child,
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resizes(&mut self, columns: u16, rows: u16) {
        self.terminal
            .lock()
            .unwrap()
            .resize(Size { columns, rows }, Duration::ZERO);
        self.pty
            .resize(pty_process::Size::new(rows, columns))
            .unwrap();
    }

    pub(crate) fn sees(&self) -> String {
        let mut terminal = self.terminal.lock().unwrap();
        let lines: Vec<_> = terminal
            .screen()
            .rows
            .iter()
            .map(|row| row.text.clone())
            .collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Clears what is seen, as a person does before the next command.
    pub(crate) fn clears(&self) {
        let mut terminal = self.terminal.lock().unwrap();
        terminal.feed(b"\x1b[H\x1b[2J", Duration::ZERO);
    }

    pub(crate) fn waits_for(&self, wanted: &str) {
        wait_for(&format!("`{wanted}` on the person's terminal"), || {
            self.sees().contains(wanted)
        });
    }

    /// Waits until the terminal shows what the slot shows, cursor included.
    pub(crate) fn waits_for_the_slots_screen(&self, home: &TestHome, slot: &str) {
        wait_for("the person to see the screen of the slot", || {
            let read = home.json(&["slot", "read", slot]);
            let cursor = self.terminal.lock().unwrap().screen().cursor;
            self.sees() == text_of(&read)
                && (cursor.row, cursor.column)
                    == (number(&read["cursor_row"]), number(&read["cursor_column"]))
        });
    }

    /// Asks the terminal about a mode as a program would.
    pub(crate) fn mode_is_on(&self, mode: u16) -> bool {
        let mut terminal = self.terminal.lock().unwrap();
        terminal.feed(format!("\x1b[?{mode}$p").as_bytes(), Duration::ZERO);
        let answer = String::from_utf8(terminal.take_replies()).unwrap();
        answer == format!("\x1b[?{mode};1$y")
    }

    /// The flags of the keyboard protocol, as they would be painted elsewhere.
    pub(crate) fn keyboard_flags(&self) -> String {
        let terminal = self.terminal.lock().unwrap();
        let painted = Painter::new(View::Same, Keys::Sent).paint(&terminal);
        let (_, flags) = painted.split_once("\x1b[=").unwrap();
        flags.split(';').next().unwrap().to_owned()
    }

    /// Waits for the command to end, and checks what it leaves.
    pub(crate) fn left_as_it_was(&mut self, code: i32) {
        let status = wait_for_exit(&mut self.child);
        assert_eq!(status.code(), Some(code), "{}", self.sees());
        self.waits_for("what was here");
        let now = tcgetattr(&self.pty).unwrap();
        assert_eq!(
            (
                now.local_modes,
                now.input_modes,
                now.output_modes,
                now.control_modes
            ),
            (
                self.before.local_modes,
                self.before.input_modes,
                self.before.output_modes,
                self.before.control_modes
            )
        );
        assert!(now.local_modes.contains(LocalModes::ECHO));
        for mode in [1, 1000, 1002, 1003, 1004, 1006, 1049, 2004] {
            assert!(!self.mode_is_on(mode), "mode {mode}");
        }
        assert!(self.mode_is_on(7) && self.mode_is_on(25));
        assert_eq!(self.keyboard_flags(), "0");
        let terminal = self.terminal.lock().unwrap();
        assert_eq!(terminal.focus_report(Focus::Gained), None);
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text_of(screen: &Value) -> String {
    let lines = screen["lines"].as_array().unwrap();
    let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    lines.join("\n").trim_end().to_owned()
}

pub(crate) fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}
