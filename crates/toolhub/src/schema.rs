//! Arguments checked against a tool's JSON Schema before anything is sent.
//!
//! The schema comes from a server, so checking it can cost only so much: a fixed
//! number of steps, patterns of linear time, references within the schema and
//! nowhere else. A keyword that is not known here, a pattern that cannot be
//! compiled or a schema too costly to follow says nothing: the server has the
//! last word. So a refusal is always a true mismatch with a known keyword.

use missiond_core::excerpt;
use serde_json::{Map, Value};

/// Steps after which a schema is left to the server.
const MAX_STEPS: u32 = 200_000;
/// What compiling a pattern counts.
const PATTERN_STEPS: u32 = 500;
/// How deep a schema is followed; also what ends a reference to itself.
const MAX_DEPTH: u32 = 64;

/// What does not fit, with its place, or nothing.
#[must_use]
pub fn mismatch(schema: &Value, instance: &Value) -> Option<String> {
    let mut checker = Checker {
        root: schema,
        steps: 0,
    };
    match checker.check(schema, instance, &JsonPath::Root, 0) {
        Verdict::Wrong(problem) => Some(problem),
        Verdict::Fits | Verdict::Unknown => None,
    }
}

enum Verdict {
    Fits,
    Wrong(String),
    /// It was not followed to its end.
    Unknown,
}

/// Where in the arguments something is.
enum JsonPath<'a> {
    Root,
    Member(&'a JsonPath<'a>, &'a str),
    Item(&'a JsonPath<'a>, usize),
}

impl JsonPath<'_> {
    fn name(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => match parent.name() {
                parent if parent.is_empty() => (*name).to_owned(),
                parent => format!("{parent}.{name}"),
            },
            Self::Item(parent, index) => format!("{}[{index}]", parent.name()),
        }
    }

    fn wrong(&self, problem: &str) -> Verdict {
        let name = match self.name() {
            name if name.is_empty() => "they".to_owned(),
            name => format!("`{}`", excerpt(&name, 80)),
        };
        Verdict::Wrong(format!("{name} {problem}"))
    }
}

/// Whether a value keeps to a bound.
type Bound = fn(f64, f64) -> bool;

struct Checker<'s> {
    root: &'s Value,
    steps: u32,
}

/// Goes on when the part fits, and otherwise is the verdict of the whole.
macro_rules! must {
    ($verdict:expr, $unknown:ident) => {
        match $verdict {
            Verdict::Fits => {}
            Verdict::Unknown => $unknown = true,
            wrong @ Verdict::Wrong(_) => return wrong,
        }
    };
}

