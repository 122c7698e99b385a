//! Modes, models and other settings of a session. Agents tell them in up to three
//! lists, some the same setting in two: each is kept once, the newest form first.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::event::{Choice, ControlEvent, Setting, ToldBy};
use crate::text::Clipped;

/// The settings of a session, from the answer that opened it.
pub(super) fn of_session(core: &Conversation, result: &Value) -> Vec<Setting> {
    let mut settings = config_options(core, result);
    for (told_by, category, list, current) in [
        (ToldBy::Modes, "mode", "availableModes", "currentModeId"),
        (ToldBy::Models, "model", "availableModels", "currentModelId"),
    ] {
        let state = &result[if told_by == ToldBy::Modes {
            "modes"
        } else {
            "models"
        }];
        let is_told = settings
            .iter()
            .any(|setting| has_category(setting, category));
        let (false, Some(current)) = (is_told, state[current].as_str()) else {
            continue;
        };
        settings.push(Setting {
            id: category.to_owned(),
            name: core.clip(category),
            category: Some(core.clip(category)),
            current: id(current),
            choices: core
                .list(state, list)
                .iter()
                .filter_map(|choice| choice_of(core, choice, &["id", "modelId"]))
                .collect(),
            told_by,
        });
    }
    settings
}

pub(super) fn config_options(core: &Conversation, holder: &Value) -> Vec<Setting> {
    core.list(holder, "configOptions")
        .iter()
        .filter_map(|option| {
            let current = match &option["currentValue"] {
                Value::String(current) => id(current),
                Value::Bool(current) => current.to_string(),
                _ => return None,
            };
            let choices = core.list(option, "options").iter().flat_map(|choice| {
                // A group has choices of its own.
                if choice["options"].is_array() {
                    core.list(choice, "options")
                } else {
                    std::slice::from_ref(choice)
                }
            });
            Some(Setting {
                id: id(option["id"].as_str().or(option["configId"].as_str())?),
                name: core.clip_at(option, "name").unwrap_or_default(),
                category: core.clip_at(option, "category"),
                current,
                choices: choices
                    .take(core.options.limits.list)
                    .filter_map(|choice| choice_of(core, choice, &["value"]))
                    .collect(),
                told_by: ToldBy::ConfigOption,
            })
        })
        .collect()
}

fn choice_of(core: &Conversation, choice: &Value, ids: &[&str]) -> Option<Choice> {
    let found = ids.iter().find_map(|member| choice[member].as_str())?;
    let raw = core.options.limits.raw;
    Some(Choice {
        id: id(found),
        name: Clipped::new(choice["name"].as_str().unwrap_or(found), raw),
        description: choice["description"]
            .as_str()
            .map(|text| Clipped::new(text, raw)),
    })
}

fn id(text: &str) -> String {
    Clipped::new(text, 1024).text
}

pub(super) fn has_category(setting: &Setting, category: &str) -> bool {
    setting
        .category
        .as_ref()
        .is_some_and(|known| known.text == category)
}

/// The options of a session are told anew.
pub(super) fn replace_config_options(core: &mut Conversation, holder: &Value) {
    let mut settings = config_options(core, holder);
    let before = core
        .session
        .as_ref()
        .map(|session| session.settings.clone())
        .unwrap_or_default();
    // What was told by an older list and is not among these stays.
    for old in &before {
        let category = old
            .category
            .as_ref()
            .map_or("", |category| category.text.as_str());
        let is_told = settings
            .iter()
            .any(|setting| has_category(setting, category));
        if old.told_by != ToldBy::ConfigOption && !is_told {
            settings.push(old.clone());
        }
    }
    change(core, &before, settings);
}

/// One setting has another value, told by its category.
pub(super) fn choose(core: &mut Conversation, category: &str, choice: &str) {
    let Some(session) = &core.session else {
        return;
    };
    let before = session.settings.clone();
    let mut settings = before.clone();
    let setting = settings
        .iter_mut()
        .find(|setting| has_category(setting, category));
    match setting {
        Some(setting) => setting.current = id(choice),
        // A mode of an agent that never listed any.
        None => return tell(core, category, &id(choice)),
    }
    change(core, &before, settings);
}

fn change(core: &mut Conversation, before: &[Setting], settings: Vec<Setting>) {
    if before == settings.as_slice() {
        return;
    }
    for category in ["mode", "model"] {
        let current = |settings: &[Setting]| {
            settings
                .iter()
                .find(|setting| has_category(setting, category))
                .map(|setting| setting.current.clone())
        };
        let now = current(&settings);
        if let Some(now) = now.filter(|now| current(before).as_ref() != Some(now)) {
            tell(core, category, &now);
        }
    }
    if let Some(session) = &mut core.session {
        session.settings.clone_from(&settings);
    }
    core.emit(ControlEvent::SettingsChanged { settings });
}

fn tell(core: &mut Conversation, category: &str, current: &str) {
    let current = current.to_owned();
    core.emit(if category == "mode" {
        ControlEvent::ModeChanged { mode: current }
    } else {
        ControlEvent::ModelChanged { model: current }
    });
}
