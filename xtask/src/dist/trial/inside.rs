//! One package in the clean root, and what came of it.

use std::fmt;
use std::path::Path;

use super::super::clean_root;
use crate::run;

/// Seconds in which a package should be installed. Said beside what was measured, and no
/// more: how busy a machine is, is no property of a package.
const AIM: u32 = 20;

const SCRIPT: &str = include_str!("in_clean_root.sh");

/// What the script measured and found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tried {
    version: String,
    install: f64,
    demo: f64,
    is_removed: bool,
    /// What is there after the package was removed and was not there before.
    left: Vec<String>,
    /// What the package took with it.
    lost: Vec<String>,
    said: Vec<String>,
}

/// Installs, uses and removes a package.
pub(super) fn run(
    kind: &str,
    package: &Path,
    root: &Path,
    work: &Path,
    linkage: &str,
    typed: &str,
) -> Result<Tried, String> {
    let Some(mut unshare) = clean_root::as_root("unshare") else {
        return Err("the rights of root are gone".to_owned());
    };
    unshare
        .args(["--mount", "--pid", "--net", "--fork", "--kill-child"])
        .args(["sh", "-c", SCRIPT, "sh", kind])
        .args([package, root, work])
        .args([linkage, typed]);
    let printed =
        run::output(&mut unshare).map_err(|error| match error.rsplit_once("failed: ") {
            // Without the script, which is the command.
            Some((_, said)) => said.to_owned(),
            None => format!(
                "it failed in a clean root: {}",
                error.lines().last().unwrap_or_default()
            ),
        })?;
    Ok(Tried::read(&printed))
}

impl Tried {
    fn read(printed: &str) -> Self {
        let mut tried = Self::default();
        for line in printed.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "version" => tried.version = rest.to_owned(),
                "install" => tried.install = rest.parse().unwrap_or_default(),
                "demo" => tried.demo = rest.parse().unwrap_or_default(),
                "removed" => tried.is_removed = true,
                "left" => tried.left.push(rest.to_owned()),
                "lost" => tried.lost.push(rest.to_owned()),
                "said" => tried.said.push(rest.to_owned()),
                _ => {}
            }
        }
        tried
    }

    /// Whether it was as it has to be.
    pub(super) fn checked(self, version: &str) -> Result<Self, String> {
        if self.version.split(' ').nth(1) != Some(version) {
            return Err(format!("`mission version` prints {:?}", self.version));
        }
        for (what, files) in [("leaves", &self.left), ("takes away", &self.lost)] {
            if !files.is_empty() {
                return Err(format!("removing it {what} {}", files.join(", ")));
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { install, demo, .. } = self;
        write!(
            formatter,
            "installed in {install:.1} s (the aim is under {AIM} s), demo ran in {demo:.0} s, a task in \
             a repository of the person's merged"
        )?;
        if self.is_removed {
            write!(formatter, ", removed with all its files and folders")?;
        }
        for sentence in &self.said {
            write!(formatter, "; {sentence}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_or_of_another_version_fails() {
        let printed = "install 1.25\nversion mission 1.2.3\ndemo 16.5\n";
        let tried = Tried::read(printed);
        assert_eq!((tried.install, tried.demo), (1.25, 16.5));
        let said = tried.to_string();
        assert!(
            said.starts_with("installed in 1.2 s (the aim is under 20 s), demo ran in 16 s"),
            "{said}"
        );
        assert!(tried.checked("1.2.3").is_ok());
        assert!(Tried::read(printed).checked("1.2.4").is_err());
        let left = format!("{printed}left /usr/bin/mission\n");
        let error = Tried::read(&left).checked("1.2.3").unwrap_err();
        assert_eq!(error, "removing it leaves /usr/bin/mission");
    }
}