impl<'s> Checker<'s> {
    fn check(
        &mut self,
        schema: &'s Value,
        instance: &Value,
        path: &JsonPath<'_>,
        depth: u32,
    ) -> Verdict {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return Verdict::Unknown;
        }
        let schema = match schema {
            Value::Bool(true) => return Verdict::Fits,
            Value::Bool(false) => return path.wrong("is not allowed"),
            Value::Object(schema) => schema,
            _ => return Verdict::Unknown,
        };
        let mut unknown = false;
        must!(self.own_keywords(schema, instance, path), unknown);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference
                .strip_prefix('#')
                .and_then(|path| self.root.pointer(path));
            match target {
                Some(target) => must!(self.check(target, instance, path, depth + 1), unknown),
                None => unknown = true,
            }
        }
        must!(self.combinations(schema, instance, path, depth), unknown);
        match instance {
            Value::Object(members) => {
                must!(self.members(schema, members, path, depth), unknown);
            }
            Value::Array(items) => must!(self.items(schema, items, path, depth), unknown),
            _ => {}
        }
        if unknown {
            Verdict::Unknown
        } else {
            Verdict::Fits
        }
    }

    fn combinations(
        &mut self,
        schema: &'s Map<String, Value>,
        instance: &Value,
        path: &JsonPath<'_>,
        depth: u32,
    ) -> Verdict {
        let mut unknown = false;
        let parts = |key: &str| schema.get(key).and_then(Value::as_array);
        for part in parts("allOf").into_iter().flatten() {
            must!(self.check(part, instance, path, depth + 1), unknown);
        }
        for (key, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            let Some(parts) = parts(key) else { continue };
            let mut fitting = 0;
            let mut undecided = false;
            let mut problems = Vec::new();
            for part in parts {
                match self.check(part, instance, path, depth + 1) {
                    Verdict::Fits => fitting += 1,
                    Verdict::Unknown => undecided = true,
                    Verdict::Wrong(problem) => problems.push(problem),
                }
            }
            if undecided {
                unknown = true;
            } else if fitting == 0 {
                problems.dedup();
                problems.truncate(3);
                return Verdict::Wrong(problems.join(", or "));
            } else if fitting > most {
                return path.wrong("must fit one alternative only");
            }
        }
        if let Some(not) = schema.get("not")
            && let Verdict::Fits = self.check(not, instance, path, depth + 1)
        {
            return path.wrong("must not be that");
        }
        if let Some(condition) = schema.get("if") {
            let branch = match self.check(condition, instance, path, depth + 1) {
                Verdict::Fits => schema.get("then"),
                Verdict::Wrong(_) => schema.get("else"),
                Verdict::Unknown => {
                    unknown = true;
                    None
                }
            };
            if let Some(branch) = branch {
                must!(self.check(branch, instance, path, depth + 1), unknown);
            }
        }
        if unknown {
            Verdict::Unknown
        } else {
            Verdict::Fits
        }
    }

    fn members(
        &mut self,
        schema: &'s Map<String, Value>,
        members: &Map<String, Value>,
        path: &JsonPath<'_>,
        depth: u32,
    ) -> Verdict {
        let mut unknown = false;
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(name) = name.as_str().filter(|name| !members.contains_key(*name)) {
                return JsonPath::Member(path, name).wrong("is missing");
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties");
        for (name, value) in members {
            let here = JsonPath::Member(path, name);
            // Models write `null` for what they leave out.
            if value.is_null() && !is_required(schema, name) {
                continue;
            }
            let mut described = false;
            if let Some(property) = properties.and_then(|properties| properties.get(name)) {
                described = true;
                must!(self.check(property, value, &here, depth + 1), unknown);
            }
            for (pattern, property) in patterns.into_iter().flatten() {
                match self.matches(pattern, name) {
                    Some(true) => {
                        described = true;
                        must!(self.check(property, value, &here, depth + 1), unknown);
                    }
                    Some(false) => {}
                    // It may or may not describe the member.
                    None => (described, unknown) = (true, true),
                }
            }
            match additional {
                Some(Value::Bool(false)) if !described => {
                    return here.wrong(&unexpected(name, properties));
                }
                Some(additional) if !described => {
                    must!(self.check(additional, value, &here, depth + 1), unknown);
                }
                _ => {}
            }
        }
        if unknown {
            Verdict::Unknown
        } else {
            Verdict::Fits
        }
    }

    fn items(
        &mut self,
        schema: &'s Map<String, Value>,
        items: &[Value],
        path: &JsonPath<'_>,
        depth: u32,
    ) -> Verdict {
        let mut unknown = false;
        // Up to 2019 a list in `items` described the first ones.
        let first = schema
            .get("prefixItems")
            .or_else(|| schema.get("items"))
            .and_then(Value::as_array);
        let rest = match schema.get("items") {
            Some(Value::Array(_)) => schema.get("additionalItems"),
            rest => rest,
        };
        for (index, item) in items.iter().enumerate() {
            let described = first.and_then(|first| first.get(index)).or(rest);
            if let Some(described) = described {
                let here = JsonPath::Item(path, index);
                must!(self.check(described, item, &here, depth + 1), unknown);
            }
        }
        if unknown {
            Verdict::Unknown
        } else {
            Verdict::Fits
        }
    }

    /// The keywords that look at one value alone.
    fn own_keywords(
        &mut self,
        schema: &Map<String, Value>,
        instance: &Value,
        path: &JsonPath<'_>,
    ) -> Verdict {
        if let Some(kinds) = schema.get("type") {
            let names: Vec<_> = match kinds {
                Value::String(kind) => vec![kind.as_str()],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            if !names.is_empty() && !names.iter().any(|kind| is_a(instance, kind)) {
                let problem = format!("must be {}, not {}", names.join(" or "), kind_of(instance));
                return path.wrong(&problem);
            }
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|allowed| equal(allowed, instance))
        {
            let shown: Vec<_> = allowed.iter().take(20).map(Value::to_string).collect();
            return path.wrong(&format!("must be one of {}", shown.join(", ")));
        }
        if let Some(constant) = schema.get("const")
            && !equal(constant, instance)
        {
            return path.wrong(&format!("must be {constant}"));
        }
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        if let Some(value) = instance.as_f64() {
            let bounds: [(&str, Bound, &str); 4] = [
                ("minimum", |value, bound| value >= bound, "at least"),
                ("maximum", |value, bound| value <= bound, "at most"),
                (
                    "exclusiveMinimum",
                    |value, bound| value > bound,
                    "more than",
                ),
                (
                    "exclusiveMaximum",
                    |value, bound| value < bound,
                    "less than",
                ),
            ];
            for (key, holds, words) in bounds {
                if let Some(bound) = number(key).filter(|bound| !holds(value, *bound)) {
                    return path.wrong(&format!("must be {words} {bound}"));
                }
            }
            if let Some(step) = number("multipleOf").filter(|step| *step > 0.0) {
                let parts = value / step;
                if parts.is_finite() && (parts - parts.round()).abs() > 1e-9 * parts.abs().max(1.0)
                {
                    return path.wrong(&format!("must be a multiple of {step}"));
                }
            }
        }
        let size = match instance {
            Value::String(text) => Some((text.chars().count(), "Length", "characters")),
            Value::Array(items) => Some((items.len(), "Items", "items")),
            Value::Object(members) => Some((members.len(), "Properties", "members")),
            _ => None,
        };
        if let Some((size, keyword, words)) = size {
            let bound = |key: &str| {
                schema
                    .get(&format!("{key}{keyword}"))
                    .and_then(Value::as_u64)
            };
            if let Some(least) = bound("min").filter(|least| (size as u64) < *least) {
                return path.wrong(&format!("must have at least {least} {words}"));
            }
            if let Some(most) = bound("max").filter(|most| (size as u64) > *most) {
                return path.wrong(&format!("must have at most {most} {words}"));
            }
        }
        if let (Some(pattern), Some(text)) = (
            schema.get("pattern").and_then(Value::as_str),
            instance.as_str(),
        ) {
            match self.matches(pattern, text) {
                Some(true) => {}
                Some(false) => {
                    return path.wrong(&format!("must match {}", excerpt(pattern, 200)));
                }
                None => return Verdict::Unknown,
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some(items) = instance.as_array()
            && items.len() <= 1000
            && (1..items.len())
                .any(|one| items[..one].iter().any(|other| equal(other, &items[one])))
        {
            return path.wrong("must not repeat an item");
        }
        Verdict::Fits
    }

    /// `None`: the pattern is not one that can be followed, or too many were.
    fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        self.steps = self.steps.saturating_add(PATTERN_STEPS);
        if self.steps > MAX_STEPS {
            return None;
        }
        let compiled = regex::RegexBuilder::new(pattern)
            .size_limit(1 << 18)
            .build();
        compiled.ok().map(|compiled| compiled.is_match(text))
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

fn unexpected(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let known: Vec<_> = properties.into_iter().flat_map(Map::keys).collect();
    let close = known
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name) || known.starts_with(name));
    match (close, known.len()) {
        (Some(close), _) => format!("is not known; is `{close}` meant?"),
        (None, 0) => "is not known: there are no arguments".to_owned(),
        (None, 1..=12) => {
            let names: Vec<_> = known.iter().map(|name| name.as_str()).collect();
            format!("is not known; there are {}", names.join(", "))
        }
        (None, _) => "is not known".to_owned(),
    }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => true,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equal as JSON means it: 1 and 1.0 are the same.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
