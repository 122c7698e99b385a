//! The terminal side of an agent: emulator, host processes, recordings and their
//! replay.

mod cast;
mod cell_style;
mod control_scanner;
mod emulator;
pub mod host;
mod manifests;
mod marks;
mod paint;
mod repaint;
mod replay;
mod reply;
pub mod screenshot;
mod session;
mod signal;
mod terminal;

pub use cast::{
    CastError, CastEvent, CastHeader, CastReader, CastSegment, CastSource, CastWriter, EventKind,
};
pub use manifests::{ManifestFileError, load_catalogue, load_manifest, manifest_files};
pub use missiond_os::processes::{is_same_process, process_exists, process_start};
pub use paint::{Keys, Painter, View};
pub use replay::{Label, Replay, replay, replay_until};
pub use reply::Theme;
pub use session::{Session, TimedReading};
pub use signal::TerminalSignal;
pub use terminal::{Focus, HISTORY_ROWS, MAX_SIZE, MIN_SIZE, OutputFilter, Terminal};
