//! Modes, models and other settings of a session. Agents tell them in up to three
//! lists, some the same setting in two: each is kept once, the newest form first.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::event::{AgentError, Choice, ControlEvent, Setting, ToldBy};
use crate::request::{RequestId, SettingChoice};
use crate::text::Clipped;

/// Bytes of the id of a setting or a choice.
const LONGEST_ID: usize = 1024;

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
            .any(|setting| setting.has_category(category));
        let (false, Some(current)) = (is_told, state[current].as_str()) else {
            continue;
        };
        settings.push(Setting {
            id: category.to_owned(),
            name: core.clip(category),
            category: Some(core.clip(category)),
            current: id(current),
            choices: elements(state, list)
                .iter()
                .take(core.options.limits.choices)
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
            let options = elements(option, "options");
            let choices = options.iter().flat_map(|choice| {
                // A group has choices of its own.
                if choice["options"].is_array() {
                    elements(choice, "options")
                } else {
                    std::slice::from_ref(choice)
                }
            });
            let of_setting = option["id"].as_str().or(option["configId"].as_str())?;
            if of_setting.len() > LONGEST_ID {
                return None;
            }
            Some(Setting {
                id: of_setting.to_owned(),
                name: core.clip_at(option, "name").unwrap_or_default(),
                category: core.clip_at(option, "category"),
                current,
                choices: choices
                    .take(core.options.limits.choices)
                    .filter_map(|choice| choice_of(core, choice, &["value"]))
                    .collect(),
                told_by: ToldBy::ConfigOption,
            })
        })
        .collect()
}

/// All elements of a list: how many are kept is the limit of choices.
fn elements<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map_or(&[][..], Vec::as_slice)
}

fn choice_of(core: &Conversation, choice: &Value, ids: &[&str]) -> Option<Choice> {
    let found = ids.iter().find_map(|member| choice[member].as_str())?;
    // What was cut is the id of nothing.
    if found.len() > LONGEST_ID {
        return None;
    }
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
    Clipped::new(text, LONGEST_ID).text
}

/// The setting a request of ours is about, and its value.
pub(super) fn asked_for(method: &str, params: &Value) -> Option<SettingChoice> {
    let text = |member: &str| params[member].as_str().map(str::to_owned);
    let (setting, value) = match method {
        "session/set_mode" => ("mode".to_owned(), text("modeId")?),
        "session/set_model" => ("model".to_owned(), text("modelId")?),
        "session/set_config_option" => {
            let value = match &params["value"] {
                Value::Bool(value) => value.to_string(),
                value => value.as_str()?.to_owned(),
            };
            (text("configId")?, value)
        }
        _ => return None,
    };
    Some(SettingChoice { setting, value })
}

/// An answer to a request about a setting. It is not taken at its word where it tells the
/// settings with another value.
pub(super) fn answered(
    core: &mut Conversation,
    request: RequestId,
    choice: SettingChoice,
    result: &Value,
) {
    if result["configOptions"].is_array() {
        replace_config_options(core, result);
    } else {
        set(core, &choice);
    }
    let settings = core.session.as_ref().map(|session| &session.settings);
    let setting = settings.and_then(|all| all.iter().find(|known| known.id == choice.setting));
    let category = setting.and_then(|setting| setting.category.as_ref());
    let category = category.map(|category| category.text.clone());
    let other = setting.filter(|setting| setting.current != choice.value);
    let event = match other {
        None => ControlEvent::SettingChosen {
            request,
            choice,
            category,
        },
        Some(other) => {
            let message = format!("it stays at `{}`", other.current);
            let error = AgentError {
                code: None,
                message: Clipped::new(&message, core.options.limits.raw),
                sort: None,
                data: None,
            };
            ControlEvent::SettingRefused {
                request,
                choice,
                error,
            }
        }
    };
    core.emit(event);
}

fn set(core: &mut Conversation, choice: &SettingChoice) {
    let known = core.session.as_ref().and_then(|session| {
        let mut settings = session.settings.iter();
        settings.find(|known| known.id == choice.setting)
    });
    match known {
        Some(known) if known.told_by == ToldBy::ConfigOption => {
            let before = core.session.as_ref().map(|it| it.settings.clone());
            let before = before.unwrap_or_default();
            let mut settings = before.clone();
            for setting in &mut settings {
                if setting.id == choice.setting {
                    setting.current = id(&choice.value);
                }
            }
            change(core, &before, settings);
        }
        _ if matches!(choice.setting.as_str(), "mode" | "model") => {
            choose(core, &choice.setting, &choice.value);
        }
        _ => {}
    }
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
            .any(|setting| setting.has_category(category));
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
        .find(|setting| setting.has_category(category));
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
                .find(|setting| setting.has_category(category))
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
