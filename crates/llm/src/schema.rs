//! The schema of an answer: read once into what can be checked, then held against values.
//!
//! A part of JSON Schema (2020-12), namely what the providers take and what derived
//! schemas use. A keyword that is not in [`Node`] is refused when the schema is read: an
//! answer that was checked against half of its schema would only look checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A schema goes with every request; a longer one is a mistake.
const MAX_SCHEMA: usize = 64 << 10;

/// Whoever repairs an answer needs the first of its problems, not all.
const MAX_PROBLEMS: usize = 8;

/// As deep as JSON is read: what goes further refers to itself without end.
const MAX_DEPTH: u32 = 128;

/// Alternatives of alternatives multiply; an answer that takes more than this is not
/// taken.
const MAX_STEPS: u32 = 1_000_000;

/// Of what a model wrote, so much is repeated in a problem.
const MAX_QUOTED: usize = 60;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("the schema has {bytes} bytes, and {} are the most", MAX_SCHEMA)]
    TooLarge { bytes: usize },
    #[error("the schema must be of an object: providers take no other (`\"type\": \"object\"`)")]
    NoObject,
    #[error("`{keyword}` in {at} of the schema is not checked here: leave it out")]
    NotChecked { at: String, keyword: String },
    #[error("{at} of the schema is wrong: {problem}")]
    Wrong { at: String, problem: String },
}

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A JSON pointer; empty for the whole.
    pub at: String,
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.at.is_empty() {
            write!(f, "the answer {}", self.what)
        } else {
            write!(f, "{} {}", self.at, self.what)
        }
    }
}

/// A schema that can be sent and checked.
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    json: Value,
    root: Node,
    definitions: BTreeMap<String, Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// The smallest and the largest that fit.
#[derive(Debug, Clone, Default)]
struct Range {
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

/// What one place of an answer may be. What is empty says nothing.
#[derive(Debug, Clone, Default)]
struct Node {
    /// The schema `false`.
    nothing_fits: bool,
    kinds: Vec<Kind>,
    reference: Option<Reference>,
    /// `enum` and `const`.
    choices: Option<Vec<Value>>,
    properties: BTreeMap<String, Node>,
    required: Vec<String>,
    other_properties: Option<Box<Node>>,
    property_count: Range,
    first_items: Vec<Node>,
    items: Option<Box<Node>>,
    item_count: Range,
    length: Range,
    value: Range,
    any_of: Vec<Node>,
    one_of: Vec<Node>,
    all_of: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Reference {
    Root,
    Definition(String),
}

impl AnswerSchema {
    /// Reads a schema that somebody wrote.
    pub fn parse(json: &Value) -> Result<Self, SchemaError> {
        let bytes = json.to_string().len();
        if bytes > MAX_SCHEMA {
            return Err(SchemaError::TooLarge { bytes });
        }
        let mut definitions = BTreeMap::new();
        for keyword in DEFINITIONS {
            for (name, schema) in json[keyword].as_object().into_iter().flatten() {
                let at = format!("/{keyword}/{}", escaped(name));
                let reference = format!("#/{keyword}/{name}");
                definitions.insert(reference, node(schema, &at)?);
            }
        }
        let root = node(json, "")?;
        if root.kinds != [Kind::Object] {
            return Err(SchemaError::NoObject);
        }
        let schema = Self {
            json: json.clone(),
            root,
            definitions,
        };
        schema.check_references()?;
        Ok(schema)
    }

    /// The schema of a type.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        // Not all providers follow references.
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>();
        Self::parse(&schema.to_value())
    }

    /// As it is sent.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// What of a value does not fit; nothing when all of it does.
    #[must_use]
    pub fn problems(&self, value: &Value) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = Check {
            schema: self,
            steps_left: MAX_STEPS,
        };
        check.value(&self.root, value, "", MAX_DEPTH, &mut problems);
        problems.truncate(MAX_PROBLEMS);
        if check.steps_left == 0 {
            problems = vec![Problem {
                at: String::new(),
                what: "takes too long to check against this schema".to_owned(),
            }];
        }
        problems
    }

    fn check_references(&self) -> Result<(), SchemaError> {
        let mut nodes: Vec<&Node> = self.definitions.values().collect();
        nodes.push(&self.root);
        while let Some(node) = nodes.pop() {
            if let Some(Reference::Definition(name)) = &node.reference
                && !self.definitions.contains_key(name)
            {
                return Err(SchemaError::Wrong {
                    at: format!("`$ref` to `{name}`"),
                    problem: "there is no such definition".to_owned(),
                });
            }
            nodes.extend(node.children());
        }
        Ok(())
    }
}

/// One value held against one schema.
struct Check<'s> {
    schema: &'s AnswerSchema,
    steps_left: u32,
}

