//! One advisory of RustSec: a Markdown file that begins with TOML.

use semver::{Version, VersionReq};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Weakness,
    /// For information: unmaintained, unsound in a corner, a notice.
    Notice,
    Withdrawn,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advisory {
    pub(super) id: String,
    pub(super) package: String,
    pub(super) date: String,
    pub(super) title: String,
    pub(super) kind: Kind,
    /// Patched or never affected.
    safe: Vec<VersionReq>,
    /// The systems it is about; all, where none is named.
    systems: Vec<String>,
}

impl Advisory {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (_, rest) = text
            .split_once("```toml")
            .ok_or("it does not begin with TOML")?;
        let (front, body) = rest.split_once("\n```").ok_or("its TOML does not end")?;
        let front: toml::Table = front.parse().map_err(|error| format!("{error}"))?;
        let advisory = front.get("advisory").ok_or("it has no [advisory]")?;
        let named = |key: &str| advisory.get(key).and_then(toml::Value::as_str);
        let needed = |key: &str| {
            let value = named(key).ok_or_else(|| format!("it has no `{key}`"))?;
            Ok::<_, String>(value.to_owned())
        };
        let list = |table: &str, key: &str| {
            let values = front.get(table).and_then(|table| table.get(key));
            let values = values.and_then(toml::Value::as_array);
            let texts = values.into_iter().flatten().filter_map(toml::Value::as_str);
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        if front
            .get("versions")
            .and_then(|v| v.get("patched"))
            .is_none()
        {
            return Err("it does not say which versions are patched".to_owned());
        }
        let safe = [list("versions", "patched"), list("versions", "unaffected")];
        let safe = safe.iter().flatten().map(|range| {
            VersionReq::parse(range).map_err(|error| format!("the versions `{range}`: {error}"))
        });
        let title = body.lines().find_map(|line| line.strip_prefix("# "));
        Ok(Self {
            id: needed("id")?,
            package: needed("package")?,
            date: needed("date")?,
            title: title.unwrap_or("without a title").trim().to_owned(),
            kind: if advisory.get("withdrawn").is_some() {
                Kind::Withdrawn
            } else if advisory.get("informational").is_some() {
                Kind::Notice
            } else {
                Kind::Weakness
            },
            safe: safe.collect::<Result<_, _>>()?,
            systems: list("affected", "os"),
        })
    }

    /// Whether this version of its crate has the weakness, on a system that the
    /// program is made for. A version before a release counts as unsafe where the
    /// ranges do not name it: better a look too many.
    pub(super) fn affects(&self, version: &Version) -> bool {
        let ours = ["linux", "macos"];
        let on_ours = self
            .systems
            .iter()
            .any(|system| ours.contains(&system.as_str()));
        let is_safe = self.safe.iter().any(|range| range.matches(version));
        (self.systems.is_empty() || on_ours) && !is_safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\npackage = \"leaky\"\n\
        date = \"2026-01-02\"\naliases = [\"CVE-1\"]\n\n[affected]\nos = [\"windows\"]\n\n[versions]\n\
        patched = [\"^1.2.5\", \">= 2.0.0, < 3\"]\nunaffected = [\"< 1.0\"]\n```\n\n\
        # It leaks\n\n```rust\nleak();\n```\n";

    #[test]
    fn an_advisory_is_read_with_its_ranges_and_systems() {
        let on_windows = Advisory::parse(WHOLE).unwrap();
        assert_eq!(
            (on_windows.title.as_str(), on_windows.kind),
            ("It leaks", Kind::Weakness)
        );
        let everywhere = Advisory::parse(&WHOLE.replace("windows", "linux")).unwrap();
        for (version, is_affected) in [
            ("0.9.9", false),
            ("1.0.0", true),
            ("1.2.4", true),
            ("1.2.5", false),
            ("1.9.0", false),
            ("2.1.0", false),
            ("2.1.0-rc.1", true),
            ("3.0.0", true),
        ] {
            let version = Version::parse(version).unwrap();
            assert_eq!(everywhere.affects(&version), is_affected, "{version}");
            assert!(!on_windows.affects(&version));
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_advisory_that_passes() {
        for broken in [
            "",
            "# It leaks",
            "```toml\n[advisory]\n",
            &WHOLE.replace("id = ", "name = "),
            &WHOLE.replace("patched", "patch"),
            &WHOLE.replace("^1.2.5", "about 1.2"),
        ] {
            assert!(Advisory::parse(broken).is_err(), "{broken}");
        }
    }
}
