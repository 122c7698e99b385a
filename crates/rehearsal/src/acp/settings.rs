//! What can be set over the protocol: a mode and one setting more. Both only change what
//! the variables `{{mode}}` and `{{detail}}` of a script stand for, and every process begins
//! with the first of each.

use serde_json::{Value, json};

use super::messages::{INVALID_PARAMS, Refusal, text};

const MODES: [(&str, &str); 2] = [("ask", "Ask"), ("plan", "Plan")];
const DETAIL: &str = "detail";
const DETAILS: [(&str, &str); 2] = [("short", "Short"), ("long", "Long")];

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) mode: &'static str,
    pub(super) detail: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: MODES[0].0,
            detail: DETAILS[0].0,
        }
    }
}

impl Settings {
    /// What the answer to an opened session says of them.
    pub(super) fn told(&self, session: &str) -> Value {
        let modes = MODES.map(|(id, name)| json!({"id": id, "name": name}));
        json!({
            "sessionId": session,
            "modes": {"currentModeId": self.mode, "availableModes": modes},
            "configOptions": self.options(),
        })
    }

    /// The answer to a request that changes one of them.
    pub(super) fn change(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        if method == "session/set_mode" {
            self.mode = one_of(&MODES, text(params, "modeId")?)?;
            return Ok(json!({}));
        }
        let option = text(params, "configId")?;
        if option != DETAIL {
            let message = format!("there is no option `{option}` here");
            return Err(Refusal::new(INVALID_PARAMS, message));
        }
        self.detail = one_of(&DETAILS, text(params, "value")?)?;
        Ok(json!({"configOptions": self.options()}))
    }

    fn options(&self) -> Value {
        let details = DETAILS.map(|(value, name)| json!({"value": value, "name": name}));
        json!([{
            "id": DETAIL, "name": "Detail", "type": "select",
            "currentValue": self.detail, "options": details,
        }])
    }
}

fn one_of(known: &[(&'static str, &'static str)], wanted: &str) -> Result<&'static str, Refusal> {
    let found = known.iter().find(|(id, _)| *id == wanted);
    found.map(|(id, _)| *id).ok_or_else(|| {
        let message = format!("`{wanted}` is none of what there is to choose from");
        Refusal::new(INVALID_PARAMS, message)
    })
}
