//! A path from the root of the file system. Whoever asks has another working
//! directory than whoever answers, so that no other path means the same to both.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::OutOfBounds;
use crate::from_text;

/// How much of a path that is none is shown, in characters.
const SHOWN: usize = 200;

/// An absolute path, as text: it begins with `/`, has no NUL in it and at most
/// [`AbsolutePath::MAX`] bytes. Nothing need be there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct AbsolutePath(String);

impl AbsolutePath {
    /// The longest path a system call takes, in bytes.
    pub const MAX: usize = 4096;

    pub fn new(path: impl Into<String>) -> Result<Self, OutOfBounds> {
        let path = path.into();
        if !path.starts_with('/') {
            let found = path.chars().take(SHOWN).collect();
            return Err(OutOfBounds::RelativePath { found });
        }
        if path.contains('\0') {
            return Err(OutOfBounds::NulInPath);
        }
        if path.len() > Self::MAX {
            return Err(OutOfBounds::LongPath { max: Self::MAX });
        }
        Ok(Self(path))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Debug for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<AbsolutePath> for PathBuf {
    fn from(path: AbsolutePath) -> Self {
        Self::from(path.0)
    }
}

impl FromStr for AbsolutePath {
    type Err = OutOfBounds;

    fn from_str(path: &str) -> Result<Self, OutOfBounds> {
        Self::new(path)
    }
}

impl<'de> Deserialize<'de> for AbsolutePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text::deserialize(deserializer, "an absolute path")
    }
}

impl JsonSchema for AbsolutePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "absolute_path".into()
    }

    /// A schema counts characters, of which there are never more than bytes.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^/", "maxLength": Self::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<AbsolutePath, String> {
        let written = serde_json::to_string(path).unwrap();
        serde_json::from_str(&written).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_begins_at_the_root() {
        for path in ["/", "/src/app", "//", "/a b/ä", "/../x"] {
            let read = read(path).unwrap();
            assert_eq!(read.as_str(), path);
            assert_eq!(
                serde_json::to_string(&read).unwrap(),
                serde_json::to_string(path).unwrap()
            );
        }
        for path in ["", "src", "./src", "~/src", "../src", " /src"] {
            let error = read(path).unwrap_err();
            let expected = format!("must be absolute, but is `{path}`");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn hostile_paths_are_refused_in_one_sentence() {
        let error = read("/a\0b").unwrap_err();
        assert!(error.contains("NUL"), "{error}");
        let longest = format!("/{}", "x".repeat(AbsolutePath::MAX - 1));
        assert!(read(&longest).is_ok());
        let error = read(&format!("{longest}x")).unwrap_err();
        assert!(error.contains("longer than 4096 bytes"), "{error}");
        let error = read(&"x".repeat(100_000)).unwrap_err();
        assert!(error.len() < 300, "{error}");
        let error = serde_json::from_str::<AbsolutePath>("7").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("an absolute path"), "{error}");
    }
}