impl<'s> Check<'s> {
    fn value(
        &mut self,
        node: &'s Node,
        value: &Value,
        at: &str,
        depth: u32,
        out: &mut Vec<Problem>,
    ) {
        self.steps_left = self.steps_left.saturating_sub(1);
        if self.steps_left == 0 || out.len() >= MAX_PROBLEMS {
            return;
        }
        let mut tell = |what: String| {
            out.push(Problem {
                at: at.to_owned(),
                what,
            });
        };
        if node.nothing_fits {
            return tell("must not be there".to_owned());
        }
        let Some(depth) = depth.checked_sub(1) else {
            return tell("is nested too deeply".to_owned());
        };
        if !node.kinds.is_empty() && !node.kinds.iter().any(|kind| kind.is_of(value)) {
            let kinds: Vec<_> = node.kinds.iter().map(|kind| kind.name()).collect();
            return tell(format!(
                "must be {}, and is {}",
                kinds.join(" or "),
                Kind::name_of(value)
            ));
        }
        if let Some(choices) = &node.choices
            && !choices.iter().any(|choice| is_same(choice, value))
        {
            let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
            tell(format!("must be one of {}", choices.join(", ")));
        }
        match value {
            Value::Object(members) => self.object(node, members, at, depth, out),
            Value::Array(items) => self.array(node, items, at, depth, out),
            Value::String(text) => {
                let count = text.chars().count() as f64;
                node.length.check(count, "characters", at, out);
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                node.value.check(number, "", at, out);
            }
            Value::Null | Value::Bool(_) => {}
        }
        let referred = match &node.reference {
            None => None,
            Some(Reference::Root) => Some(&self.schema.root),
            Some(Reference::Definition(name)) => self.schema.definitions.get(name),
        };
        for all in node.all_of.iter().chain(referred) {
            self.value(all, value, at, depth, out);
        }
        self.alternatives(node, value, at, depth, out);
    }

    fn object(
        &mut self,
        node: &'s Node,
        members: &Map<String, Value>,
        at: &str,
        depth: u32,
        out: &mut Vec<Problem>,
    ) {
        for name in &node.required {
            if !members.contains_key(name) {
                out.push(Problem {
                    at: at.to_owned(),
                    what: format!("lacks `{name}`"),
                });
            }
        }
        let count = members.len() as f64;
        node.property_count.check(count, "members", at, out);
        for (name, member) in members {
            let known = node.properties.get(name);
            if let Some(node) = known.or(node.other_properties.as_deref()) {
                let quoted: String = name.chars().take(MAX_QUOTED).collect();
                let at = format!("{at}/{}", escaped(&quoted));
                self.value(node, member, &at, depth, out);
            }
        }
    }

    fn array(
        &mut self,
        node: &'s Node,
        items: &[Value],
        at: &str,
        depth: u32,
        out: &mut Vec<Problem>,
    ) {
        node.item_count.check(items.len() as f64, "items", at, out);
        for (index, item) in items.iter().enumerate() {
            let first = node.first_items.get(index);
            if let Some(node) = first.or(node.items.as_deref()) {
                self.value(node, item, &format!("{at}/{index}"), depth, out);
            }
        }
    }

    fn alternatives(
        &mut self,
        node: &'s Node,
        value: &Value,
        at: &str,
        depth: u32,
        out: &mut Vec<Problem>,
    ) {
        for (alternatives, is_one) in [(&node.any_of, false), (&node.one_of, true)] {
            if alternatives.is_empty() {
                continue;
            }
            let outcomes: Vec<_> = alternatives
                .iter()
                .map(|alternative| {
                    let mut problems = Vec::new();
                    self.value(alternative, value, at, depth, &mut problems);
                    problems
                })
                .collect();
            let fitting = outcomes.iter().filter(|one| one.is_empty()).count();
            if fitting == 0 {
                // What is wrong further inside is what was meant.
                let nearest = outcomes.into_iter().min_by_key(|problems| {
                    (problems.iter().all(|one| one.at == at), problems.len())
                });
                out.extend(nearest.into_iter().flatten());
            } else if is_one && fitting > 1 {
                out.push(Problem {
                    at: at.to_owned(),
                    what: format!("fits {fitting} alternatives, and must fit one"),
                });
            }
        }
    }
}

impl Node {
    fn children(&self) -> impl Iterator<Item = &Self> {
        let lists = [&self.first_items, &self.any_of, &self.one_of, &self.all_of];
        let boxed = [self.other_properties.as_deref(), self.items.as_deref()];
        let listed = lists.into_iter().flatten();
        let members = self.properties.values();
        listed.chain(members).chain(boxed.into_iter().flatten())
    }
}

impl Range {
    fn check(&self, found: f64, unit: &str, at: &str, out: &mut Vec<Problem>) {
        let limits = [
            (self.least.filter(|least| found < *least), "at least"),
            (self.most.filter(|most| found > *most), "at most"),
            (self.above.filter(|above| found <= *above), "more than"),
            (self.below.filter(|below| found >= *below), "less than"),
        ];
        for (limit, words) in limits {
            let Some(limit) = limit else { continue };
            let what = if unit.is_empty() {
                format!("must be {words} {limit}, and is {found}")
            } else {
                format!("must have {words} {limit} {unit}, and has {found}")
            };
            out.push(Problem {
                at: at.to_owned(),
                what,
            });
        }
    }
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            // A number without a fraction is one, however it is written.
            Self::Integer => match value.as_f64() {
                Some(number) => number.fract() == 0.0,
                None => false,
            },
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    fn name_of(value: &Value) -> &'static str {
        let kind = Self::ALL.into_iter().find(|kind| kind.is_of(value));
        kind.map_or("something else", Self::name)
    }
}

