//! Paths as people write them: `~` for the home folder.

use std::path::{Path, PathBuf};

/// The path with a leading `~` replaced by the home folder of whoever runs this
/// process. The homes of others (`~name`) are left as they are.
#[must_use]
pub fn expand_home(path: &Path) -> PathBuf {
    expand_from(path, std::env::var_os("HOME").map(PathBuf::from))
}

fn expand_from(path: &Path, home: Option<PathBuf>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home,
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_leading_tilde_is_the_home_folder() {
        let expand = |path: &str| expand_from(Path::new(path), Some(PathBuf::from("/home/ada")));
        for (written, meant) in [
            ("~", "/home/ada"),
            ("~/calc", "/home/ada/calc"),
            ("~grace/calc", "~grace/calc"),
            ("/srv/~/calc", "/srv/~/calc"),
            ("calc", "calc"),
        ] {
            assert_eq!(expand(written), Path::new(meant), "{written}");
        }
        assert_eq!(expand_from(Path::new("~/calc"), None), Path::new("~/calc"));
    }
}
