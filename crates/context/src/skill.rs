//! SKILL.md: what an agent can do with the files beside it.
//!
//! A file of somebody else's: its front matter is read for a name and a
//! description, within bounds, and everything else in it is text.

use missiond_yaml::{Invalid, read_document};

/// A larger file is not a skill.
pub const LARGEST_SKILL: usize = 64 * 1024;
const LARGEST_FRONT_MATTER: usize = 8 * 1024;
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
/// Brackets within brackets.
const DEEPEST: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// What it is for and when it is used: what it is chosen by.
    pub description: String,
    /// What stands behind the front matter.
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    #[error("it is larger than {LARGEST_SKILL} bytes")]
    TooLarge,
    #[error("it does not begin with front matter between two lines `---`")]
    NoFrontMatter,
    #[error("its front matter uses anchors or is nested too deeply")]
    TooClever,
    #[error("its front matter cannot be read: {0}")]
    Yaml(Invalid),
    #[error("its front matter has no `{0}`")]
    Missing(&'static str),
    #[error(
        "its name has more than {LONGEST_NAME} characters, or other than letters, digits and `-`"
    )]
    Name,
    #[error("its description has more than {LONGEST_DESCRIPTION} characters")]
    Description,
}

impl Skill {
    pub fn parse(text: &str) -> Result<Self, SkillError> {
        if text.len() > LARGEST_SKILL {
            return Err(SkillError::TooLarge);
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (front, body) = split(text).ok_or(SkillError::NoFrontMatter)?;
        if is_too_complex(front) {
            return Err(SkillError::TooClever);
        }
        let read = read_document(front, "front matter", LARGEST_FRONT_MATTER, |node| {
            let entries = node.entries("front matter")?;
            let text = |wanted: &str| {
                let (_, _, node) = entries.iter().find(|(key, ..)| *key == wanted)?;
                node.is_text().then(|| node.text()).flatten()
            };
            let of = |key| text(key).map(|text| text.trim().to_owned());
            Some((of("name"), of("description")))
        });
        let (name, description) = read.map_err(SkillError::Yaml)?;
        let present = |value: Option<String>, key| {
            let value = value.filter(|value| !value.is_empty());
            value.ok_or(SkillError::Missing(key))
        };
        let name = present(name, "name")?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.len() > LONGEST_NAME || !name.chars().all(fits) {
            return Err(SkillError::Name);
        }
        let description = present(description, "description")?;
        if description.chars().count() > LONGEST_DESCRIPTION {
            return Err(SkillError::Description);
        }
        Ok(Self {
            name,
            description,
            body: body.trim().to_owned(),
        })
    }
}

/// What stands between the first two lines `---`, and what stands behind them.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let begin = first.len();
    end += begin;
    for line in lines {
        if line.trim_end() == "---" {
            return Some((&text[begin..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// An anchor repeated is a small file that becomes a large one, and a parser that
/// calls itself has an end. Front matter that people write needs neither.
fn is_too_complex(front: &str) -> bool {
    let mut depth = 0_usize;
    for line in front.lines() {
        let indent = line.len() - line.trim_start_matches([' ', '-', '?']).len();
        if indent > 4 * DEEPEST {
            return true;
        }
        let mut starts = true;
        for c in line.chars() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                '&' | '*' if starts => return true,
                _ => {}
            }
            if depth > DEEPEST {
                return true;
            }
            starts = matches!(c, '[' | '{' | ',' | ':' | '-' | '?') || (starts && c == ' ');
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_skill_is_its_name_its_description_and_its_text() {
        let text = "---\nname: release-notes\ndescription: >-\n  Writes release notes.\n  Use it \
             before a tag.\nallowed-tools: [Bash, Read]\nmetadata: {version: 1}\n---\n\n# Steps\n\nDo.\n";
        assert_eq!(
            Skill::parse(text),
            Ok(Skill {
                name: "release-notes".into(),
                description: "Writes release notes. Use it before a tag.".into(),
                body: "# Steps\n\nDo.".into(),
            })
        );
    }

    #[test]
    fn what_is_no_skill_is_refused_in_a_sentence() {
        let refused = |text: &str| Skill::parse(text).unwrap_err().to_string();
        assert!(refused("# Steps").contains("front matter between"));
        assert!(refused("---\nname: a\n").contains("front matter between"));
        assert!(refused("---\nname: a\n---\n").contains("no `description`"));
        assert!(refused("---\ndescription: a\nname: ../x\n---\n").contains("letters, digits"));
        assert!(refused("---\nname: [a]\ndescription: b\n---\n").contains("no `name`"));
        let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025));
        assert!(refused(&long).contains("1024"));
        assert!(refused(&"x".repeat(LARGEST_SKILL + 1)).contains("larger"));
        assert!(refused("---\nname: : :\n---\n").contains("cannot be read"));
    }

    #[test]
    fn a_small_file_does_not_become_a_large_one() {
        let mut bomb = String::from("---\na: &a [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let (this, before) = (char::from(b'a' + level), char::from(b'a' + level - 1));
            let list = vec![format!("*{before}"); 9].join(", ");
            bomb.push_str(&format!("{this}: &{this} [{list}]\n"));
        }
        bomb.push_str("name: a\ndescription: b\n---\n");
        assert_eq!(Skill::parse(&bomb), Err(SkillError::TooClever));
        let deep = format!("---\nname: {}\n---\n", "[".repeat(4000));
        assert_eq!(Skill::parse(&deep), Err(SkillError::TooClever));
        let rows: String = (0..120)
            .map(|row| format!("{}a:\n", " ".repeat(row)))
            .collect();
        assert_eq!(
            Skill::parse(&format!("---\n{rows}---\n")),
            Err(SkillError::TooClever)
        );
        let list = format!("---\n{}a\n---\n", "- ".repeat(3000));
        assert_eq!(Skill::parse(&list), Err(SkillError::TooClever));
        let plain = "---\nname: a\ndescription: this & that, R&D and 2 * 3\n---\n";
        assert!(Skill::parse(plain).is_ok());
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(text in "---\n[\\PC\n]{0,400}\n---\n\\PC{0,40}") {
            if let Ok(skill) = Skill::parse(&text) {
                prop_assert!(!skill.name.is_empty() && !skill.description.is_empty());
            }
        }

        #[test]
        fn any_yaml_is_read_or_refused(text in "[a-c:\\-\\[\\]{}&*!|>#\"', \n]{0,120}") {
            let _ = Skill::parse(&format!("---\n{text}\n---\n"));
        }
    }
}
