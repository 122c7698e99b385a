//! Reading a YAML tree while collecting every problem with its line.

use std::cell::RefCell;

use saphyr::{MarkedYaml, Scalar, YamlData};

use crate::Problem;

/// Collects problems; a parser goes on after each, so one run shows them all.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(crate) fn add(&self, line: usize, message: impl Into<String>) {
        self.0.borrow_mut().push(Problem {
            line,
            message: message.into(),
        });
    }

    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

/// A YAML node and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    yaml: &'a MarkedYaml<'a>,
    problems: &'a Problems,
}

/// A value whose shape the writer of the file chose.
#[derive(Debug)]
pub enum Value<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'a str),
    List(Vec<Node<'a>>),
    /// Key, its line, value.
    Map(Vec<(&'a str, usize, Node<'a>)>),
}

/// The entries of a mapping whose keys were checked.
#[derive(Debug)]
pub struct Fields<'a> {
    entries: Vec<(&'a str, Node<'a>)>,
    line: usize,
    problems: &'a Problems,
}

impl<'a> Node<'a> {
    pub(crate) fn new(yaml: &'a MarkedYaml<'a>, problems: &'a Problems) -> Self {
        Self { yaml, problems }
    }

    pub fn line(&self) -> usize {
        self.yaml.span.start.line()
    }

    pub fn problem(&self, message: impl Into<String>) {
        self.problems.add(self.line(), message);
    }

    fn expected<T>(&self, what: &str) -> Option<T> {
        self.problem(format!("expected {what}, found {}", self.kind()));
        None
    }

