//! What programs do with their words: which options run something, write, read a file,
//! take a configuration or speak with others, told by data files (`data/*.toml`), one
//! table for each program. A word of a command line becomes [`Fact`]s; what a profile
//! does not know is a fact too.

mod profile;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use profile::{Args, Kind, Profile, profile, ungnu};
pub(crate) use read::{Fact, facts, without_options};
