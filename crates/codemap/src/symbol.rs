//! What is known of a file and of each thing it defines.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::language::Language;
use crate::source::{Skip, Stamp};

/// What kind of thing a name stands for, across languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A file, or a named part of one: a Rust `mod`, a namespace, a Ruby module.
    Module,
    Class,
    Struct,
    Enum,
    Trait,
    Interface,
    Type,
    Function,
    Method,
    Macro,
    Constant,
}

impl SymbolKind {
    pub const ALL: &'static [Self] = &[
        Self::Module,
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Trait,
        Self::Interface,
        Self::Type,
        Self::Function,
        Self::Method,
        Self::Macro,
        Self::Constant,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::Type => "type",
            Self::Function => "function",
            Self::Method => "method",
            Self::Macro => "macro",
            Self::Constant => "constant",
        }
    }

    /// Whether one can become the other without being another thing: a function
    /// that moves into a class is a method.
    #[must_use]
    pub const fn is_akin_to(self, other: Self) -> bool {
        self.family() == other.family()
    }

    const fn family(self) -> u8 {
        match self {
            Self::Module => 0,
            Self::Class | Self::Struct | Self::Enum | Self::Type => 1,
            Self::Trait | Self::Interface => 2,
            Self::Function | Self::Method | Self::Macro => 3,
            Self::Constant => 4,
        }
    }
}

impl fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SymbolKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.as_str() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("no kind is called `{text}`: use {}", names.join(", "))
        })
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
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ContentHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let no_hash = || format!("`{text}` is no content hash");
        if text.len() != 32 || !text.is_ascii() {
            return Err(no_hash());
        }
        let mut half = [0; 16];
        for (byte, digits) in half.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| no_hash())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| no_hash())?;
        }
        Ok(Self(half))
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
