//! What kind of thing a name in code stands for.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of thing a name stands for, across languages.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    // A file, or a named part of one: a Rust `mod`, a namespace, a Ruby module.
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

/// The text is none of the kinds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kind is called `{0}`: use {names}", names = SymbolKind::names())]
pub struct InvalidSymbolKind(String);

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

    fn names() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
        names.join(", ")
    }
}

impl fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SymbolKind {
    type Err = InvalidSymbolKind;

    fn from_str(text: &str) -> Result<Self, InvalidSymbolKind> {
        let found = Self::ALL.iter().find(|kind| kind.as_str() == text);
        found
            .copied()
            .ok_or_else(|| InvalidSymbolKind(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_word_everywhere() {
        for kind in SymbolKind::ALL {
            let word = kind.as_str();
            assert_eq!(word.parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), word);
        }
        let error = "gadget".parse::<SymbolKind>().unwrap_err().to_string();
        assert!(
            error.starts_with("no kind is called `gadget`: use module, class"),
            "{error}"
        );
    }
}
