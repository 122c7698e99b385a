use super::*;

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn steps_have_the_checks_of_the_repository_unless_something_else_is_said() {
    let (templates, repository) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(repository.path(), "Cargo.toml", "[package]\n");
    write(
        templates.path(),
        "docs.toml",
        "labels = [\"docs\"]\nchecks = [{ run = [\"mdbook\", \"build\"] }]\n",
    );
    let text = "- add a flag\n- Docs: describe it\n- lint\n  check: cargo clippy";
    let proposal = propose(templates.path(), text, Some(repository.path()), None).unwrap();
    let seen: Vec<_> = proposal
        .steps
        .iter()
        .map(|step| {
            let draft = &step.draft;
            let run = draft.checks.as_ref().unwrap()[0].run.join(" ");
            (draft.title.clone().unwrap(), run, draft.labels.clone())
        })
        .collect();
    let docs = Some(vec!["docs".to_owned()]);
    assert_eq!(
        seen,
        [
            ("Add a flag".to_owned(), "cargo test".to_owned(), None),
            ("Describe it".to_owned(), "mdbook build".to_owned(), docs),
            ("Lint".to_owned(), "cargo clippy".to_owned(), None),
        ]
    );
    assert_eq!(
        proposal.notes,
        ["The check `cargo test` is proposed because of Cargo.toml."]
    );
}

#[test]
fn a_template_or_a_repository_that_is_not_there_is_refused() {
    let templates = tempfile::tempdir().unwrap();
    let none = propose(templates.path(), "a", None, Some("none"));
    assert!(
        matches!(none, Err(BoardError::NoTemplate { .. })),
        "{none:?}"
    );
    let gone = templates.path().join("gone");
    let gone = propose(templates.path(), "a", Some(&gone), None);
    assert!(matches!(gone, Err(BoardError::NoRepository(_))), "{gone:?}");
}