/// Where definitions stand.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// What says something to whoever reads, and nothing of what fits.
const REMARKS: [&str; 11] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

fn node(schema: &Value, at: &str) -> Result<Node, SchemaError> {
    let members = match schema {
        Value::Bool(fits) => {
            return Ok(Node {
                nothing_fits: !fits,
                ..Node::default()
            });
        }
        Value::Object(members) => members,
        _ => return Err(wrong(at, "a schema is an object or a boolean")),
    };
    let mut found = Node::default();
    for (keyword, value) in members {
        let place = format!("{at}/{}", escaped(keyword));
        read_keyword(&mut found, keyword, value, at, &place)?;
    }
    Ok(found)
}

fn read_keyword(
    node: &mut Node,
    keyword: &str,
    value: &Value,
    at: &str,
    place: &str,
) -> Result<(), SchemaError> {
    let count = || {
        let whole = value.as_u64().map(|count| Some(count as f64));
        whole.ok_or_else(|| wrong(place, "must be a count"))
    };
    let number = || {
        let number = value.as_f64().map(Some);
        number.ok_or_else(|| wrong(place, "must be a number"))
    };
    match keyword {
        "type" => node.kinds = kinds(value, place)?,
        "$ref" => node.reference = Some(reference(value, place)?),
        "enum" => match value.as_array() {
            Some(choices) if !choices.is_empty() => node.choices = Some(choices.clone()),
            _ => return Err(wrong(place, "must be a list of values")),
        },
        "const" => node.choices = Some(vec![value.clone()]),
        "properties" => {
            let members = value.as_object();
            for (name, schema) in members.ok_or_else(|| wrong(place, "must be an object"))? {
                let inner = self::node(schema, &format!("{place}/{}", escaped(name)))?;
                node.properties.insert(name.clone(), inner);
            }
        }
        "required" => node.required = names(value, place)?,
        "additionalProperties" => {
            node.other_properties = Some(Box::new(self::node(value, place)?));
        }
        "items" => node.items = Some(Box::new(self::node(value, place)?)),
        "prefixItems" => node.first_items = list(value, place)?,
        "anyOf" => node.any_of = list(value, place)?,
        "oneOf" => node.one_of = list(value, place)?,
        "allOf" => node.all_of = list(value, place)?,
        "minimum" => node.value.least = number()?,
        "maximum" => node.value.most = number()?,
        "exclusiveMinimum" => node.value.above = number()?,
        "exclusiveMaximum" => node.value.below = number()?,
        "minLength" => node.length.least = count()?,
        "maxLength" => node.length.most = count()?,
        "minItems" => node.item_count.least = count()?,
        "maxItems" => node.item_count.most = count()?,
        "minProperties" => node.property_count.least = count()?,
        "maxProperties" => node.property_count.most = count()?,
        remark if REMARKS.contains(&remark) => {}
        // They are read before, and refer to one another from the root only.
        definitions if DEFINITIONS.contains(&definitions) && at.is_empty() => {}
        unknown => {
            return Err(SchemaError::NotChecked {
                at: named(at),
                keyword: unknown.to_owned(),
            });
        }
    }
    Ok(())
}

fn kinds(value: &Value, at: &str) -> Result<Vec<Kind>, SchemaError> {
    let names = match value {
        Value::String(one) => vec![one.clone()],
        _ => names(value, at)?,
    };
    let kind = |name: String| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| wrong(at, &format!("there is no type `{name}`")))
    };
    names.into_iter().map(kind).collect()
}

fn reference(value: &Value, at: &str) -> Result<Reference, SchemaError> {
    match value.as_str() {
        Some("#") => Ok(Reference::Root),
        Some(name) if name.starts_with("#/") => Ok(Reference::Definition(unescaped(name))),
        _ => Err(wrong(
            at,
            "only what stands in the schema can be referred to",
        )),
    }
}

fn names(value: &Value, at: &str) -> Result<Vec<String>, SchemaError> {
    let names = value.as_array().and_then(|names| {
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        names.collect::<Option<Vec<_>>>()
    });
    names.ok_or_else(|| wrong(at, "must be a list of names"))
}

fn list(value: &Value, at: &str) -> Result<Vec<Node>, SchemaError> {
    let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
    let schemas = schemas.ok_or_else(|| wrong(at, "must be a list of schemas"))?;
    let numbered = schemas.iter().enumerate();
    numbered
        .map(|(index, schema)| node(schema, &format!("{at}/{index}")))
        .collect()
}

fn wrong(at: &str, problem: &str) -> SchemaError {
    SchemaError::Wrong {
        at: named(at),
        problem: problem.to_owned(),
    }
}

fn named(at: &str) -> String {
    if at.is_empty() {
        "the beginning".to_owned()
    } else {
        format!("`{at}`")
    }
}

/// A name as a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// Equal as JSON is: `1` and `1.0` are one number.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
