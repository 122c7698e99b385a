//! Text with variables in it: `{{prompt}}`, `{{cwd}}`, `{{attempt}}`,
//! `{{session}}`, `{{answer}}` and `{{env.NAME}}`.

use serde_json::{Map, Value as Json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable(Variable),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Variable {
    Prompt,
    Cwd,
    Attempt,
    Session,
    Answer,
    Env(String),
}

const NAMES: [(&str, Variable); 5] = [
    ("prompt", Variable::Prompt),
    ("cwd", Variable::Cwd),
    ("attempt", Variable::Attempt),
    ("session", Variable::Session),
    ("answer", Variable::Answer),
];

/// What the variables stand for at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    pub(crate) prompt: String,
    pub(crate) cwd: String,
    /// The number of this prompt in its session.
    pub(crate) attempt: u32,
    pub(crate) session: String,
    /// What was answered to the last question.
    pub(crate) answer: String,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let Some(length) = rest[start..].find("}}") else {
                return Err("a `{{` is not closed".to_owned());
            };
            if start > 0 {
                pieces.push(Piece::Text(rest[..start].to_owned()));
            }
            let name = rest[start + 2..start + length].trim();
            pieces.push(Piece::Variable(variable(name)?));
            rest = &rest[start + length + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    pub(crate) fn fill(&self, variables: &Variables) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Variable(variable) => match variable {
                    Variable::Prompt => text.push_str(&variables.prompt),
                    Variable::Cwd => text.push_str(&variables.cwd),
                    Variable::Attempt => text.push_str(&variables.attempt.to_string()),
                    Variable::Session => text.push_str(&variables.session),
                    Variable::Answer => text.push_str(&variables.answer),
                    Variable::Env(name) => {
                        text.push_str(&std::env::var(name).unwrap_or_default());
                    }
                },
            }
        }
        text
    }
}

fn variable(name: &str) -> Result<Variable, String> {
    if let Some(name) = name.strip_prefix("env.").filter(|name| !name.is_empty()) {
        return Ok(Variable::Env(name.to_owned()));
    }
    let found = NAMES.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, variable)| variable).ok_or_else(|| {
        let mut names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        names.push("env.NAME");
        missiond_yaml::unknown("variable", name, "", &names)
    })
}

/// JSON whose texts may hold variables.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Plain(Json),
    Text(Template),
    List(Vec<Shape>),
    Map(Vec<(String, Shape)>),
}

impl Shape {
    pub(crate) fn empty() -> Self {
        Self::Map(Vec::new())
    }

    pub(crate) fn fill(&self, variables: &Variables) -> Json {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => Json::String(template.fill(variables)),
            Self::List(items) => items.iter().map(|item| item.fill(variables)).collect(),
            Self::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.fill(variables)))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}