    fn kind(&self) -> &'static str {
        match &self.yaml.data {
            YamlData::Mapping(_) => "a mapping",
            YamlData::Sequence(_) => "a list",
            YamlData::Value(Scalar::String(_)) => "text",
            YamlData::Value(Scalar::Integer(_) | Scalar::FloatingPoint(_)) => "a number",
            YamlData::Value(Scalar::Boolean(_)) => "true or false",
            YamlData::Value(Scalar::Null) => "nothing",
            _ => "something else",
        }
    }

    /// A mapping with none but these keys.
    pub fn fields(self, what: &str, allowed: &[&str]) -> Option<Fields<'a>> {
        let entries = self.entries(what)?;
        for (key, line, _) in &entries {
            if !allowed.contains(key) {
                self.problems.add(*line, unknown("key", key, what, allowed));
            }
        }
        let entries = entries
            .into_iter()
            .map(|(key, _, node)| (key, node))
            .collect();
        Some(Fields {
            entries,
            line: self.line(),
            problems: self.problems,
        })
    }

    /// A mapping with keys of the writer's choice: key, its line, value.
    pub fn entries(self, what: &str) -> Option<Vec<(&'a str, usize, Node<'a>)>> {
        let YamlData::Mapping(mapping) = &self.yaml.data else {
            return self.expected(&format!("a mapping for {what}"));
        };
        let mut entries = Vec::new();
        for (key, value) in mapping {
            let line = key.span.start.line();
            match &key.data {
                YamlData::Value(Scalar::String(name)) => {
                    entries.push((name.as_ref(), line, Node::new(value, self.problems)));
                }
                _ => self
                    .problems
                    .add(line, format!("a key of {what} must be text")),
            }
        }
        Some(entries)
    }

    pub fn is_mapping(&self) -> bool {
        matches!(self.yaml.data, YamlData::Mapping(_))
    }

    pub fn list(self) -> Option<Vec<Node<'a>>> {
        match &self.yaml.data {
            YamlData::Sequence(items) => Some(
                items
                    .iter()
                    .map(|item| Node::new(item, self.problems))
                    .collect(),
            ),
            _ => self.expected("a list"),
        }
    }

    /// A list, or one value that stands for a list of one.
    pub fn one_or_more(self) -> Vec<Node<'a>> {
        match &self.yaml.data {
            YamlData::Sequence(items) => items
                .iter()
                .map(|item| Node::new(item, self.problems))
                .collect(),
            _ => vec![self],
        }
    }

    pub fn text(self) -> Option<&'a str> {
        match &self.yaml.data {
            YamlData::Value(Scalar::String(text)) => Some(text.as_ref()),
            _ => self.expected("text (quote it if it looks like a number)"),
        }
    }

    pub fn boolean(self) -> Option<bool> {
        match &self.yaml.data {
            YamlData::Value(Scalar::Boolean(value)) => Some(*value),
            _ => self.expected("true or false"),
        }
    }

    pub fn integer(self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        match &self.yaml.data {
            YamlData::Value(Scalar::Integer(value)) if range.contains(value) => Some(*value),
            YamlData::Value(Scalar::Integer(value)) => {
                self.problem(format!(
                    "{value} is outside {} to {}",
                    range.start(),
                    range.end()
                ));
                None
            }
            _ => self.expected("a whole number"),
        }
    }

    /// A number with or without a fraction.
    pub fn number(self, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let value = match &self.yaml.data {
            YamlData::Value(Scalar::FloatingPoint(value)) => **value,
            YamlData::Value(Scalar::Integer(value)) => *value as f64,
            _ => return self.expected("a number"),
        };
        if range.contains(&value) {
            return Some(value);
        }
        self.problem(format!(
            "{value} is outside {} to {}",
            range.start(),
            range.end()
        ));
        None
    }

    /// Whatever it is, for values whose shape the writer chooses.
    pub fn value(self) -> Option<Value<'a>> {
        Some(match &self.yaml.data {
            YamlData::Mapping(_) => Value::Map(self.entries("this value")?),
            YamlData::Sequence(_) => Value::List(self.list()?),
            YamlData::Value(Scalar::String(text)) => Value::Text(text.as_ref()),
            YamlData::Value(Scalar::Integer(value)) => Value::Integer(*value),
            YamlData::Value(Scalar::FloatingPoint(value)) => Value::Float(**value),
            YamlData::Value(Scalar::Boolean(value)) => Value::Boolean(*value),
            YamlData::Value(Scalar::Null) => Value::Null,
            _ => return self.expected("a plain value"),
        })
    }

    pub fn is_text(&self) -> bool {
        matches!(self.yaml.data, YamlData::Value(Scalar::String(_)))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.yaml.data, YamlData::Sequence(_))
    }

    pub fn fraction(self) -> Option<f32> {
        let value = match &self.yaml.data {
            YamlData::Value(Scalar::FloatingPoint(value)) => **value,
            YamlData::Value(Scalar::Integer(value)) => *value as f64,
            _ => return self.expected("a number from 0 to 1"),
        };
        if (0.0..=1.0).contains(&value) {
            return Some(value as f32);
        }
        self.problem(format!("{value} is outside 0 to 1"));
        None
    }

    /// One of a fixed set of words.
    pub fn word<T: Copy>(self, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            self.problem(unknown(what, text, "", &names));
        }
        found
    }
}

impl<'a> Fields<'a> {
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.entries
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, node)| *node)
    }

    pub fn require(&self, key: &str) -> Option<Node<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.problems
                .add(self.line, format!("`{key}` is missing here"));
        }
        found
    }

    pub fn line(&self) -> usize {
        self.line
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn problem(&self, message: impl Into<String>) {
        self.problems.add(self.line, message);
    }
}

/// "unknown key `priorty` of a rule: did you mean `priority`?"
pub fn unknown(kind: &str, found: &str, owner: &str, allowed: &[&str]) -> String {
    let owner = if owner.is_empty() {
        String::new()
    } else {
        format!(" of {owner}")
    };
    let nearest = allowed
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), *name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3);
    match nearest {
        Some((_, name)) => format!("unknown {kind} `{found}`{owner}: did you mean `{name}`?"),
        None if allowed.is_empty() => format!("unknown {kind} `{found}`{owner}: none is defined"),
        None => format!(
            "unknown {kind} `{found}`{owner}: use one of {}",
            allowed.join(", ")
        ),
    }
}
