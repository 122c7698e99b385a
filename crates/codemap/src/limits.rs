//! How much a pass may read, keep and take.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Limits {
    /// A larger file is skipped.
    pub file_bytes: u64,
    /// A file with a longer line is taken for one that no person wrote.
    pub line_bytes: usize,
    /// The same for one whose lines are longer than this on average.
    pub mean_line_bytes: usize,
    /// More files than this below a root are left out.
    pub files: usize,
    /// Later symbols of a file are left out.
    pub symbols_per_file: usize,
    /// Rarer identifiers of a file are left out.
    pub references_per_file: usize,
    /// A file that takes longer to parse is skipped.
    pub parse_time: Duration,
    /// Threads that parse.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            file_bytes: 1024 * 1024,
            line_bytes: 10_000,
            mean_line_bytes: 400,
            files: 100_000,
            symbols_per_file: 4_000,
            references_per_file: 4_000,
            parse_time: Duration::from_secs(2),
            // Other work of the machine goes on while a repository is read.
            threads: cores.div_ceil(2).min(8),
        }
    }
}
