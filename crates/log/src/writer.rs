//! The daemon's log: JSON lines in files of limited size and number, readable
//! by their owner only. Writing happens on a thread of its own, so a slow disk
//! never holds up a request.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_config::LogConfig;
use missiond_core::LogLevel;
use missiond_os::files::open_private_log;
use parking_lot::Mutex;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// Lines that wait for the disk; more are dropped. Room for all of them is made at
/// the start: the default of the library would be 4 MB of a daemon that does nothing.
const WAITING_LINES: usize = 8 * 1024;

/// Keeps the log thread alive and its level adjustable; clones are the same log.
#[derive(Debug, Clone)]
pub struct Logging {
    level: reload::Handle<LevelFilter, Registry>,
    worker: Arc<Mutex<Option<WorkerGuard>>>,
}

impl Logging {
    /// Sends everything `tracing` reports from this process to the file.
    pub fn start(file: &Path, config: &LogConfig) -> io::Result<Self> {
        let writer = RotatingFile::open(file, config.max_file_mb * 1024 * 1024, config.max_files)?;
        let (writer, worker) = NonBlockingBuilder::default()
            .buffered_lines_limit(WAITING_LINES)
            .finish(writer);
        let (filter, level) = reload::Layer::new(filter(config.level));
        tracing_subscriber::registry()
            .with(filter)
            .with(
                fmt::layer()
                    .json()
                    .flatten_event(true)
                    .with_thread_ids(true)
                    .with_line_number(true)
                    .with_writer(writer),
            )
            .try_init()
            .map_err(io::Error::other)?;
        // A detached daemon has no standard error for it to go to.
        std::panic::set_hook(Box::new(|panic| {
            let backtrace = std::backtrace::Backtrace::force_capture();
            tracing::error!(%panic, %backtrace, "thread panicked");
        }));
        Ok(Self {
            level,
            worker: Arc::new(Mutex::new(Some(worker))),
        })
    }

    /// Writes what is still waiting and ends the thread.
    pub fn finish(&self) {
        drop(self.worker.lock().take());
    }

    pub fn set_level(&self, level: LogLevel) {
        if let Err(error) = self.level.reload(filter(level)) {
            tracing::warn!(%error, "log level not changed");
        }
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// A file that is set aside as `NAME.1`, `NAME.2` … when it is full.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    max_size: u64,
    max_files: u32,
    /// The last line failed and may stand there in part.
    torn: bool,
}

impl RotatingFile {
    pub fn open(path: &Path, max_size: u64, max_files: u32) -> io::Result<Self> {
        let file = open_private_log(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
            max_size,
            max_files,
            torn: false,
        })
    }

    fn aside(&self, place: u32) -> PathBuf {
        crate::aside(&self.path, place)
    }

    fn rotate(&mut self) -> io::Result<()> {
        let oldest = self.max_files - 1;
        if oldest == 0 {
            self.file.set_len(0)?;
        } else {
            // When the last rotation could not begin a new file, the old ones
            // have moved already. Moving them at every try would lose them all.
            if self.path.exists() {
                for place in (1..oldest).rev() {
                    rename_if_there(&self.aside(place), &self.aside(place + 1))?;
                }
                rename_if_there(&self.path, &self.aside(1))?;
            }
            self.file = open_private_log(&self.path)?;
        }
        self.size = 0;
        self.torn = false;
        Ok(())
    }
}

impl Write for RotatingFile {
    fn write(&mut self, taken: &[u8]) -> io::Result<usize> {
        let masked = missiond_secrets::mask_written(taken).map(|mut line| {
            line.push(b'\n');
            line
        });
        let line = masked.as_deref().unwrap_or(taken);
        // One call is one line: it is never cut in two by a rotation.
        if self.size > 0 && self.size + line.len() as u64 > self.max_size {
            self.rotate()?;
        }
        if self.torn {
            self.file.write_all(b"\n")?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(line) {
            self.torn = true;
            return Err(error);
        }
        self.size += line.len() as u64;
        // Of what was taken nothing is left, however long the line became.
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_set_aside_and_the_oldest_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let mut log = RotatingFile::open(&path, 100, 3).unwrap();
        for number in 0..20 {
            log.write_all(format!("line {number:02} {}\n", "x".repeat(21)).as_bytes())
                .unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        // 30 bytes a line, three lines a file, three files: the last two full
        // ones and the one being written.
        assert!(read("daemon.log").starts_with("line 18"));
        assert!(read("daemon.log.1").starts_with("line 15"));
        assert!(read("daemon.log.2").starts_with("line 12"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn only_the_owner_can_read_a_log_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        RotatingFile::open(&path, 100, 3).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
