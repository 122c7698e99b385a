//! Which setting of a session somebody means, and whether it can have a value.

use crate::event::{Session, Setting};
use crate::request::{SettingChoice, SettingName};
use crate::trouble::{Offered, Refusal};

pub(crate) fn choice(
    session: &Session,
    name: SettingName<'_>,
    value: &str,
) -> Result<SettingChoice, Refusal> {
    let setting = match name {
        SettingName::Mode => of_category(session, "mode").ok_or(Refusal::NotOffered("modes"))?,
        SettingName::Model => {
            of_category(session, "model").ok_or(Refusal::NotOffered("a choice of models"))?
        }
        SettingName::Called(name) => called(session, name)?,
    };
    let values = setting.values();
    if !values.iter().any(|known| known == value) {
        return Err(Refusal::NoSuchValue {
            setting: setting.id.clone(),
            value: value.to_owned(),
            offered: Offered(values),
        });
    }
    Ok(SettingChoice {
        setting: setting.id.clone(),
        value: value.to_owned(),
    })
}

pub(crate) fn of_category<'s>(session: &'s Session, category: &str) -> Option<&'s Setting> {
    let mut settings = session.settings.iter();
    settings.find(|setting| setting.has_category(category))
}

/// Its id is its own; what it is called is a word for people, and may be that of two.
fn called<'s>(session: &'s Session, name: &str) -> Result<&'s Setting, Refusal> {
    let settings = &session.settings;
    if let Some(setting) = settings.iter().find(|setting| setting.id == name) {
        return Ok(setting);
    }
    let is_called = |setting: &&Setting| setting.name.text.to_lowercase() == name.to_lowercase();
    let mut of_name = settings.iter().filter(is_called);
    match (of_name.next(), of_name.next()) {
        (Some(setting), None) => Ok(setting),
        _ => Err(Refusal::NoSuchSetting {
            name: name.to_owned(),
            offered: Offered(settings.iter().map(|known| known.id.clone()).collect()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Choice, Opening, ToldBy};
    use crate::text::Clipped;

    fn setting(id: &str, name: &str, category: Option<&str>, choices: &[String]) -> Setting {
        let text = |text: &str| Clipped::new(text, 5000);
        Setting {
            id: id.to_owned(),
            name: text(name),
            category: category.map(text),
            current: choices.first().map_or("false", String::as_str).to_owned(),
            choices: choices
                .iter()
                .map(|id| Choice {
                    id: id.clone(),
                    name: text(id),
                    description: None,
                })
                .collect(),
            told_by: ToldBy::ConfigOption,
        }
    }

    fn session(settings: Vec<Setting>) -> Session {
        Session {
            id: "s".to_owned(),
            cwd: "/work".to_owned(),
            opening: Opening::New,
            settings,
            meta: None,
        }
    }

    #[test]
    fn what_is_not_offered_is_refused_with_what_is() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let session = session(vec![
            setting("perm", "Permission", Some("mode"), &words(&["ask", "plan"])),
            setting("one", "Effort", None, &words(&["low", "high"])),
            setting("two", "effort", None, &words(&["slow", "fast"])),
            setting("web", "Web search", None, &[]),
        ]);
        let refused = |name, value| choice(&session, name, value).unwrap_err().to_string();
        assert_eq!(
            choice(&session, SettingName::Mode, "plan"),
            choice(&session, SettingName::Called("permission"), "plan")
        );
        assert_eq!(
            refused(SettingName::Mode, "bypass"),
            "`perm` cannot be `bypass`: the agent offers `ask`, `plan`"
        );
        assert_eq!(
            refused(SettingName::Model, "large"),
            "the agent does not offer a choice of models"
        );
        let settings = "the agent has no setting `effort`: it offers `perm`, `one`, `two`, `web`";
        assert_eq!(refused(SettingName::Called("effort"), "low"), settings);
        assert!(choice(&session, SettingName::Called("two"), "fast").is_ok());
        assert!(choice(&session, SettingName::Called("web"), "true").is_ok());
        assert_eq!(
            refused(SettingName::Called("web"), "on"),
            "`web` cannot be `on`: the agent offers `true`, `false`"
        );
        // The name of a choice is not its id, and nothing is not anything.
        assert!(choice(&session, SettingName::Mode, "").is_err());
    }

    #[test]
    fn a_value_is_looked_for_among_all_and_not_among_those_that_are_said() {
        let long = "m".repeat(400);
        let mut models: Vec<_> = (0..500).map(|number| format!("model-{number}")).collect();
        models.extend([format!("{long}1"), format!("{long}2")]);
        let session = session(vec![setting("model", "Model", Some("model"), &models)]);
        for model in &models {
            let chosen = choice(&session, SettingName::Model, model).unwrap();
            assert_eq!(&chosen.value, model);
        }
        assert!(choice(&session, SettingName::Model, &long).is_err());
        let refused = choice(&session, SettingName::Model, "other").unwrap_err();
        let said = refused.to_string();
        assert!(said.ends_with("`model-39` and 462 more"), "{said}");
    }
}
