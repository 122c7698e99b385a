//! Methods and paths of requests to a host. A path is compared in one spelling: what is
//! written otherwise may be denied by a rule, and is never allowed by one.

use std::fmt;
use std::str::FromStr;

use missiond_core::glob;

/// A path in the spelling that rules are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestPath {
    plain: String,
    /// Whether it was written so.
    usual: bool,
}

impl RestPath {
    /// The path of a request target, without its query.
    #[must_use]
    pub fn of(target: &str) -> Self {
        let written = target.split(['?', '#']).next().unwrap_or_default();
        let decoded = decoded(written);
        let mut steps: Vec<&str> = Vec::new();
        for step in decoded.split(['/', '\\']) {
            match step {
                "" | "." => {}
                ".." => drop(steps.pop()),
                step => steps.push(step),
            }
        }
        let plain = format!("/{}", steps.join("/"));
        let without_end = written.strip_suffix('/').filter(|rest| !rest.is_empty());
        let usual = plain == without_end.unwrap_or(written) && !plain.chars().any(char::is_control);
        Self { plain, usual }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.plain
    }
}

/// Percent signs undone as often as they were put on, a few times.
fn decoded(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..4 {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let hex = after.get(..2).filter(|_| first == b'%');
            let value =
                hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
            match value {
                Some(value) => {
                    bytes.push(value);
                    rest = &after[2..];
                }
                None => {
                    bytes.push(first);
                    rest = after;
                }
            }
        }
        let next = String::from_utf8_lossy(&bytes).into_owned();
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// `GET /repos/**`, `GET,HEAD /`, `* /admin/**`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestPattern {
    /// None are all.
    methods: Vec<String>,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRestPattern {
    #[error("`{0}`: write a method and a path, as in `GET /repos/**`")]
    Shape(String),
    #[error("`{0}` is no method: capital letters, several with commas between, or `*`")]
    Method(String),
    #[error("`{0}`: a path begins with `/` and has no `..`, `//`, `%`, query or blank")]
    Path(String),
}

impl RestPattern {
    /// The generous reading, for rules that deny or ask. What is not known is any.
    #[must_use]
    pub fn concerns(&self, method: Option<&str>, path: Option<&RestPath>) -> bool {
        let method = method.is_none_or(|method| self.has_method(&method.to_ascii_uppercase()));
        method
            && path.is_none_or(|path| fits(&self.path.to_lowercase(), &path.plain.to_lowercase()))
    }

    /// The strict reading, for rules that allow.
    #[must_use]
    pub fn allows(&self, method: Option<&str>, path: Option<&RestPath>) -> bool {
        method.is_some_and(|method| self.has_method(method))
            && path.is_some_and(|path| path.usual && fits(&self.path, &path.plain))
    }

    fn has_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|own| own == method)
    }

    /// Whether everything the other means is meant by this one too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let methods = self.methods.is_empty()
            || (!other.methods.is_empty() && other.methods.iter().all(|one| self.has_method(one)));
        methods
            && (self.path == other.path || self.path == "/**" || {
                let folder = self.path.strip_suffix("/**");
                folder.is_some_and(|folder| {
                    !folder.contains(['*', '?'])
                        && (other.path == folder || other.path.starts_with(&format!("{folder}/")))
                })
            })
    }
}

/// `*` and `?` within one name, `**` for any number of names.
fn fits(pattern: &str, path: &str) -> bool {
    let names = |text: &str| -> Vec<String> {
        let names = text.split('/').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let (pattern, path) = (names(pattern), names(path));
    let mut fitted = vec![false; path.len() + 1];
    fitted[0] = true;
    for name in &pattern {
        let mut next = vec![false; path.len() + 1];
        let mut any = false;
        for end in 0..=path.len() {
            if name == "**" {
                any |= fitted[end];
                next[end] = any;
            } else if end > 0 {
                next[end] = fitted[end - 1] && glob(name, &path[end - 1]);
            }
        }
        fitted = next;
    }
    fitted[path.len()]
}

impl FromStr for RestPattern {
    type Err = InvalidRestPattern;

    fn from_str(text: &str) -> Result<Self, InvalidRestPattern> {
        let shape = || InvalidRestPattern::Shape(text.to_owned());
        let (methods, path) = text.split_once(' ').ok_or_else(shape)?;
        let word = |method: &&str| {
            (1..=20).contains(&method.len())
                && method
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        };
        let methods: Vec<&str> = match methods {
            "*" => Vec::new(),
            methods => methods.split(',').collect(),
        };
        if let Some(wrong) = methods.iter().find(|method| !word(method)) {
            return Err(InvalidRestPattern::Method((*wrong).to_owned()));
        }
        let odd = path.contains("//")
            || path.split('/').any(|name| matches!(name, "." | ".."))
            || path.contains(['%', '?', '#', '\\'])
            || path.chars().any(|c| c.is_whitespace() || c.is_control());
        if !path.starts_with('/') || odd {
            return Err(InvalidRestPattern::Path(path.to_owned()));
        }
        Ok(Self {
            methods: methods.into_iter().map(str::to_owned).collect(),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for RestPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.methods.is_empty() {
            write!(f, "* {}", self.path)
        } else {
            write!(f, "{} {}", self.methods.join(","), self.path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_path_is_denied_in_every_spelling_and_an_allowed_one_in_its_own_alone() {
        let deny: RestPattern = "DELETE /repos/**".parse().unwrap();
        let allow: RestPattern = "GET /repos/*/issues".parse().unwrap();
        for path in [
            "/repos/x",
            "/repos",
            "/repos/",
            "/%72epos/x",
            "//repos/x",
            "/a/../repos/x",
            "/REPOS/x",
            "/%2572epos/x",
            "/./repos/x?y=1",
            "/a/%2e%2e/repos/x",
            "/repos%2fx",
            "\\repos\\x",
        ] {
            assert!(
                deny.concerns(Some("DELETE"), Some(&RestPath::of(path))),
                "{path}"
            );
        }
        assert!(deny.concerns(None, None));
        assert!(!deny.concerns(Some("GET"), Some(&RestPath::of("/repos/x"))));
        for (path, allowed) in [
            ("/repos/a/issues", true),
            ("/repos/a/issues/", true),
            ("/repos/a/issues?state=open", true),
            ("/repos/a/b/issues", false),
            ("/repos/a%2fb/issues", false),
            ("/repos//a/issues", false),
            ("/x/../repos/a/issues", false),
            ("/%72epos/a/issues", false),
        ] {
            assert_eq!(
                allow.allows(Some("GET"), Some(&RestPath::of(path))),
                allowed,
                "{path}"
            );
        }
        assert!(!allow.allows(Some("get"), Some(&RestPath::of("/repos/a/issues"))));
        assert!(!allow.allows(None, Some(&RestPath::of("/repos/a/issues"))));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "/repos",
            "get /x",
            "GET repos",
            "GET /a/../b",
            "GET /a%2fb",
            "GET /a?b=1",
        ] {
            assert!(text.parse::<RestPattern>().is_err(), "{text}");
        }
    }
}
