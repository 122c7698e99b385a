//! What is asked for on the command line of `cargo xtask dist`.

use std::path::PathBuf;

use super::build::PROFILE;

/// Whether everything is made a second time and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    Once,
    Twice,
}

#[derive(Debug)]
pub(super) struct Options {
    /// Where the files go; `target/release-files` unless said.
    pub(super) out: Option<PathBuf>,
    /// A program that was built before, in place of building one.
    pub(super) binary: Option<PathBuf>,
    /// A minisign key to sign with.
    pub(super) key: Option<PathBuf>,
    pub(super) check: Check,
    pub(super) profile: String,
    /// Where the files will be found.
    pub(super) url: Option<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            out: None,
            binary: None,
            key: None,
            check: Check::Once,
            profile: PROFILE.to_owned(),
            url: None,
        };
        let mut words = arguments.iter();
        while let Some(flag) = words.next() {
            let mut value = || {
                words
                    .next()
                    .cloned()
                    .ok_or_else(|| format!("`{flag}` wants a value"))
            };
            match flag.as_str() {
                "--out" => options.out = Some(value()?.into()),
                "--binary" => options.binary = Some(value()?.into()),
                "--key" => options.key = Some(value()?.into()),
                "--profile" => options.profile = value()?,
                "--url" => options.url = Some(value()?.trim_end_matches('/').to_owned()),
                "--check" => options.check = Check::Twice,
                unknown => return Err(format!("`cargo xtask dist` takes no `{unknown}`")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_what_is_unknown_or_incomplete_is_refused() {
        let parse = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            Options::parse(&words)
        };
        let options = parse(&["--out", "there", "--check", "--url", "https://a/b/"]).unwrap();
        assert_eq!(options.out, Some("there".into()));
        assert_eq!(options.check, Check::Twice);
        assert_eq!(options.url.as_deref(), Some("https://a/b"));
        assert_eq!(options.profile, "dist");
        assert!(parse(&["--out"]).is_err());
        assert!(parse(&["mission"]).is_err());
    }
}
