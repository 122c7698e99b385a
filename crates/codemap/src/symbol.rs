//! What is known of a file and of each thing it defines.

use std::fmt;
use std::str::FromStr;

pub use missiond_core::SymbolKind;
use missiond_os::hex;
use sha2::{Digest, Sha256};

use crate::language::Language;
use crate::source::{Skip, Stamp};

/// Whether one kind can become the other without being another thing: a function
/// that moves into a class is a method.
#[must_use]
pub(crate) const fn are_akin(one: SymbolKind, other: SymbolKind) -> bool {
    family(one) == family(other)
}

const fn family(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Module => 0,
        SymbolKind::Class | SymbolKind::Struct | SymbolKind::Enum | SymbolKind::Type => 1,
        SymbolKind::Trait | SymbolKind::Interface => 2,
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Macro => 3,
        SymbolKind::Constant => 4,
    }
}

/// The first half of a SHA-256, enough to tell texts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// Of these bytes as they are.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::first_half(Sha256::digest(bytes).as_slice())
    }

    /// Of these pieces as one text in which any run of white space is one blank,
    /// so that indenting code does not change it.
    #[must_use]
    pub fn of_code(pieces: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for word in pieces.iter().flat_map(|piece| piece.split_whitespace()) {
            digest.update(word.as_bytes());
            digest.update(b" ");
        }
        Self::first_half(digest.finalize().as_slice())
    }

    fn first_half(digest: &[u8]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(half)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl FromStr for ContentHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let half = hex::decode_array(text).map(Self);
        half.ok_or_else(|| format!("`{text}` is no content hash"))
    }
}

/// Where something stands. Lines are counted from 1 and both ends belong to it;
/// bytes are counted from 0 and the end does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub first_line: u32,
    pub last_line: u32,
    pub start: u32,
    pub end: u32,
}

/// Something a file defines. The first of each file is the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub kind: SymbolKind,
    pub name: String,
    /// What it is defined in, as its language writes it (`Store::Writer`); empty
    /// at the top of a file.
    pub container: String,
    /// Everything before the body, on one line.
    pub signature: String,
    /// The comment that belongs to it, without its marks.
    pub doc: String,
    /// Distinct words of its body, in the order they appear.
    pub words: String,
    pub span: Span,
    pub hash: ContentHash,
    /// The hash without the name: the same after a renaming.
    pub nameless: ContentHash,
}

impl Symbol {
    /// Its name with what it is defined in.
    #[must_use]
    pub fn qualified(&self, language: Language) -> String {
        if self.container.is_empty() {
            self.name.clone()
        } else {
            format!("{}{}{}", self.container, language.separator(), self.name)
        }
    }
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFacts {
    Read {
        language: Language,
        hash: ContentHash,
        lines: u32,
        symbols: Vec<Symbol>,
        /// Identifiers it uses, and how often.
        references: Vec<(String, u32)>,
    },
    /// It was left out, for this reason.
    Skipped(Skip),
}

/// A file, by its path below the root with `/` between the parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    pub path: String,
    pub stamp: Stamp,
    pub facts: FileFacts,
}
