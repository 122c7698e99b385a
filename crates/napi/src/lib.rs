//! `semantic-terminal`: a terminal that says what the agent in it is doing, for
//! programs on Node.
//!
//! Bytes in, readings out, on the caller's clock, by the same emulator, rules and
//! manifests the daemon uses. Nothing here starts a program or waits: whoever
//! owns the terminal feeds what it wrote, and says when time has passed.

// The macros that make Rust callable from Node expand to unsafe code; there is
// none written here.
#![allow(unsafe_code)]
// What comes from Node comes by value.
#![allow(clippy::needless_pass_by_value)]

mod values;

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use missiond_pty::{MAX_SIZE, MIN_SIZE, Session, TimedReading};
use missiond_semantic::{Catalogue, Manifest, Size};
use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi::{Error, Status};
use napi_derive::napi;

use values::{Reading, Screen};

static SHIPPED: LazyLock<Result<Catalogue, String>> =
    LazyLock::new(|| Catalogue::shipped().map_err(|error| error.to_string()));

#[napi(object)]
#[derive(Debug)]
pub struct TerminalOptions {
    pub engine: Option<String>,
    pub manifest: Option<String>,
    pub columns: Option<u32>,
    pub rows: Option<u32>,
}

#[napi]
#[derive(Debug)]
pub struct SemanticTerminal {
    session: Session,
    began: Instant,
}

#[napi]
impl SemanticTerminal {
    #[napi(constructor)]
    pub fn new(options: TerminalOptions) -> napi::Result<Self> {
        let manifest = manifest(options.engine.as_deref(), options.manifest.as_deref())?;
        let size = size(options.columns.unwrap_or(120), options.rows.unwrap_or(40))?;
        Ok(Self {
            session: Session::new(size, manifest),
            began: Instant::now(),
        })
    }

    /// The engines that have a manifest built in.
    #[napi]
    pub fn engines() -> napi::Result<Vec<String>> {
        Ok(shipped()?.engines().map(str::to_owned).collect())
    }

    #[napi(catch_unwind)]
    pub fn feed(&mut self, bytes: Uint8Array, at_ms: Option<f64>) -> napi::Result<Vec<Reading>> {
        let at = self.time(at_ms)?;
        Ok(changes(|changes| self.session.feed(&bytes, at, changes)))
    }

    #[napi(catch_unwind)]
    pub fn resize(
        &mut self,
        columns: u32,
        rows: u32,
        at_ms: Option<f64>,
    ) -> napi::Result<Vec<Reading>> {
        let at = self.time(at_ms)?;
        let size = size(columns, rows)?;
        Ok(changes(|changes| self.session.resize(size, at, changes)))
    }

    /// Something was sent to the program: what its screen means may depend on it.
    #[napi(catch_unwind)]
    pub fn sent(&mut self, bytes: Uint8Array, at_ms: Option<f64>) -> napi::Result<Vec<Reading>> {
        let at = self.time(at_ms)?;
        Ok(changes(|changes| self.session.sent(&bytes, at, changes)))
    }

    /// Lets time pass up to and including this moment.
    #[napi(catch_unwind)]
    pub fn advance(&mut self, at_ms: Option<f64>) -> napi::Result<Vec<Reading>> {
        let at = self.time(at_ms)? + Duration::from_micros(1);
        Ok(changes(|changes| self.session.advance_to(at, changes)))
    }

    #[napi(catch_unwind)]
    pub fn finish(&mut self) -> Vec<Reading> {
        changes(|changes| self.session.finish(changes))
    }

    #[napi(catch_unwind)]
    pub fn exited(&mut self, at_ms: Option<f64>) -> napi::Result<Vec<Reading>> {
        let at = self.time(at_ms)?;
        Ok(changes(|changes| self.session.exited(at, changes)))
    }

    /// When a reading may change without further output.
    #[napi(getter)]
    pub fn deadline(&self) -> Option<f64> {
        self.session.deadline().map(values::milliseconds)
    }

    #[napi(getter)]
    pub fn reading(&self) -> Reading {
        Reading::from(self.session.reader().current().clone())
    }

    #[napi(getter)]
    pub fn screen(&mut self) -> Screen {
        Screen::from(self.session.screen())
    }

    /// Answers to the program's queries, to be written to its input.
    #[napi]
    pub fn take_replies(&mut self) -> Buffer {
        self.session.terminal().take_replies().into()
    }

    #[napi(catch_unwind)]
    pub fn explain(&mut self, at_ms: Option<f64>) -> napi::Result<serde_json::Value> {
        let at = self.time(at_ms)?;
        serde_json::to_value(self.session.explain(at))
            .map_err(|error| Error::from_reason(error.to_string()))
    }

    /// The time given, or how long this terminal has been there.
    fn time(&self, at_ms: Option<f64>) -> napi::Result<Duration> {
        let Some(at) = at_ms else {
            return Ok(self.began.elapsed());
        };
        // Whole microseconds, as in recordings: one time is the same everywhere.
        let micros = (at * 1000.0).round();
        if (0.0..=9e15).contains(&micros) {
            Ok(Duration::from_micros(micros as u64))
        } else {
            Err(invalid(format!(
                "{at} is not a time: milliseconds from the beginning, 0 or more"
            )))
        }
    }
}

fn changes(run: impl FnOnce(&mut Vec<TimedReading>)) -> Vec<Reading> {
    let mut changes = Vec::new();
    run(&mut changes);
    changes.into_iter().map(Reading::from).collect()
}

fn manifest(engine: Option<&str>, own: Option<&str>) -> napi::Result<Arc<Manifest>> {
    if let Some(text) = own {
        let parsed = Manifest::parse(text).map_err(|error| invalid(error.to_string()))?;
        return Ok(Arc::new(parsed));
    }
    let shipped = shipped()?;
    let known = || shipped.engines().collect::<Vec<_>>().join(", ");
    let Some(engine) = engine else {
        return Err(invalid(format!(
            "name an engine ({}) or give a manifest",
            known()
        )));
    };
    let manifest = shipped.get(engine).cloned();
    manifest.ok_or_else(|| {
        invalid(format!(
            "there is no manifest for the engine `{engine}`: use one of {}, or give a manifest",
            known()
        ))
    })
}

fn shipped() -> napi::Result<&'static Catalogue> {
    SHIPPED
        .as_ref()
        .map_err(|error| Error::from_reason(error.clone()))
}

fn size(columns: u32, rows: u32) -> napi::Result<Size> {
    let within = |value: u32, least: u16, most: u16| {
        u16::try_from(value)
            .ok()
            .filter(|value| (least..=most).contains(value))
    };
    let columns = within(columns, MIN_SIZE.columns, MAX_SIZE.columns);
    let rows = within(rows, MIN_SIZE.rows, MAX_SIZE.rows);
    match (columns, rows) {
        (Some(columns), Some(rows)) => Ok(Size { columns, rows }),
        _ => Err(invalid(format!(
            "a terminal has {} to {} columns and {} to {} rows",
            MIN_SIZE.columns, MAX_SIZE.columns, MIN_SIZE.rows, MAX_SIZE.rows
        ))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(Status::InvalidArg, message)
}
