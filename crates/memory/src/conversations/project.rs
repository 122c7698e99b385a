//! Which project a folder belongs to: the main folder of its repository, so that
//! what was said in a worktree is found from the repository and from its other
//! worktrees.

use std::path::Path;

use missiond_codemap::Checkout;

/// The project of a folder; the folder itself where there is no repository or
/// nothing any more.
pub(super) fn project_of(cwd: &Path) -> String {
    let Ok(checkout) = Checkout::of(cwd) else {
        return cwd.display().to_string();
    };
    let project = match checkout.family.file_name() {
        // What the worktrees have in common lies in the main one.
        Some(name) if checkout.git && name == ".git" => checkout
            .family
            .parent()
            .unwrap_or(&checkout.root)
            .to_owned(),
        Some(_) if checkout.git => checkout.family,
        _ => checkout.root,
    };
    project.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_belongs_to_its_repository() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let repository = place.join("app");
        std::fs::create_dir_all(repository.join(".git/worktrees/w")).unwrap();
        std::fs::create_dir_all(repository.join("src")).unwrap();
        let worktree = place.join("w");
        std::fs::create_dir(&worktree).unwrap();
        let git = repository.join(".git/worktrees/w");
        std::fs::write(
            worktree.join(".git"),
            format!("gitdir: {}\n", git.display()),
        )
        .unwrap();
        std::fs::write(git.join("commondir"), "../..\n").unwrap();
        let expected = repository.display().to_string();
        assert_eq!(project_of(&worktree), expected);
        assert_eq!(project_of(&repository.join("src")), expected);
        let plain = place.join("plain");
        std::fs::create_dir(&plain).unwrap();
        assert_eq!(project_of(&plain), plain.display().to_string());
        assert_eq!(project_of(Path::new("/no/such")), "/no/such");
    }
}
