//! Paths and patterns on them. A path is made absolute and rid of `.` and `..`
//! by its text alone; whoever asks adds what its links resolve to, so that a
//! file is judged by every name it has.

use std::fmt;
use std::str::FromStr;

use missiond_core::glob;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::pattern::{InvalidPattern, check_text};

/// Where an agent works: relative paths begin in `folder`, `~` is `home`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathBase {
    /// Absolute.
    pub folder: String,
    pub home: Option<String>,
}

impl PathBase {
    /// The path as it stands below the root, without `.` and `..`. A `..` at
    /// the root stays there, as it does for the system.
    #[must_use]
    pub fn absolute(&self, path: &str) -> String {
        let home = |rest: &str| format!("{}/{rest}", self.home.as_deref().unwrap_or("~"));
        let whole = match path {
            "~" => home(""),
            _ if path.starts_with("~/") => home(&path[2..]),
            _ if path.starts_with('/') => path.to_owned(),
            _ => format!("{}/{path}", self.folder),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        format!("/{}", parts.join("/"))
    }
}

/// A pattern on paths: `*` and `?` within one name, `**` for any number of
/// names. One that begins neither with `/` nor with `~` is below the folder the
/// agent works in.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String", inline)]
pub struct PathPattern(String);

impl PathPattern {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it fits an absolute path.
    #[must_use]
    pub fn matches(&self, path: &str, base: &PathBase) -> bool {
        let pattern = base.absolute(&self.0);
        let names = |text: &str| -> Vec<String> {
            let names = text.split('/').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        fits(&names(&pattern), &names(path))
    }
}

fn fits(pattern: &[String], path: &[String]) -> bool {
    // One row of the usual table: which beginnings of the path are fitted.
    let mut fitted = vec![false; path.len() + 1];
    fitted[0] = true;
    for name in pattern {
        let mut next = vec![false; path.len() + 1];
        if name == "**" {
            let mut any = false;
            for (end, slot) in next.iter_mut().enumerate() {
                any |= fitted[end];
                *slot = any;
            }
        } else {
            for end in 0..path.len() {
                next[end + 1] = fitted[end] && glob(name, &path[end]);
            }
        }
        fitted = next;
    }
    fitted[path.len()]
}

impl FromStr for PathPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        check_text(text)?;
        let odd_home = text.starts_with('~') && text != "~" && !text.starts_with("~/");
        if odd_home || text.split('/').any(|part| part == "..") {
            return Err(InvalidPattern::Path(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
