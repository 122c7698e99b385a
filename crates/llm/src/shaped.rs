//! Answers of a form that is declared: the provider is told the schema in its own way, the
//! answer is held against it here, and one that does not fit may be mended once.

use std::time::Instant;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Llm;
use crate::ask::{Answered, Ask};
use crate::error::LlmError;
use crate::formats::is_answer_tool;
use crate::items::{Answer, CallResult, Item, Message, Request, Role, Stop};
use crate::schema::{AnswerSchema, Problem};

/// An answer that has its form.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped<T> {
    pub value: T,
    /// The answer that has it.
    pub answered: Answered,
    /// What was wrong with the answer before this one, if there was one.
    pub mended: Vec<Problem>,
    /// Of both together, in millionths of a dollar; none when nobody can say.
    pub cost: Option<u64>,
}

/// What else than the schema an answer must pass; what is wrong, if it does not.
type AlsoChecked<'a> = &'a (dyn Fn(&Value) -> Option<String> + Send + Sync);

impl Llm {
    /// Asks for a value of a type. Its doc comments are told to the model.
    pub async fn ask_for<T>(&self, ask: &Ask) -> Result<Shaped<T>, LlmError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let schema = AnswerSchema::of::<T>()?;
        let wrong = |value: &Value| {
            let read = serde_json::from_value::<T>(value.clone());
            read.err().map(|error| error.to_string())
        };
        let shaped = self.shaped(ask, &schema, &wrong).await?;
        match serde_json::from_value(shaped.value) {
            Ok(value) => Ok(Shaped {
                value,
                answered: shaped.answered,
                mended: shaped.mended,
                cost: shaped.cost,
            }),
            Err(error) => Err(unfit(&shaped.answered, vec![whole(error.to_string())])),
        }
    }

    /// Asks for a value of a schema.
    pub async fn ask_shaped(
        &self,
        ask: &Ask,
        schema: &AnswerSchema,
    ) -> Result<Shaped<Value>, LlmError> {
        self.shaped(ask, schema, &|_| None).await
    }

    async fn shaped(
        &self,
        ask: &Ask,
        schema: &AnswerSchema,
        also: AlsoChecked<'_>,
    ) -> Result<Shaped<Value>, LlmError> {
        let deadline = Instant::now() + ask.within;
        let first = Ask {
            request: Request {
                schema: Some(schema.json().clone()),
                ..ask.request.clone()
            },
            ..ask.clone()
        };
        let answered = self.ask(&first, &mut |_| {}).await?;
        let mended = match checked(&answered, schema, also)? {
            Ok(value) => {
                return Ok(Shaped {
                    value,
                    cost: answered.cost,
                    answered,
                    mended: Vec::new(),
                });
            }
            Err(problems) => problems,
        };
        tracing::debug!(model = %answered.by, problems = mended.len(), "answer does not fit its schema");
        let mut request = first.request.clone();
        request.messages.extend(repair(&answered.answer, &mended));
        let second = Ask {
            request,
            // Only who wrote it can mend it: what goes back is in the words of its format.
            models: vec![answered.by.clone()],
            within: deadline.saturating_duration_since(Instant::now()),
            ..first
        };
        let mut again = self.ask(&second, &mut |_| {}).await?;
        let mut before = answered.before;
        before.append(&mut again.before);
        again.before = before;
        let value = checked(&again, schema, also)?;
        let value = value.map_err(|problems| unfit(&again, problems))?;
        Ok(Shaped {
            value,
            cost: answered.cost.zip(again.cost).map(|(one, two)| one + two),
            answered: again,
            mended,
        })
    }
}

/// The value of an answer, or what is wrong with it. One that was refused cannot be mended.
fn checked(
    answered: &Answered,
    schema: &AnswerSchema,
    also: AlsoChecked<'_>,
) -> Result<Result<Value, Vec<Problem>>, LlmError> {
    let answer = &answered.answer;
    if answer.stop == Stop::Refusal {
        return Err(LlmError::Declined {
            model: answered.by.to_string(),
            said: answer.text().trim().chars().take(MAX_SAID).collect(),
        });
    }
    let value = match structured(answer) {
        Ok(value) => value,
        Err(why) => return Ok(Err(vec![whole(why)])),
    };
    let problems = schema.problems(&value);
    if !problems.is_empty() {
        return Ok(Err(problems));
    }
    Ok(match also(&value) {
        None => Ok(value),
        Some(why) => Err(vec![whole(format!("cannot be read: {why}"))]),
    })
}

const MAX_SAID: usize = 300;

/// What was answered, and what is wrong with it. A call wants its result.
fn repair(answer: &Answer, problems: &[Problem]) -> [Message; 2] {
    let listed: Vec<_> = problems.iter().map(|one| format!("- {one}")).collect();
    let text = format!(
        "The answer does not fit the schema:\n{}\nGive the whole answer again, so that it fits, \
         and nothing else.",
        listed.join("\n")
    );
    let called = answer.items.iter().find_map(|item| match item {
        Item::Call(call) => Some(call),
        _ => None,
    });
    let told = match called {
        Some(call) => Item::Result(CallResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text,
            is_error: true,
        }),
        None => Item::Text(text),
    };
    let mut items = answer.items.clone();
    if items.is_empty() {
        // No format takes a message without content.
        items.push(Item::Text("{}".to_owned()));
    }
    let said = Message {
        role: Role::Assistant,
        items,
    };
    let told = Message {
        role: Role::User,
        items: vec![told],
    };
    [said, told]
}

fn unfit(answered: &Answered, problems: Vec<Problem>) -> LlmError {
    LlmError::Unfit {
        model: answered.by.to_string(),
        problems,
    }
}

fn whole(what: String) -> Problem {
    Problem {
        at: String::new(),
        what,
    }
}

/// The JSON of an answer for which a schema was asked, or why there is none.
fn structured(answer: &Answer) -> Result<Value, String> {
    let called = answer.items.iter().find_map(|item| match item {
        Item::Call(call) if is_answer_tool(&call.name) => Some(call.arguments.value()),
        _ => None,
    });
    if let Some(value) = called {
        return Ok(value);
    }
    let text = answer.text();
    serde_json::from_str(unfenced(&text)).map_err(|error| {
        if answer.stop == Stop::Length {
            "is longer than it may be, and ends in the middle".to_owned()
        } else {
            format!("is no JSON: {error}")
        }
    })
}

/// Without the fence that small models put around JSON although they are told not to.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    inner.unwrap_or(text).trim()
}

/// What an answer says, for the record: also where it comes as a call.
pub(crate) fn spoken(answer: &Answer) -> String {
    let called = answer.items.iter().find_map(|item| match item {
        Item::Call(call) if is_answer_tool(&call.name) => Some(call.arguments.value().to_string()),
        _ => None,
    });
    called.unwrap_or_else(|| answer.text())
}
